"""What nobody expects in the middle of a run: clocks that jump, ZooKeeper that goes back in time,
requests for elections that nobody works on, nodes of Kafka's that an administrator removed.

Whatever it is: the run ends or says what it waits for and what helps, no throttle stays without a
word, passes and writes are bounded, and no partition is worse off than before.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from matrices import every, soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Remedies
from poolkeeper.reconcile.context import PassContext
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SESSION_MS,
    SimulatedCluster,
)
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, WriteNode
from poolkeeper.zk import znodes
from simulation import invariants
from simulation.executors import Executor, converged
from simulation.scenarios import THROTTLED, Wanted

ERAS = ["3.9.2", *soak("2.0.1")]
MB = 1_000_000
HOUR_MS = 3_600_000
PASSES_MAX = 400
RUN = znodes.RUN


def migrating(kafka: str, size: int = 40 * MB) -> tuple[SimulatedCluster, Desired]:
    """Topic t on brokers 1 and 2 shall go to brokers 3 and 4, throttled."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2], [2, 1], [1, 2])
    for partition in range(3):
        cluster.simulation.set_size("t", partition, size)
    return cluster, Wanted((3, 4), 3, 2, replace(THROTTLED, max_moves=2)).desired()


def throttled(cluster: SimulatedCluster) -> set[str]:
    return {
        f"{kind}/{name}"
        for kind in ("topics", "brokers")
        for name in cluster.client.children(f"/config/{kind}") or ()
        if any("throttled" in k for k in cluster.read(f"/config/{kind}/{name}")["config"])
    }


def in_flight(cluster: SimulatedCluster) -> Callable[[Outcome], bool]:
    return lambda outcome: (
        cluster.exists(REQUEST) and any(len(ids) > 2 for ids in cluster.replicas("t").values())
    )


def assert_ended(cluster: SimulatedCluster) -> None:
    cluster.settle()
    assert throttled(cluster) == set()
    assert invariants.leftovers(cluster.server) == []
    assert {frozenset(ids) for ids in cluster.replicas("t").values()} == {frozenset({3, 4})}
    for number, ids in cluster.replicas("t").items():
        leader, isr, _ = cluster.state("t", int(number))
        assert (leader in ids, set(isr)) == (True, set(ids))


# Clocks


class JumpingClock(Executor):
    """The executor's clock is that of the cluster, set back by `back_ms`."""

    back_ms: int = 0

    def _now_ms(self) -> int:
        return self.cluster.clock.now_ms() - self.back_ms


@pytest.mark.parametrize("kafka", ERAS)
@pytest.mark.parametrize("dies", [False, True], ids=["same process", "next process"])
@every(5)
def test_a_clock_that_jumps_back_by_hours_holds_nothing_up(
    kafka: str, dies: bool, step: int
) -> None:
    """After any pass: neither in the process that sees it, nor in one that reads future times."""
    cluster, wanted = migrating(kafka, 4 * MB)
    plain = JumpingClock(cluster, wanted)
    plain.finish()
    for number in range(1 + dies, plain.passes, step):
        cluster, wanted = migrating(kafka, 4 * MB)
        executor = JumpingClock(cluster, wanted)

        def jump(outcome: Outcome, executor: JumpingClock = executor, number: int = number) -> bool:
            if executor.passes == number:
                executor.back_ms = 5 * HOUR_MS
                return dies
            return converged(outcome)

        executor.at_rest = jump
        executor.finish(passes_max=PASSES_MAX)
        if dies:
            executor.finish(passes_max=PASSES_MAX)
        assert executor.passes <= plain.passes + 20, number
        assert_ended(cluster)


# Elections


class BesideElections(Executor):
    """Whenever it looks at the end of its run, a request for elections is there."""

    def _pass(self, context: PassContext) -> Outcome:
        run, reads = self.cluster.read(RUN), context.access.observe

        def observe(*names: Any, **chosen: Any) -> ClusterReading:
            found = reads(*names, **chosen)
            return replace(found, cluster=replace(found.cluster, electing=True))

        if run is None or run["phase"] != "ELECTING":
            return super()._pass(context)
        with mock.patch.object(context.access, "observe", observe):
            return super()._pass(context)


@pytest.mark.parametrize("kafka", ERAS)
def test_elections_of_others_that_never_end_do_not_keep_throttles_on(kafka: str) -> None:
    """The run ends without its own elections; a plan has them once the others are done."""
    cluster, wanted = migrating(kafka, 4 * MB)
    executor = BesideElections(cluster, wanted)
    executor.finish(passes_max=PASSES_MAX)
    told = [wait.reason for outcome in executor.seen for wait in outcome.waits]
    assert WaitReason.ELECTION_IN_PROGRESS in told
    assert_ended(cluster)


# Kafka's nodes


@pytest.mark.parametrize("kafka", ERAS)
@pytest.mark.parametrize("when", ["before", "in flight"])
def test_the_parent_of_config_notifications_is_removed(kafka: str, when: str) -> None:
    """Brokers hear of no config any more. It is named by its path; nothing loops for ever."""
    cluster, wanted = migrating(kafka)
    executor = Executor(cluster, wanted)
    if when == "in flight":
        executor.at_rest = in_flight(cluster)
        executor.finish()
    cluster.delete_all("/config/changes")
    told: list[str] = []

    def named(outcome: Outcome) -> bool:
        told.extend(wait.detail for wait in outcome.waits if wait.detail)
        return converged(outcome) or any("/config/changes" in each for each in told)

    executor.at_rest = named
    executor.finish(passes_max=PASSES_MAX)
    if any("/config/changes" in each for each in told):
        cluster.create("/config/changes", b"")
        executor.at_rest = converged
        executor.finish(passes_max=PASSES_MAX)
    assert_ended(cluster)


@pytest.mark.parametrize("again", [[2, 1], [1, 2]], ids=["in another order", "as it was"])
@pytest.mark.parametrize("kafka", ["2.0.1", *soak("2.3.1", "3.9.2")])
def test_a_topic_is_deleted_and_made_again_in_mid_move(kafka: str, again: list[int]) -> None:
    """Its entry in the request stays for ever. That is named, and ends where it may be ended."""
    cluster, wanted = migrating(kafka)
    executor = Executor(cluster, wanted, at_rest=in_flight(cluster))
    executor.finish()
    cluster.create("/admin/delete_topics/t", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/topics/t"), 60_000)
    cluster.clock.advance(3000)
    cluster.create_topic("t", again, again, again)
    executor.at_rest = _names_a_remedy
    executor.finish(passes_max=PASSES_MAX)
    assert cluster.exists(REQUEST)
    remedies = Remedies(allow_controller_failover=True, remove_stale_requests=True)
    execution = replace(wanted.cluster.execution, remedies=remedies)
    executor.desired = replace(wanted, cluster=replace(wanted.cluster, execution=execution))
    executor.at_rest = converged
    executor.finish(passes_max=PASSES_MAX)
    assert_ended(cluster)


def _names_a_remedy(outcome: Outcome) -> bool:
    stuck = (WaitReason.REQUEST_STALE, WaitReason.REQUEST_UNNOTICED)
    return any(wait.reason in stuck for wait in outcome.waits)


# ZooKeeper restored


def backup(cluster: SimulatedCluster) -> dict[str, bytes]:
    """Return all persistent nodes."""
    found: dict[str, bytes] = {}
    brokers = cluster.client.children("/brokers/ids") or ()
    passing = {"/controller", *(f"/brokers/ids/{id_}" for id_ in brokers)}

    def walk(path: str) -> None:
        if path in passing or path.startswith(znodes.HOLDER):
            return
        node = cluster.client.get(path) if path != "/" else None
        if node is not None:
            found[path] = node[0]
        for child in cluster.client.children(path) or ():
            walk(f"{path.rstrip('/')}/{child}")

    walk("/")
    return found


def restore(cluster: SimulatedCluster, saved: dict[str, bytes]) -> None:
    """Make all persistent nodes as they were; every session but this one has ended."""
    now = backup(cluster)
    gone = sorted(now.keys() - saved.keys(), reverse=True)
    made = sorted(saved.keys() - now.keys())
    for path in gone:
        cluster.client.commit([DeleteNode(path)])
    for path in made:
        cluster.client.commit([CreateNode(path, saved[path])])
    for path in sorted(saved.keys() & now.keys()):
        if saved[path] != now[path]:
            cluster.client.commit([WriteNode(path, saved[path])])
    for session in [*cluster.server._sessions]:
        if session != cluster.client.session_id:
            cluster.server.expire(session)


@pytest.mark.parametrize("kafka", ERAS)
@pytest.mark.parametrize("of", ["before the run", *soak("in flight")])
@pytest.mark.parametrize("when", ["in flight", "after the run"])
def test_zookeeper_goes_back_in_time(kafka: str, of: str, when: str) -> None:
    cluster, wanted = migrating(kafka)
    saved = backup(cluster)
    executor = Executor(cluster, wanted, at_rest=in_flight(cluster))
    executor.finish()
    if of == "in flight":
        saved = backup(cluster)
        cluster.clock.advance(8000)
    if when == "after the run":
        executor.at_rest = converged
        executor.finish()
        cluster.settle()
    restore(cluster, saved)
    for broker in sorted(cluster.simulation.brokers):  # they remember later epochs, and would wait
        cluster.simulation.kill(broker)
        cluster.clock.advance(SESSION_MS + 1000)
        cluster.simulation.start_broker(broker)
        cluster.clock.advance(SESSION_MS + 1000)
    executor.at_rest = converged
    executor.finish(passes_max=PASSES_MAX)
    assert_ended(cluster)
