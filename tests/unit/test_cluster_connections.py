"""Secrets: what cannot be used is named, and what nobody may see is masked in logs."""

from pathlib import Path

import pytest

import pem_texts
from poolkeeper.cluster_connections import ClusterConnector, hiding
from poolkeeper.errors import BrokersUnreachable, Forbidden
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec
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


def test_what_nobody_may_see_of_a_secret_is_masked_from_when_it_is_read() -> None:
    masked = Secrets()
    secret = {"username": b"kafka", "password": b"looking-glass-8\n", "scheme": b"sasl"} | SECRET
    read = hiding(lambda _: secret, masked)
    assert masked.mask("looking-glass-8") == "looking-glass-8"
    assert read("zk") == secret
    said = f"kafka by sasl: looking-glass-8, {pem_texts.ENCRYPTED_KEY}"
    assert masked.mask(said).split() == ["kafka", "by", "sasl:", "***,", "***"]
    read = hiding(lambda _: secret | {"password": b"changed-9"}, masked)
    read("zk")
    assert masked.mask("changed-9") == "***"
