"""Runs whose topics become unreadable in mid-run, to us or to everybody, and are mended again."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from matrices import soak
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.zk.journal.runs import encode_stop
from simulation.executors import Executor
from simulation.guarded import WANTED, Guarded

RUN, STOP = "/poolkeeper/run", "/poolkeeper/run/stop"
NODES = ["/config/topics/t", "/brokers/topics/t", "/brokers/topics/t/partitions/0/state"]


@dataclass(slots=True)
class Course:
    """Hides a node as soon as the first request names its topic; ends at `until`."""

    cluster: Guarded
    path: str
    until: Callable[[Outcome], bool]
    is_hidden: bool = False

    def at_rest(self, outcome: Outcome) -> bool:
        if not self.is_hidden and self.cluster.exists(REQUEST):
            self.is_hidden = True
            self.cluster.hide(self.path)
        return outcome.state is State.STOPPED or self.until(outcome)


def told(outcome: Outcome) -> Wait | None:
    found = (wait for wait in outcome.waits if wait.reason is WaitReason.TOPIC_UNREADABLE)
    return next(found, None)


def alone(outcome: Outcome) -> bool:
    """Whether the unreadable topic is all that the run waits for."""
    return bool(outcome.waits) and all(w is told(outcome) for w in outcome.waits)


def held(kafka: str, path: str) -> tuple[Guarded, Executor, Course]:
    """A run of which only the hidden topic's moves are left."""
    cluster = Guarded(kafka)
    executor = Executor(cluster, WANTED)
    course = Course(cluster, path, alone)
    executor.at_rest = course.at_rest
    executor.finish()
    return cluster, executor, course


@pytest.mark.parametrize("path", NODES)
@pytest.mark.parametrize("kafka", ["3.9.2", *soak("2.0.1", "2.3.1")])
def test_a_run_does_not_end_before_it_sees_its_moves_again(kafka: str, path: str) -> None:
    cluster, executor, _ = held(kafka, path)
    wait = told(executor.seen[-1])
    assert wait is not None
    assert (wait.topic, wait.detail) == ("t", f"{path}: its ACL does not let us read it")
    assert executor.endings == []
    assert cluster.exists(RUN)
    assert cluster.rates()
    assert {b for ids in cluster.replicas("u").values() for b in ids} == {3, 4}  # others go on
    cluster.show(path)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert executor.endings == [Ending.FINISHED]
    assert {b for ids in cluster.replicas("t").values() for b in ids} == {3, 4}
    assert (cluster.rates(), cluster.exists(RUN)) == ([], False)
    assert (cluster.read("/config/topics/t") or {"config": {}})["config"] == {}


@pytest.mark.parametrize("at_once", [False, True], ids=["stop", "rollback"])
@pytest.mark.parametrize("path", NODES)
def test_a_run_that_cannot_see_its_moves_can_be_stopped_and_says_what_stays(
    path: str, at_once: bool
) -> None:
    cluster, executor, course = held("3.9.2", path)
    cluster.create(STOP, encode_stop(StopRequest(at_once=at_once)))
    course.until = lambda outcome: False
    executor.finish()
    last = executor.seen[-1]
    assert executor.endings == [Ending.ROLLED_BACK if at_once else Ending.STOPPED]
    kinds = {action.kind for action in last.did if action.topic == "t"}
    unread = "config" in path
    assert kinds == {ActionKind.THROTTLES_STAY if unread else ActionKind.MOVES_UNSEEN}
    assert (cluster.rates(), cluster.exists(RUN)) == ([], False)
    cluster.show(path)
    executor.at_rest = lambda outcome: bool(outcome.plan) and not outcome.did
    executor.finish()
    assert (cluster.read("/config/topics/t") or {"config": {}})["config"] == {}


def test_what_is_damaged_while_its_request_is_in_flight_is_told_and_not_given_up() -> None:
    cluster = Guarded("3.9.2")
    executor = Executor(cluster, WANTED)
    course = Course(cluster, "/brokers/topics/t", lambda outcome: told(outcome) is not None)
    executor.at_rest = course.at_rest
    executor.finish()
    assert cluster.exists(REQUEST)
    progress = executor.seen[-1].progress
    assert progress is not None
    assert progress.moves_in_flight
    assert progress.bytes_given_up == 0
