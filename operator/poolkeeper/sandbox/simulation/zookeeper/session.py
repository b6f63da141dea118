"""The ZooKeeper session of a simulated broker: blocking calls and watches.

`Client` is implemented over the fake server (`fake_zookeeper`) and over kazoo (`kazoo_session`).
Both raise kazoo's own exceptions, so that callers cannot tell them apart.

A watch is one-shot and only records its event. It is called while ZooKeeper's answer to another
client's write is on its way, and must not send any request to ZooKeeper.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from poolkeeper.frozen import frozen

ANY_VERSION = -1
"""The version that Kafka writes with, and that Poolkeeper never uses."""


class Happening(StrEnum):
    """The type of a watch's event."""

    CREATED = "CREATED"
    DELETED = "DELETED"
    CHANGED = "CHANGED"
    CHILDREN = "CHILD"
    DISCONNECTED = "NONE"


@frozen
class Event:
    """One change of one node; without a path the connection was lost, and all watches with it."""

    happening: Happening
    path: str | None


Watch: TypeAlias = Callable[[Event], None]


@frozen
class CreateNode:
    """Create a node; `sequence` appends ten digits. `acl` is kazoo's list, None is an open one."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False
    acl: tuple[Any, ...] | None = None


@frozen
class WriteNode:
    """Replace a node's data."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@frozen
class DeleteNode:
    """Delete a node without children."""

    path: str
    version: int = ANY_VERSION


@frozen
class CheckNode:
    """The node exists and, unless any will do, has this data version."""

    path: str
    version: int = ANY_VERSION


Operation: TypeAlias = CreateNode | WriteNode | DeleteNode | CheckNode

Read: TypeAlias = tuple[bytes, Any]
"""Data and kazoo's `ZnodeStat`."""


class Client(Protocol):
    """One session. Raises kazoo's exceptions, `SessionExpiredError` once the session has ended."""

    @property
    def session_id(self) -> int:
        """The session's number."""
        ...

    def get(self, path: str, watch: Watch | None = None) -> Read | None:
        """Return data and stat, or None; a node that is absent is not watched."""
        ...

    def exists(self, path: str, watch: Watch | None = None) -> Any | None:
        """Return the stat, or None; the watch tells of creation as well."""
        ...

    def children(self, path: str, watch: Watch | None = None) -> tuple[str, ...] | None:
        """Return the children's names, sorted, or None for an absent node."""
        ...

    def read_many(self, paths: Sequence[str]) -> list[Read | None]:
        """Return each node, all asked for at once."""
        ...

    def watch_many(self, paths: Sequence[str], watches: Sequence[Watch]) -> list[Read | None]:
        """Return each node and watch it, all asked for at once; one that is absent is not."""
        ...

    def commit(self, operations: Sequence[Operation]) -> tuple[Any, ...]:
        """Do all or nothing; return the path, stat or True of each. Raises the cause of failure.

        One operation is sent as a plain request, several as a multi.
        """
        ...

    def commit_many(
        self, transactions: Sequence[Sequence[Operation]]
    ) -> list[tuple[Any, ...] | Exception]:
        """Do the same for each of them, sent without waiting in between; failures are answers."""
        ...

    def on_expired(self, action: Callable[[], None]) -> None:
        """Call this when the session has ended without `close` or `drop`."""
        ...

    def close(self) -> None:
        """End the session; may be called again."""
        ...

    def drop(self) -> None:
        """Vanish, as a killed process does: ZooKeeper ends the session after its timeout."""
        ...
