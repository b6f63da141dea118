"""The same server over a real ZooKeeper: nodes lie there, and every transaction is done there.

Sessions, watches and faults are those of `server`, in the time of its clock, so that what happens
is the same sequence of writes. The real server decides about each of them: whether it is done,
which version and which number a node gets, who owns it. Nobody else writes there. So a node that
was read is known until a transaction changes it, and watches can be told here, in their order.

Each session has one of its own with the real server, which ends when it does: its ephemeral nodes
go with it. A session that the real server ends by itself ends the whole: it lasts a minute without
a sign of life.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.fake_zookeeper.server import FakeZooKeeper
from poolkeeper.sandbox.fake_zookeeper.tree import OPEN, ReadNode, Tree, Znode, parent_of
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import KazooSession
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    Operation,
    Read,
    WriteNode,
)

SESSION_S = 60.0


class StoredTree(Tree):
    """The nodes of a real server, each read once and again after it was written."""

    def __init__(self, now_ms: int, reader: KazooSession) -> None:
        super().__init__(now_ms)
        self._reader = reader
        self._known: dict[str, Znode | None] = {}
        self._listed: dict[str, frozenset[str]] = {}

    def find(self, path: str) -> Znode | None:
        """Return the node."""
        if path not in self._known:
            self._known[path] = _znode(self._reader.get(path))
        return self._known[path]

    def read_many(self, paths: Sequence[str]) -> list[ReadNode | None]:
        """Return each node, as it is now."""
        new = [path for path in paths if path not in self._known]
        for path, read in zip(new, self._reader.read_many(new) if new else (), strict=True):
            self._known[path] = _znode(read)
        return [None if (node := self._known[path]) is None else node.read for path in paths]

    def names(self, path: str) -> frozenset[str]:
        """Return the names of a node's children."""
        if path not in self._listed:
            self._listed[path] = frozenset(self._reader.children(path) or ())
        return self._listed[path]

    def at(self, path: str, zxid: int) -> Znode | None:
        """Return the node: no reader lags behind."""
        return self.find(path)

    def names_at(self, path: str, zxid: int) -> frozenset[str]:
        """Return the names of the children: no reader lags behind."""
        return self.names(path)

    def changed_since(self, path: str, zxid: int, *, children: bool) -> bool:
        """Say that nothing did."""
        return False

    def forget(self, path: str, zxid: int) -> None:
        """Read a node, its children and its parent again: a transaction changed it."""
        above = parent_of(path)
        for each in (path, above):
            self._known.pop(each, None)
            self._listed.pop(each, None)
        self.note_change(path, zxid)


def _znode(read: Read | None) -> Znode | None:
    if read is None:
        return None
    data, stat = read
    return Znode(
        data,
        OPEN,
        stat.czxid,
        stat.mzxid,
        stat.pzxid,
        stat.ctime,
        stat.mtime,
        stat.version,
        (stat.cversion + stat.numChildren) // 2,
        stat.aversion,
        stat.ephemeralOwner,
        stat.numChildren,
    )


class StoredZooKeeper(FakeZooKeeper):
    """The server over the ZooKeeper at `connect`, which has a chroot of its own for it."""

    def __init__(self, clock: Clock, connect: str) -> None:
        super().__init__(clock)
        self._connect = connect
        self._reader = KazooSession(connect, clock, SESSION_S)
        self._stored = StoredTree(clock.now_ms(), self._reader)
        self.tree = self._stored
        self._clients: dict[int, KazooSession] = {}
        self._owned: dict[int, dict[str, None]] = {}

    def open_session(self, timeout_ms: int, on_end: Callable[[], None]) -> int:
        """Open a session, here and with the real server."""
        client = KazooSession(self._connect, self.clock, SESSION_S)
        self._next_session = client.session_id
        session = super().open_session(timeout_ms, on_end)
        self._clients[session], self._owned[session] = client, {}
        return session

    def owned_by(self, session: int) -> tuple[str, ...]:
        """Return the paths of a session's ephemeral nodes, in the order of their creation."""
        return tuple(self._owned.get(session, ()))

    def _end_nodes(self, session: int, paths: Sequence[str]) -> None:
        """End the session with the real server, which deletes its ephemeral nodes."""
        self._clients.pop(session).close()
        self._owned.pop(session)
        for path in paths:
            self._stored.forget(path, self.zxid)

    def _apply(self, session: int, operations: Sequence[Operation]) -> list[Any]:
        """Let the real server do all operations or none."""
        answers = self._clients[session].transact(operations)
        if any(isinstance(answer, Exception) for answer in answers):
            return answers
        for operation, answer in zip(operations, answers, strict=True):
            if isinstance(operation, CheckNode):
                continue
            path = answer if isinstance(operation, CreateNode) else operation.path
            self._stored.forget(path, self.zxid)
            if isinstance(operation, CreateNode) and operation.ephemeral:
                self._owned[session][path] = None
            elif not isinstance(operation, WriteNode):
                for owned in self._owned.values():
                    owned.pop(path, None)
        return answers

    def load(self, operations: Iterable[Operation]) -> None:
        """Do operations before anybody looks: each by itself, many on their way at a time."""
        self.zxid += 1
        for answer in self._reader.commit_many([[operation] for operation in operations]):
            if isinstance(answer, Exception):
                raise answer

    def set_acl(self, session: int, path: str, acl: Sequence[Any]) -> None:
        """Raise NotImplementedError: no rehearsal changes an ACL."""
        raise NotImplementedError

    def close(self) -> None:
        """End all sessions with the real server."""
        for client in (*self._clients.values(), self._reader):
            client.close()
