"""ZooKeeper's tree: nodes, versions, and every change undoable.

A node's `creates` counts the children ever created; the number that a sequence node gets is the
count before it. What a stat shows as `cversion` is derived from it, as ZooKeeper does.

Changes are made in the order of their zxid. The last few thousand can be looked behind: `at` gives
a node as it was at an earlier zxid, which is what a follower that lags answers.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

from kazoo.exceptions import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from poolkeeper.sandbox.simulation.zookeeper.session import (
    ANY_VERSION,
    CheckNode,
    CreateNode,
    DeleteNode,
    Operation,
    WriteNode,
)

HISTORY_MAX = 20_000
OPEN: tuple[Any, ...] = tuple(OPEN_ACL_UNSAFE)


class ReadNode(NamedTuple):
    """What a bulk read tells of a node."""

    data: bytes
    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int
    children: int


@dataclass(frozen=True)
class Znode:
    """One znode; times in milliseconds since 1970. `owner` is its session, if it is ephemeral."""

    data: bytes
    acl: tuple[Any, ...]
    czxid: int
    mzxid: int
    pzxid: int
    ctime_ms: int
    mtime_ms: int
    version: int = 0
    creates: int = 0
    acl_version: int = 0
    owner: int = 0
    children: int = 0

    @cached_property
    def read(self) -> ReadNode:
        """The node as it is read in bulk; the same object until it is written."""
        return ReadNode(self.data, self.version, self.czxid, self.mzxid, self.owner, self.children)

    @cached_property
    def stat(self) -> Any:
        """The node's stat as kazoo has it."""
        return ZnodeStat(
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            self.version,
            self.creates * 2 - self.children,
            self.acl_version,
            self.owner,
            len(self.data),
            self.children,
            self.pzxid,
        )


class Undo(NamedTuple):
    """What a path held before a change; None for nothing."""

    zxid: int
    path: str
    before: Znode | None


class Moment(NamedTuple):
    """Who changes the tree, and when."""

    zxid: int
    time_ms: int
    session: int


class Tree:
    """All nodes by path. Raises kazoo's exceptions; a change that raises has changed nothing."""

    def __init__(self, now_ms: int) -> None:
        root = Znode(b"", OPEN, 0, 0, 0, now_ms, now_ms)
        self._nodes: dict[str, Znode] = {"/": root}
        self._names: dict[str, set[str]] = {"/": set()}
        self._history: deque[Undo] = deque(maxlen=HISTORY_MAX)
        self._touched: dict[str, int] = {}  # the last change of a node or of its children
        self._changed: dict[str, int] = {}  # the last change in a branch

    def find(self, path: str) -> Znode | None:
        """Return the node."""
        return self._nodes.get(path)

    def read_many(self, paths: Sequence[str]) -> list[ReadNode | None]:
        """Return each node, as it is now."""
        find = self._nodes.get
        return [None if (node := find(path)) is None else node.read for path in paths]

    def get(self, path: str) -> Znode:
        """Return the node; raises NoNodeError."""
        node = self._nodes.get(path)
        if node is None:
            raise NoNodeError
        return node

    def names(self, path: str) -> frozenset[str]:
        """Return the names of a node's children."""
        self.get(path)
        return frozenset(self._names.get(path, ()))

    def changed(self, path: str) -> int:
        """Return the last transaction that changed a node in the branch of that path.

        A branch is all below the third name: all nodes of a topic.
        """
        return self._changed.get(branch_of(path), 0)

    def owned_by(self, session: int) -> tuple[str, ...]:
        """Return the paths of a session's ephemeral nodes, in the order of their creation."""
        owned = [(node.czxid, path) for path, node in self._nodes.items() if node.owner == session]
        return tuple(path for _, path in sorted(owned))

    def at(self, path: str, zxid: int) -> Znode | None:
        """Return the node as it was after that transaction, as far back as history goes."""
        if self._touched.get(path, 0) > zxid:
            for undo in self._since(zxid):
                if undo.path == path:
                    return undo.before
        return self._nodes.get(path)

    def names_at(self, path: str, zxid: int) -> frozenset[str]:
        """Return the names of the children as they were after that transaction."""
        if self._touched.get(path, 0) <= zxid:
            return frozenset(self._names.get(path, ()))
        touched = {undo.path for undo in self._since(zxid) if parent_of(undo.path) == path}
        names = {touching.rpartition("/")[2] for touching in touched}
        names |= self._names.get(path, set())
        stem = "" if path == "/" else path
        return frozenset(name for name in names if self.at(f"{stem}/{name}", zxid) is not None)

    def changed_since(self, path: str, zxid: int, *, children: bool) -> bool:
        """Say whether a node, or the set of its children, changed after that transaction."""
        if children:
            return self.names_at(path, zxid) != self._names.get(path, set())
        before, now = self.at(path, zxid), self._nodes.get(path)
        return (before and (before.czxid, before.mzxid)) != (now and (now.czxid, now.mzxid))

    def _since(self, zxid: int) -> Iterator[Undo]:
        """Yield the changes after that transaction, oldest first."""
        newest = list(takewhile(lambda undo: undo.zxid > zxid, reversed(self._history)))
        return reversed(newest)

    def apply(self, operation: Operation, moment: Moment) -> Any:
        """Do one operation; return the path that a create made, the stat of a set, else True."""
        match operation:
            case CreateNode():
                return self._create(operation, moment)
            case WriteNode(path, data, version):
                node = self._expected(path, version)
                changed = Znode(  # `replace` takes several times as long
                    data,
                    node.acl,
                    node.czxid,
                    moment.zxid,
                    node.pzxid,
                    node.ctime_ms,
                    moment.time_ms,
                    node.version + 1,
                    node.creates,
                    node.acl_version,
                    node.owner,
                    node.children,
                )
                self._put(path, changed, moment.zxid)
                return changed.stat
            case DeleteNode(path, version):
                self._expected(path, version)
                self._delete(path, moment)
                return True
            case CheckNode(path, version):
                self._expected(path, version)
                return True

    def set_acl(self, path: str, acl: tuple[Any, ...], moment: Moment) -> Znode:
        """Replace a node's ACL."""
        node = self.get(path)
        changed = replace(node, acl=acl, acl_version=node.acl_version + 1)
        self._put(path, changed, moment.zxid)
        return changed

    def undo(self, zxid: int) -> None:
        """Take back all that was done under that zxid, the last one."""
        while self._history and self._history[-1].zxid == zxid:
            _, path, before = self._history.pop()
            self._place(path, before)

    def _expected(self, path: str, version: int) -> Znode:
        node = self.get(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError
        return node

    def _create(self, operation: CreateNode, moment: Moment) -> str:
        above = parent_of(operation.path)
        parent = self.get(above)
        path = operation.path + (f"{parent.creates:010d}" if operation.sequence else "")
        if path in self._nodes:
            raise NodeExistsError
        if parent.owner:
            raise NoChildrenForEphemeralsError
        node = Znode(
            operation.data,
            OPEN if operation.acl in (None, OPEN) else operation.acl,
            *(moment.zxid,) * 3,
            *(moment.time_ms,) * 2,
            owner=moment.session if operation.ephemeral else 0,
        )
        self._put(path, node, moment.zxid)
        grown = replace(
            parent, creates=parent.creates + 1, children=parent.children + 1, pzxid=moment.zxid
        )
        self._put(above, grown, moment.zxid)
        return path

    def _delete(self, path: str, moment: Moment) -> None:
        if self._names.get(path) or path == "/":
            raise NotEmptyError
        self._put(path, None, moment.zxid)
        above = parent_of(path)
        parent = self.get(above)
        shrunk = replace(parent, children=parent.children - 1, pzxid=moment.zxid)
        self._put(above, shrunk, moment.zxid)

    def _put(self, path: str, node: Znode | None, zxid: int) -> None:
        self._history.append(Undo(zxid, path, self._nodes.get(path)))
        self._touched[path] = zxid
        self.note_change(path, zxid)
        self._place(path, node)

    def note_change(self, path: str, zxid: int) -> None:
        """Note that a transaction changed the branch of that path."""
        self._changed[branch_of(path)] = zxid

    def _place(self, path: str, node: Znode | None) -> None:
        above, name = parent_of(path), path.rpartition("/")[2]
        if node is None:
            del self._nodes[path]
            self._names.pop(path, None)
            self._names[above].discard(name)
        else:
            self._nodes[path] = node
            if path != "/":
                self._names.setdefault(above, set()).add(name)


def branch_of(path: str) -> str:
    """Return the path up to its third name, such as `/brokers/topics/orders`."""
    return "/".join(path.split("/", 4)[:4])


def parent_of(path: str) -> str:
    """Return the path of the node above."""
    return path.rpartition("/")[0] or "/"
