"""What real brokers did with topics that change in mid-move, and with what dead brokers left.

Each row was observed on live brokers; the ids name release and event.
"""

import pytest

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, body_of
from poolkeeper.sandbox.simulation import BrokerSpec
from poolkeeper.sandbox.simulation.codecs import Tp
from simulation.irregular import ALL, MB, MIDDLE, NEW, cluster_of, gone, notices


def test_an_empty_topic_node_stops_the_next_controller_of_3_9_only() -> None:
    cluster = cluster_of(NEW)
    cluster.create("/brokers/topics/empty", b"")
    cluster.clock.advance(1_000)
    cluster.create_topic("u", [1])
    epoch = cluster.epoch()
    cluster.delete("/controller")
    cluster.clock.advance(4_000)
    assert cluster.epoch() > epoch + 20
    cluster.delete("/brokers/topics/empty")
    cluster.clock.advance(3_000)
    cluster.settle()
    old = cluster_of(MIDDLE)
    old.create("/brokers/topics/empty", b"")
    old.clock.advance(1_000)
    old.fail_over()
    assert old.epoch() == 2


@pytest.mark.parametrize("kafka", [MIDDLE, NEW])
def test_partitions_added_right_behind_a_request_are_lost(kafka: str) -> None:
    cluster = cluster_of(kafka, slow=True)
    body = cluster.read("/brokers/topics/t")
    cluster.request({("t", 0): [3, 4]})
    body["partitions"]["2"] = [1, 2]
    cluster.set("/brokers/topics/t", body)
    cluster.clock.advance(5_000)
    assert "2" not in cluster.replicas("t")
    assert not cluster.exists("/brokers/topics/t/partitions/2")


@ALL
def test_partitions_added_during_a_move_stay_and_edits_of_others_do_not(kafka: str) -> None:
    cluster = cluster_of(kafka, slow=True)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(1_000)
    body = cluster.read("/brokers/topics/t")
    body["partitions"] |= {"1": [4, 3], "2": [1, 2]}
    cluster.set("/brokers/topics/t", body)
    cluster.clock.advance(500)
    assert cluster.state("t", 2) == (1, [1, 2], 0)
    assert gone(cluster)
    assert cluster.replicas("t") == {"0": [3, 4], "1": [2, 1], "2": [1, 2]}


@pytest.mark.parametrize("kafka", [MIDDLE, NEW])
def test_a_topic_is_deleted_during_a_move_and_its_entry_blocks(kafka: str) -> None:
    cluster = cluster_of(kafka, slow=True)
    cluster.create_topic("u", [1, 2])
    cluster.simulation.set_size("u", 0, 20 * MB)
    cluster.create("/config/topics/u", {"version": 1, "config": {}})
    cluster.request({("u", 0): [3, 4]})
    cluster.clock.advance(1_000)
    cluster.create("/admin/delete_topics/u", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/admin/delete_topics/u"), 1_000)
    assert not cluster.exists("/brokers/topics/u")
    assert not cluster.exists("/config/topics/u")
    cluster.clock.advance(10_000)
    assert cluster.read(REQUEST) == body_of({("u", 0): [3, 4]})
    cluster.delete(REQUEST)
    assert not notices(cluster)
    cluster.fail_over()
    assert notices(cluster)


def test_deletion_waits_for_a_dead_replica_but_not_the_data() -> None:
    cluster = cluster_of(NEW)
    cluster.simulation.kill(2)
    cluster.clock.advance(6_000)
    cluster.create("/admin/delete_topics/t", b"")
    cluster.clock.advance(5_000)
    assert cluster.exists("/brokers/topics/t")
    assert cluster.state("t")[:2] == (-1, [1])
    assert cluster.simulation.log(1, "t", 0) is None
    cluster.simulation.start_broker(2)
    assert cluster.clock.run_until(lambda: not cluster.exists("/admin/delete_topics/t"), 5_000)
    assert not cluster.exists("/brokers/topics/t")


def test_a_marker_or_request_for_a_topic_that_is_not_there_goes_at_once() -> None:
    cluster = cluster_of(NEW)
    cluster.create("/admin/delete_topics/no", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/admin/delete_topics/no"), 200)


def test_a_replaced_dead_broker_comes_back_with_strays() -> None:
    cluster = cluster_of(NEW)
    cluster.simulation.kill(2)
    cluster.clock.advance(6_000)
    cluster.request({("t", 0): [1, 3], ("t", 1): [3, 1]})
    assert gone(cluster)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(3_000)
    assert cluster.simulation.strays(2) == (Tp("t", 0), Tp("t", 1))


def test_a_dropped_topic_id_is_restored_by_a_living_controller_and_minted_by_the_next() -> None:
    cluster = cluster_of(NEW)
    before = cluster.read("/brokers/topics/t")["topic_id"]
    body = cluster.read("/brokers/topics/t")
    del body["topic_id"]
    body["partitions"]["2"] = [1, 2]
    cluster.set("/brokers/topics/t", body)
    cluster.clock.advance(500)
    cluster.request({("t", 2): [2, 1]})
    assert gone(cluster)
    assert cluster.read("/brokers/topics/t")["topic_id"] == before
    cluster.set("/brokers/topics/t", body)
    cluster.fail_over()
    assert cluster.read("/brokers/topics/t")["topic_id"] != before
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(20_000)
    assert cluster.exists(REQUEST), "the move hangs"


def test_a_broker_added_later_takes_replicas() -> None:
    cluster = cluster_of(NEW)
    cluster.simulation.add_broker(BrokerSpec(9, "a"))
    assert cluster.clock.run_until(lambda: cluster.exists("/brokers/ids/9"), 5_000)
    cluster.settle()
    cluster.request({("t", 0): [9, 1]})
    assert gone(cluster)
    assert cluster.state("t")[:2] == (1, [1, 9])
