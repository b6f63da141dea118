"""A session with the fake ZooKeeper that is the real `Session` in all but the network.

Only what lies below the session is imitated: the few calls of kazoo's client that it makes. Its own
code (errors, bounds, ACLs of new nodes, watches, repeated reads) is the code that goes to
production. Waiting lets the virtual clock pass; so does every call, a millisecond, so that others
act between any two of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, RLock
from typing import Any, Self

from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.fake_zookeeper import FakeClient, FakeZooKeeper, Faults, faults
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    DeleteNode,
    Operation,
    Watch,
    WriteNode,
)
from poolkeeper.zk.client.connections import Address
from poolkeeper.zk.client.session import Session

TIMEOUT_MS = 6000
DEADLINE_S = 15.0
LATENCY_MS = 1


class Answer:
    """Kazoo's asynchronous result, of something that is done already; late by `late_ms`."""

    __slots__ = ("_clock", "_late_ms", "_value")

    def __init__(self, clock: VirtualClock, value: Any, late_ms: int) -> None:
        self._clock = clock
        self._value = value
        self._late_ms = late_ms

    def there(self) -> Self:
        """Return the answer, or that there is no such node."""
        if self._value is None:
            self._value = NoNodeError()
        return self

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Return the value or raise it, late or not."""
        if self._late_ms:
            limit_ms = self._late_ms if timeout is None else timeout * 1000
            self._clock.advance(min(self._late_ms, limit_ms))
            if self._late_ms > limit_ms:
                raise KazooTimeoutError("no answer in time")
        value = self._value
        if isinstance(value, Exception):
            raise value
        return value


class FakeTransaction:
    """Kazoo's transaction."""

    def __init__(self, client: "FakeKazoo") -> None:
        self._client = client
        self._operations: list[Operation] = []

    def create(
        self, path: str, data: bytes, acl: Sequence[Any], ephemeral: bool, sequence: bool
    ) -> None:
        """Add the creation of a node."""
        self._operations.append(CreateNode(path, data, ephemeral, sequence, tuple(acl)))

    def check(self, path: str, version: int) -> None:
        """Add the check of a version."""
        self._operations.append(CheckNode(path, version))

    def set_data(self, path: str, data: bytes, version: int) -> None:
        """Add a write."""
        self._operations.append(WriteNode(path, data, version))

    def delete(self, path: str, version: int) -> None:
        """Add a deletion."""
        self._operations.append(DeleteNode(path, version))

    def commit_async(self) -> Answer:
        """Send all of it."""
        return self._client.answer(self._client.fake.transact, self._operations)


class FakeKazoo:
    """What `Session` and its parts ask of a `KazooClient`."""

    def __init__(self, clock: VirtualClock, fake: FakeClient) -> None:
        self.fake = fake
        self.chroot = fake.chroot
        self.late_ms = 0
        self._clock = clock
        self._one_at_a_time = RLock()

    @property
    def last_zxid(self) -> int:
        """The last transaction that the server had applied with its last answer."""
        return self.fake.seen_zxid

    def answer(self, ask: Callable[..., Any], *asked: Any) -> Answer:
        """Ask the fake now; return what comes of it."""
        with self._one_at_a_time:
            self.late_ms = 0
            try:
                value = ask(*asked)
            except KazooException as failure:
                value = failure
            return Answer(self._clock, value, self.late_ms)

    def get_async(self, path: str, watch: Watch | None = None) -> Answer:
        """Read a node."""
        return self.answer(self.fake.get, path, watch).there()

    def exists_async(self, path: str, watch: Watch | None = None) -> Answer:
        """Look for a node."""
        return self.answer(self.fake.exists, path, watch)

    def get_children_async(self, path: str, watch: Watch | None = None) -> Answer:
        """List children."""
        return self.answer(self.fake.children, path, watch).there()

    def get_acls_async(self, path: str) -> Answer:
        """Read an ACL."""
        return self.answer(lambda: (self.fake.get_acl(path), None))

    def sync_async(self, path: str) -> Answer:
        """Catch up with the leader."""
        return self.answer(self.fake.sync)

    def transaction(self) -> FakeTransaction:
        """Begin a transaction."""
        return FakeTransaction(self)


class FakeConnection:
    """What `Session` asks of a `Connection`."""

    has_multiread = False

    def __init__(self, client: FakeKazoo) -> None:
        self.client = client
        self.lost = Event()
        self.session_id = client.fake.session_id
        self.server_version: tuple[int, int] | None = (3, 8)
        self._callbacks: list[Callable[[], None]] = []
        client.fake.on_expired(self._end)

    @property
    def count(self) -> int:
        """How many connections the session has had."""
        return self.client.fake.connections

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Call this when the session is lost."""
        self._callbacks.append(callback)

    def give_up(self) -> None:
        """Lose the session."""
        self.client.fake.drop()
        self._end()

    def close(self) -> None:
        """End the session."""
        self.lost.set()
        self.client.fake.close()

    def _end(self) -> None:
        self.lost.set()
        for callback in self._callbacks:
            callback()


class VirtualEvent(Event):
    """An event whose `wait` lets a virtual clock pass; `of`, another one, is set with it."""

    def __init__(self, clock: VirtualClock, of: Event | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._of = of

    def is_set(self) -> bool:
        """Whether it or the other event is set."""
        return super().is_set() or (self._of is not None and self._of.is_set())

    def set(self) -> None:
        """Set this event, and `of` if there is one."""
        super().set()
        if self._of is not None:
            self._of.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Advance the virtual clock until the event is set, or by `timeout` at most."""
        assert timeout is not None, "nobody else would ever let the clock pass"
        return self._clock.run_until(self.is_set, timeout * 1000)


class FakeSession(Session):
    """A session with the fake; `fake` is its client, for faults and counts."""

    def __init__(
        self,
        server: FakeZooKeeper,
        clock: VirtualClock,
        *,
        chroot: str = "",
        plan: Faults = faults.none,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.clock = clock
        self.fake = FakeClient(
            server,
            chroot=chroot,
            timeout_ms=TIMEOUT_MS,
            plan=plan,
            before_call=partial(clock.advance, LATENCY_MS),
            on_delay=self._late,
        )
        if login is not None:
            self.fake.log_in(*login)
        self._kazoo = FakeKazoo(clock, self.fake)
        connection: Any = FakeConnection(self._kazoo)
        super().__init__(connection, Address("fake:2181", chroot), DEADLINE_S)

    def die(self) -> None:
        """Vanish as a killed process does: nothing more is sent, the session times out."""
        self._connection.give_up()

    def wait(self, paths: Sequence[str], deadline_s: float, wake: Event | None = None) -> bool:
        """Wait as `Session` does, in virtual time."""
        return super().wait(paths, deadline_s, VirtualEvent(self.clock, wake))

    def _late(self, late_ms: int) -> None:
        self._kazoo.late_ms = late_ms
