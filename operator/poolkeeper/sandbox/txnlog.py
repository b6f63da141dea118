"""ZooKeeper's transaction log, read as what it is: every change, complete and in order.

Better than polling, which misses a node that lives for two milliseconds. The server appends to
`version-2/log.<first zxid, hex>`, files of a 16-byte header and then records, big-endian:

    checksum int64 (Adler-32) · length int32 · bytes · 0x42
    bytes = session int64 · cxid int32 · zxid int64 · time_ms int64 · type int32 · body

A file is laid out with zeros ahead of its end, so length 0 is the end; a record whose checksum does
not fit (yet) is one that is being written: reading stops there, and a later reading gets it. What
follows the body in a record (a digest) is left alone.

A multi that failed is logged too: the members before the culprit as they were asked for, an ERROR
from there on, and nothing of it took effect. The end of a session lists its ephemeral nodes.

Who wrote: the session that created `/brokers/ids/N` is broker N's (`authors`). Sessions of brokers
that are gone again stay known, because the log holds their registration as well.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from poolkeeper import errors

MAGIC = b"ZKLG"
HEADER_LENGTH = 16
END_OF_RECORD = 0x42


class Kind(IntEnum):
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
        return self in (Kind.CREATE, Kind.CREATE_2, Kind.CREATE_CONTAINER, Kind.CREATE_TTL)


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of one node, alone or as a member of a multi.

    `path` is empty and `data` and `version` are None where the kind has none. `version` is the data
    version after a SET, and the one that a CHECK found. `error` is ZooKeeper's code, for ERROR.
    """

    kind: Kind
    path: str = ""
    data: bytes | None = None
    version: int | None = None
    ephemeral: bool = False
    error: int = 0


@dataclass(frozen=True, slots=True)
class Transaction:
    """One record: when, by which session, and what was asked for together.

    A MULTI has one operation a member; a CLOSE_SESSION one DELETE for each ephemeral node; every
    other kind one operation. Times are in milliseconds since 1970, of the server's clock.
    """

    zxid: int
    session: int
    time_ms: int
    kind: Kind
    operations: tuple[Operation, ...]

    @property
    def failed(self) -> bool:
        """Whether nothing of it took effect."""
        return any(operation.kind is Kind.ERROR for operation in self.operations)

    @property
    def changes(self) -> tuple[Operation, ...]:
        """The operations that changed a node: none if it failed, and never a CHECK."""
        if self.failed:
            return ()
        return tuple(o for o in self.operations if o.path and o.kind is not Kind.CHECK)


def read_folder(folder: Path, after_zxid: int = 0) -> tuple[Transaction, ...]:
    """Return all transactions after `after_zxid` in a log folder, in order.

    The server may be writing. Raises Refused if a file is not a transaction log.
    """
    files = sorted(folder.glob("log.*"), key=lambda file: int(file.suffix[1:], 16))
    found = (transaction for file in files for transaction in read_bytes(file.read_bytes()))
    return tuple(transaction for transaction in found if transaction.zxid > after_zxid)


def read_bytes(text: bytes) -> Iterator[Transaction]:
    """Yield the transactions of one log file up to its end or its first unfinished record."""
    if not any(text[:HEADER_LENGTH]):
        return  # made, and not written to yet
    if text[:4] != MAGIC:
        raise errors.Refused(f"not a transaction log: it begins with {text[:4]!r}")
    at = HEADER_LENGTH
    while at + 12 <= len(text):
        checksum, length = struct.unpack_from(">qi", text, at)
        at += 12
        record = text[at : at + length]
        at += length + 1
        if length <= 0 or at > len(text):
            return
        if text[at - 1] != END_OF_RECORD or zlib.adler32(record) != checksum:
            return
        yield _transaction(_Reader(record))


def authors(
    transactions: Iterable[Transaction], ids_path: str = "/kafka/brokers/ids"
) -> Mapping[int, int]:
    """Return broker id by session, for every session that ever registered a broker."""
    return {
        transaction.session: int(operation.path.rpartition("/")[2])
        for transaction in transactions
        for operation in transaction.changes
        if operation.kind.creates and operation.path.rpartition("/")[0] == ids_path
    }


class _Reader:
    """Takes values from the front of a record, as ZooKeeper's serialisation (jute) lays them."""

    def __init__(self, record: bytes) -> None:
        self._record = record
        self._at = 0

    def take(self, layout: str) -> int:
        """Take one number, by its letter of `struct`."""
        value: int = struct.unpack_from(f">{layout}", self._record, self._at)[0]
        self._at += struct.calcsize(f">{layout}")
        return value

    def buffer(self) -> bytes | None:
        """Take bytes with their length before them; -1 stands for none."""
        length = self.take("i")
        if length < 0:
            return None
        self._at += length
        return self._record[self._at - length : self._at]

    def text(self) -> str:
        """Take a string."""
        return (self.buffer() or b"").decode()

    def skip_acl(self) -> None:
        """Take a list of (permissions, scheme, id) and forget it."""
        for _ in range(self.take("i")):
            self.take("i")
            self.buffer()
            self.buffer()


def _transaction(reader: _Reader) -> Transaction:
    session, _cxid, zxid, time_ms = (reader.take(letter) for letter in "qiqq")
    kind = Kind(reader.take("i"))
    if kind is Kind.MULTI:
        operations = tuple(_member(reader) for _ in range(reader.take("i")))
    elif kind is Kind.CLOSE_SESSION:
        paths = [reader.text() for _ in range(reader.take("i"))]
        operations = tuple(Operation(Kind.DELETE, path) for path in paths)
    else:
        operations = (_operation(kind, reader),)
    return Transaction(zxid, session, time_ms, kind, operations)


def _member(reader: _Reader) -> Operation:
    kind = Kind(reader.take("i"))
    return _operation(kind, _Reader(reader.buffer() or b""))


def _operation(kind: Kind, reader: _Reader) -> Operation:
    if kind.creates:
        path, data = reader.text(), reader.buffer()
        reader.skip_acl()
        # Containers and nodes with a time to live are never ephemeral and have no such flag.
        ephemeral = kind in (Kind.CREATE, Kind.CREATE_2) and bool(reader.take("?"))
        return Operation(kind, path, data, ephemeral=ephemeral)
    match kind:
        case Kind.SET:
            return Operation(kind, reader.text(), reader.buffer(), version=reader.take("i"))
        case Kind.DELETE | Kind.DELETE_CONTAINER:
            return Operation(kind, reader.text())
        case Kind.CHECK:
            # The log holds the version that a write would have made.
            return Operation(kind, reader.text(), version=reader.take("i") - 1)
        case Kind.SET_ACL:
            path = reader.text()
            reader.skip_acl()
            return Operation(kind, path, version=reader.take("i"))
        case Kind.ERROR:
            return Operation(kind, error=reader.take("i"))
        case _:
            return Operation(kind)
