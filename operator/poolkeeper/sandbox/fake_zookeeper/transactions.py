"""ZooKeeper's transactions as values: what its log records of a change, real or fake.

A multi that failed is logged too: the members before the culprit as they were asked for, an ERROR
from there on, and nothing of it took effect. The end of a session lists its ephemeral nodes.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from poolkeeper.frozen import frozen


class TransactionKind(IntEnum):
    """What a transaction does; the numbers are ZooKeeper's."""

    CREATE = 1
    DELETE = 2
    SET = 5
    SET_ACL = 7
    CHECK = 13
    MULTI = 14
    CREATE_2 = 15
    RECONFIG = 16
    CREATE_CONTAINER = 19
    DELETE_CONTAINER = 20
    CREATE_TTL = 21
    ERROR = -1
    OPEN_SESSION = -10
    CLOSE_SESSION = -11

    @property
    def creates(self) -> bool:
        """Whether a node comes into being, of whichever sort."""
        return self in (
            TransactionKind.CREATE,
            TransactionKind.CREATE_2,
            TransactionKind.CREATE_CONTAINER,
            TransactionKind.CREATE_TTL,
        )


@frozen
class Operation:
    """One change of one node, alone or as a member of a multi.

    `path` is empty and `data` and `version` are None where the kind has none. `version` is the data
    version after a SET, and the one that a CHECK found. `error` is ZooKeeper's code, for ERROR.
    """

    kind: TransactionKind
    path: str = ""
    data: bytes | None = None
    version: int | None = None
    ephemeral: bool = False
    error: int = 0


@dataclass(frozen=True)
class Transaction:
    """One record: when, by which session, and what was asked for together.

    A MULTI has one operation a member; a CLOSE_SESSION one DELETE for each ephemeral node; every
    other kind one operation. Times are in milliseconds since 1970, of the server's clock.
    """

    zxid: int
    session: int
    time_ms: int
    kind: TransactionKind
    operations: tuple[Operation, ...]

    @cached_property
    def failed(self) -> bool:
        """Whether nothing of it took effect."""
        return any(operation.kind is TransactionKind.ERROR for operation in self.operations)

    @cached_property
    def changes(self) -> tuple[Operation, ...]:
        """The operations that changed a node: none if it failed, and never a CHECK."""
        if self.failed:
            return ()
        return tuple(o for o in self.operations if o.path and o.kind is not TransactionKind.CHECK)
