"""The fake ZooKeeper beside what the contract of sessions covers: stats, watches, log, limits."""

from typing import Any

import pytest
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.security import OPEN_ACL_UNSAFE, make_acl, make_digest_acl

from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.fake_zookeeper import FakeClient, FakeZooKeeper, Script
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation as Logged
from poolkeeper.sandbox.fake_zookeeper.transactions import TransactionKind
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    DeleteNode,
    Event,
    Happening,
    Operation,
    WriteNode,
)

CREATED, CHANGED = Happening.CREATED, Happening.CHANGED
DELETED, CHILDREN = Happening.DELETED, Happening.CHILDREN


@pytest.fixture
def server() -> FakeZooKeeper:
    return FakeZooKeeper(VirtualClock())


@pytest.fixture
def client(server: FakeZooKeeper) -> FakeClient:
    opened = FakeClient(server)
    opened.commit([CreateNode("/a", b"1")])
    return opened


def test_a_stat_counts_like_zookeeper(server: FakeZooKeeper, client: FakeClient) -> None:
    client.commit([CreateNode("/a/x"), CreateNode("/a/y")])
    client.commit([DeleteNode("/a/x")])
    client.commit([WriteNode("/a", b"22", 0)])
    stat = client.exists("/a")
    assert stat is not None
    assert (stat.version, stat.cversion, stat.numChildren, stat.dataLength) == (1, 3, 1, 2)
    assert (stat.czxid, stat.mzxid, stat.pzxid) == (2, 5, 4)
    assert server.zxid == 5


def test_sequences_count_creations_only(client: FakeClient) -> None:
    made = [client.commit([CreateNode("/a/s", sequence=True)])[0] for _ in range(2)]
    client.commit([DeleteNode(made[1])])
    made.append(client.commit([CreateNode("/a/s", sequence=True)])[0])
    assert made == ["/a/s0000000000", "/a/s0000000001", "/a/s0000000002"]


REFUSED: list[tuple[str, Operation, type[Exception]]] = [
    ("create-without-parent", CreateNode("/no/x"), NoNodeError),
    ("create-what-is-there", CreateNode("/a"), NodeExistsError),
    ("create-below-an-ephemeral", CreateNode("/e/x"), NoChildrenForEphemeralsError),
    ("set-another-version", WriteNode("/a", b"", 7), BadVersionError),
    ("set-nothing", WriteNode("/no", b""), NoNodeError),
    ("delete-a-parent", DeleteNode("/p"), NotEmptyError),
    ("delete-another-version", DeleteNode("/a", 7), BadVersionError),
    ("check-another-version", CheckNode("/a", 7), BadVersionError),
    ("check-nothing", CheckNode("/no"), NoNodeError),
]


@pytest.mark.parametrize(
    ("operation", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_refusal_names_the_culprit_and_leaves_everything(
    server: FakeZooKeeper, client: FakeClient, operation: Operation, error: type[Exception]
) -> None:
    client.commit([CreateNode("/e", ephemeral=True), CreateNode("/p"), CreateNode("/p/c")])
    before = client.exists("/a"), client.children("/"), client.children("/p")
    with pytest.raises(error):
        client.commit([operation])
    answers = client.transact(
        [WriteNode("/a", b"x"), CreateNode("/new"), operation, CheckNode("/a")]
    )
    assert [type(answer) for answer in answers] == [
        RolledBackError,
        RolledBackError,
        error,
        RuntimeInconsistency,
    ]
    assert (client.exists("/a"), client.children("/"), client.children("/p")) == before
    logged = server.log[-1]
    assert (logged.kind, logged.failed, logged.changes) == (TransactionKind.MULTI, True, ())
    assert [o.kind for o in logged.operations] == [
        TransactionKind.SET,
        TransactionKind.CREATE,
        TransactionKind.ERROR,
        TransactionKind.ERROR,
    ]


def test_a_transaction_sees_its_own_changes(client: FakeClient) -> None:
    client.commit(
        [CreateNode("/b"), WriteNode("/b", b"2", 0), CheckNode("/b", 1), DeleteNode("/b", 1)]
    )
    assert client.exists("/b") is None


def test_watches_tell_once_and_in_the_order_of_changes(client: FakeClient) -> None:
    told: list[tuple[str, Happening, str | None]] = []

    def watch(name: str) -> Any:
        return lambda event: told.append((name, event.happening, event.path))

    client.get("/a", watch("data"))
    client.exists("/b", watch("exists"))
    client.children("/a", watch("children"))
    client.children("/", watch("root"))
    assert client.get("/b", watch("absent")) is None
    client.commit([CreateNode("/b"), WriteNode("/a", b"2"), CreateNode("/a/x")])
    client.commit([WriteNode("/b", b""), DeleteNode("/a/x"), DeleteNode("/b")])
    assert told == [
        ("exists", CREATED, "/b"),
        ("root", CHILDREN, "/"),
        ("data", CHANGED, "/a"),
        ("children", CHILDREN, "/a"),
    ]


def test_deletion_is_told_once_to_a_watch_of_both_sorts(client: FakeClient) -> None:
    told: list[Event] = []
    note = told.append
    client.get("/a", note)
    client.get("/a", note)
    client.children("/a", note)
    client.commit([DeleteNode("/a")])
    assert told == [Event(DELETED, "/a")]


def test_nobody_is_told_of_a_failed_transaction_or_after_the_end(
    server: FakeZooKeeper, client: FakeClient
) -> None:
    told: list[Event] = []
    client.get("/a", told.append)
    assert client.transact([WriteNode("/a", b""), CheckNode("/no")])
    other = FakeClient(server)
    client.drop()
    other.commit([WriteNode("/a", b"")])
    assert told == []


def test_a_chroot_is_not_seen_by_its_client(server: FakeZooKeeper, client: FakeClient) -> None:
    rooted = FakeClient(server, chroot="/a")
    told: list[Event] = []
    assert rooted.get("/", told.append) == client.get("/a")
    rooted.children("/", told.append)
    assert (
        rooted.commit([CreateNode("/s", b"", sequence=True), WriteNode("/", b"")])[0]
        == "/s0000000000"
    )
    assert told == [Event(CHILDREN, "/"), Event(CHANGED, "/")]
    assert client.children("/a") == ("s0000000000",)
    assert rooted.get_acl("/") == OPEN_ACL_UNSAFE


def test_the_log_reads_like_a_real_one(server: FakeZooKeeper, client: FakeClient) -> None:
    client.commit([CreateNode("/e", b"x", ephemeral=True)])
    client.commit([CheckNode("/a", 0), WriteNode("/a", b"2", 0)])
    with pytest.raises(NoNodeError):
        client.commit([DeleteNode("/no")])
    client.close()
    assert [(t.kind, t.operations) for t in server.log[2:]] == [
        (TransactionKind.CREATE, (Logged(TransactionKind.CREATE, "/e", b"x", ephemeral=True),)),
        (
            TransactionKind.MULTI,
            (
                Logged(TransactionKind.CHECK, "/a", version=0),
                Logged(TransactionKind.SET, "/a", b"2", version=1),
            ),
        ),
        (TransactionKind.ERROR, (Logged(TransactionKind.ERROR, error=NoNodeError.code),)),
        (TransactionKind.CLOSE_SESSION, (Logged(TransactionKind.DELETE, "/e"),)),
    ]
    assert [t.zxid for t in server.log] == list(range(1, 7))
    assert {t.session for t in server.log} == {client.session_id}


def test_a_dropped_session_ends_after_its_timeout(
    server: FakeZooKeeper, client: FakeClient
) -> None:
    holder = FakeClient(server, timeout_ms=4000)
    holder.commit([CreateNode("/e", ephemeral=True)])
    told: list[Event] = []
    client.exists("/e", told.append)
    holder.drop()
    clock = server.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(3999)
    assert told == []
    clock.advance(1)
    assert told == [Event(DELETED, "/e")]
    with pytest.raises(ConnectionClosedError):
        holder.get("/a")


def test_an_expired_session_is_told_and_refused(server: FakeZooKeeper, client: FakeClient) -> None:
    ended: list[int] = []
    client.on_expired(lambda: ended.append(1))
    server.expire(client.session_id)
    server.expire(client.session_id)
    assert ended == [1]
    with pytest.raises(SessionExpiredError):
        client.commit([CreateNode("/x")])


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_the_size_of_a_request_is_that_on_the_wire(
    server: FakeZooKeeper, client: FakeClient, more: int, fits: bool
) -> None:
    client.commit([CreateNode("/admin")])
    data = b"x" * (1_048_502 + more)
    told: list[Event] = []
    client.get("/a", told.append)
    if fits:
        client.commit([CreateNode("/admin/reassign_partitions", data)])
        assert told == []
    else:
        with pytest.raises(ConnectionLoss):
            client.commit([CreateNode("/admin/reassign_partitions", data)])
        assert told == [Event(Happening.DISCONNECTED, None)]
        assert client.children("/admin") == ()


def test_acls_decide_and_hashes_are_hidden(server: FakeZooKeeper, client: FakeClient) -> None:
    client.log_in("alice", "pw")
    private = make_digest_acl("alice", "pw", all=True)
    public = make_acl("world", "anyone", read=True)
    client.commit(
        [CreateNode("/mine", b"", acl=(private, public)), CreateNode("/mine/x", acl=(private,))]
    )
    other = FakeClient(server)
    assert other.get("/mine") is not None
    assert other.exists("/mine/x") is not None
    for attempt in (
        lambda: other.get("/mine/x"),
        lambda: other.children("/mine/x"),
        lambda: other.get_acl("/mine/x"),
        lambda: other.commit([CreateNode("/mine/y")]),
        lambda: other.commit([DeleteNode("/mine/x")]),
        lambda: other.commit([WriteNode("/mine", b"")]),
        lambda: other.commit([CheckNode("/mine/x")]),
        lambda: other.set_acl("/mine", [public]),
    ):
        with pytest.raises(NoAuthError):
            attempt()
    assert [entry.id.id for entry in other.get_acl("/mine")] == ["alice:x", "anyone"]
    assert client.get_acl("/mine") == [private, public]


def test_a_script_of_faults_repeats_itself(server: FakeZooKeeper) -> None:
    def suffered(seed: int) -> list[str]:
        client = FakeClient(FakeZooKeeper(VirtualClock()), plan=Script(seed, rate=0.2).plan())
        found = []
        for i in range(100):
            try:
                client.commit([CreateNode(f"/{i}")])
            except (ConnectionLoss, SessionExpiredError) as failure:
                found.append(f"{i} {type(failure).__name__}")
        return found

    assert suffered(1) == suffered(1)
    assert suffered(1) != suffered(2)
    assert suffered(1)
