"""Controllers before and after Kafka 2.4 that replace each other while a step is in flight."""

from collections.abc import Callable, Sequence

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.profiles import Profile
from poolkeeper.zk.journal import journal
from simulation.executors import Executor, converged

MB = 1_000_000
OLD, NEW = "2.0.1", "2.6.3"
UP, DOWN = (OLD, NEW), (NEW, OLD)
REMEDIES = {
    "no-remedy": Remedies(),
    "all-remedies": Remedies(True, True, True),
}


def in_flight(
    kafka: str, source: Sequence[int], target: Sequence[int], remedies: Remedies
) -> tuple[SimulatedCluster, Executor]:
    """Return a cluster whose only topic goes from brokers to others, and is being copied."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=1)
    cluster.create_topic("t", source)
    cluster.simulation.set_size("t", 0, 100 * MB)
    throttle = Throttle(ThrottleMode.FIXED, 2 * MB)
    execution = Execution(throttle=throttle, remedies=remedies)
    topic = topic_spec("t", "p", partitions=1, replication_factor=len(target))
    pool = pool_spec("p", *target, cluster="c")
    executor = Executor(cluster, desired(pool, topic, name="c", execution=execution))
    executor.at_rest = lambda _: set(cluster.replicas("t")["0"]) > set(source)
    executor.finish()
    executor.at_rest = converged
    return cluster, executor


def replace_controller(cluster: SimulatedCluster, kafka: str) -> None:
    """Let one of another release take office, as when the broker that holds it is restarted."""
    cluster.simulation.profile = cluster.simulation.world.profile = Profile.of(kafka)
    cluster.delete("/controller")
    cluster.clock.advance(3_000)


@pytest.mark.parametrize("releases", [UP, DOWN], ids=["up", "down"])
@pytest.mark.parametrize(
    ("source", "target"),
    [((1,), (1, 2)), ((1,), (1, 2, 3)), ((1, 2), (3, 4)), ((1, 2), (2, 3))],
    ids=["growth", "growth-by-two", "migration", "exchange"],
)
@pytest.mark.parametrize("remedies", REMEDIES.values(), ids=REMEDIES)
def test_a_step_ends_once_all_is_in_sync(
    releases: tuple[str, str], source: tuple[int, ...], target: tuple[int, ...], remedies: Remedies
) -> None:
    before, after = releases
    cluster, executor = in_flight(before, source, target, remedies)
    replace_controller(cluster, after)
    executor.at_rest = lambda _: set(cluster.state("t")[1]) >= set(target)
    executor.finish(passes_max=400)
    rates = [rate for n in target for rate in cluster.simulation.rates_of(n).values()]
    assert rates, "the throttle was taken off while it was copied"
    executor.at_rest = converged
    executor.finish(passes_max=400)
    assert executor.endings == [Ending.FINISHED]
    assert sorted(cluster.replicas("t")["0"]) == sorted(target)
    assert sorted(cluster.state("t")[1]) == sorted(target)
    assert not cluster.exists(REQUEST)
    assert not any(cluster.simulation.rates_of(n) for n in range(1, 5))


@pytest.mark.parametrize("remedies", REMEDIES.values(), ids=REMEDIES)
def test_a_move_that_a_downgrade_forgot_is_requested_again(remedies: Remedies) -> None:
    """Its request was gone before, and an earlier controller reads nothing of it elsewhere."""
    cluster, executor = in_flight(NEW, (1, 2), (3, 4), remedies)
    cluster.delete(REQUEST)
    replace_controller(cluster, OLD)
    executor.finish(passes_max=400)
    assert executor.endings == [Ending.FINISHED]
    assert sorted(cluster.replicas("t")["0"]) == [3, 4]
    assert not any(cluster.simulation.rates_of(n) for n in range(1, 5))


def test_moves_of_others_are_not_disturbed_where_a_later_controller_was_before() -> None:
    """What it wrote says that moves are in topic nodes, and the present one writes none there."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=NEW))
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2])
    cluster.create_topic("u", [1, 2])
    cluster.request({("u", 0): [2, 1]})
    cluster.settle()
    replace_controller(cluster, OLD)
    cluster.simulation.set_size("t", 0, 20_000 * MB)
    cluster.request({("t", 0): [3, 4]})
    cluster.clock.advance(3_000)
    union = cluster.replicas("t")["0"]
    assert len(union) == 4
    execution = Execution(remedies=REMEDIES["all-remedies"])
    topic = topic_spec("u", "p", partitions=1, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", execution=execution)
    executor, epoch = Executor(cluster, wanted), cluster.epoch()
    ends_ms = cluster.clock.now_ms() + 150_000
    executor.at_rest = lambda _: cluster.clock.now_ms() > ends_ms
    executor.finish(passes_max=300)
    assert cluster.exists(REQUEST)
    assert cluster.epoch() == epoch


def test_a_growing_step_that_lost_its_request_ends_once_all_is_in_sync() -> None:
    cluster, executor = in_flight(OLD, (1,), (1, 2), Remedies())
    cluster.delete(REQUEST)
    cluster.delete("/controller")
    cluster.clock.advance(3_000)
    executor.finish(passes_max=400)
    assert executor.endings == [Ending.FINISHED]
    assert cluster.state("t")[1] == [1, 2]


def stop(cluster: SimulatedCluster, *, at_once: bool) -> None:
    session = FakeSession(cluster.server, cluster.clock)
    journal.request_stop(session, StopRequest(at_once=at_once))
    session.close()


def rates(cluster: SimulatedCluster) -> list[str]:
    return [rate for n in range(1, 5) for rate in cluster.simulation.rates_of(n).values()]


def taken_up(cluster: SimulatedCluster) -> None:
    replace_controller(cluster, NEW)


def lost(cluster: SimulatedCluster) -> None:
    cluster.delete(REQUEST)
    cluster.delete("/controller")
    cluster.clock.advance(3_000)


@pytest.mark.parametrize(
    ("befalls", "source", "target"),
    [(taken_up, (1,), (1, 2)), (lost, (1,), (1, 2)), (lost, (1, 2), (3, 4))],
    ids=["a-growth-taken-up", "a-lost-growth", "a-lost-migration"],
)
def test_a_stop_keeps_the_throttles_of_what_is_still_copied(
    befalls: Callable[[SimulatedCluster], None], source: tuple[int, ...], target: tuple[int, ...]
) -> None:
    cluster, executor = in_flight(OLD, source, target, Remedies())
    befalls(cluster)
    stop(cluster, at_once=False)
    executor.at_rest = lambda _: set(cluster.state("t")[1]) >= set(target)
    executor.finish(passes_max=400)
    assert rates(cluster), "the throttle was taken off while it was copied"
    executor.at_rest = lambda _: bool(executor.endings)
    executor.finish(passes_max=400)
    assert executor.endings == [Ending.STOPPED]
    assert not rates(cluster)


def test_a_rollback_that_finds_nothing_to_cancel_tells_what_is_still_copied() -> None:
    cluster, executor = in_flight(OLD, (1,), (1, 2), Remedies())
    replace_controller(cluster, NEW)
    executor.at_rest = lambda outcome: any(
        wait.reason is WaitReason.REPLICA_NOT_IN_SYNC for wait in outcome.waits
    )
    executor.finish(passes_max=400)
    stop(cluster, at_once=True)
    executor.at_rest = lambda _: bool(executor.endings)
    executor.finish(passes_max=400)
    assert executor.endings == [Ending.ROLLED_BACK]
    told = [a for a in executor.seen[-1].did if a.kind is ActionKind.COPIES_UNTHROTTLED]
    assert [(a.broker, a.partitions) for a in told] == [(2, (("t", 0),))]
