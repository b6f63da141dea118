"""Sessions at servers of other releases and settings: without bulk reads, with SASL, with TLS."""

import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.exceptions import NoAuthError
from kazoo.security import make_acl

import certificates
import pem_texts
from contracts.sessions import DEADLINE_S, SECRET
from poolkeeper.errors import Forbidden, TooLarge, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.model.specs import Tls
from poolkeeper.sandbox.servers import artifacts, settings
from poolkeeper.sandbox.servers.processes import Child, ProcessGroup
from poolkeeper.zk.client.operations import Create
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal.journal import hold

# Other servers
from real.test_zk_session import patient_client


@dataclass(frozen=True)
class Server:
    """A ZooKeeper server of a test's own."""

    connect: str
    secure: str


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start the server of a Kafka version's class path, with lines added to its zoo.cfg."""
    (tmp_path / "processes").touch()
    nursery = ProcessGroup(tmp_path / "processes", tied=True)
    started: list[Child] = []

    def start(kafka: str, *lines: str, java_options: tuple[str, ...] = ()) -> Server:
        tools = artifacts.find_tools()
        jars = artifacts.class_path(kafka, artifacts.cache_folder(), tools)
        port, secure = free_port(), free_port()
        config = tmp_path / "zoo.cfg"
        text = settings.zookeeper_config(tmp_path / "data", port)
        config.write_text(
            text + "".join(f"{line}\n" for line in lines).replace("PORT", str(secure))
        )
        java, *rest = settings.zookeeper_command(tools.java, jars, 64, config, archive=False)
        # 3.4 lacks a class for log4j.
        command = (java, *java_options, "-Dzookeeper.jmx.log4j.disable=true", *rest)
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


def test_a_server_with_a_small_buffer_is_read_and_keeps_its_connection(
    start_server: Callable[..., Server],
) -> None:
    server = start_server("3.9.2", java_options=("-Djute.maxbuffer=16384",))
    names = [f"/brokers/topics/{number:0240}" for number in range(1000)]
    with Session.open(server.connect, deadline_s=DEADLINE_S) as session:
        for start in range(0, 1000, 40):
            session.commit([Create(name, b"") for name in names[start : start + 40]])
        assert all(node is not None for node in session.read_many(names))
        connection, _ = session.moment
        assert all(node is not None for node in session.read_many(names))
        assert session.moment[0] == connection, "what is too long was learned"


def test_what_is_too_large_for_a_server_is_told_and_costs_no_other_write(
    start_server: Callable[..., Server],
) -> None:
    """And no other connection: what was learned is known from then on."""
    server = start_server("3.9.2", java_options=("-Djute.maxbuffer=16384",))
    with (
        Session.open(server.connect, deadline_s=DEADLINE_S) as session,
        hold(session, "apply", 0, patience_s=DEADLINE_S) as journal,
    ):
        writes = [[Create(f"/{n}", bytes(20_000 if n == 5 else 100))] for n in range(10)]
        *before, large, after = [
            *journal.commit_each(writes[:6]),
            *journal.commit_each(writes[6:]),
        ][:7]
        assert (before, after) == ([None] * 5, None)
        assert isinstance(large, TooLarge)
        assert large.bytes > 20_000
        assert [session.exists(f"/{n}") for n in range(10)] == [n != 5 for n in range(10)]
        connection, _ = session.moment
        assert isinstance(journal.commit_each(writes[5:6])[0], TooLarge)
        assert not session.takes(30_000)
        assert session.takes(15_000)
        assert session.moment[0] == connection
        assert not session.takes(16_500)
        assert session.takes(15_000)


@pytest.mark.parametrize("secret", [SECRET, "wönder-7"])
def test_a_user_of_sasl_is_known_and_a_wrong_password_is_refused(
    start_server: Callable[..., Server], tmp_path: Path, secret: str
) -> None:
    login = tmp_path / "jaas.conf"
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    login.write_text(f'Server {{ {module} required user_alice="{secret}"; }};')
    server = start_server(
        "3.9.2",
        "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        java_options=(f"-Djava.security.auth.login.config={login}",),
    )
    alice = ZooKeeperCredentials("alice", secret, Scheme.SASL)
    with Session.open(server.connect, credentials=alice, deadline_s=DEADLINE_S) as session:
        session.commit((Create("/hers", b"1"),))
        client = patient_client(server.connect)
        client.start(timeout=DEADLINE_S)
        client.ensure_path("/guarded")
        client.set_acls("/guarded", [make_acl("sasl", "alice", all=True)])
        with pytest.raises(NoAuthError):
            client.get("/guarded")
        client.stop()
        client.close()
        assert session.read("/guarded") is not None
    wrong = ZooKeeperCredentials("alice", "wrong", Scheme.SASL)
    with pytest.raises(Unavailable, match="credentials"):
        Session.open(server.connect, credentials=wrong, deadline_s=5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificates.of_a_server(tmp_path_factory.mktemp("tls"), SECRET)


def over_tls(store: Path) -> tuple[str, ...]:
    """The settings of a server that has TLS, with the certificate of that store."""
    return (
        "secureClientPort=PORT",
        "secureClientPortAddress=127.0.0.1",
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"ssl.keyStore.location={store}",
        f"ssl.keyStore.password={SECRET}",
    )


def test_tls_encrypts_everything_and_knows_the_server(
    start_server: Callable[..., Server], certificate: tuple[Path, Path]
) -> None:
    store, pem = certificate
    server = start_server(
        "3.9.2",
        *over_tls(store),
        "ssl.clientAuth=none",
    )
    with Session.open(server.secure, tls=Tls(ca=str(pem)), deadline_s=DEADLINE_S) as session:
        session.commit([Create(f"/n{i}", bytes(1000)) for i in range(200)])
        nodes = session.read_many([f"/n{i}" for i in range(250)])
        assert [node and len(node.data) for node in nodes] == [1000] * 200 + [None] * 50
        assert session.server_version() == (3, 8)
    with pytest.raises(Unavailable, match="its certificate is not trusted: self-signed"):
        Session.open(server.secure, tls=Tls(), deadline_s=2)
    by_name = server.secure.replace("127.0.0.1", "localhost")
    with pytest.raises(Unavailable, match="its certificate is not trusted: Hostname mismatch"):
        Session.open(by_name, tls=Tls(ca=str(pem)), deadline_s=2)
    with pytest.raises(Unavailable, match=r"it closes connections, .* that require TLS"):
        Session.open(server.secure, deadline_s=2, timeout_s=4)


def test_who_has_no_certificate_that_the_server_trusts_is_told_of_certificates(
    start_server: Callable[..., Server], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """The server sends no alert of it, and closes the connection."""
    store, pem = certificate
    server = start_server(
        "3.9.2",
        *over_tls(store),
        f"ssl.trustStore.location={store}",
        f"ssl.trustStore.password={SECRET}",
        "ssl.clientAuth=need",
    )
    with pytest.raises(Unavailable, match="do not trust the client's certificate or miss it"):
        Session.open(server.secure, tls=Tls(ca=str(pem)), deadline_s=4)
    expired = pem_texts.of_a_client(tmp_path, pem_texts.EXPIRED_CERTIFICATE, pem)
    with pytest.raises(Unavailable, match=r"certificate expired at 2026-01-01 .* UTC: renew it"):
        Session.open(server.secure, tls=expired, deadline_s=4)


def test_the_node_that_is_refused_when_connecting_is_named(
    start_server: Callable[..., Server],
) -> None:
    server = start_server("3.9.2")
    client = patient_client(server.connect)
    client.start(timeout=DEADLINE_S)
    client.set_acls("/brokers/ids", [make_acl("ip", "127.0.0.9", all=True)])
    client.stop()
    client.close()
    with pytest.raises(Forbidden) as raised:
        Session.open(server.connect, deadline_s=DEADLINE_S)
    assert str(raised.value) == (
        f"looking for a Kafka cluster at {server.connect}, at its node /brokers/ids, is not"
        " allowed for this ZooKeeper identity"
    )
