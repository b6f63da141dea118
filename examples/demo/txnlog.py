"""ZooKeeper's transaction log, read as what it is: every change, complete and in order.

Better than polling, which misses a node that lives for two milliseconds. The server appends to
`version-2/log.<first zxid, hex>`, files of a 16-byte header and then records, big-endian:

    checksum int64 (Adler-32) · length int32 · bytes · 0x42
    bytes = session int64 · cxid int32 · zxid int64 · time_ms int64 · type int32 · body

A file is laid out with zeros ahead of its end, so length 0 is the end; a record whose checksum does
not fit (yet) is one that is being written: reading stops there, and a later reading gets it. What
follows the body in a record (a digest) is left alone.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from poolkeeper import errors
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind

MAGIC = b"ZKLG"
HEADER_LENGTH = 16
ZXID_AT = 12
END_OF_RECORD = 0x42


def read_folder(folder: Path, after_zxid: int = 0) -> tuple[Transaction, ...]:
    """Return all transactions after `after_zxid` in a log folder, in order.

    The server may be writing. Raises Refused if a file is not a transaction log.
    """
    files = sorted(folder.glob("log.*"), key=lambda file: int(file.suffix[1:], 16))
    # A file ends before the first transaction of the next one.
    ends = [*(int(file.suffix[1:], 16) for file in files[1:]), after_zxid + 2]
    recent = [file for file, end in zip(files, ends, strict=False) if end > after_zxid + 1]
    return tuple(
        transaction for file in recent for transaction in read_bytes(file.read_bytes(), after_zxid)
    )


def read_bytes(text: bytes, after_zxid: int = 0) -> Iterator[Transaction]:
    """Yield the transactions of one log file up to its end or its first unfinished record.

    Those up to `after_zxid` are passed over.
    """
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
        if struct.unpack_from(">q", record, ZXID_AT)[0] > after_zxid:
            yield _transaction(_Reader(record))


class _Reader:
    """Takes values from the front of a record, as ZooKeeper's serialisation (jute) lays them."""

    def __init__(self, record: bytes) -> None:
        self._record = record
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether everything has been taken."""
        return self._at == len(self._record)

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
    kind = TransactionKind(reader.take("i"))
    if kind is TransactionKind.MULTI:
        operations = tuple(_member(reader) for _ in range(reader.take("i")))
    elif kind is TransactionKind.CLOSE_SESSION:
        # Servers before 3.6 do not say which nodes went with it.
        paths = [reader.text() for _ in range(0 if reader.at_end else reader.take("i"))]
        operations = tuple(Operation(TransactionKind.DELETE, path) for path in paths)
    else:
        operations = (_operation(kind, reader),)
    return Transaction(zxid, session, time_ms, kind, operations)


def _member(reader: _Reader) -> Operation:
    kind = TransactionKind(reader.take("i"))
    return _operation(kind, _Reader(reader.buffer() or b""))


def _operation(kind: TransactionKind, reader: _Reader) -> Operation:
    if kind.creates:
        path, data = reader.text(), reader.buffer()
        reader.skip_acl()
        # Containers and nodes with a time to live are never ephemeral and have no such flag.
        ephemeral = kind in (TransactionKind.CREATE, TransactionKind.CREATE_2) and bool(
            reader.take("?")
        )
        return Operation(kind, path, data, ephemeral=ephemeral)
    match kind:
        case TransactionKind.SET:
            return Operation(kind, reader.text(), reader.buffer(), version=reader.take("i"))
        case TransactionKind.DELETE | TransactionKind.DELETE_CONTAINER:
            return Operation(kind, reader.text())
        case TransactionKind.CHECK:
            # The log holds the version that a write would have made.
            return Operation(kind, reader.text(), version=reader.take("i") - 1)
        case TransactionKind.SET_ACL:
            path = reader.text()
            reader.skip_acl()
            return Operation(kind, path, version=reader.take("i"))
        case TransactionKind.ERROR:
            return Operation(kind, error=reader.take("i"))
        case _:
            return Operation(kind)
