"""What a session promises, asked of a real ZooKeeper.

The first part is a contract: it uses nothing but a `World`, so that whatever imitates ZooKeeper can
be run through the same tests by adding a parameter to the fixture. The second part is about real
servers: old ones, lost connections, ACLs, TLS.
"""

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl

from poolkeeper.errors import Refused, Stale, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.model.specs import Tls
from poolkeeper.sandbox import Sandbox, SandboxSpec, artifacts, settings
from poolkeeper.sandbox.processes import Child, Nursery
from poolkeeper.zk.nodes import UNREADABLE
from poolkeeper.zk.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.session import Session

DEADLINE_S = 20.0


def patient_client(connect: str) -> KazooClient:
    """Return a client for a server that may be starting and then leaves a connection unanswered."""
    return KazooClient(connect, timeout=2, connection_retry={"max_tries": -1, "max_delay": 0.5})


class World:
    """A ZooKeeper with an empty Kafka cluster, and somebody else who writes to it."""

    def __init__(self, connect: str) -> None:
        self.connect = connect
        self.other = patient_client(connect)
        self.other.start(timeout=DEADLINE_S)
        for path in ("/brokers/ids", "/brokers/topics", "/admin", "/config/topics"):
            self.other.ensure_path(path)

    def open(self, **options: object) -> Session:
        """Open a session."""
        return Session.open(self.connect, deadline_s=DEADLINE_S, **options)  # type: ignore[arg-type]

    def put(self, path: str, data: bytes = b"") -> None:
        """Create or set a node."""
        if self.other.exists(path):
            self.other.set(path, data)
        else:
            self.other.create(path, data)

    def delete(self, path: str) -> None:
        """Delete a node."""
        self.other.delete(path)

    def expire(self, session: Session) -> None:
        """Make ZooKeeper end the session."""
        twin = KazooClient(self.connect, client_id=session._client.client_id)
        twin.start(timeout=DEADLINE_S)
        twin.stop()
        twin.close()

    def close(self) -> None:
        """End the other writer."""
        self.other.stop()
        self.other.close()


@pytest.fixture(params=["real"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    found = World(request.getfixturevalue("chroot"))
    yield found
    found.close()


@pytest.fixture
def session(world: World) -> Iterator[Session]:
    with world.open() as opened:
        yield opened


# The contract


def test_a_node_is_read_with_the_parts_of_its_stat(world: World, session: Session) -> None:
    assert session.commit((Create("/a", b"1"), Create("/a/b", b""))) == ("/a", "/a/b")
    first = session.read("/a")
    assert first is not None
    assert (first.data, first.version, first.ephemeral_owner, first.children) == (b"1", 0, 0, 1)
    assert first.czxid == first.mzxid
    session.commit((SetData("/a", b"2", 0),))
    second = session.read("/a")
    assert second is not None
    assert (second.data, second.version, second.czxid) == (b"2", 1, first.czxid)
    assert second.mzxid > first.mzxid


def test_what_is_absent_reads_as_none(session: Session) -> None:
    assert session.read("/absent") is None
    assert session.children("/absent") is None
    assert session.read_many(["/absent", "/admin"])[0] is None
    assert not session.exists("/absent")
    assert session.exists("/admin")


def test_children_are_sorted_names(session: Session) -> None:
    session.commit([Create(f"/admin/{name}", b"") for name in "bca"])
    assert session.children("/admin") == ("a", "b", "c")
    assert session.children("/admin/a") == ()


def test_many_nodes_are_read_in_the_order_asked(session: Session) -> None:
    paths = [f"/admin/n{i}" for i in range(1700)]
    for i in range(0, 1700, 100):
        session.commit([Create(path, path.encode()) for path in paths[i : i + 100]])
    asked = [path for path in reversed(paths) for path in (path, f"{path}-not")]
    found = session.read_many(asked)
    assert found[1::2] == [None] * 1700
    assert [node and node.data for node in found[::2]] == [p.encode() for p in reversed(paths)]
    assert found[0] == session.read(asked[0])
    assert session.read_many([]) == []


def test_an_ephemeral_node_belongs_to_the_session_and_ends_with_it(world: World) -> None:
    with world.open() as holder:
        holder.commit((Create("/holder", b"", ephemeral=True),))
        node = holder.read("/holder")
        assert node is not None
        assert node.ephemeral_owner == holder.session_id
    with world.open() as other:
        assert other.read("/holder") is None
        assert other.session_id != holder.session_id


def test_a_sequence_gives_the_path_it_made(session: Session) -> None:
    made = session.commit([Create("/admin/s_", b"", sequence=True)] * 2 + [Check("/admin", 0)])
    assert made == ("/admin/s_0000000000", "/admin/s_0000000001", "")


LOST: list[tuple[str, tuple[Operation, ...], str, str]] = [
    (
        "a-changed-node-set",
        (Check("/admin", 0), SetData("/t", b"x", 1)),
        "setting /t: it changed meanwhile",
        "/t",
    ),
    ("a-changed-node-checked", (Check("/t", 3),), "checking /t: it changed meanwhile", "/t"),
    ("a-changed-node-deleted", (Delete("/t", 3),), "deleting /t: it changed meanwhile", "/t"),
    (
        "a-node-that-is-gone",
        (SetData("/gone", b"", 0), Check("/admin", 0)),
        "setting /gone: it does not exist any more, or its parent does not",
        "/gone",
    ),
    (
        "a-check-of-a-node-that-is-gone",
        (Check("/admin", 0), Check("/gone", 0), Check("/t", 9)),
        "checking /gone: it does not exist any more, or its parent does not",
        "/gone",
    ),
    ("a-node-that-is-there", (Create("/t", b""),), "creating /t: it exists already", "/t"),
    (
        "a-node-with-children",
        (Delete("/brokers", 0),),
        "deleting /brokers: it has children",
        "/brokers",
    ),
    ("no-parent", (Create("/no/x", b""),), "/no does not exist (to create a node)", "/no"),
]


@pytest.mark.parametrize(
    ("operations", "message", "path"), [c[1:] for c in LOST], ids=[c[0] for c in LOST]
)
def test_a_write_that_lost_names_the_operation_and_writes_nothing(
    world: World, session: Session, operations: tuple[Operation, ...], message: str, path: str
) -> None:
    world.put("/t", b"before")
    with pytest.raises(Stale) as raised:
        session.commit((Create("/first", b""), *operations, Create("/last", b"")))
    assert (str(raised.value), raised.value.path) == (message, path)
    assert session.read_many(["/first", "/last"]) == [None, None]
    node = session.read("/t")
    assert node is not None
    assert node.data == b"before"


def test_a_write_without_a_version_is_a_mistake_of_ours(session: Session) -> None:
    with pytest.raises(AssertionError, match="any version"):
        session.commit((SetData("/admin", b"", -1),))


def test_too_much_for_a_transaction_is_refused(session: Session) -> None:
    with pytest.raises(Refused, match="too large"):
        session.commit((Create("/big", bytes(256 * 1024)),))
    assert session.read("/big") is None


def test_waiting_ends_with_a_change_of_data_of_children_or_with_creation(
    world: World, session: Session
) -> None:
    paths = ("/admin", "/later")
    for change in (
        lambda: world.put("/admin", b"new"),
        lambda: world.put("/admin/child"),
        lambda: world.put("/later"),
        lambda: world.put("/later/child"),
        lambda: world.delete("/later/child"),
        lambda: world.delete("/later"),
        lambda: world.put("/later"),
    ):
        assert not session.wait(paths, 0.05)
        soon = threading.Timer(0.1, change)
        soon.start()
        began = time.monotonic()
        assert session.wait(paths, DEADLINE_S)
        assert time.monotonic() - began < DEADLINE_S / 2
        soon.join()
        while session.wait(paths, 0.2):
            continue  # the change of a child is one of the parent, and may be told apart


def test_a_change_between_two_waits_ends_the_second(world: World, session: Session) -> None:
    assert not session.wait(("/admin",), 0)
    world.put("/admin", b"1")
    session.sync()
    assert session.wait(("/admin",), DEADLINE_S)
    world.put("/admin", b"2")
    assert session.wait(("/admin",), DEADLINE_S)


def test_waiting_ends_when_the_owner_wants(session: Session) -> None:
    wake = threading.Event()
    threading.Timer(0.1, wake.set).start()
    began = time.monotonic()
    assert not session.wait(("/admin",), DEADLINE_S, wake)
    assert time.monotonic() - began < DEADLINE_S / 2


def test_a_change_sets_the_owners_event(world: World, session: Session) -> None:
    wake = threading.Event()
    assert not session.wait(("/admin",), 0, wake)
    threading.Timer(0.1, world.put, ("/admin", b"1")).start()
    assert session.wait(("/admin",), DEADLINE_S, wake)
    assert wake.is_set()


def test_an_expired_session_stays_so(world: World, session: Session) -> None:
    session.commit((Create("/holder", b"", ephemeral=True),))
    assert session.alive
    waited: list[str] = []

    def wait() -> None:
        try:
            session.wait(("/admin",), DEADLINE_S)
        except Unavailable as unavailable:
            waited.append(str(unavailable))

    waiter = threading.Thread(target=wait)
    waiter.start()
    world.expire(session)
    waiter.join(DEADLINE_S)
    assert waited
    assert "session expired" in waited[0]
    assert not session.alive
    calls: tuple[Callable[[], object], ...] = (
        lambda: session.read("/admin"),
        lambda: session.read_many(["/admin"]),
        lambda: session.children("/admin"),
        lambda: session.exists("/admin"),
        lambda: session.commit((Create("/x", b""),)),
        lambda: session.wait(("/admin",), 0),
        session.sync,
    )
    for call in calls:
        with pytest.raises(Unavailable, match="session expired; a new one must be opened"):
            call()
    session.close()
    with world.open() as another:
        assert another.read_many(["/holder", "/x"]) == [None, None]


def test_closing_twice_is_fine_and_nothing_works_afterwards(world: World) -> None:
    opened = world.open()
    opened.close()
    opened.close()
    assert not opened.alive
    with pytest.raises(Unavailable):
        opened.read("/admin")


def test_several_threads_share_a_session(session: Session) -> None:
    failed: list[Exception] = []

    def work(number: int) -> None:
        try:
            for i in range(20):
                path = f"/admin/{number}-{i}"
                session.commit((Create(path, path.encode()),))
                node = session.read(path)
                assert node is not None
                assert node.data == path.encode()
                assert session.read_many([path, "/absent"]) == [node, None]
        except Exception as error:  # noqa: BLE001 - told by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(session.children("/admin") or ()) == 120


# Addresses


def test_a_wrong_chroot_is_told_and_not_created(zookeeper: Sandbox, world: World) -> None:
    server, _, chroot = world.connect.partition("/")
    for wrong, problem in (("/absent-chroot", "it does not exist"), ("/zookeeper", "it has no /")):
        with pytest.raises(Unavailable) as raised:
            Session.open(server + wrong, deadline_s=DEADLINE_S)
        message = str(raised.value)
        assert message.startswith(f"{wrong} at {server} is no Kafka cluster: {problem}")
        assert f"/{chroot}" in message.partition("did you mean the chroot ")[2]
        assert "\n" not in message
    root = KazooClient(server)
    root.start()
    assert root.exists("/absent-chroot") is None
    root.stop()
    root.close()


def test_a_cluster_at_the_root_is_suggested_and_found() -> None:
    with Sandbox.start(SandboxSpec()) as sandbox:
        client = KazooClient(sandbox.zookeeper)
        client.start()
        client.ensure_path("/brokers/ids")
        client.ensure_path("/brokers/topics")
        client.stop()
        client.close()
        with pytest.raises(Unavailable, match=r"did you mean the chroot /\?"):
            Session.open(f"{sandbox.zookeeper}/kafka", deadline_s=DEADLINE_S)
        with Session.open(sandbox.zookeeper, deadline_s=DEADLINE_S) as session:
            session.commit((Create("/poolkeeper", b""),))
            assert session.children("/") == ("brokers", "poolkeeper", "zookeeper")


@pytest.mark.parametrize(
    "connect", ["127.0.0.1:1/kafka", "127.0.0.1:1,localhost:1/kafka", "no-such-host.invalid:1/k"]
)
def test_an_absent_server_is_told_in_time(connect: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        Session.open(connect, deadline_s=1)
    assert time.monotonic() - began < 10
    message = str(raised.value)
    assert message.startswith(f"no ZooKeeper answers at {connect.partition('/')[0]} within 1 s")
    assert "\n" not in message


def test_a_server_that_says_nothing_is_told_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable, match="no ZooKeeper answers"):
            Session.open(f"127.0.0.1:{port}/kafka", deadline_s=1, timeout_s=2)


@pytest.mark.parametrize(
    "connect",
    ["", "/kafka", "a b:1", "h:1/kafka,h2:1/kafka", "h:x", "h:1//kafka", "h:1/ka fka", "h:1,/k"],
)
def test_what_is_no_address_is_refused(connect: str) -> None:
    with pytest.raises(Refused, match="is no ZooKeeper address"):
        Session.open(connect)


# Lost connections


@pytest.fixture
def own_zookeeper() -> Iterator[Sandbox]:
    with Sandbox.start(SandboxSpec()) as sandbox:
        yield sandbox


@pytest.fixture
def own_world(own_zookeeper: Sandbox) -> Iterator[World]:
    found = World(own_zookeeper.zookeeper)
    yield found
    found.close()


def test_a_lost_connection_is_no_lost_session(own_zookeeper: Sandbox, own_world: World) -> None:
    with own_world.open(timeout_s=30) as session:
        session.commit((Create("/holder", b"", ephemeral=True),))
        before = session.read("/holder")
        own_zookeeper.kill_zookeeper()
        own_zookeeper.start_zookeeper()
        assert session.read("/holder") == before
        assert session.read_many(["/holder", "/absent"]) == [before, None]
        assert session.alive
        session.commit((Delete("/holder", 0),))


def test_waiting_outlives_a_lost_connection(own_zookeeper: Sandbox, own_world: World) -> None:
    with own_world.open(timeout_s=30) as session:
        assert not session.wait(("/admin",), 0)
        own_zookeeper.kill_zookeeper()
        own_zookeeper.start_zookeeper()
        own_world.put("/admin", b"while nobody watched")
        assert session.wait(("/admin",), DEADLINE_S)
        while session.wait(("/admin",), 0.3):
            continue
        own_world.put("/admin", b"watched again")
        assert session.wait(("/admin",), DEADLINE_S)


def test_a_write_without_an_answer_ends_the_session(
    own_zookeeper: Sandbox, own_world: World
) -> None:
    with Session.open(own_world.connect, timeout_s=30, deadline_s=2) as session:
        session.commit((Create("/admin/first", b""),))
        own_zookeeper.kill_zookeeper()
        told = []
        for _ in range(3):  # the first may be told of the lost connection at once, the next cannot
            try:
                session.commit((Create("/admin/late", b""),))
            except Unavailable as unavailable:
                told.append(str(unavailable))
        assert told[0].startswith("outcome unknown: ")
        assert told[-1] == "the ZooKeeper session expired; a new one must be opened"
        assert not session.alive
        own_zookeeper.start_zookeeper()
        with own_world.open() as another:
            assert another.read("/admin/late") is None


def test_a_read_without_an_answer_is_told_in_time(own_zookeeper: Sandbox, own_world: World) -> None:
    with Session.open(own_world.connect, timeout_s=30, deadline_s=1) as session:
        own_zookeeper.kill_zookeeper()
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"reading /admin"):
            session.read("/admin")
        with pytest.raises(Unavailable, match=r"reading 1 nodes such as /admin"):
            session.read_many(["/admin"])
        assert time.monotonic() - began < 10


# ACLs

SECRET = "s3cret"
ALICE = ZooKeeperCredentials("alice", SECRET)


@pytest.fixture
def secured(world: World) -> Iterator[World]:
    """Give a world in which everything is Alice's, as with zookeeper.set.acl."""
    private = make_digest_acl("alice", SECRET, all=True)
    public = make_acl("world", "anyone", read=True)
    world.other.add_auth("digest", f"alice:{SECRET}")
    world.put("/config/brokers")
    world.put("/config/brokers/1", b"rates")
    world.other.set_acls("/config/brokers/1", [private])
    world.other.set_acls("/config/brokers", [private])
    for path in ("/brokers/topics", "/brokers/ids", "/admin", "/config/topics"):
        world.other.set_acls(path, [private, public])
    yield world
    for child in world.other.get_children("/"):  # only Alice may
        world.other.delete(f"/{child}", recursive=True)


def test_without_the_brokers_identity_writes_and_private_reads_are_told(secured: World) -> None:
    with secured.open() as session:
        assert session.read("/brokers/topics") is not None
        with pytest.raises(Unavailable) as raised:
            session.read("/config/brokers/1")
        assert str(raised.value) == (
            "reading /config/brokers/1 is not allowed for this ZooKeeper identity"
        )
        paths = ["/admin", "/config/brokers/1", "/absent"]
        with pytest.raises(Unavailable, match="reading /config/brokers/1 is not allowed"):
            session.read_many(paths)
        assert session.read_many(paths, unreadable=UNREADABLE)[1:] == [UNREADABLE, None]
        with pytest.raises(Unavailable, match=r"/admin.* this ZooKeeper identity"):
            session.commit((Create("/admin/reassign_partitions", b""),))
        with pytest.raises(Unavailable, match="setting /admin is not allowed for this ZooKeeper"):
            session.commit((SetData("/admin", b"", 0),))


def test_a_wrong_password_is_told_at_the_first_write(secured: World) -> None:
    with secured.open(credentials=ZooKeeperCredentials("alice", "guess")) as session:
        with pytest.raises(Unavailable, match="this ZooKeeper identity"):
            session.commit((Create("/admin/reassign_partitions", b""),))
        assert session.read("/admin/reassign_partitions") is None


def test_new_nodes_get_the_acl_of_their_parent_and_our_root_that_of_the_topics(
    secured: World,
) -> None:
    with secured.open(credentials=ALICE) as session:
        session.commit((Create("/poolkeeper", b""), Create("/poolkeeper/run", b"")))
        session.commit((Create("/poolkeeper/run/stop", b""), Create("/config/brokers/2", b"")))
        session.commit((Create("/config/topics/t", b""), Create("/brokers/topics/t", b"")))

    def acl(path: str) -> set[object]:
        return set(secured.other.get_acls(path)[0])

    public, private = acl("/brokers/topics"), acl("/config/brokers")
    assert len(public) == 2
    assert len(private) == 1
    ours = ["/poolkeeper", "/poolkeeper/run", "/poolkeeper/run/stop"]
    assert [acl(path) for path in [*ours, "/config/topics/t", "/brokers/topics/t"]] == [public] * 5
    assert acl("/config/brokers/2") == private


def test_sasl_without_its_library_is_told_before_anything_is_asked() -> None:
    credentials = ZooKeeperCredentials("alice", SECRET, Scheme.SASL)
    assert SECRET not in repr(credentials)
    with pytest.raises(Unavailable, match=r"SASL needs the package pure-sasl|no ZooKeeper"):
        Session.open("127.0.0.1:1/kafka", credentials=credentials, deadline_s=1)


# Other servers


@dataclass(frozen=True)
class Server:
    """A ZooKeeper server of a test's own."""

    connect: str
    secure: str


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start the server of a Kafka version's class path, with lines added to its zoo.cfg."""
    (tmp_path / "processes").touch()
    nursery = Nursery(tmp_path / "processes", tied=True)
    started: list[Child] = []

    def start(kafka: str, *lines: str) -> Server:
        tools = artifacts.find_tools()
        jars = artifacts.class_path(kafka, artifacts.cache_folder(), tools)
        port, secure = free_port(), free_port()
        config = tmp_path / "zoo.cfg"
        text = settings.zookeeper_config(tmp_path / "data", port)
        config.write_text(
            text + "".join(f"{line}\n" for line in lines).replace("PORT", str(secure))
        )
        java, *rest = settings.zookeeper_command(tools.java, jars, 64, config)
        command = (java, "-Dzookeeper.jmx.log4j.disable=true", *rest)  # 3.4 lacks a class for it
        started.append(nursery.start("zookeeper", command, tmp_path / "log"))
        client = patient_client(f"127.0.0.1:{port}")
        client.start(timeout=DEADLINE_S)
        client.ensure_path("/kafka/brokers/ids")
        client.ensure_path("/kafka/brokers/topics")
        client.stop()
        client.close()
        return Server(f"127.0.0.1:{port}/kafka", f"127.0.0.1:{secure}/kafka")

    yield start
    for child in started:
        child.signal(signal.SIGKILL)
        child.wait(DEADLINE_S)
    nursery.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.parametrize(
    ("kafka", "version"),
    [
        pytest.param("2.8.2", (3, 5), id="3.5.9"),
        pytest.param("2.0.1", (3, 4), id="3.4.10"),
    ],
)
def test_servers_without_bulk_reads_are_read_node_by_node(
    start_server: Callable[..., Server], kafka: str, version: tuple[int, int]
) -> None:
    with Session.open(start_server(kafka).connect, deadline_s=DEADLINE_S) as session:
        assert session.server_version() == version
        session.commit((Create("/a", b"1"), Create("/b", b"2")))
        nodes = session.read_many(["/b", "/absent", "/a"] * 400)
        assert nodes == [session.read("/b"), None, session.read("/a")] * 400
        assert session.alive


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a key store of a server at 127.0.0.1, and its certificate for clients to trust."""
    folder = tmp_path_factory.mktemp("tls")
    store, pem = folder / "server.p12", folder / "server.pem"
    keytool = [str(Path(artifacts.find_tools().java).resolve().with_name("keytool")), "-noprompt"]
    common = ["-keystore", str(store), "-storepass", SECRET, "-alias", "server"]
    new = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=test", "-ext", "san=ip:127.0.0.1"]
    subprocess.run([*keytool, *new, *common], check=True, capture_output=True)
    export = ["-exportcert", "-rfc", "-file", str(pem)]
    subprocess.run([*keytool, *export, *common], check=True, capture_output=True)
    return store, pem


# Kazoo leaves the sockets of failed handshakes to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_tls_encrypts_everything_and_knows_the_server(
    start_server: Callable[..., Server], certificate: tuple[Path, Path]
) -> None:
    store, pem = certificate
    server = start_server(
        "3.9.2",
        "secureClientPort=PORT",
        "secureClientPortAddress=127.0.0.1",
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"ssl.keyStore.location={store}",
        f"ssl.keyStore.password={SECRET}",
        "ssl.clientAuth=none",
    )
    with Session.open(server.secure, tls=Tls(ca=str(pem)), deadline_s=DEADLINE_S) as session:
        session.commit([Create(f"/n{i}", bytes(1000)) for i in range(200)])
        nodes = session.read_many([f"/n{i}" for i in range(250)])
        assert [node and len(node.data) for node in nodes] == [1000] * 200 + [None] * 50
        assert session.server_version() == (3, 8)
    with pytest.raises(Unavailable, match="no ZooKeeper answers"):
        Session.open(server.secure, tls=Tls(), deadline_s=2)
    by_name = server.secure.replace("127.0.0.1", "localhost")
    with pytest.raises(Unavailable, match="no ZooKeeper answers"):
        Session.open(by_name, tls=Tls(ca=str(pem)), deadline_s=2)
    with pytest.raises(Unavailable, match="no ZooKeeper answers"):
        Session.open(server.secure, deadline_s=2, timeout_s=4)
