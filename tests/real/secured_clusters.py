"""A cluster in which nothing is open: SASL, TLS and ACLs on ZooKeeper, SASL_SSL on brokers.

with secured_cluster("3.9.2", folder, tls=True) as secured:
    secured.declare(1)
    run("apply", *secured.client(ZOOKEEPER_SASL), "--yes")
"""

import gzip
import json
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
from conditions import until
from poolkeeper.model.credentials import Mechanism
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.migrations import FAST, SETTINGS
from real.support import Ran, body, declare, run
from real.test_broker_security import PASSWORD, USER, scram, settings

KAFKA, ZOOKEEPER_PASSWORD = "kafka", "through-the-looking-glass-8"
OPS, OPS_PASSWORD = "ops", "off-with-their-heads-9"
"""An identity that may do everything in ZooKeeper, beside that of the brokers."""
WRONG = "white-rabbit-3"
CHANGED = "late-for-an-important-date-2"
"""What somebody changes a password to."""
LATE = "/isr_change_notification/"
"""What leaders before Kafka 2.4 tell of moves, seconds later."""
GZIP = b"\x1f\x8b"
SECRETS = (PASSWORD, ZOOKEEPER_PASSWORD, OPS_PASSWORD, WRONG)
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

    def declare(
        self, broker: int, execution: Mapping[str, object] = FAST, **cluster: object
    ) -> None:
        declare(
            self.folder / "manifests",
            self.sandbox.connect,
            {"p": {"brokers": {"ids": [broker]}}},
            {"t": {"pool": "p", "partitions": 2, "replicationFactor": 1}},
            brokers={"bootstrapServers": self.brokers},
            execution=execution,
            **cluster,
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

    def restart_zookeeper(self, ops: str) -> None:
        """Start ZooKeeper again, where `OPS` has this password now."""
        self.sandbox.kill_zookeeper()
        _write_logins(self.folder, ops)
        self.sandbox.start_zookeeper()
        until(lambda: self.zookeeper.connected, "a session of the test's own")

    def set_broker_password(self, password: str) -> None:
        """Give the user of brokers this password, as kafka-configs does."""
        zookeeper, path = self.zookeeper, f"/config/users/{USER}"
        config = {Mechanism.SCRAM_SHA_256.value: scram("sha256", password)}
        value = json.dumps({"version": 1, "config": config}).encode()
        if zookeeper.exists(path):
            zookeeper.set(path, value)
        else:
            zookeeper.create(path, value, acl=zookeeper.get_acls("/config/users")[0])
        told = json.dumps({"version": 2, "entity_path": f"users/{USER}"}).encode()
        acl = zookeeper.get_acls("/config/changes")[0]
        zookeeper.create("/config/changes/config_change_", told, acl=acl, sequence=True)

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


@contextmanager
def secured_cluster(kafka: str, folder: Path, *, tls: bool) -> Iterator[Secured]:
    """Start two brokers; those before 2.5 know no TLS to ZooKeeper."""
    store, pem = certificates.of_a_server(folder, PASSWORD)
    with pytest.MonkeyPatch.context() as patch:
        options = _java_options(folder, store, tls=tls)
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join(f"-D{k}={v}" for k, v in options.items()))
        said = settings(store) | {"zookeeper.set.acl": "true"} | (_tls_client(pem) if tls else {})
        more = (*SETTINGS, *said.items())
        spec = SandboxSpec(brokers=spread(2, ""), kafka=kafka, settings=more)
        with Sandbox.start(spec) as sandbox, as_kafka(sandbox.connect) as zookeeper:
            secured = Secured(sandbox, pem, folder, zookeeper, tls)
            secured.set_broker_password(PASSWORD)
            yield secured


def _java_options(folder: Path, store: Path, *, tls: bool) -> dict[str, object]:
    """What a ZooKeeper needs for SASL and TLS, and brokers to log in there."""
    login = _write_logins(folder, OPS_PASSWORD)
    provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    options: dict[str, object] = {
        "java.security.auth.login.config": login,
        "zookeeper.superUser": OPS,
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


def _write_logins(folder: Path, ops: str) -> Path:
    """Write who may log in to ZooKeeper, and how brokers do; `ops`: the password of `OPS`."""
    login = folder / "jaas.conf"
    user = f'username="{KAFKA}" password="{ZOOKEEPER_PASSWORD}"'
    known = f'user_{KAFKA}="{ZOOKEEPER_PASSWORD}" user_{OPS}="{ops}"'
    server = f"Server {{ {LOGIN} {known}; }};"
    login.write_text(f"{server}\nClient {{ {LOGIN} {user}; }};\n")
    return login
