"""The adaptive throttle at work: it halves while replicas fall behind, rises again, is undone."""

from collections.abc import Callable

import pytest

from builders import desired, pool_spec, topic_spec
from matrices import soak
from poolkeeper.cli.output.runs import status_values
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import RateReason
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.planning.run_state.throttling.throttles import ADAPTIVE_RISE_MAX
from poolkeeper.reconcile.decide.throttle_rate import ADAPT_EVERY_MS
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SimulatedCluster,
    state_path,
)
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from simulation import invariants
from simulation.executors import Executor, converged

MB = 1_000_000
RATE = 4 * MB
SIZE = 600 * MB
PAUSE_S = 5.0
"""Looks are further apart than a loop's, and several of them fall between two changes."""
RATE_KEY = "leader.replication.throttled.rate"
BROKERS = (1, 2, 3, 4)


def made() -> tuple[SimulatedCluster, Executor]:
    """A move of t from brokers 1 and 2 to 3 and 4; topic `other` stays on 1 and 2."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start()
    cluster.create_topic("t", [1, 2])
    cluster.create_topic("other", [1, 2])
    cluster.simulation.set_size("t", 0, SIZE)
    execution = Execution(throttle=Throttle(ThrottleMode.ADAPTIVE, RATE))
    topic = topic_spec("t", "p", partitions=1, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", execution=execution)
    return cluster, Executor(cluster, wanted, pause_s=lambda: PAUSE_S)


def shrink(cluster: SimulatedCluster, isr: list[int]) -> None:
    """Say which replicas of `other` are in sync."""
    path = state_path("other", 0)
    cluster.set(path, {**cluster.read(path), "isr": isr})


def rate_of(cluster: SimulatedCluster, broker: int) -> int:
    config = (cluster.read(f"/config/brokers/{broker}") or {}).get("config", {})
    return int(config.get(RATE_KEY, 0))


def reason_of(cluster: SimulatedCluster) -> RateReason | None:
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
        status = status_values.status_of(seen, journal.read_status(session))
    return None if status.run is None else status.run.throttle_reason


def when_in_flight(
    cluster: SimulatedCluster, act: Callable[[float], None]
) -> Callable[[Outcome], bool]:
    """Call with the seconds since the request was first seen."""
    since: list[int] = []

    def at_rest(outcome: Outcome) -> bool:
        if cluster.exists(REQUEST):
            since.append(cluster.clock.now_ms())
            act((since[-1] - since[0]) / 1000)
        return converged(outcome)

    return at_rest


def test_it_halves_while_another_partition_is_out_of_sync_and_rises_after() -> None:
    cluster, executor = made()
    course: list[tuple[int, RateReason | None]] = []

    def act(seconds: float) -> None:
        shrink(cluster, [1] if seconds < 70 else [1, 2])
        now = (rate_of(cluster, 3), reason_of(cluster))
        if not course or course[-1] != now:
            course.append(now)

    executor.at_rest = when_in_flight(cluster, act)
    executor.finish()
    cluster.settle()
    rates = list(dict.fromkeys(rate for rate, _ in course))
    assert rates[:5] == [RATE, RATE // 2, 1 << 20, (1 << 20) + RATE // 4, (1 << 20) + RATE // 2]
    reasons = list(dict.fromkeys(reason for _, reason in course))
    assert reasons == [None, RateReason.OUT_OF_SYNC, RateReason.KEEPING_UP]
    assert [rate_of(cluster, broker) for broker in BROKERS] == [0, 0, 0, 0]


def test_what_arrives_early_in_a_stage_lowers_no_rate() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1], [1, 2])
    for number, size in enumerate((SIZE, SIZE // 10, SIZE // 100)):
        cluster.simulation.set_size("t", number, size)
    execution = Execution(throttle=Throttle(ThrottleMode.ADAPTIVE, RATE))
    topic = topic_spec("t", "p", partitions=3, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", execution=execution)
    executor = Executor(cluster, wanted, pause_s=lambda: PAUSE_S)
    rates: list[int] = []
    executor.at_rest = when_in_flight(cluster, lambda seconds: rates.append(rate_of(cluster, 3)))
    executor.finish()
    assert rates == sorted(rates)
    assert rates[0] == RATE < rates[-1]


def test_its_changes_are_bounded_and_no_more_often_than_looks() -> None:
    cluster, executor = made()
    cluster.simulation.set_size("t", 0, 20 * SIZE)
    since = cluster.server.zxid
    times: list[float] = []
    executor.at_rest = when_in_flight(cluster, times.append)
    executor.finish(passes_max=5000)
    trail = invariants.Trail(cluster.server, since, frozenset({cluster.client.session_id}))
    writes = sum(1 for _, operation in trail.changes(lambda o: o.path == "/config/brokers/3"))
    assert 2 < writes <= times[-1] * 1000 / ADAPT_EVERY_MS + 3
    assert writes <= 4 * (ADAPTIVE_RISE_MAX - 1) + 2


@pytest.mark.parametrize("number", [*range(4, 20, 4), *soak(*range(1, 40))])
def test_a_process_may_die_while_it_changes_the_rate(number: int) -> None:
    cluster, executor = made()
    since = cluster.server.zxid
    executor.at_rest = when_in_flight(
        cluster, lambda seconds: shrink(cluster, [1] if seconds < 70 else [1, 2])
    )
    died = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
    executor.finish(lambda n: faults.none if n else died)
    cluster.settle()
    trail = invariants.Trail(cluster.server, since, frozenset({cluster.client.session_id}))
    assert invariants.unaccounted(trail) == []
    assert invariants.leftovers(cluster.server) == []
    assert [rate_of(cluster, broker) for broker in BROKERS] == [0, 0, 0, 0]
