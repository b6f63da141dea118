"""Whatever Kafka's nodes hold: a cluster is read, or refused; what is read fits into tables."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster_spec, pool_spec
from damaged_snapshots import VALUES, places, with_value
from laws import examples
from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.storage import cluster_rows
from poolkeeper.model import snapshots
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.zk.cluster_access import ZooKeeperView
from simulation.our_tree import KAFKA, POISONS, OurTree

DESIRED = Desired(cluster_spec("main"), (pool_spec("p", 1, 2, 3, cluster="main"),))
REQUEST = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 3]}]}
NODES: Mapping[str, bytes] = {
    **{path: data for path, data in KAFKA.items() if data},
    "/admin/reassign_partitions": json.dumps(REQUEST).encode(),
}
AT = [(path, place) for path, data in NODES.items() for place in places(json.loads(data))]
NOW_MS = 1_700_000_000_000


def observed(path: str, data: bytes) -> Cluster | None:
    """The cluster where this node holds that; None where the reading was refused."""
    tree = OurTree.plant({**NODES, path: data})
    try:
        found = observe_cluster(ZooKeeperView(tree.session()), DESIRED, NOW_MS, lambda each: each)
    except PoolkeeperError as refused:
        str(refused).encode()
        return None
    return found.cluster


def require_kept(cluster: Cluster, file: Path) -> None:
    """Every form of a snapshot holds what was observed."""
    rows = cluster_rows.rows_of_cluster(cluster)
    assert cluster_rows.cluster_of_rows(cluster.name, rows).brokers == cluster.brokers
    snapshots.write(file, cluster)
    assert snapshots.to_json(snapshots.read(file)) == snapshots.to_json(cluster)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("odd") / "main.json"


@examples(60)
@given(st.sampled_from(AT), st.sampled_from([*VALUES]))
def test_a_value_of_any_kind_at_any_place_of_a_node(file: Path, at, name: str) -> None:
    path, place = at
    if cluster := observed(path, with_value(json.loads(NODES[path]), place, name)):
        require_kept(cluster, file)


@examples(40)
@given(st.sampled_from([*NODES]), st.sampled_from([*POISONS]))
def test_a_node_that_is_damaged_as_a_whole(file: Path, path: str, name: str) -> None:
    if cluster := observed(path, POISONS[name](NODES[path])):
        require_kept(cluster, file)


@pytest.mark.parametrize("value", ['"\\ud800"', '"\ud800"'], ids=["escaped", "bare"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param("/brokers/ids/1", ("rack",), id="rack"),
        pytest.param("/brokers/ids/1", ("endpoints", 0), id="endpoint"),
        pytest.param("/brokers/topics/t", ("topic_id",), id="topic-id"),
        pytest.param("/config/topics/t", ("config", "retention.ms"), id="config"),
        pytest.param("/cluster/id", ("id",), id="cluster-id"),
    ],
)
def test_half_a_character_is_not_taken_over_from_any_node(
    file: Path, path: str, place: tuple[str | int, ...], encoding: str, value: str
) -> None:
    good = {**json.loads(NODES[path]), **({"topic_id": ""} if place == ("topic_id",) else {})}
    text = with_value(good, place, "a text").decode().replace('"x"', value)
    data = text.encode(encoding, errors="surrogatepass")
    if cluster := observed(path, data):
        require_kept(cluster, file)


NAMES = (
    "-1",
    "abc",
    "01",
    "99999999999",
    "9" * 5000,
    "\u0663",
    "\u00b2",
    "\u00e9",
    "a\nb",
    "x" * 300,
)


@pytest.mark.parametrize(
    ("path", "like"),
    [
        pytest.param("/brokers/ids/{}", "/brokers/ids/1", id="broker"),
        pytest.param("/brokers/topics/{}", "/brokers/topics/t", id="topic"),
        pytest.param(
            "/brokers/topics/t/partitions/{}/state",
            "/brokers/topics/t/partitions/0/state",
            id="partition",
        ),
        pytest.param("/config/topics/{}", "/config/topics/t", id="topic-config"),
        pytest.param("/config/brokers/{}", "/config/topics/t", id="broker-config"),
        pytest.param("/admin/delete_topics/{}", "/cluster/id", id="deletion"),
    ],
)
def test_a_node_with_an_odd_name_does_not_keep_the_cluster_from_being_read(
    file: Path, path: str, like: str
) -> None:
    for name in NAMES:
        cluster = observed(path.format(name), NODES[like])
        assert cluster is not None, name
        assert sorted(cluster.brokers) == [1, 2, 3]
        require_kept(cluster, file)
