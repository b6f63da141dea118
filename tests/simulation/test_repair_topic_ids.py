"""`poolkeeper repair` of topic nodes that have lost the topic's id (Kafka 2.8 and later)."""

from dataclasses import replace

import pytest

from builders import pool_spec
from poolkeeper.model.specs import Remedies
from simulation.our_tree import Repair
from simulation.repaired import cluster_of, starts_again, tree_of
from simulation.stuck_runs import made


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2"])
@pytest.mark.parametrize("damage", [b"", b'{"partitions":{"0":[1', b"[1]"])
def test_a_topic_whose_node_is_lost_keeps_its_id_and_moves(
    repair: Repair, kafka: str, damage: bytes
) -> None:
    """Under another id brokers copy nothing of it."""
    cluster, executor = made(kafka, Remedies(), api=True)
    executor.finish()
    id_ = cluster.read("/brokers/topics/t")["topic_id"]
    cluster.set("/brokers/topics/t", damage)
    repair(tree_of(cluster), "--yes")
    assert starts_again(cluster)
    assert cluster.read("/brokers/topics/t")["topic_id"] == id_
    pool = pool_spec("p", 1, 2, cluster="c")
    executor.desired = replace(executor.desired, pools=(pool,))
    executor.finish(passes_max=200)
    assert {*map(frozenset, cluster.replicas("t").values())} == {frozenset((1, 2))}


def test_an_id_that_nobody_noted_is_told_as_lost(repair: Repair) -> None:
    cluster = cluster_of("3.9.2")
    cluster.create_topic("u", [1])
    cluster.set("/brokers/topics/t", b"")
    assert "its topic id is lost" in repair(tree_of(cluster)).out
