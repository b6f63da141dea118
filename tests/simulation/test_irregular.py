"""What real brokers did with irregular requests, and the simulated ones do as well.

Each row was observed on live brokers; the ids name release and event. "Lost" means that a request
created later is not noticed.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster, body_of
from poolkeeper.sandbox.simulation import BrokerSpec, SimulationSpec, spread
from poolkeeper.sandbox.simulation.codecs import Tp
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode

MB = 1_000_000
OLD, MIDDLE, NEW = "0.10.2.2", "2.0.1", "3.9.2"
ALL = pytest.mark.parametrize("kafka", [OLD, MIDDLE, "2.3.1", "2.8.2", NEW])
SLOW = 5 * MB


def cluster_of(
    kafka: str, brokers: int = 4, *, slow: bool = False, seed: int = 0
) -> SimulatedCluster:
    """Start a cluster with topic `t`: p0 [1,2], p1 [2,1], 20 MB each, at 5 MB/s if slow."""
    rate = SLOW if slow else 1000 * MB
    spec = SimulationSpec(spread(brokers), kafka=kafka, seed=seed, network_bytes_per_s=rate)
    cluster = SimulatedCluster(spec)
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2], [2, 1])
    for partition in (0, 1):
        cluster.simulation.set_size("t", partition, 20 * MB)
    cluster.settle()
    return cluster


def gone(cluster: SimulatedCluster) -> bool:
    return cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 30_000)


def notices(cluster: SimulatedCluster) -> bool:
    """Say whether a new request is noticed."""
    assert not cluster.exists(REQUEST)
    lists = cluster.replicas("t")
    cluster.request({("t", 1): lists["1"][::-1]})
    noticed = cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 6_000)
    if not noticed:
        cluster.delete(REQUEST)
    return noticed


@ALL
def test_unknown_entries_are_dropped_and_good_ones_done(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 9): [3, 4], ("no", 0): [3, 4], ("t", 0): [3, 4]})
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == [3, 4]
    cluster.request({("no", 0): [3, 4]})
    assert gone(cluster)
    assert notices(cluster)


@pytest.mark.parametrize(("kafka", "epochs"), [(OLD, 0), (MIDDLE, 0), ("2.8.2", 1), (NEW, 1)])
def test_a_target_that_is_there_already(kafka: str, epochs: int) -> None:
    cluster = cluster_of(kafka)
    before, version = cluster.state("t"), cluster.version("/brokers/topics/t")
    cluster.request({("t", 0): [1, 2]})
    assert gone(cluster)
    assert cluster.state("t") == (*before[:2], before[2] + epochs)
    assert cluster.version("/brokers/topics/t") == version + epochs


LOG_DIRS = body_of({("t", 0): [3, 4]})
LOG_DIRS["partitions"][0]["log_dirs"] = ["any", "any"]
INVALID: list[Any] = [
    pytest.param(LOG_DIRS, id="log-dirs"),
    pytest.param(b"{", id="malformed"),
    pytest.param(b"", id="empty"),
    pytest.param({"version": 1, "partitions": []}, id="no-partitions"),
]


@pytest.mark.parametrize("body", INVALID)
def test_2_0_deletes_what_makes_no_sense_at_once(body: Any) -> None:
    cluster = cluster_of(MIDDLE)
    cluster.create(REQUEST, body)
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == [1, 2]
    assert notices(cluster)


@pytest.mark.parametrize("body", INVALID)
@pytest.mark.parametrize(
    "remedy", ["", "failover", "api call"], ids=["untouched", "failover", "api"]
)
def test_3_9_keeps_it_and_loses_its_watch(body: Any, remedy: str) -> None:
    cluster = cluster_of(NEW)
    cluster.create(REQUEST, body)
    cluster.clock.advance(5_000)
    assert cluster.exists(REQUEST)
    cluster.delete(REQUEST)
    if remedy == "failover":
        cluster.fail_over()
    elif remedy == "api call":
        assert cluster.simulation.alter_reassignments({("no.such.topic", 0): None}) == ""
        cluster.settle()
    assert notices(cluster) is bool(remedy)


def test_an_api_call_deletes_what_makes_no_sense() -> None:
    cluster = cluster_of(NEW)
    cluster.create(REQUEST, b"{")
    cluster.clock.advance(1_000)
    cluster.simulation.alter_reassignments({("t", 0): None})
    assert gone(cluster)
    assert notices(cluster)


@pytest.mark.parametrize("kafka", [MIDDLE, NEW])
def test_ids_that_are_strings_poison_the_topic_and_the_next_controller(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 0): ["2", "3"]})
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == ["2", "3", 1, 2]
    assert cluster.state("t")[1] == [1, 2]
    crash_loop_until(cluster, {"0": [1, 2], "1": [2, 1]})


def crash_loop_until(
    cluster: SimulatedCluster, partitions: dict[str, list[int]], *, partly_works: bool = False
) -> None:
    """Fail over into a crash loop, see it, and end it by a rewrite of topic `t`."""
    epoch = cluster.epoch()
    cluster.delete("/controller")
    cluster.clock.advance(4_000)
    assert cluster.epoch() > epoch + 20
    cluster.create("/brokers/topics/u", {"version": 1, "partitions": {"0": [1]}})
    cluster.clock.advance(2_000)
    assert cluster.exists("/brokers/topics/u/partitions/0/state") is partly_works
    cluster.set("/brokers/topics/t", {"version": 1, "partitions": partitions})
    cluster.clock.advance(2_000)
    cluster.settle()
    assert cluster.exists("/brokers/topics/u/partitions/0/state")
    epoch = cluster.epoch()
    cluster.clock.advance(5_000)
    assert cluster.epoch() == epoch


def test_3_9_with_an_empty_list_loses_nothing_but_the_next_controller() -> None:
    cluster = cluster_of(NEW)
    cluster.request({("t", 0): []})
    assert gone(cluster)
    body = cluster.read("/brokers/topics/t")
    assert body["removing_replicas"] == {"0": [1, 2]}
    assert cluster.state("t")[:2] == (1, [1, 2])
    assert cluster.simulation.log(1, "t", 0) is not None
    crash_loop_until(cluster, {"0": [1, 2], "1": [2, 1]}, partly_works=True)


def test_2_0_with_an_empty_list_destroys_the_data() -> None:
    cluster = cluster_of(MIDDLE)
    cluster.request({("t", 0): []})
    assert gone(cluster)
    cluster.settle()
    assert cluster.replicas("t")["0"] == []
    assert cluster.state("t")[0] == -1
    assert [cluster.simulation.log(id_, "t", 0) for id_ in (1, 2)] == [None, None]


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


def test_3_9_completes_duplicates_but_keeps_their_entry_for_ever() -> None:
    cluster = cluster_of(NEW)
    cluster.request({("t", 0): [2, 2, 3]})
    cluster.clock.advance(30_000)
    assert cluster.replicas("t")["0"] == [2, 3]
    assert cluster.read(REQUEST) == body_of({("t", 0): [2, 2, 3]})
    cluster.delete(REQUEST)
    assert not notices(cluster)


def test_2_0_writes_duplicates_into_the_topic() -> None:
    cluster = cluster_of(MIDDLE)
    cluster.request({("t", 0): [2, 2, 3]})
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == [2, 2, 3]


EDITS: dict[str, Callable[[SimulatedCluster], None]] = {
    "overwritten": lambda c: c.set(REQUEST, body_of({("t", 0): [3, 4], ("t", 1): [3, 4]})),
    "deleted": lambda c: c.delete(REQUEST),
    "replaced": lambda c: (c.delete(REQUEST), c.request({("t", 1): [3, 4]}))[0],
}


@pytest.mark.parametrize(
    ("kafka", "edit", "second_done", "node_stays", "watch_works"),
    [
        (OLD, "overwritten", True, False, True),
        (OLD, "deleted", False, False, True),
        (OLD, "replaced", True, False, True),
        ("1.1.1", "overwritten", False, False, True),
        ("1.1.1", "replaced", False, False, True),
        (MIDDLE, "overwritten", False, False, True),
        (MIDDLE, "deleted", False, False, True),
        (MIDDLE, "replaced", False, False, True),
        (NEW, "overwritten", False, True, False),
        (NEW, "deleted", False, False, True),
        (NEW, "replaced", False, True, False),
    ],
)
def test_edits_of_a_request_under_way(
    kafka: str, edit: str, second_done: bool, node_stays: bool, watch_works: bool
) -> None:
    cluster = cluster_of(kafka, slow=True)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(1_000)
    EDITS[edit](cluster)
    cluster.clock.advance(60_000)
    assert cluster.replicas("t")["0"] == [3, 4], "it goes on whatever happens to the node"
    assert (cluster.replicas("t")["1"] == [3, 4]) is second_done
    assert cluster.exists(REQUEST) is node_stays
    if node_stays:
        cluster.delete(REQUEST)
    assert notices(cluster) is watch_works


def test_2_0_creates_a_deleted_request_again_with_what_is_left() -> None:
    cluster = cluster_of(MIDDLE, slow=True)
    cluster.simulation.set_size("t", 0, 1 * MB)
    cluster.request({("t", 0): [3, 4], ("t", 1): [3, 4]})
    cluster.clock.advance(300)
    cluster.delete(REQUEST)
    assert cluster.clock.run_until(lambda: cluster.exists(REQUEST), 20_000)
    assert cluster.read(REQUEST) == body_of({("t", 1): [3, 4]})


@ALL
def test_a_dead_target_hangs_and_the_rest_is_done(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 0): [2, 99], ("t", 1): [3, 4]})
    cluster.clock.advance(20_000)
    assert cluster.replicas("t") == {"0": [2, 99, 1], "1": [3, 4]}
    assert cluster.read(REQUEST) == body_of({("t", 0): [2, 99]})
    assert cluster.state("t") == (1, [1, 2], 1)


def test_leaving_a_hanging_move_by_the_api_gives_the_origin_in_mixed_order() -> None:
    cluster = cluster_of(NEW)
    cluster.request({("t", 0): [2, 99]})
    cluster.clock.advance(5_000)
    epoch = cluster.state("t")[2]
    cluster.simulation.alter_reassignments({("t", 0): None})
    assert gone(cluster)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [2, 1]
    assert cluster.state("t")[2] == epoch + 1


@pytest.mark.parametrize("kafka", [OLD, MIDDLE, "2.3.1"])
def test_leaving_a_hanging_move_by_an_election_and_the_old_list(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.request({("t", 0): [2, 99]})
    cluster.clock.advance(5_000)
    cluster.delete(REQUEST)
    cluster.fail_over()
    assert sorted(cluster.replicas("t")["0"]) == [1, 2, 99]
    assert not cluster.exists(REQUEST)
    cluster.request({("t", 0): [1, 2]})
    assert gone(cluster)
    assert cluster.replicas("t")["0"] == [1, 2]


def replace_request(
    cluster: SimulatedCluster, entries: dict[tuple[str, int], list[int]], *, resign: bool
) -> None:
    """Put a request in the place of another, perhaps with the controller's end, at one stroke."""
    made = [CreateNode(REQUEST, json.dumps(body_of(entries)).encode())] if entries else []
    ended = [DeleteNode("/controller")] if resign else []
    cluster.client.commit([DeleteNode(REQUEST), *made, *ended])


@pytest.mark.parametrize("kafka", [MIDDLE, "2.8.2", NEW])
def test_a_request_in_place_of_another_is_seen_by_the_next_controller_alone(kafka: str) -> None:
    """p0 hangs on a dead broker and goes back, in its order; p1 is on its way and goes on."""
    cluster = cluster_of(kafka, slow=True)
    cluster.simulation.kill(4)
    cluster.clock.advance(6_000)
    cluster.request({("t", 0): [1, 4], ("t", 1): [2, 3]})
    cluster.clock.advance(1_000)
    back = {("t", 0): [1, 2], ("t", 1): [2, 3]}
    replace_request(cluster, back, resign=False)
    cluster.clock.advance(1_000)
    assert cluster.replicas("t")["0"] == [1, 4, 2]
    replace_request(cluster, back, resign=True)
    assert gone(cluster)
    assert cluster.replicas("t") == {"0": [1, 2], "1": [2, 3]}
    assert cluster.state("t", 0) == (1, [1, 2], 2)
    assert cluster.epoch() == 2
    assert notices(cluster)


@pytest.mark.parametrize(("kafka", "goes_on"), [(MIDDLE, False), (NEW, True)])
def test_a_move_without_its_request_after_an_election(kafka: str, goes_on: bool) -> None:
    """Its brokers of before and after are dead: the list stays the union, and can be moved on."""
    cluster = cluster_of(kafka, brokers=5)
    for id_ in (1, 4):
        cluster.simulation.kill(id_)
    cluster.clock.advance(6_000)
    cluster.settle()
    cluster.request({("t", 0): [4, 2]})
    cluster.clock.advance(1_000)
    replace_request(cluster, {}, resign=True)
    cluster.clock.advance(1_000)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [4, 2, 1]
    assert bool(cluster.read("/brokers/topics/t").get("adding_replicas")) == goes_on
    cluster.request({("t", 0): [5, 2]})
    assert gone(cluster)
    cluster.settle()
    assert cluster.replicas("t")["0"] == [5, 2]


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


@pytest.mark.parametrize("kafka", [MIDDLE, "2.8.2", NEW])
def test_oversize_nodes_cost_the_connection_only(kafka: str) -> None:
    cluster = cluster_of(kafka)
    with pytest.raises(ConnectionLoss):
        cluster.create(REQUEST, b"x" * 1_254_920)
    assert not cluster.exists(REQUEST)


def test_a_broker_added_later_takes_replicas() -> None:
    cluster = cluster_of(NEW)
    cluster.simulation.add_broker(BrokerSpec(9, "a"))
    assert cluster.clock.run_until(lambda: cluster.exists("/brokers/ids/9"), 5_000)
    cluster.settle()
    cluster.request({("t", 0): [9, 1]})
    assert gone(cluster)
    assert cluster.state("t")[:2] == (1, [1, 9])
