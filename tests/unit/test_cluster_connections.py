"""A Secret whose TLS files cannot be used is named before anything is connected to."""

from pathlib import Path

import pytest

import pem_texts
from poolkeeper.cluster_connections import ClusterConnector
from poolkeeper.errors import BrokersUnreachable, Forbidden
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec

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
