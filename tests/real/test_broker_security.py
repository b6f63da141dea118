"""A client of brokers proves who it is, and knows them: by SASL, by TLS, by both.

One broker listens in all four ways, and in one that demands a client's certificate. Its users of
SCRAM are in ZooKeeper, where Kafka has them.
"""

import base64
import hashlib
import hmac
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import certificates
import pem_texts
from conditions import until
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cluster_connections import ClusterConnector
from poolkeeper.controller.loops.broker_link import RETRY_S, BrokerLink
from poolkeeper.errors import Unavailable
from poolkeeper.model.credentials import BrokerCredentials, Mechanism
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec
from poolkeeper.sandbox import Sandbox

USER, PASSWORD, WRONG = "alice", "wonder-7", "wunder-7"
ITERATIONS = 4096
DEADLINE_S = 30.0
SHORT_S = 8.0
LISTENERS = "SASL_PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0"
KAFKA = "org.apache.kafka.common.security"
HASHES = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificates.of_a_server(tmp_path_factory.mktemp("tls"), PASSWORD)


@pytest.fixture(scope="module")
def listeners(kafka: Callable[..., Sandbox], files: tuple[Path, Path]) -> dict[str, str]:
    """Return host:port of each way to talk, by Kafka's name."""
    secured = settings(files[0]) | mutual(files[0])
    sandbox = kafka(brokers=1, settings=tuple(secured.items()))
    client = KazooClient(sandbox.connect)
    client.start(timeout=30)
    client.ensure_path(f"/config/users/{USER}")
    config = {"version": 1, "config": {each.value: scram(HASHES[each]) for each in HASHES}}
    client.set(f"/config/users/{USER}", json.dumps(config).encode())
    change = json.dumps({"version": 2, "entity_path": f"users/{USER}"}).encode()
    client.create("/config/changes/config_change_", change, sequence=True)
    body = json.loads(client.get("/brokers/ids/1")[0])
    client.stop()
    client.close()
    return dict(each.split("://") for each in body["endpoints"])


def mutual(store: Path) -> dict[str, str]:
    """The settings of a listener for clients whose certificate is that of the broker itself."""
    protocols = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
    of = "listener.name.mutual.ssl"
    return {
        "listeners": f"{LISTENERS},MUTUAL://127.0.0.1:0",
        "listener.security.protocol.map": ",".join(
            [*(f"{each}:{each}" for each in protocols), "MUTUAL:SSL"]
        ),
        f"{of}.client.auth": "required",
        f"{of}.truststore.location": str(store),
        f"{of}.truststore.type": "PKCS12",
        f"{of}.truststore.password": PASSWORD,
    }


def settings(store: Path) -> dict[str, str]:
    found = {
        "listeners": LISTENERS,
        "sasl.enabled.mechanisms": ",".join(Mechanism),
        "ssl.keystore.location": str(store),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        of = f"listener.name.{listener}"
        plain = f'{KAFKA}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        found[f"{of}.plain.sasl.jaas.config"] = plain
        for mechanism in HASHES:
            login = f"{KAFKA}.scram.ScramLoginModule required;"
            found[f"{of}.{mechanism.value.lower()}.sasl.jaas.config"] = login
    return found


def scram(name: str, password: str = PASSWORD) -> str:
    """Return what Kafka stores of a password (RFC 5802)."""
    salt = b"salt" * 4
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, ITERATIONS)
    client = hmac.digest(salted, b"Client Key", name)
    stored, server = hashlib.new(name, client).digest(), hmac.digest(salted, b"Server Key", name)
    words = [("salt", salt), ("stored_key", stored), ("server_key", server)]
    told = [f"{key}={base64.b64encode(value).decode()}" for key, value in words]
    return ",".join([*told, f"iterations={ITERATIONS}"])


def opened(server: str, credentials: BrokerCredentials | None, tls: Tls | None) -> BrokerClient:
    return BrokerClient.open([server], credentials, tls, DEADLINE_S)


@pytest.mark.parametrize("mechanism", list(Mechanism))
@pytest.mark.parametrize("tls", [False, True], ids=["plain-text", "tls"])
def test_a_password_opens_and_a_wrong_one_is_called_wrong(
    listeners: dict[str, str], files: tuple[Path, Path], mechanism: Mechanism, tls: bool
) -> None:
    server = listeners["SASL_SSL" if tls else "SASL_PLAINTEXT"]
    trusted = Tls(ca=str(files[1])) if tls else None
    with opened(server, BrokerCredentials(USER, PASSWORD, mechanism), trusted) as brokers:
        assert brokers.ids() == (1,)
        assert brokers.broker_config(1)["broker.id"].value == "1"
    with pytest.raises(Unavailable, match="the credentials are wrong"):
        opened(server, BrokerCredentials(USER, WRONG, mechanism), trusted)


def test_a_certificate_is_trusted_that_is_named(
    listeners: dict[str, str], files: tuple[Path, Path]
) -> None:
    with opened(listeners["SSL"], None, Tls(ca=str(files[1]))) as brokers:
        assert brokers.ids() == (1,)


ALICE = BrokerCredentials(USER, PASSWORD)
WANTS_TLS = "brokers that require TLS close connections without it"
WANTS_CREDENTIALS = "brokers that require credentials close connections without them"


@pytest.mark.parametrize(
    ("listener", "credentials", "authority", "message"),
    [
        pytest.param("SSL", None, "", "self-signed certificate", id="unknown-certificate"),
        pytest.param("SSL", None, None, WANTS_TLS, id="plain-text-to-tls"),
        pytest.param("SASL_SSL", ALICE, None, WANTS_TLS, id="password-without-tls"),
        pytest.param("SASL_PLAINTEXT", None, None, WANTS_CREDENTIALS, id="no-password"),
        pytest.param("PLAINTEXT", ALICE, None, "accepts no credentials", id="not-asked-for"),
        pytest.param("PLAINTEXT", None, "server", "no TLS with it", id="tls-to-plain-text"),
    ],
)
def test_who_talks_in_another_way_is_told_why_there_is_no_answer(
    listeners: dict[str, str],
    files: tuple[Path, Path],
    listener: str,
    credentials: BrokerCredentials | None,
    authority: str | None,
    message: str,
) -> None:
    tls = None if authority is None else Tls(ca=str(files[1]) if authority else None)
    with pytest.raises(Unavailable, match=message):
        BrokerClient.open([listeners[listener]], credentials, tls, SHORT_S)


REFUSES = r"demands a client certificate that it trusts|the client's certificate, or miss it"
"""The latter where the connection is closed before the alert is read."""


@pytest.mark.parametrize(
    ("own", "more"),
    [
        pytest.param(None, "", id="no-certificate"),
        pytest.param(pem_texts.CERTIFICATE, "", id="a-stranger-s"),
        pytest.param(pem_texts.EXPIRED_CERTIFICATE, "expired at 2026-01-01", id="an-old-one"),
    ],
)
def test_who_has_no_certificate_that_the_broker_trusts_is_told_of_certificates(
    listeners: dict[str, str], files: tuple[Path, Path], tmp_path: Path, own: str | None, more: str
) -> None:
    ca = files[1]
    tls = Tls(ca=str(ca)) if own is None else pem_texts.of_a_client(tmp_path, own, ca)
    with pytest.raises(Unavailable, match=REFUSES) as raised:
        BrokerClient.open([listeners["MUTUAL"]], None, tls, SHORT_S)
    assert more in str(raised.value)


def test_who_is_told_that_credentials_are_not_taken_does_not_wait_for_the_deadline(
    listeners: dict[str, str],
) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match="accepts no credentials"):
        BrokerClient.open([listeners["PLAINTEXT"]], ALICE, None, 300)
    assert time.monotonic() - began < 60


def test_a_server_of_another_name_is_not_trusted(
    listeners: dict[str, str], files: tuple[Path, Path]
) -> None:
    server = listeners["SSL"].replace("127.0.0.1", "localhost")
    with pytest.raises(Unavailable, match="Hostname mismatch"):
        BrokerClient.open([server], None, Tls(ca=str(files[1])), SHORT_S)


def test_a_certificate_that_one_broker_renews_is_trusted_once_the_secret_has_it(
    fresh_kafka: Callable[..., Sandbox], tmp_path: Path
) -> None:
    store, old = certificates.of_a_server(tmp_path, PASSWORD)
    renewed, new = certificates.of_a_server(tmp_path, PASSWORD, "renewed")
    sandbox = fresh_kafka(brokers=2, settings=tuple(settings(store).items()))
    server = _endpoints(sandbox, 1)["SSL"]
    spec = KafkaClusterSpec(
        *("c", ZooKeeperSpec(sandbox.connect)), BrokersSpec((server,), tls=Tls(secret="tls"))
    )
    secret = {"ca.crt": old.read_bytes()}
    connector = ClusterConnector(lambda _: secret, tmp_path / "files", 10, SHORT_S)
    link = BrokerLink(connector.connections(spec).brokers)

    def silent() -> set[int]:
        brokers = link.renew()
        assert brokers is not None
        found = set(brokers.sizes((1, 2), SHORT_S).failures)
        brokers.versions({1, 2} - found, SHORT_S)
        return found

    try:
        assert silent() == set()
        shutil.copy(renewed, store)
        sandbox.kill(2)
        sandbox.start_broker(2)
        assert silent() == {2}
        secret["ca.crt"] += new.read_bytes()
        until(lambda: not silent(), "the new certificate is trusted", 2 * RETRY_S + 30)
    finally:
        link.close()


def _endpoints(sandbox: Sandbox, broker: int) -> dict[str, str]:
    """Return host:port of each way to talk to a broker, by Kafka's name."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=30)
    body = json.loads(client.get(f"/brokers/ids/{broker}")[0])
    client.stop()
    client.close()
    return dict(each.split("://") for each in body["endpoints"])
