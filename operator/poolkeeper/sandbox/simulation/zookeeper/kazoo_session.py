"""Sessions of simulated brokers with a real ZooKeeper, over kazoo.

All calls are made on the thread of a `RealClock` and block it until the answer is there; watches
and the end of the session come back to that thread as actions. A call whose connection was lost is
made again on the next one: a simulated broker may then write twice what a real one writes once.
"""

import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)

from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.servers.readiness import SILENCE
from poolkeeper.sandbox.simulation.zookeeper.multi_read import MultiReadRequest
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    DeleteNode,
    Event,
    Happening,
    Operation,
    Read,
    Watch,
    WriteNode,
)

Answer = TypeVar("Answer")
ANSWER_S = 30.0
IN_FLIGHT = 1000
TOGETHER = 1000
"""Nodes of one multiRead: some 200 kB, the states of a thousand partitions."""
SINGLY_MAX = 16
"""Up to so many nodes are asked for one by one, which servers before 3.6 answer as well."""
ATTEMPTS = 5


class KazooSession:
    """One session with a real ZooKeeper; implements `session.Client`."""

    def __init__(self, connect: str, clock: Clock, timeout_s: float = 6.0) -> None:
        self._clock = clock
        self._on_expired: list[Callable[[], None]] = []
        self._ended = False
        self._client = KazooClient(
            connect,
            timeout=timeout_s,
            logger=SILENCE,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 1.0},
        )
        self._client.start(timeout=ANSWER_S)
        self._session = int(self._client.client_id[0])
        self._client.add_listener(self._on_state)

    @property
    def session_id(self) -> int:
        """The session's number."""
        return self._session

    def get(self, path: str, watch: Watch | None = None) -> Read | None:
        """Return data and stat, or None; a node that is absent is not watched."""
        try:
            data, stat = self._ask(lambda: self._client.get_async(path, self._posted(watch)))
        except NoNodeError:
            return None
        return data, stat

    def exists(self, path: str, watch: Watch | None = None) -> Any | None:
        """Return the stat, or None; the watch tells of creation as well."""
        return self._ask(lambda: self._client.exists_async(path, self._posted(watch)))

    def children(self, path: str, watch: Watch | None = None) -> tuple[str, ...] | None:
        """Return the children's names, sorted, or None for an absent node."""
        try:
            names = self._ask(lambda: self._client.get_children_async(path, self._posted(watch)))
        except NoNodeError:
            return None
        return tuple(sorted(names))

    def read_many(self, paths: Sequence[str]) -> list[Read | None]:
        """Return each node, all asked for at once."""
        found: list[Read | None] = []
        if len(paths) > SINGLY_MAX:
            for start in range(0, len(paths), TOGETHER):
                found += self._read_together(paths[start : start + TOGETHER])
            return found
        return self._found(self._ask_many(paths, self._client.get_async))

    @staticmethod
    def _found(answers: Sequence[Any]) -> list[Read | None]:
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, NoNodeError):
                raise answer
        return [None if isinstance(answer, NoNodeError) else answer for answer in answers]

    def watch_many(self, paths: Sequence[str], watches: Sequence[Watch]) -> list[Read | None]:
        """Return each node and watch it, all asked for at once; one that is absent is not."""

        def ask(asked: tuple[str, Watch]) -> Any:
            return self._client.get_async(asked[0], self._posted(asked[1]))

        return self._found(self._ask_many(list(zip(paths, watches, strict=True)), ask))

    def commit(self, operations: Sequence[Operation]) -> tuple[Any, ...]:
        """Do all or nothing; return the path, stat or True of each. Raises the cause of failure."""
        answer = self._ask(lambda: self._send(operations))
        return _answers(operations, answer)

    def transact(self, operations: Sequence[Operation]) -> list[Any]:
        """Do all or nothing; return an answer for each, failures as kazoo's exceptions."""
        try:
            answer = self._ask(lambda: self._send(operations))
        except (ConnectionLoss, SessionExpiredError, ConnectionClosedError):
            raise
        except KazooException as failure:
            return [failure]
        one = len(operations) == 1 and not isinstance(operations[0], CheckNode)
        return [answer] if one else list(answer)

    def commit_many(
        self, transactions: Sequence[Sequence[Operation]]
    ) -> list[tuple[Any, ...] | Exception]:
        """Do the same for each of them, sent without waiting in between; failures are answers."""
        found: list[tuple[Any, ...] | Exception] = []
        answers = self._ask_many(transactions, self._send)
        for operations, answer in zip(transactions, answers, strict=True):
            try:
                if isinstance(answer, Exception):
                    raise answer
                found.append(_answers(operations, answer))
            except (ConnectionLoss, SessionExpiredError, ConnectionClosedError):
                raise
            except KazooException as failure:
                found.append(failure)
        return found

    def on_expired(self, action: Callable[[], None]) -> None:
        """Call this when the session has ended without `close` or `drop`."""
        self._on_expired.append(action)

    def close(self) -> None:
        """End the session; may be called again."""
        self._end()

    def drop(self) -> None:
        """Vanish: the connection is cut, and ZooKeeper is not told why."""
        if self._ended:
            return
        self._client._stopped.set()  # or kazoo would connect again
        with suppress(OSError, AttributeError):
            self._client._connection._socket.shutdown(socket.SHUT_RDWR)
        self._client._connection.connection_stopped.wait(ANSWER_S)
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._client._stopped.clear()
            self._client.stop()
            self._client.close()

    def _on_state(self, state: str) -> None:
        if state == "LOST" and not self._client._stopped.is_set():
            self._client._stopped.set()  # a new session would be somebody else
            self._clock.after(0, self._tell_expired)

    def _tell_expired(self) -> None:
        if not self._ended:
            self._end()
            for action in self._on_expired:
                action()

    def _posted(self, watch: Watch | None) -> "_Posted | None":
        return None if watch is None else _Posted(self._clock, watch)

    def _send(self, operations: Sequence[Operation]) -> Any:
        if len(operations) == 1:
            return self._send_one(operations[0])
        transaction = self._client.transaction()
        for operation in operations:
            match operation:
                case CreateNode(path, data, ephemeral, sequence, acl):
                    transaction.create(path, data, _listed(acl), ephemeral, sequence)
                case WriteNode(path, data, version):
                    transaction.set_data(path, data, version)
                case DeleteNode(path, version):
                    transaction.delete(path, version)
                case CheckNode(path, version):
                    transaction.check(path, version)
        return transaction.commit_async()

    def _send_one(self, operation: Operation) -> Any:
        match operation:
            case CreateNode(path, data, ephemeral, sequence, acl):
                return self._client.create_async(path, data, _listed(acl), ephemeral, sequence)
            case WriteNode(path, data, version):
                return self._client.set_async(path, data, version)
            case DeleteNode(path, version):
                return self._client.delete_async(path, version)
            case CheckNode(path, version):
                transaction = self._client.transaction()
                transaction.check(path, version)
                return transaction.commit_async()

    def _read_together(self, paths: Sequence[str]) -> list[Read | None]:
        request = MultiReadRequest([f"{self._client.chroot}{path}" for path in paths])

        def ask() -> Any:
            result = self._client.handler.async_result()
            self._client._call(request, result)
            return result

        found: list[Read | None] = self._ask(ask)
        return found

    def _ask(self, ask: Callable[[], Any]) -> Any:
        for _ in range(ATTEMPTS - 1):
            with suppress(ConnectionLoss):
                return self._once(ask)
            self._client._live.wait(ANSWER_S)
        return self._once(ask)

    def _once(self, ask: Callable[[], Any]) -> Any:
        if self._ended:
            raise ConnectionClosedError
        return ask().get(True, ANSWER_S)

    def _ask_many(self, items: Sequence[Answer], ask: Callable[[Answer], Any]) -> list[Any]:
        """Ask for each, some of them in flight; return values and kazoo's exceptions."""
        waiting: deque[Any] = deque()
        found: list[Any] = []
        for item in items:
            if len(waiting) == IN_FLIGHT:
                found.append(_value(waiting.popleft()))
            waiting.append(ask(item))
        found.extend(_value(result) for result in waiting)
        return found


class _Posted:
    """A watch that is told on the clock's thread; equal for equal watches, as kazoo needs it."""

    __slots__ = ("_clock", "_watch")

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._watch = watch

    def __call__(self, event: Any) -> None:
        told = Event(Happening(event.type), event.path)
        self._clock.after(0, lambda: self._watch(told))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Posted) and other._watch == self._watch

    def __hash__(self) -> int:
        return hash(self._watch)


def _listed(acl: tuple[Any, ...] | None) -> list[Any] | None:
    return None if acl is None else list(acl)


def _value(result: Any) -> Any:
    try:
        return result.get(True, ANSWER_S)
    except KazooException as failure:
        return failure


def _answers(operations: Sequence[Operation], answer: Any) -> tuple[Any, ...]:
    if len(operations) == 1 and not isinstance(operations[0], CheckNode):
        return (answer,)
    failures = [one for one in answer if isinstance(one, Exception)]
    if failures:
        echoes = (RolledBackError, RuntimeInconsistency)
        raise next((one for one in failures if not isinstance(one, echoes)), failures[0])
    return tuple(answer)
