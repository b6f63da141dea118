"""Transaction logs built by hand, byte by byte, and what is read from them."""

import struct
import zlib

import pytest

import txnlog
from authors import broker_by_session
from poolkeeper import errors
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind

HEADER = b"ZKLG" + struct.pack(">iq", 2, 0)
NOBODY = struct.pack(">ii", 1, 31) + struct.pack(">i5si6s", 5, b"world", 6, b"anyone")


def buffer(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def record(kind: int, body: bytes, zxid: int = 7, session: int = 0x10, time_ms: int = 99) -> bytes:
    payload = struct.pack(">qiqqi", session, 3, zxid, time_ms, kind) + body
    return struct.pack(">qi", zlib.adler32(payload), len(payload)) + payload + b"B"


def create(path: str, data: bytes | None, *, ephemeral: bool = False) -> bytes:
    return buffer(path.encode()) + buffer(data) + NOBODY + struct.pack(">?i", ephemeral, 1)


def multi(*members: tuple[int, bytes]) -> bytes:
    parts = [struct.pack(">i", kind) + buffer(body) for kind, body in members]
    return struct.pack(">i", len(members)) + b"".join(parts)


SET_A = buffer(b"/a") + buffer(b"new") + struct.pack(">i", 4)
CHECK_E = buffer(b"/epoch") + struct.pack(">i", 6)
ERROR = struct.pack(">i", -101)


@pytest.mark.parametrize(
    ("kind", "body", "operations"),
    [
        pytest.param(
            1,
            create("/a", b"x"),
            (Operation(TransactionKind.CREATE, "/a", b"x"),),
            id="create-with-data",
        ),
        pytest.param(
            15,
            create("/a", None, ephemeral=True),
            (Operation(TransactionKind.CREATE_2, "/a", None, ephemeral=True),),
            id="create2-ephemeral-without-data",
        ),
        pytest.param(
            19,
            buffer(b"/c") + buffer(b"") + NOBODY + struct.pack(">i", 1),
            (Operation(TransactionKind.CREATE_CONTAINER, "/c", b""),),
            id="create-container-which-has-no-ephemeral-flag",
        ),
        pytest.param(2, buffer(b"/a"), (Operation(TransactionKind.DELETE, "/a"),), id="delete"),
        pytest.param(
            5, SET_A, (Operation(TransactionKind.SET, "/a", b"new", version=4),), id="set"
        ),
        pytest.param(
            7,
            buffer(b"/a") + NOBODY + struct.pack(">i", 2),
            (Operation(TransactionKind.SET_ACL, "/a", version=2),),
            id="set-acl",
        ),
        pytest.param(
            14,
            multi((13, CHECK_E), (5, SET_A)),
            (
                Operation(TransactionKind.CHECK, "/epoch", version=5),
                Operation(TransactionKind.SET, "/a", b"new", version=4),
            ),
            id="multi-whose-check-tells-the-version-found",
        ),
        pytest.param(-1, ERROR, (Operation(TransactionKind.ERROR, error=-101),), id="error"),
        pytest.param(
            -10,
            struct.pack(">i", 4000),
            (Operation(TransactionKind.OPEN_SESSION),),
            id="session-opened",
        ),
        pytest.param(
            -11,
            struct.pack(">i", 2) + buffer(b"/a") + buffer(b"/b"),
            (Operation(TransactionKind.DELETE, "/a"), Operation(TransactionKind.DELETE, "/b")),
            id="session-closed-with-its-ephemeral-nodes",
        ),
        pytest.param(-11, b"", (), id="close-session-of-a-server-before-3.6"),
    ],
)
def test_each_kind_of_record(kind, body, operations):
    expected = Transaction(7, 0x10, 99, TransactionKind(kind), operations)
    assert tuple(txnlog.read_bytes(HEADER + record(kind, body))) == (expected,)


def test_what_follows_a_body_is_left_alone():
    digest = struct.pack(">iq", 2, 123456)
    plain, signed = record(2, buffer(b"/a")), record(2, buffer(b"/a") + digest)
    assert [*txnlog.read_bytes(HEADER + signed)] == [*txnlog.read_bytes(HEADER + plain)]


def test_a_failed_multi_changes_nothing():
    body = multi((13, CHECK_E), (5, SET_A), (-1, ERROR))
    (transaction,) = txnlog.read_bytes(HEADER + record(14, body))
    assert (transaction.failed, transaction.changes) == (True, ())


def test_a_check_is_no_change():
    (transaction,) = txnlog.read_bytes(HEADER + record(14, multi((13, CHECK_E), (5, SET_A))))
    assert [operation.path for operation in transaction.changes] == ["/a"]


def test_every_way_of_being_cut_off_keeps_the_whole_records():
    """The server appends while we read: any prefix gives the records that it holds whole."""
    first, second = record(1, create("/a", b"x"), zxid=1), record(5, SET_A, zxid=2)
    text = HEADER + first + second
    for length in range(len(HEADER), len(text) + 1):
        whole = 0 + (length >= len(HEADER + first)) + (length >= len(text))
        for tail in (b"", bytes(64)):  # the end of the file, or the zeros laid out ahead
            found = [t.zxid for t in txnlog.read_bytes(text[:length] + tail)]
            assert found == [1, 2][:whole]


def test_a_record_half_written_into_the_zeros_waits():
    text = bytearray(HEADER + record(5, SET_A))
    text[-3] ^= 0xFF
    assert [*txnlog.read_bytes(bytes(text))] == []


@pytest.mark.parametrize("text", [b"", bytes(1000)], ids=["empty", "only-laid-out"])
def test_a_file_not_written_to_yet_has_no_records(text):
    assert [*txnlog.read_bytes(text)] == []


def test_another_file_is_refused():
    with pytest.raises(errors.Refused, match="not a transaction log"):
        list(txnlog.read_bytes(b"ZKSN" + bytes(12)))


def test_a_folder_is_read_in_the_order_of_zxids_and_from_a_point_on(tmp_path):
    (tmp_path / "log.a").write_bytes(HEADER + record(2, buffer(b"/b"), zxid=10))
    (tmp_path / "log.1").write_bytes(
        HEADER + record(2, buffer(b"/a"), zxid=1) + record(2, buffer(b"/c"), zxid=2)
    )
    (tmp_path / "snapshot.0").write_bytes(b"ZKSN")
    assert [t.zxid for t in txnlog.read_folder(tmp_path)] == [1, 2, 10]
    assert [t.zxid for t in txnlog.read_folder(tmp_path, after_zxid=1)] == [2, 10]


def test_the_author_is_who_registered_the_broker():
    ids = "/kafka/brokers/ids"
    registration = multi((1, create(f"{ids}/2", None, ephemeral=True)), (5, SET_A))
    failed = multi((1, create(f"{ids}/3", None, ephemeral=True)), (-1, ERROR))
    text = HEADER + b"".join(
        [
            record(1, create(f"{ids}/1", b"{}", ephemeral=True), session=0x11),
            record(14, registration, session=0x12),
            record(14, failed, session=0x13),
            record(1, create("/kafka/brokers/topics/9", b""), session=0x14),
        ]
    )
    assert broker_by_session(txnlog.read_bytes(text)) == {0x11: 1, 0x12: 2}
