"""`poolkeeper repair` of topic nodes that have lost their lists, or the topic's id."""

from dataclasses import replace

import pytest

from builders import pool_spec
from poolkeeper.model.specs import Remedies
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from poolkeeper.zk.repair import mend
from poolkeeper.zk.repair.values import Examined, Finding
from simulation.our_tree import Repair
from simulation.repaired import ERAS, cluster_of, starts_again, tree_of
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


@pytest.mark.parametrize("kafka", ERAS)
def test_a_list_is_not_made_of_who_was_in_sync_before(kafka: str) -> None:
    """A broker that came back meanwhile would be in sync and in no list."""
    cluster = cluster_of(kafka)
    cluster.simulation.kill(2)
    cluster.clock.advance(8_000)
    cluster.set("/brokers/topics/t", b"")
    session = tree_of(cluster).session()
    (finding,) = _lost(session)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(10_000)
    assert cluster.state("t")[1] == [1, 2]
    with journal.hold(session, "repair", 0, patience_s=0) as held:
        assert not mend.carry_out(held, finding)
        assert cluster.client.get("/brokers/topics/t")[0] == b""
        (finding,) = _lost(session)
        assert mend.carry_out(held, finding)
    assert {*map(frozenset, cluster.replicas("t").values())} == {frozenset((1, 2))}


def _lost(session: FakeSession) -> list[Finding]:
    found = mend.find(Examined(session, observe.cluster(session, "main"), None, 0))
    return [each for each in found if each.path == "/brokers/topics/t"]
