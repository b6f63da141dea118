"""A client of the fake server: chroot, faults, and reads from a follower that lags.

What a session has seen it never unsees: a stale read goes back at most to its own last answer, and
`sync` catches up, as ZooKeeper promises.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.security import Permissions

from poolkeeper.sandbox.fake_zookeeper import acl as fake_zookeeper_acl
from poolkeeper.sandbox.fake_zookeeper import faults
from poolkeeper.sandbox.fake_zookeeper.faults import Call, ClientKilled, Fault, FaultKind, Faults
from poolkeeper.sandbox.fake_zookeeper.server import FakeZooKeeper
from poolkeeper.sandbox.fake_zookeeper.tree import OPEN, Znode
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
Asked = TypeVar("Asked")


class FakeClient:
    """One session with the fake server; implements `session.Client`.

    `before_call` runs before each call, for instance to let a virtual clock pass a millisecond;
    `on_delay` gets the milliseconds by which an answer is late.
    """

    def __init__(
        self,
        server: FakeZooKeeper,
        *,
        chroot: str = "",
        timeout_ms: int = 6000,
        plan: Faults = faults.none,
        before_call: Callable[[], None] = lambda: None,
        on_delay: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.server = server
        self.chroot = chroot
        self.plan = plan
        self._before_call = before_call
        self._on_delay = on_delay
        self._on_expired: list[Callable[[], None]] = []
        self._closed = False
        self._seen = 0
        self._connections = 1
        self._calls = {True: 0, False: 0}
        self._session = server.open_session(timeout_ms, self._ended)

    @property
    def session_id(self) -> int:
        """The session's number."""
        return self._session

    @property
    def connections(self) -> int:
        """How many connections the session has had."""
        return self._connections

    @property
    def seen_zxid(self) -> int:
        """The last transaction that the server had applied with its last answer."""
        return self._seen

    @property
    def writes(self) -> int:
        """How many writes were asked for."""
        return self._calls[True]

    def log_in(self, user: str, password: str) -> None:
        """Take the identity of a digest login, beside those it has."""
        self.server.log_in(self._session, fake_zookeeper_acl.digest_identity(user, password))

    def on_expired(self, action: Callable[[], None]) -> None:
        """Call this when the session has ended without `close` or `drop`."""
        self._on_expired.append(action)

    def close(self) -> None:
        """End the session, unless it was dropped; may be called again."""
        if not self._closed:
            self._closed = True
            self.server.close_session(self._session)

    def drop(self) -> None:
        """Vanish without closing; the server ends the session after its timeout."""
        self._closed = True
        self.server.drop(self._session)

    # Reads

    def sync(self) -> None:
        """Catch up with the leader."""
        self._read("sync", _nothing, "/", None)

    def get(self, path: str, watch: Watch | None = None) -> Read | None:
        """Return data and stat, or None; a node that is absent is not watched."""
        return self._read("get", self._get, path, watch)

    def exists(self, path: str, watch: Watch | None = None) -> Any | None:
        """Return the stat, or None; the watch tells of creation as well."""
        return self._read("exists", self._exists, path, watch)

    def children(self, path: str, watch: Watch | None = None) -> tuple[str, ...] | None:
        """Return the children's names, sorted, or None for an absent node."""
        return self._read("children", self._children, path, watch)

    def get_acl(self, path: str) -> list[Any]:
        """Return kazoo's ACL list; raises NoNodeError."""
        return self._read("get_acl", self._acl, path, None)

    def read_many(self, paths: Sequence[str]) -> list[Read | None]:
        """Return each node."""
        return [self.get(path) for path in paths]

    def watch_many(self, paths: Sequence[str], watches: Sequence[Watch]) -> list[Read | None]:
        """Return each node and watch it; one that is absent is not."""
        return [self.get(path, watch) for path, watch in zip(paths, watches, strict=True)]

    # What a server that has seen all up to `zxid` answers

    def _get(self, path: str, watch: Watch | None, zxid: int) -> Read | None:
        node = self._node(path, zxid, Permissions.READ)
        if node is None:
            return None
        if watch is not None:
            self._watch(path, watch, zxid, children=False)
        return node.data, node.stat

    def _exists(self, path: str, watch: Watch | None, zxid: int) -> Any | None:
        node = self.server.tree.at(self._absolute(path), zxid)
        if watch is not None:
            self._watch(path, watch, zxid, children=False)
        return None if node is None else node.stat

    def _children(self, path: str, watch: Watch | None, zxid: int) -> tuple[str, ...] | None:
        if self._node(path, zxid, Permissions.READ) is None:
            return None
        if watch is not None:
            self._watch(path, watch, zxid, children=True)
        return tuple(sorted(self.server.tree.names_at(self._absolute(path), zxid)))

    def _acl(self, path: str, _: None, zxid: int) -> list[Any]:
        node = self._node(path, zxid, Permissions.READ | Permissions.ADMIN)
        if node is None:
            raise NoNodeError
        return fake_zookeeper_acl.visible_acl(node.acl, self.server.identities(self._session))

    def _node(self, path: str, zxid: int, permission: int) -> Znode | None:
        """Return a node; raises NoAuthError if this session has none of these permissions."""
        node = self.server.tree.at(self._absolute(path), zxid)
        if node is not None and node.acl is not OPEN:
            identities = self.server.identities(self._session)
            fake_zookeeper_acl.require(node, permission, identities)
        return node

    def _watch(self, path: str, watch: Watch, zxid: int, *, children: bool) -> None:
        absolute, told = self._absolute(path), self._unrooted(watch)
        if self.server.tree.changed_since(absolute, zxid, children=children):
            # The follower gets there in a moment, and tells then.
            how = Happening.CHILDREN if children else Happening.CHANGED
            self.server.clock.after(0, lambda: told(Event(how, absolute)))
        else:
            self.server.watch(absolute, self._session, told, children=children)

    def _unrooted(self, watch: Watch) -> Watch:
        return watch if not self.chroot else _Unrooted(self.chroot, watch)

    # Writes

    def commit(self, operations: Sequence[Operation]) -> tuple[Any, ...]:
        """Do all or nothing; return the path, stat or True of each. Raises the cause of failure."""
        answers = self.transact(operations)
        failures = [answer for answer in answers if isinstance(answer, Exception)]
        if failures:
            echoes = ("RolledBackError", "RuntimeInconsistency")
            raise next((f for f in failures if type(f).__name__ not in echoes), failures[0])
        return tuple(answers)

    def commit_many(
        self, transactions: Sequence[Sequence[Operation]]
    ) -> list[tuple[Any, ...] | Exception]:
        """Do the same for each of them; failures are answers."""
        answers: list[tuple[Any, ...] | Exception] = []
        for operations in transactions:
            try:
                answers.append(self.commit(operations))
            except (ConnectionLoss, SessionExpiredError, ConnectionClosedError):
                raise
            except KazooException as failure:
                answers.append(failure)
        return answers

    def transact(self, operations: Sequence[Operation]) -> list[Any]:
        """Do all or nothing; return an answer for each, failures as kazoo's exceptions."""
        absolute = [_rooted(operation, self.chroot) for operation in operations]

        def do() -> list[Any]:
            if fake_zookeeper_acl.request_bytes(absolute) > self.server.request_bytes_max:
                self._lose_connection()
                raise ConnectionLoss
            answers = self.server.commit(self._session, absolute)
            self._seen = self.server.zxid
            return [a.removeprefix(self.chroot) if isinstance(a, str) else a for a in answers]

        return self._write("commit", tuple(operation.path for operation in operations), do)

    def set_acl(self, path: str, acl: Sequence[Any]) -> None:
        """Replace a node's ACL."""
        self._write(
            "set_acl",
            (path,),
            lambda: self.server.set_acl(self._session, self._absolute(path), acl),
        )

    # Calls

    def _read(
        self, what: str, answer: Callable[[str, Asked, int], Answer], path: str, watch: Asked
    ) -> Answer:
        fault = self._call(False, what, (path,))
        if len(path) > self.server.request_bytes_max:
            self._lose_connection()
            raise ConnectionLoss
        if fault is None:
            self._seen = self.server.zxid
            return answer(path, watch, self._seen)
        if fault.kind is FaultKind.STALE:
            self._seen = max(self._seen, self.server.zxid - fault.lag)
        else:
            self._seen = self.server.zxid
        return self._inject(fault, lambda: answer(path, watch, self._seen))

    def _write(self, what: str, paths: tuple[str, ...], do: Callable[[], Answer]) -> Answer:
        return self._inject(self._call(True, what, paths), do)

    def _call(self, write: bool, what: str, paths: tuple[str, ...]) -> Fault | None:
        self._before_call()
        if self._closed:
            raise ConnectionClosedError
        if not self.server.is_alive(self._session):
            raise SessionExpiredError
        self._calls[write] += 1
        if self.plan is faults.none:
            return None
        return self.plan(Call(self._calls[write], write, what, paths))

    def _inject(self, fault: Fault | None, do: Callable[[], Answer]) -> Answer:
        if fault is None or fault.kind is FaultKind.STALE:
            return do()
        if fault.kind is FaultKind.DELAYED:
            answer = do()
            self._on_delay(fault.delay_ms)
            return answer
        if fault.done:
            do()
        if fault.kind is FaultKind.DIED:
            self.drop()
            self._notify_expired()
            raise ClientKilled
        if fault.kind is FaultKind.EXPIRED:
            self.server.expire(self._session)
            raise ConnectionLoss if fault.done else SessionExpiredError
        self._lose_connection()
        raise ConnectionLoss

    def _lose_connection(self) -> None:
        self._connections += 1
        self.server.lose_connection(self._session)

    def _ended(self) -> None:
        if not self._closed:
            self._notify_expired()

    def _notify_expired(self) -> None:
        for action in self._on_expired:
            action()

    def _absolute(self, path: str) -> str:
        return _with_root(self.chroot, path) if self.chroot else path


class _Unrooted:
    """A watch that is told paths without the chroot; equal for equal callbacks."""

    __slots__ = ("_chroot", "_watch")

    def __init__(self, chroot: str, watch: Watch) -> None:
        self._chroot = chroot
        self._watch = watch

    def __call__(self, event: Event) -> None:
        path = None if event.path is None else event.path.removeprefix(self._chroot) or "/"
        self._watch(Event(event.happening, path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unrooted) and other._watch == self._watch

    def __hash__(self) -> int:
        return hash(self._watch)


def _with_root(chroot: str, path: str) -> str:
    return chroot + path if path != "/" else chroot or "/"


def _rooted(operation: Operation, chroot: str) -> Operation:
    path = _with_root(chroot, operation.path)
    match operation:
        case CreateNode(_, data, ephemeral, sequence, acl):
            return CreateNode(path, data, ephemeral, sequence, acl)
        case WriteNode(_, data, version):
            return WriteNode(path, data, version)
        case DeleteNode(_, version):
            return DeleteNode(path, version)
        case CheckNode(_, version):
            return CheckNode(path, version)


def _nothing(_path: str, _watch: None, _zxid: int) -> None:
    return None
