"""A cluster in which nothing is open: SASL, TLS and ACLs on ZooKeeper, SASL_SSL on brokers.

Everybody who is not the brokers' own identity may read most nodes and write none. What we write has
the ACLs of what Kafka writes. No password is in anything that we print, log or store.
"""

import gzip
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL

import certificates
import traffic
from conditions import until
from poolkeeper.model.credentials import Mechanism
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.migrations import FAST, SETTINGS, SLOW
from real.support import (
    MIB,
    REQUEST,
    RUN,
    Ran,
    assert_nothing_left_in,
    body,
    command,
    declare,
    history,
    last_zxid,
    run,
)
from real.test_broker_security import PASSWORD, USER, scram, settings

KAFKA, ZOOKEEPER_PASSWORD = "kafka", "through-the-looking-glass-8"
WRONG = "white-rabbit-3"
LATE = "/isr_change_notification/"
"""What leaders before Kafka 2.4 tell of moves, seconds later."""
GZIP = b"\x1f\x8b"
SECRETS = (PASSWORD, ZOOKEEPER_PASSWORD, WRONG)
LOGIN = "org.apache.zookeeper.server.auth.DigestLoginModule required"
ZOOKEEPER_SASL = {"username": KAFKA, "password": ZOOKEEPER_PASSWORD, "scheme": "sasl"}


@dataclass(frozen=True)
class Secured:
    """The cluster, what a client needs to trust its servers, and where its manifests are."""

    sandbox: Sandbox
    ca: Path
    folder: Path
    zookeeper: KazooClient
    tls: bool

    @property
    def brokers(self) -> str:
        ids = self.zookeeper.get_children("/brokers/ids")
        endpoints = [
            each for id_ in ids for each in body(self.zookeeper, f"/brokers/ids/{id_}")["endpoints"]
        ]
        secured = [each for each in endpoints if each.startswith("SASL_SSL://")]
        return ",".join(each.partition("://")[2] for each in secured)

    def declare(self, broker: int, execution: Mapping[str, object] = FAST) -> None:
        declare(
            self.folder / "manifests",
            self.sandbox.connect,
            {"p": {"brokers": {"ids": [broker]}}},
            {"t": {"pool": "p", "partitions": 2, "replicationFactor": 1}},
            brokers={"bootstrapServers": self.brokers},
            execution=execution,
        )

    def client(
        self, zookeeper: Mapping[str, str] | None = None, broker: str = PASSWORD
    ) -> tuple[str, ...]:
        """Write a client configuration with these credentials; return the options of a command."""
        said: dict[str, Any] = {"zookeeper": dict(zookeeper or {})}
        if self.tls:
            said["zookeeper"]["tls"] = {"ca": str(self.ca)}
        said["brokers"] = {
            "securityProtocol": "SASL_SSL",
            "saslMechanism": "SCRAM-SHA-256",
            "username": USER,
            "password": broker,
            "tls": {"ca": str(self.ca)},
        }
        file = self.folder / "client.yaml"
        file.write_text(json.dumps(said))
        return ("--client-config", str(file), "-f", str(self.folder / "manifests"))

    def apply(self, *more: object) -> Ran:
        done = run("apply", *self.client(ZOOKEEPER_SASL), "--yes", *more)
        assert done.code == 0, done.out + done.err
        return done

    def ours(self, path: str = "/poolkeeper") -> Iterator[str]:
        """Yield all of our nodes."""
        yield path
        for child in self.zookeeper.get_children(path):
            yield from self.ours(f"{path}/{child}")

    def text(self, path: str) -> str:
        """A node's text; parts of plans are compressed."""
        data: bytes = self.zookeeper.get(path)[0]
        return (gzip.decompress(data) if data.startswith(GZIP) else data).decode()

    def acl(self, path: str) -> set[ACL]:
        """A node's ACL, empty if there is no such node."""
        try:
            return set(self.zookeeper.get_acls(path)[0])
        except NoNodeError:
            return set()


@pytest.fixture(
    scope="module",
    params=[("3.9.2", True), pytest.param(("2.0.1", False), marks=pytest.mark.soak)],
    ids=lambda param: param[0],
)
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """Brokers before 2.5 know no TLS to ZooKeeper."""
    (kafka, tls), folder = request.param, tmp_path_factory.mktemp("secured")
    store, pem = certificates.of_a_server(folder, PASSWORD)
    with pytest.MonkeyPatch.context() as patch:
        options = _java_options(folder, store, tls=tls)
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(f"-D{k}={v}" for k, v in options.items()))
        said = settings(store) | {"zookeeper.set.acl": "true"} | (_tls_client(pem) if tls else {})
        more = (*SETTINGS, *said.items())
        spec = SandboxSpec(brokers=spread(2, ""), kafka=kafka, settings=more)
        with Sandbox.start(spec) as sandbox, as_kafka(sandbox.connect) as zookeeper:
            _add_user(zookeeper)
            yield Secured(sandbox, pem, folder, zookeeper, tls)


def _java_options(folder: Path, store: Path, *, tls: bool) -> dict[str, object]:
    """What a ZooKeeper needs for SASL and TLS, and brokers to log in there."""
    login = folder / "jaas.conf"
    user = f'username="{KAFKA}" password="{ZOOKEEPER_PASSWORD}"'
    server = f'Server {{ {LOGIN} user_{KAFKA}="{ZOOKEEPER_PASSWORD}"; }};'
    login.write_text(f"{server}\nClient {{ {LOGIN} {user}; }};\n")
    provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    options: dict[str, object] = {
        "java.security.auth.login.config": login,
        "zookeeper.authProvider.1": provider,
    }
    if tls:  # at the same port as plain text, which the sandbox itself talks
        options |= {
            "zookeeper.serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "zookeeper.client.portUnification": "true",
            "zookeeper.ssl.keyStore.location": store,
            "zookeeper.ssl.keyStore.password": PASSWORD,
            "zookeeper.ssl.clientAuth": "none",
        }
    return options


def _tls_client(pem: Path) -> dict[str, str]:
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.truststore.location": str(pem),
        "zookeeper.ssl.truststore.type": "PEM",
    }


@contextmanager
def as_kafka(connect: str) -> Iterator[KazooClient]:
    """A client that is who the brokers are."""
    sasl = {"mechanism": "DIGEST-MD5", "username": KAFKA, "password": ZOOKEEPER_PASSWORD}
    client = KazooClient(connect, sasl_options=sasl)
    client.start(timeout=60)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def _add_user(zookeeper: KazooClient) -> None:
    config = {Mechanism.SCRAM_SHA_256.value: scram("sha256")}
    value = json.dumps({"version": 1, "config": config}).encode()
    zookeeper.create(f"/config/users/{USER}", value, acl=zookeeper.get_acls("/config/users")[0])
    told = json.dumps({"version": 2, "entity_path": f"users/{USER}"}).encode()
    acl = zookeeper.get_acls("/config/changes")[0]
    zookeeper.create("/config/changes/config_change_", told, acl=acl, sequence=True)


def test_a_migration_leaves_no_open_node_and_tells_no_password(secured: Secured) -> None:
    sandbox, zookeeper = secured.sandbox, secured.zookeeper
    audit, plan = secured.folder / "audit.jsonl", secured.folder / "plan.json"
    secured.declare(1)
    told = [secured.apply("--audit-log", audit)]
    traffic.fill(sandbox.bootstrap, {"t": 2}, MIB // 2)
    secured.declare(2, SLOW)
    options = secured.client(ZOOKEEPER_SASL)
    told.append(run("plan", *options, "--out", plan))
    words = command("apply", *options, "--yes", "--audit-log", audit)
    public, private = secured.acl("/brokers/topics"), secured.acl("/config/users")
    assert all(entry.id.scheme == "sasl" or entry.perms == 1 for entry in public)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as applying:
        try:
            request = until(lambda: secured.acl(REQUEST), "a request is in flight", 90)
            ours = {path: secured.acl(path) for path in secured.ours()}
            stored = [secured.text(path) for path in ours]
            said = [run(each, *options) for each in ("status", "show", "history", "plan")]
            rates = {secured.acl(f"/config/brokers/{broker}") == private for broker in (1, 2)}
        finally:
            applying.terminate()
        text = applying.communicate(timeout=60)[0]
    assert RUN in ours
    assert {path for path, acl in ours.items() if acl != public} == set()
    assert request == public
    told += [*said, Ran(0, text, ""), secured.apply("--audit-log", audit)]
    told.append(run("history", *options, "--output", "json"))
    assert rates == {secured.acl("/config/brokers") == private}
    everything = [each.out + each.err for each in told]
    everything += [audit.read_text(), plan.read_text(), *stored]
    everything += [secured.text(path) for path in secured.ours()]
    assert [secret for secret in SECRETS for each in everything if secret in each] == []
    assert audit.stat().st_mode & 0o777 == 0o600
    assert_nothing_left_in(zookeeper, "t")


@pytest.mark.parametrize(
    ("zookeeper", "message"),
    [
        pytest.param(
            ZOOKEEPER_SASL | {"password": WRONG}, "credentials", id="wrong-password-of-zookeeper"
        ),
        pytest.param({}, "is not allowed for this ZooKeeper identity", id="nobody"),
        pytest.param(
            {"username": KAFKA, "password": ZOOKEEPER_PASSWORD},
            "is not allowed for this ZooKeeper identity",
            id="another-scheme",
        ),
    ],
)
def test_who_is_not_known_to_zookeeper_is_told_once_and_writes_nothing(
    secured: Secured, zookeeper: dict[str, str], message: str
) -> None:
    secured.declare(2)
    secured.apply()
    secured.declare(1)
    zxid = last_zxid(secured.sandbox)
    refused = run("apply", *secured.client(zookeeper), "--yes", "--timeout", "5")
    assert (refused.code, message in refused.err) == (3, True), refused
    assert len(refused.err.splitlines()) == 1, refused.err
    assert [secret for secret in SECRETS if secret in refused.out + refused.err] == []
    written = {change.path for change in history(secured.sandbox, zxid)}
    assert {path for path in written if not path.startswith(LATE)} == set()


COMMANDS = (
    *("status", "plan", "show sha256:0", "history", "import --out there", "snapshot --out it.json"),
    *("apply --yes", "stop", "rollback", "repair", "repair --yes --backup old.json"),
)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_tells_once_of_wrong_credentials_and_of_a_stranger_s_certificate(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    secured.declare(2)
    zxid = last_zxid(secured.sandbox)
    wrong = secured.client(ZOOKEEPER_SASL | {"password": WRONG})
    told = {"credentials": run(*words.split(), *wrong, "--timeout", "5")}
    if secured.tls:
        strange = json.loads((secured.folder / "client.yaml").read_text())
        strange["zookeeper"]["tls"] = {}
        (tmp_path / "client.yaml").write_text(json.dumps(strange))
        options = ("--client-config", "client.yaml", *wrong[2:], "--timeout", "5")
        told["certificate"] = run(*words.split(), *options)
    for message, said in told.items():
        assert (said.code, said.out, message in said.err) == (3, "", True), said
        assert len(said.err.splitlines()) == 1, said.err
        assert [secret for secret in SECRETS if secret in said.err] == []
    written = {change.path for change in history(secured.sandbox, zxid)}
    assert {path for path in written if not path.startswith(LATE)} == set()


def test_a_wrong_password_of_brokers_is_told(secured: Secured) -> None:
    secured.declare(2)
    secured.apply()
    options = secured.client(ZOOKEEPER_SASL, broker=WRONG)
    told = run("plan", *options)
    assert "the credentials are wrong" in told.err
    assert [secret for secret in SECRETS if secret in told.out + told.err] == []
