"""Log directories that fail in simulated clusters: what was there is rebuilt where it may be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Heal
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SESSION_MS, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation import invariants
from simulation.asked import AskedBrokers
from simulation.executors import Executor
from simulation.scenarios import MB, THROTTLED, Wanted

NEWEST, OLD = "3.9.2", "2.0.1"


class Failure:
    """Topic t on brokers 1 to 3 of four; the first directory of broker 1 fails."""

    def __init__(
        self,
        kafka: str,
        heal: Heal,
        brokers: tuple[int, ...] = (1, 2, 3, 4),
        lists: Sequence[list[int]] = ([1, 2], [2, 3], [3, 1], [1, 3], [2, 1], [3, 2]),
    ) -> None:
        self.cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
        self.cluster.start()
        self.cluster.create_topic("t", *lists)
        for partition in range(len(lists)):
            self.cluster.simulation.set_size("t", partition, MB)
        wanted = Wanted(brokers, len(lists), 2, THROTTLED).desired()
        pool = replace(wanted.pools[0], goals=())
        self.wanted = replace(wanted, cluster=replace(wanted.cluster, heal=heal), pools=(pool,))
        self.disk = self.cluster.simulation.brokers[1].disk
        self.cluster.simulation.fail_log_dir(1, 0)
        self.cluster.settle()
        brokers_asked = AskedBrokers(self.cluster, tells_logs=True)
        self.executor = Executor(
            self.cluster, self.wanted, brokers=brokers_asked, enrich=brokers_asked.enrich
        )

    def out_of_sync(self) -> int:
        return sum(
            len(self.cluster.state("t", int(p))[1]) < len(ids)
            for p, ids in self.cluster.replicas("t").items()
        )

    def problem(self) -> str:
        plan = self.executor.seen[-1].plan
        assert plan is not None
        [told] = [str(p.facts) for p in plan.problems if p.reason is ProblemReason.LOG_DIR_FAILED]
        return told


@pytest.mark.parametrize("kafka", [NEWEST, "2.8.2", OLD])
def test_what_was_in_a_failed_directory_is_rebuilt_on_other_brokers(kafka: str) -> None:
    failure = Failure(kafka, Heal(enabled=True, after_s=20))
    offline = set(failure.disk.offline)
    assert failure.out_of_sync() == len(offline) > 0
    failure.executor.finish()
    assert (
        "wait: they are rebuilt on other brokers once it has failed for 20 s" in failure.problem()
    )
    failure.cluster.clock.advance(30_000)
    failure.executor.finish()
    assert failure.out_of_sync() == 0
    moved = failure.executor.seen
    assert {
        (move.topic, move.partition) for o in moved if o.plan is not None for move in o.plan.moves
    } == {(tp.topic, tp.partition) for tp in offline}
    reasons = {move.reason for o in moved if o.plan is not None for move in o.plan.moves}
    assert reasons == {"a log directory of broker 1 has failed"}
    assert "until then the broker is given no replicas" in failure.problem()
    assert all(not {1} <= set(failure.cluster.replicas("t")[str(tp.partition)]) for tp in offline)
    assert invariants.leftovers(failure.cluster.server) == []


def test_where_heal_does_not_allow_it_the_line_that_does_is_named() -> None:
    failure = Failure(NEWEST, Heal())
    failure.executor.finish()
    failure.cluster.clock.advance(3_600_000)
    failure.executor.finish()
    assert failure.out_of_sync() == len(failure.disk.offline)
    assert failure.problem().startswith(
        "log directory /sim/broker-1/d0 of broker 1 has failed, and t-"
    )
    assert failure.problem().endswith(
        "are offline there: replace its disk and restart the broker, or set spec.heal.enabled of"
        " the KafkaCluster to true to rebuild them elsewhere"
    )


def test_where_no_other_broker_has_a_place_that_is_said_and_a_new_disk_mends_it() -> None:
    failure = Failure(NEWEST, Heal(enabled=True, after_s=0), (1, 2), [[1, 2], [2, 1]] * 2)
    failure.executor.finish()
    assert failure.out_of_sync() == len(failure.disk.offline) > 0
    assert "add a broker to the pool: no other one may hold them" in failure.problem()
    simulation = failure.cluster.simulation
    simulation.kill(1)
    failure.disk.replace_failed()
    failure.cluster.clock.advance(SESSION_MS + 2000)
    simulation.start_broker(1)
    assert failure.cluster.clock.run_until(lambda: not failure.out_of_sync(), 60_000)
    failure.executor.finish()
    plan = failure.executor.seen[-1].plan
    assert plan is not None
    assert plan.problems == ()


def test_more_failures_than_heal_bounds_are_left_to_a_person() -> None:
    failure = Failure(NEWEST, Heal(enabled=True, after_s=0))
    failure.cluster.simulation.fail_log_dir(2, 1)
    failure.cluster.settle()
    failure.executor.finish()
    plan = failure.executor.seen[-1].plan
    assert plan is not None
    told = [str(p.facts) for p in plan.problems if p.reason is ProblemReason.LOG_DIR_FAILED]
    assert len(told) == 2
    assert all("raise spec.heal.maxBrokers of the KafkaCluster to 2" in each for each in told)
    assert failure.out_of_sync() > 0


@pytest.mark.parametrize(
    ("kafka", "failed"),
    [
        pytest.param(NEWEST, (0, 1), id="its-last-one"),
        pytest.param("0.11.0.3", (0,), id="any-one-before-1.0"),
    ],
)
def test_a_broker_that_cannot_go_on_without_a_directory_shuts_down(
    kafka: str, failed: tuple[int, ...]
) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start(first=3)
    cluster.create_topic("t", [1, 2], [2, 1])
    simulation = cluster.simulation
    for index in failed:
        assert simulation.brokers[1].alive
        simulation.fail_log_dir(1, index)
    assert not simulation.brokers[1].alive
    gone = cluster.clock.run_until(lambda: not cluster.exists("/brokers/ids/1"), 10_000)
    assert gone
    simulation.start_broker(1)
    assert not simulation.brokers[1].alive
    simulation.brokers[1].disk.replace_failed()
    simulation.start_broker(1)
    assert cluster.clock.run_until(lambda: len(cluster.state("t", 0)[1]) == 2, 60_000)


def test_a_run_names_the_failed_directory_of_a_replica_that_its_moves_keep() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=NEWEST))
    cluster.start(first=4)
    cluster.create_topic("t", *[[1, 2]] * 4)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    asked = AskedBrokers(cluster, tells_logs=True)
    wanted = Wanted((1, 3, 4), 4, 2, THROTTLED).desired()
    executor = Executor(cluster, wanted, brokers=asked, enrich=asked.enrich)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)
    executor.finish()
    cluster.simulation.fail_log_dir(1, 0)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.LOG_DIR_FAILED)
    executor.finish()
