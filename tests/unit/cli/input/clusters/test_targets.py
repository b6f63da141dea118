import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

import pem_texts
from poolkeeper.cli.input import confirmation
from poolkeeper.cli.input.clusters import targets
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.model.credentials import BrokerCredentials, ClientConfig
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec

SPEC = KafkaClusterSpec(
    name="main",
    zookeeper=ZooKeeperSpec("zk:2181/kafka", tls=Tls("operator.pem")),
    brokers=BrokersSpec(("b:9092",), tls=Tls("operator.pem")),
    kafka_version="2.8",
)
CONFIG = """\
brokers:
  username: u
  password: secret
  saslMechanism: PLAIN
  securityProtocol: SASL_SSL
  tls: {ca: ca.pem}
"""


@pytest.mark.parametrize(
    ("connect", "name"),
    [
        ("h:2181", "kafka"),
        ("h:2181/", "kafka"),
        ("h1:2181,h2:2181/kafka", "kafka"),
        ("h:2181/clusters/Main_1", "main-1"),
        ("h:2181/a.b", "a-b"),
    ],
)
def test_a_cluster_is_named_by_its_chroot(connect, name):
    assert targets.name_of(connect) == name


def test_a_cluster_addressed_directly():
    address = ClusterSelection(zookeeper="h:1/k", bootstrap=("b:1",), timeout_s=3)
    assert targets.target(address) == targets.Target(
        name="k", connect="h:1/k", bootstrap=("b:1",), timeout_s=3
    )


def test_a_cluster_addressed_directly_has_the_name_that_it_is_given():
    """`import` of a second cluster with the same chroot would write the names of the first."""
    assert targets.target(ClusterSelection(cluster="east", zookeeper="h:1/kafka")).name == "east"


CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: %s}
spec: {zookeeper: {connect: "%s:2181"}, brokers: {bootstrapServers: "b:9092"}%s}
"""
UNKNOWN_POOL = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: t}
spec: {poolRef: {name: gone}}
"""
NO_YAML = "a: [1"


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        pytest.param([CLUSTER % ("a", "a", ""), UNKNOWN_POOL], None, id="a-topic-without-pool"),
        pytest.param([CLUSTER % ("a", "a", ""), NO_YAML], "a", id="another-file-is-cut"),
        pytest.param(
            [CLUSTER % ("a", "a", ""), CLUSTER % ("b", "b", ", mode: Nonsense")],
            "a",
            id="another-cluster-is-wrong",
        ),
    ],
)
def test_a_cluster_is_reached_whatever_else_is_wrong(tmp_path, capsys, texts, name):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
    found = targets.reachable_target(ClusterSelection((tmp_path,), name))
    assert found == targets.Target("a", "a:2181", ("b:9092",))
    assert "`poolkeeper validate` says where" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        pytest.param([CLUSTER % ("a", "a", ", mode: Nonsense")], None, id="itself-wrong"),
        pytest.param([CLUSTER % ("a", "a", ""), NO_YAML], None, id="there-may-be-others"),
        pytest.param([CLUSTER % ("a", "a", ""), CLUSTER % ("a", "b", "")], "a", id="twice"),
        pytest.param([CLUSTER % ("b", "b", ""), UNKNOWN_POOL], "a", id="not-there"),
    ],
)
def test_a_cluster_that_cannot_be_told_is_not_reached(tmp_path, capsys, texts, name):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
    with pytest.raises(InvalidInput):
        targets.reachable_target(ClusterSelection((tmp_path,), name))
    assert "--zookeeper HOST:PORT/CHROOT in place of -f" in capsys.readouterr().err


@pytest.mark.parametrize("zookeeper", [None, "zk:2181/kafka"], ids=["manifests", "an-address"])
def test_a_wrong_client_configuration_is_not_the_manifests_fault(tmp_path, capsys, zookeeper):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "a.yaml").write_text(CLUSTER % ("a", "a", ""))
    file = tmp_path / "client.yaml"
    file.write_text("zookeepr: {}")
    folders = () if zookeeper else (folder,)
    with pytest.raises(InvalidInput, match=r"client\.yaml"):
        targets.reachable_target(ClusterSelection(folders, zookeeper=zookeeper, client_config=file))
    assert capsys.readouterr().err == ""


def test_a_client_configuration_may_be_a_pipe_which_is_read_once(tmp_path, monkeypatch):
    """A shell's `<(…)` is one: secrets of a vault then lie in no file."""
    (tmp_path / "ca.pem").write_text(pem_texts.CERTIFICATE)
    pipe = tmp_path / "elsewhere" / "pipe"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    monkeypatch.chdir(tmp_path)
    writer = Thread(target=lambda: pipe.write_text(CONFIG))
    writer.start()
    address = ClusterSelection((Path("m"),), client_config=pipe)
    with ThreadPoolExecutor(4) as threads:  # `run -f` has one for each cluster
        found = list(threads.map(lambda _: targets.target_of(address, Desired(SPEC)), range(9)))
    writer.join()
    assert {each.client.brokers for each in found} == {BrokerCredentials("u", "secret")}
    assert {each.client.brokers_tls for each in found} == {Tls(str(tmp_path / "ca.pem"))}


def test_a_wrong_client_configuration_from_a_pipe_is_told_by_its_line(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"brokers:\n  usrname: u\n")
    os.close(writer)
    pipe = Path(f"/dev/fd/{reader}")
    try:
        for _ in range(2):
            with pytest.raises(InvalidInput, match=f"^{pipe}:2: brokers.usrname: "):
                targets.target_of(ClusterSelection((Path("m"),), client_config=pipe), Desired(SPEC))
    finally:
        os.close(reader)


def test_manifests_say_what_the_client_configuration_does_not(tmp_path):
    (tmp_path / "ca.pem").write_text(pem_texts.CERTIFICATE)
    file = tmp_path / "client.yaml"
    file.write_text(CONFIG)
    desired = Desired(SPEC)
    assert targets.target_of(ClusterSelection((Path("m"),), client_config=file), desired) == (
        targets.Target(
            name="main",
            connect="zk:2181/kafka",
            bootstrap=("b:9092",),
            client=ClientConfig(
                zookeeper_tls=Tls("operator.pem"),
                brokers=BrokerCredentials("u", "secret"),
                brokers_tls=Tls(str(tmp_path / "ca.pem")),
            ),
            kafka_version="2.8",
            desired=desired,
        )
    )


def test_without_a_terminal_nothing_is_confirmed():
    with pytest.raises(Refused, match="no terminal to confirm at"):
        confirmation.confirm("Type yes", yes=False)
    confirmation.confirm("Type yes", yes=True)
