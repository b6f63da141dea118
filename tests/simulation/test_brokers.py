"""What simulated brokers do beside reassignments: lives, leaders, elections."""

from dataclasses import replace

import pytest

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper.transactions import Transaction
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.codecs import Tp
from simulation.small_clusters import cluster_of, config, gone, notify

MB = 1_000_000
ELECTION = "/admin/preferred_replica_election"
ERAS = pytest.mark.parametrize("kafka", ["0.10.2.2", "2.0.1", "2.8.2", "3.9.2"])


# Beginnings


@pytest.mark.parametrize(
    ("kafka", "nodes"),
    [
        ("2.0.1", [[("CREATE", "/controller")], [("CREATE", "/controller_epoch")]]),
        (
            "3.9.2",
            [
                [("CREATE", "/controller_epoch")],
                [("CREATE", "/controller"), ("SET", "/controller_epoch")],
            ],
        ),
    ],
)
def test_the_first_term_has_epoch_1(kafka: str, nodes: list[list[tuple[str, str]]]) -> None:
    cluster = cluster_of(kafka)
    written = [
        [(operation.kind.name, operation.path) for operation in transaction.operations]
        for transaction in cluster.server.log
        if any(o.path.startswith("/controller") for o in transaction.changes)
    ]
    assert written == nodes
    assert cluster.epoch() == 1
    assert cluster.read("/controller")["brokerid"] == 1


@ERAS
def test_a_new_topic_gets_its_id_before_its_states(kafka: str) -> None:
    cluster = cluster_of(kafka)
    since = cluster.server.zxid
    cluster.create("/brokers/topics/t", {"version": 1, "partitions": {"0": [2, 1]}, "x": 1})
    cluster.clock.advance(500)
    changes = [o for t in cluster.server.log if t.zxid > since for o in t.changes]
    ids = int(cluster.simulation.profile.has_topic_ids)
    paths = [(change.kind.name, change.path) for change in changes[1:]]
    assert paths == [
        *[("SET", "/brokers/topics/t")] * ids,
        ("CREATE", "/brokers/topics/t/partitions"),
        ("CREATE", "/brokers/topics/t/partitions/0"),
        ("CREATE", "/brokers/topics/t/partitions/0/state"),
    ]
    assert cluster.version("/brokers/topics/t") == ids
    assert cluster.state("t") == (2, [2, 1], 0)
    body = cluster.read("/brokers/topics/t")
    assert (len(body.get("topic_id", "")), "x" in body) == (22 * ids, not ids)


@ERAS
def test_who_is_no_replica_any_more_does_not_join_the_isr(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [1, 2])
    cluster.simulation.brokers[1].isr_expansion.caught_up(Tp("t", 0), 3)
    cluster.clock.advance(5_000)
    assert cluster.state("t", 0)[:2] == (1, [1, 2])


@ERAS
def fall_behind(cluster: SimulatedCluster) -> None:
    """Let broker 2 copy nothing, and broker 1 take it out of the ISR of its partition."""
    simulation, tp = cluster.simulation, Tp("t", 0)
    simulation.set_size("t", 0, MB)
    simulation.surroundings.network[2] = 1.0
    simulation.brokers[2].disk.hold(simulation.brokers[2].disk.logs[tp], 0)
    simulation.brokers[1].isr_expansion.fell_behind(tp, 2)
    cluster.clock.advance(100)


@ERAS
def test_who_falls_behind_leaves_the_isr_and_comes_back_in_the_same_epoch(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [1, 2])
    fall_behind(cluster)
    cluster.clock.advance(8_000)
    assert cluster.state("t") == (1, [1], 0)
    del cluster.simulation.surroundings.network[2]
    cluster.simulation.transfers.changed()
    cluster.clock.advance(5_000)
    assert cluster.state("t") == (1, [1, 2], 0)


@pytest.mark.parametrize("kafka", ["0.10.2.2", "2.0.1"])
def test_a_leader_goes_by_the_isr_that_it_wrote(kafka: str) -> None:
    """Its controller tells what it read last, with whatever it tells next."""
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [1, 2])
    fall_behind(cluster)
    leader, tp = cluster.simulation.brokers[1], Tp("t", 0)
    wrote = leader.state_of(tp)
    assert wrote is not None
    assert wrote.isr == (1,)
    leader.hear_leader(tp, replace(wrote, isr=(1, 2), version=wrote.version - 1), (1, 2), None)
    assert leader.state_of(tp) == wrote


def test_a_topic_with_an_id_keeps_it_and_its_node() -> None:
    cluster = cluster_of()
    id_ = "L0TR7TcWRHGLfnWFp33ytg"
    body = {"version": 3, "partitions": {"0": [1]}, "topic_id": id_}
    cluster.create("/brokers/topics/t", body)
    cluster.clock.advance(500)
    assert cluster.version("/brokers/topics/t") == 0
    assert cluster.simulation.log(1, "t", 0) is not None
    assert cluster.simulation.log(1, "t", 0).topic_id == id_  # type: ignore[union-attr]


def test_dead_replicas_of_a_new_topic_join_later() -> None:
    cluster = cluster_of(brokers=4)
    cluster.simulation.kill(4)
    cluster.clock.advance(6_000)
    body = {"version": 1, "partitions": {"0": [4, 1], "1": [4]}}
    cluster.create("/brokers/topics/t", body)
    cluster.clock.advance(1_000)
    assert cluster.state("t") == (1, [1], 0)
    assert not cluster.exists("/brokers/topics/t/partitions/1/state")
    cluster.simulation.start_broker(4)
    cluster.clock.advance(5_000)
    assert cluster.state("t") == (1, [1, 4], 0)
    assert cluster.state("t", 1) == (4, [4], 0)


# Leaders


@ERAS
def test_a_killed_leader_is_replaced_when_its_session_ends(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [2, 3, 1])
    cluster.simulation.kill(2)
    cluster.clock.advance(3_500)
    assert cluster.state("t") == (2, [2, 3, 1], 0)
    assert cluster.exists("/brokers/ids/2")
    cluster.clock.advance(2_000)
    assert not cluster.exists("/brokers/ids/2")
    assert cluster.state("t") == (3, [3, 1], 1)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(5_000)
    assert cluster.state("t") == (3, [3, 1, 2], 1)


@ERAS
def test_who_starts_again_hears_nothing_before_it_is_registered(kafka: str) -> None:
    """The node of the life before may still be there: to the controller nothing happened."""
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [2, 3])
    cluster.simulation.kill(2)
    cluster.simulation.start_broker(2)
    started = cluster.simulation.brokers[2]
    cluster.request({("t", 0): [2, 1]})
    cluster.clock.advance(1_000)
    assert cluster.exists("/brokers/ids/2")
    assert (started.serves, started.roles) == (False, {})
    assert cluster.clock.run_until(lambda: bool(started.roles), 20_000)
    assert started.serves


def test_the_last_in_sync_replica_stays_listed_until_it_returns() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [2, 3])
    for id_ in (3, 2):
        cluster.simulation.kill(id_)
        cluster.clock.advance(6_000)
    assert cluster.state("t") == (-1, [2], 2)
    cluster.simulation.start_broker(3)
    cluster.clock.advance(5_000)
    assert cluster.state("t") == (-1, [2], 2)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(5_000)
    assert cluster.state("t")[:2] == (2, [2, 3])


def test_an_unclean_election_where_the_topic_allows_it_loses_what_is_missing() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [2, 3])
    cluster.simulation.kill(3)
    cluster.clock.advance(6_000)
    cluster.simulation.set_size("t", 0, 5 * MB)
    cluster.simulation.kill(2)
    cluster.clock.advance(6_000)
    cluster.simulation.start_broker(3)
    cluster.clock.advance(3_000)
    assert cluster.state("t")[0] == -1
    cluster.create("/config/topics/t", config({"unclean.leader.election.enable": "true"}))
    notify(cluster, "topics/t")
    assert cluster.state("t")[:2] == (3, [3])
    cluster.simulation.start_broker(2)
    cluster.clock.advance(5_000)
    assert cluster.state("t")[:2] == (3, [3, 2])
    log = cluster.simulation.log(2, "t", 0)
    assert log is not None
    assert log.bytes == 0


@ERAS
def test_an_orderly_stop_hands_over_before_it_leaves(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [2, 3], [3, 2], [2])
    cluster.simulation.stop_broker(2)
    assert gone(cluster, "/brokers/ids/2", 1_000)
    cluster.clock.advance(1_000)
    assert [cluster.state("t", p)[:2] for p in range(3)] == [(3, [3]), (3, [3]), (-1, [2])]


@ERAS
def test_preferred_leaders_are_elected_on_request(kafka: str) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [2, 3], [3, 2])
    cluster.simulation.kill(2)
    cluster.clock.advance(6_000)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(5_000)
    before = [cluster.state("t", p) for p in (0, 1)]
    assert [leader for leader, _, _ in before] == [3, 3]
    entries = [{"topic": "t", "partition": p} for p in (0, 1)]
    cluster.create(ELECTION, {"version": 1, "partitions": entries})
    assert gone(cluster, ELECTION, 200)
    after = [cluster.state("t", p) for p in (0, 1)]
    assert after[0] == (2, before[0][1], before[0][2] + 1)
    needless = 0 if cluster.simulation.profile.skips_elections else 1
    assert after[1] == (3, before[1][1], before[1][2] + needless)


@pytest.mark.parametrize(("kafka", "stays"), [("2.0.1", True), ("2.8.2", False)])
def test_an_election_of_an_unknown_partition(kafka: str, stays: bool) -> None:
    cluster = cluster_of(kafka)
    cluster.create_topic("t", [1, 2])
    entries = [{"topic": "t", "partition": 0}, {"topic": "no", "partition": 0}]
    cluster.create(ELECTION, {"version": 1, "partitions": entries})
    assert gone(cluster, ELECTION, 5_000) is not stays
    if stays:
        cluster.delete(ELECTION)
        cluster.create(ELECTION, {"version": 1, "partitions": entries[:1]})
        assert not gone(cluster, ELECTION, 5_000)


def test_an_election_that_makes_no_sense_is_deleted() -> None:
    for kafka in ("2.0.1", "3.9.2"):
        cluster = cluster_of(kafka)
        cluster.create(ELECTION, b"{")
        assert gone(cluster, ELECTION, 500)
        cluster.create(ELECTION, b"{")
        assert gone(cluster, ELECTION, 500)


def test_an_expired_session_costs_the_office_and_nothing_else() -> None:
    cluster = cluster_of()
    cluster.create_topic("t", [1, 2])
    cluster.server.expire(cluster.simulation.brokers[1].client.session_id)
    cluster.clock.advance(5_000)
    cluster.settle()
    assert cluster.epoch() == 2
    assert cluster.exists("/brokers/ids/1")
    assert sorted(cluster.state("t")[1]) == [1, 2]


# Repetition


def test_the_same_seed_gives_the_same_history() -> None:
    def history(seed: int) -> list[Transaction]:
        spec = SimulationSpec(spread(4), kafka="2.8.2", seed=seed)
        cluster = SimulatedCluster(spec)
        cluster.start()
        cluster.create_topic("t", *[[1, 2]] * 5)
        cluster.request({("t", p): [3, 4] for p in range(5)})
        assert gone(cluster, "/admin/reassign_partitions", 60_000)
        return cluster.server.log

    assert history(1) == history(1)
    assert history(1) != history(2)
