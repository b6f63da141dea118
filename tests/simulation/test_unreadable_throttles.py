"""Runs of which configs that hold their throttles become unreadable, and are mended again."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import builders
from builders import pool_spec, topic_spec
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.reconcile.act.lost_runs import TRY_AGAIN_MS
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.zk.journal.runs import encode_stop
from simulation.executors import Executor
from simulation.guarded import SLOW, Guarded

RUN, STOP = "/poolkeeper/run", "/poolkeeper/run/stop"
BROKER, TOPIC = "/config/brokers/3", "/config/topics/t"
FOREIGN = (WaitReason.THROTTLE_CONFLICT, WaitReason.THROTTLES_YIELDED)
AWAITED = {WaitReason.THROTTLES_UNWRITABLE, WaitReason.TOPIC_UNREADABLE}
CAUSES = ["hidden", "damaged"]
POOLS = (pool_spec("p", 1, 3, cluster="c"), pool_spec("q", 2, 4, cluster="c"))
TOPICS = [topic_spec(name, pool, partitions=2, replication_factor=2) for name, pool in ("tp", "uq")]
WANTED = builders.desired(POOLS, *TOPICS, name="c", execution=SLOW)
"""Topic t moves from broker 2 to 3, and u from 1 to 4."""
TARGETS = {"t": {1, 3}, "u": {2, 4}}


@dataclass(slots=True)
class Course:
    """Makes a config unreadable once `due`; ends at `until`."""

    cluster: Guarded
    path: str
    cause: str
    due: Callable[[], bool]
    until: Callable[[Outcome], bool]
    before: bytes | None = None

    def at_rest(self, outcome: Outcome) -> bool:
        if self.before is None and self.due():
            self.before = self.cluster.take_away(self.path, self.cause)
            return False
        return outcome.state is State.STOPPED or (self.before is not None and self.until(outcome))

    def give_back(self) -> None:
        assert self.before is not None
        self.cluster.give_back(self.path, self.cause, self.before)


def did(executor: Executor, kind: ActionKind) -> list[Action]:
    return [a for outcome in executor.seen for a in outcome.did if a.kind is kind]


def arrived(cluster: Guarded, topic: str) -> set[int]:
    lists = cluster.replicas(topic)
    return {int(number) for number, ids in lists.items() if set(ids) == TARGETS[topic]}


def is_foreign(outcome: Outcome) -> bool:
    return any(wait.reason in FOREIGN for wait in outcome.waits)


def waits(outcome: Outcome) -> bool:
    reasons = {wait.reason for wait in outcome.waits}
    moving = {WaitReason.STAGE_IN_FLIGHT, WaitReason.THROTTLE_SETTLING} & reasons
    if outcome.progress is not None:
        reasons.discard(WaitReason.THROTTLES_UNWRITABLE)  # a run ends without what that holds
    return not moving and not outcome.did and not reasons.isdisjoint(AWAITED)


def run_of(
    path: str, cause: str, due: Callable[[Guarded], bool], until: Callable[[Outcome], bool] = waits
) -> tuple[Guarded, Executor, Course]:
    """A run of which a config became unreadable, up to where nothing else is left."""
    cluster = Guarded("3.9.2")
    if not cluster.exists(BROKER):
        cluster.create(BROKER, {"version": 1, "config": {}})
    executor = Executor(cluster, WANTED)
    course = Course(cluster, path, cause, lambda: due(cluster), until)
    executor.at_rest = course.at_rest
    executor.finish(passes_max=300)
    assert not any(map(is_foreign, executor.seen))
    return cluster, executor, course


def goes_on_by_itself(cluster: Guarded, executor: Executor, course: Course, runs: int) -> None:
    """Once the config can be read again the rest is moved, and nothing is left."""
    course.give_back()
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert executor.endings == [Ending.FINISHED] * runs
    assert [arrived(cluster, topic) for topic in "tu"] == [{0, 1}, {0, 1}]
    assert (cluster.rates(), cluster.exists(RUN)) == ([], False)


def begun(cluster: Guarded) -> bool:
    return cluster.exists(RUN)


def in_flight(cluster: Guarded) -> bool:
    return cluster.exists(REQUEST)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("due", [begun, in_flight])
def test_what_needs_a_broker_stays_and_all_else_moves(
    cause: str, due: Callable[[Guarded], bool]
) -> None:
    cluster, executor, course = run_of(BROKER, cause, due)
    assert [a.broker for a in did(executor, ActionKind.MOVES_UNLIMITED)] == [3]
    assert executor.endings == [Ending.FINISHED]
    assert arrived(cluster, "u") == {0, 1}
    assert len(arrived(cluster, "t")) < 2
    (wait,) = (w for w in executor.seen[-1].waits if w.reason is WaitReason.THROTTLES_UNWRITABLE)
    assert (wait.brokers, wait.path) == ((3,), BROKER)
    goes_on_by_itself(cluster, executor, course, runs=2)


def test_what_stays_of_throttles_is_told_until_somebody_takes_it_off() -> None:
    cluster = Guarded("3.9.2")
    executor = Executor(cluster, WANTED)
    executor.at_rest = lambda outcome: in_flight(cluster)
    executor.finish()
    cluster.protect(BROKER)
    taken_off: list[int] = []

    def at_rest(outcome: Outcome) -> bool:
        stays = any(wait.reason is WaitReason.THROTTLES_LEFT for wait in outcome.waits)
        if stays and not taken_off:
            cluster.set(BROKER, {"version": 1, "config": {}})
            taken_off.append(cluster.clock.now_ms())
            return False
        return bool(taken_off) and not stays

    executor.at_rest = at_rest
    executor.finish(passes_max=300)
    assert cluster.clock.now_ms() - taken_off[0] < TRY_AGAIN_MS
    assert not cluster.client.children("/poolkeeper/records/throttles")


@pytest.mark.parametrize("cause", CAUSES)
def test_a_topic_whose_config_cannot_be_read_is_awaited_and_holds_up_no_other(cause: str) -> None:
    cluster, executor, course = run_of(TOPIC, cause, begun)
    assert (arrived(cluster, "u"), arrived(cluster, "t")) == ({0, 1}, set())
    goes_on_by_itself(cluster, executor, course, runs=1)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("path", [BROKER, TOPIC])
def test_such_a_run_can_be_stopped(path: str, cause: str) -> None:
    cluster, executor, course = run_of(path, cause, begun, until=lambda outcome: True)
    cluster.create(STOP, encode_stop(StopRequest()))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    assert executor.endings == [Ending.STOPPED]
    assert not cluster.exists(RUN)
    course.give_back()
    assert cluster.rates() == []


@pytest.mark.parametrize("cause", CAUSES)
def test_throttles_that_stay_after_a_stop_are_named_and_taken_off_later(cause: str) -> None:
    cluster, executor, course = run_of(BROKER, cause, in_flight, until=lambda outcome: True)
    cluster.create(STOP, encode_stop(StopRequest(at_once=True)))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    assert [a.broker for a in did(executor, ActionKind.THROTTLES_STAY)] == [3]
    assert executor.endings == [Ending.ROLLED_BACK]
    assert cluster.exists("/poolkeeper/records/throttles/broker:3")
    course.give_back()
    assert cluster.rates()
    executor.at_rest = lambda outcome: bool(outcome.plan) and not outcome.did
    executor.finish()
    assert cluster.rates() == []
    assert not cluster.exists("/poolkeeper/records/throttles/broker:3")
