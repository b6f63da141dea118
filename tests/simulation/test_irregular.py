"""What real brokers did with irregular requests, and the simulated ones do as well.

Each row was observed on live brokers; the ids name release and event. "Lost" means that a request
created later is not noticed.
"""

from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster, body_of
from simulation.irregular import ALL, MIDDLE, NEW, OLD, cluster_of, gone, notices


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


@pytest.mark.parametrize("kafka", [MIDDLE, "2.8.2", NEW])
def test_oversize_nodes_cost_the_connection_only(kafka: str) -> None:
    cluster = cluster_of(kafka)
    with pytest.raises(ConnectionLoss):
        cluster.create(REQUEST, b"x" * 1_254_920)
    assert not cluster.exists(REQUEST)
