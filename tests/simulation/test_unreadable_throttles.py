"""Runs of which configs that hold their throttles become unreadable, and are mended again."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.zk.client.nodes import HIDDEN
from poolkeeper.zk.journal.runs import encode_stop
from simulation.executors import Executor
from simulation.guarded import WANTED, Guarded

RUN, STOP = "/poolkeeper/run", "/poolkeeper/run/stop"
BROKER, TOPIC = "/config/brokers/3", "/config/topics/t"
FOREIGN = (WaitReason.THROTTLE_CONFLICT, WaitReason.THROTTLES_YIELDED)
CAUSES = ["hidden", "damaged"]


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
        return outcome.state is State.STOPPED or self.until(outcome)

    def give_back(self) -> None:
        assert self.before is not None
        self.cluster.give_back(self.path, self.cause, self.before)


def told(outcome: Outcome) -> Wait | None:
    found = (wait for wait in outcome.waits if wait.reason is WaitReason.THROTTLES_UNREADABLE)
    return next(found, None)


def is_foreign(outcome: Outcome) -> bool:
    return any(wait.reason in FOREIGN for wait in outcome.waits)


def run_of(path: str, cause: str, due: str) -> tuple[Guarded, Executor, Course]:
    """A run of which a config became unreadable, up to the pass that says so."""
    cluster = Guarded("3.9.2")
    if not cluster.exists(BROKER):
        cluster.create(BROKER, {"version": 1, "config": {}})
    executor = Executor(cluster, WANTED)
    course = Course(
        cluster, path, cause, lambda: cluster.exists(due), lambda o: told(o) is not None
    )
    executor.at_rest = course.at_rest
    executor.finish(passes_max=300)
    assert not any(map(is_foreign, executor.seen))
    return cluster, executor, course


def goes_on_by_itself(cluster: Guarded, executor: Executor, course: Course) -> None:
    """Once the config can be read again the run finishes, and leaves nothing."""
    course.give_back()
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert executor.endings == [Ending.FINISHED]
    assert (cluster.rates(), cluster.exists(RUN)) == ([], False)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("path", [BROKER, TOPIC])
def test_nothing_is_requested_before_all_throttles_are_written(path: str, cause: str) -> None:
    cluster, executor, course = run_of(path, cause, RUN)
    wait = told(executor.seen[-1])
    assert wait is not None
    assert wait.path == path
    assert (wait.detail == HIDDEN) is (cause == "hidden")
    assert not cluster.exists(REQUEST)
    goes_on_by_itself(cluster, executor, course)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("path", [BROKER, TOPIC])
def test_a_run_that_waits_for_its_throttles_can_be_stopped(path: str, cause: str) -> None:
    cluster, executor, course = run_of(path, cause, RUN)
    cluster.create(STOP, encode_stop(StopRequest()))
    course.until = lambda outcome: False
    executor.finish()
    assert executor.endings == [Ending.STOPPED]
    assert not cluster.exists(RUN)
    course.give_back()
    assert cluster.rates() == []


@pytest.mark.parametrize("cause", CAUSES)
def test_what_is_in_flight_goes_on_and_no_next_stage_begins(cause: str) -> None:
    cluster, executor, course = run_of(BROKER, cause, REQUEST)
    course.until = lambda outcome: not cluster.exists(REQUEST) and bool(told(outcome))
    executor.finish()
    wait = told(executor.seen[-1])
    assert wait is not None
    assert (wait.path, is_foreign(executor.seen[-1])) == (BROKER, False)
    course.until = lambda outcome: False
    stages = [a for o in executor.seen for a in o.did if a.kind is ActionKind.STAGE_REQUESTED]
    assert len(stages) == 1
    goes_on_by_itself(cluster, executor, course)


@pytest.mark.parametrize("cause", CAUSES)
def test_throttles_that_stay_after_a_stop_are_named_and_taken_off_later(cause: str) -> None:
    cluster, executor, course = run_of(BROKER, cause, REQUEST)
    cluster.create(STOP, encode_stop(StopRequest(at_once=True)))
    course.until = lambda outcome: False
    executor.finish()
    stay = [a for o in executor.seen for a in o.did if a.kind is ActionKind.THROTTLES_STAY]
    assert [action.broker for action in stay] == [3]
    assert executor.endings == [Ending.ROLLED_BACK]
    assert cluster.exists("/poolkeeper/records/throttles/broker:3")
    course.give_back()
    assert cluster.rates()
    executor.at_rest = lambda outcome: bool(outcome.plan) and not outcome.did
    executor.finish()
    assert cluster.rates() == []
    assert not cluster.exists("/poolkeeper/records/throttles/broker:3")
