"""Secrets: what cannot be used is named, and what nobody may see is masked in logs."""

from dataclasses import replace
from pathlib import Path

import pytest

import pem_texts
from poolkeeper.cluster_connections import ClusterConnector, ReadSecret, masking_reader
from poolkeeper.errors import BrokersUnreachable, Forbidden, SecretForbidden, Unavailable
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec
from poolkeeper.resources.parse.secret_config import Secret
from poolkeeper.telemetry.secret_masking import Secrets

PROBLEM = "Secret tls: tls.key holds a key that is encrypted (expected one without a password)"
SECRET = {
    "ca.crt": pem_texts.CERTIFICATE.encode(),
    "tls.crt": pem_texts.CERTIFICATE.encode(),
    "tls.key": pem_texts.ENCRYPTED_KEY.encode(),
}
SPEC = KafkaClusterSpec(
    "main",
    ZooKeeperSpec("127.0.0.1:1", tls=Tls(secret="tls")),
    brokers=BrokersSpec(("127.0.0.1:1",), tls=Tls(secret="tls")),
)


def test_a_secret_s_key_is_named_for_zookeeper_and_for_brokers(tmp_path: Path) -> None:
    connections = ClusterConnector(lambda _: SECRET, tmp_path, 1, 1).connections(SPEC)
    with pytest.raises(Forbidden) as of_zookeeper:
        connections.session()
    with pytest.raises(BrokersUnreachable) as of_brokers:
        connections.brokers()
    assert (str(of_zookeeper.value), str(of_brokers.value)) == (PROBLEM, PROBLEM)


def test_tls_files_may_be_written_while_another_thread_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector = ClusterConnector(lambda _: SECRET, tmp_path, 1, 1)
    replace_file, others = Path.replace, [connector.client_config]

    def replace_after_another(self: Path, target: Path) -> Path:
        if others:
            others.pop()(SPEC)  # all of its files, between the writing of one and its renaming
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", replace_after_another)
    written = connector.client_config(SPEC).zookeeper_tls
    assert written is not None
    assert Path(str(written.ca)).read_bytes() == SECRET["ca.crt"]
    names = {"ca.pem", "certificate.pem", "key.pem"}
    assert {path.name for path in (tmp_path / "zookeeper").iterdir()} == names
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "zookeeper").iterdir()} == {0o600}


def test_a_full_disk_for_tls_files_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "full"
    folder.write_text("no folder")
    connections = ClusterConnector(lambda _: SECRET, folder, 1, 1).connections(SPEC)
    with pytest.raises(Unavailable, match=r"/full/zookeeper: .* Secret tls .* \(Not a directory\)"):
        connections.session()
    with pytest.raises(BrokersUnreachable, match=r"/full/brokers: .* Secret tls"):
        connections.brokers()


def absent(name: str) -> Secret:
    raise Unavailable(f"there is no Secret {name} in namespace kafka")


def unreadable(name: str) -> Secret:
    raise SecretForbidden(f"Secret kafka/{name} may not be read")


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(absent, id="absent"),
        pytest.param(unreadable, id="not-readable"),
        pytest.param(lambda _: {}, id="empty"),
        pytest.param(lambda _: {"username": b"u", "tls.key": b"k"}, id="incomplete"),
    ],
)
@pytest.mark.parametrize(
    "brokers",
    [
        BrokersSpec(("127.0.0.1:1",), credentials_secret="brokers"),
        BrokersSpec(("127.0.0.1:1",), tls=Tls(secret="brokers")),
    ],
    ids=["credentials", "tls"],
)
def test_a_secret_of_the_brokers_is_in_the_way_of_nothing_but_the_brokers(
    tmp_path: Path, brokers: BrokersSpec, read: ReadSecret
) -> None:
    spec = replace(SPEC, brokers=brokers)
    connections = ClusterConnector(read, tmp_path, 1, 1).connections(spec)
    with pytest.raises(BrokersUnreachable, match=r"Secret .*brokers"):
        connections.brokers()


@pytest.mark.parametrize("rotated", ["password", "tls.crt"])
def test_a_session_would_be_somebody_else_once_its_secret_was_rotated(
    tmp_path: Path, rotated: str
) -> None:
    secret = {"username": b"u", "password": b"p", "tls.crt": b"c", "tls.key": b"k"}
    zookeeper = replace(SPEC.zookeeper, credentials_secret="zookeeper")
    connector = ClusterConnector(lambda _: secret, tmp_path, 1, 1)
    connections = connector.connections(replace(SPEC, zookeeper=zookeeper))
    before = connections.identity()
    assert connections.identity() == before
    secret[rotated] = b"another"
    assert connections.identity() != before


def test_what_nobody_may_see_of_a_secret_is_masked_from_when_it_is_read() -> None:
    masked = Secrets()
    secret = {"username": b"kafka", "password": b"looking-glass-8\n", "scheme": b"sasl"} | SECRET
    read = masking_reader(lambda _: secret, masked)
    assert masked.mask("looking-glass-8") == "looking-glass-8"
    assert read("zk") == secret
    said = f"kafka by sasl: looking-glass-8, {pem_texts.ENCRYPTED_KEY}"
    assert masked.mask(said).split() == ["kafka", "by", "sasl:", "***,", "***"]
    read = masking_reader(lambda _: secret | {"password": b"changed-9"}, masked)
    read("zk")
    assert masked.mask("changed-9") == "***"
