"""What simulated brokers make of configs that tell of throttles, and of their log directories."""

import pytest

from poolkeeper.sandbox.simulation.broker.throttles import (
    DIRECTORY_RATE,
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from simulation.small_clusters import cluster_of, config, gone, notify, tell

MB = 1_000_000


def test_rates_count_when_they_were_told_of() -> None:
    cluster = cluster_of()
    cluster.create("/config/brokers/2", config({LEADER_RATE: "2000000", "other": "x"}))
    cluster.clock.advance(1_000)
    assert cluster.simulation.rates_of(2) == {}
    notify(cluster, "brokers/2")
    assert cluster.simulation.rates_of(2) == {LEADER_RATE: 2_000_000}
    cluster.set("/config/brokers/2", config({LEADER_RATE: "abc"}))
    notify(cluster, "brokers/2")
    assert cluster.simulation.rates_of(2) == {LEADER_RATE: 2_000_000}
    cluster.set("/config/brokers/2", config({LEADER_RATE: 5}))
    notify(cluster, "brokers/2")
    assert cluster.simulation.rates_of(2) == {LEADER_RATE: 2_000_000}
    tell(cluster, b"nonsense")
    cluster.set("/config/brokers/2", config({FOLLOWER_RATE: "7"}))
    tell(cluster, b'{"version":1,"entity_type":"brokers","entity_name":"2"}')
    assert cluster.simulation.rates_of(2) == {FOLLOWER_RATE: 7}


def test_a_broker_reads_all_config_when_it_starts_and_lists_by_broker() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [1, 2])
    cluster.create("/config/topics/t", config({LEADER_REPLICAS: "0:1,10:1,0:2"}))
    cluster.create("/config/brokers/1", config({LEADER_RATE: "9"}))
    cluster.simulation.kill(1)
    cluster.clock.advance(6_000)
    cluster.simulation.start_broker(1)
    cluster.clock.advance(2_000)
    assert cluster.simulation.rates_of(1) == {LEADER_RATE: 9}
    named = [cluster.simulation.throttled(1, LEADER_REPLICAS, "t", p) for p in (0, 10, 2)]
    assert named == [True, True, False]
    assert not cluster.simulation.throttled(2, LEADER_REPLICAS, "t", 0)


def test_old_notifications_are_cleared_away_with_a_later_one() -> None:
    cluster = cluster_of()
    notify(cluster, "brokers/2")
    cluster.clock.advance(16 * 60_000)
    assert len(cluster.client.children("/config/changes") or ()) == 1
    notify(cluster, "brokers/2")
    assert cluster.client.children("/config/changes") == ("config_change_0000000001",)


@pytest.mark.parametrize(
    ("kafka", "rates", "seconds"),
    [
        pytest.param("3.9.2", {}, (0, 1), id="without"),
        pytest.param("2.0.1", {1: LEADER_RATE}, (20, 21), id="two-followers-share-the-leaders"),
        pytest.param("2.8.2", {3: FOLLOWER_RATE}, (10, 11), id="the-followers-own"),
        pytest.param("2.8.2", {2: LEADER_RATE}, (0, 1), id="another-broker's"),
    ],
)
def test_throttles_bound_a_move(
    kafka: str, rates: dict[int, str], seconds: tuple[int, int]
) -> None:
    cluster = cluster_of(kafka, brokers=4)
    cluster.create_topic("t", [1, 2])
    cluster.simulation.set_size("t", 0, 20 * MB)
    everything = {LEADER_REPLICAS: "*", "follower.replication.throttled.replicas": "*"}
    cluster.create("/config/topics/t", config(everything))
    notify(cluster, "topics/t")
    for id_, key in rates.items():
        cluster.create(f"/config/brokers/{id_}", config({key: str(2 * MB)}))
        notify(cluster, f"brokers/{id_}")
    began_ms = cluster.clock.now_ms()
    cluster.request({("t", 0): [3, 4]})
    assert gone(cluster, "/admin/reassign_partitions", 60_000)
    low, high = seconds
    assert low <= (cluster.clock.now_ms() - began_ms) / 1000 <= high


def test_a_throttle_that_is_removed_lets_the_rest_through() -> None:
    cluster = cluster_of(brokers=4)
    cluster.create_topic("t", [1, 2])
    cluster.simulation.set_size("t", 0, 20 * MB)
    cluster.create("/config/topics/t", config({LEADER_REPLICAS: "*"}))
    cluster.create("/config/brokers/1", config({LEADER_RATE: "1000"}))
    for entity in ("topics/t", "brokers/1"):
        notify(cluster, entity)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(10_000)
    log = cluster.simulation.log(3, "t", 0)
    assert log is not None
    assert 4_000 < log.bytes <= 5_000
    cluster.set("/config/brokers/1", config({}))
    notify(cluster, "brokers/1")
    assert gone(cluster, "/admin/reassign_partitions", 1_500)


def test_a_replica_moves_between_directories_under_its_throttle() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [1])
    cluster.simulation.set_size("t", 0, 20 * MB)
    cluster.create("/config/brokers/1", config({DIRECTORY_RATE: str(2 * MB)}))
    notify(cluster, "brokers/1")
    other = cluster.simulation.brokers[1].disk.directories[1]
    assert cluster.simulation.alter_log_dir(1, "t", 0, "/nowhere") == "LOG_DIR_NOT_FOUND"
    assert cluster.simulation.alter_log_dir(1, "t", 0, other) == ""
    cluster.clock.advance(5_000)
    log = cluster.simulation.log(1, "t", 0)
    assert log is not None
    assert (log.directory, log.future, round(log.future_bytes / MB)) == (0, 1, 10)
    cluster.clock.advance(5_100)
    assert (log.directory, log.future) == (1, None)


def test_a_directory_asked_for_beforehand_is_where_a_replica_comes() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [1])
    other = cluster.simulation.brokers[2].disk.directories[1]
    assert cluster.simulation.alter_log_dir(2, "t", 0, other) == "REPLICA_NOT_AVAILABLE"
    cluster.request({("t", 0): [2]})
    assert gone(cluster, "/admin/reassign_partitions")
    log = cluster.simulation.log(2, "t", 0)
    assert log is not None
    assert log.directory == 1
