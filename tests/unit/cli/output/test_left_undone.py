"""What keeps a cluster from being as declared: exit code 4, and the list in JSON."""

import pytest

from builders import plan
from poolkeeper.cli.output import left_undone
from poolkeeper.cli.output.left_undone import Undone
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.facts.new_partitions import AwaitsMoves, NotExtended, TopicUntouched
from poolkeeper.planning.facts.topics import AwaitsReplicas, TopicLeftOut, Unsettled

T0 = (TopicPartition("t", 0),)


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        (ProblemReason.LEFT_OUT, True),
        (ProblemReason.TOO_FEW_BROKERS, True),
        (ProblemReason.GOAL_NOT_MET, True),
        (ProblemReason.UNTOLD, True),
        (ProblemReason.GAIN_TOO_SMALL, False),
        (ProblemReason.AWAITS_KAFKA, False),
    ],
)
def test_a_problem_counts_unless_it_is_as_declared(reason: ProblemReason, counts: bool) -> None:
    made = plan(problems=(PlanProblem("p", "", Recorded("why", reason), "t"),))
    expected = (Undone(reason.value, "why", "t", "p"),) if counts else ()
    assert left_undone.of_plan(made) == expected


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        pytest.param(
            PlanProblem("p", "", AwaitsMoves(3), "t"),
            "topic t: stays at 3 partitions until its replicas have moved; run `poolkeeper apply`"
            " again",
            id="a-topic-that-the-next-plan-extends",
        ),
        pytest.param(
            PlanProblem("p", "", AwaitsReplicas("min.insync.replicas", "2", 1), "t"),
            "topic t: min.insync.replicas is set to 2 once as many replicas of every partition are"
            " in sync, now 1; run `poolkeeper apply` again",
            id="a-config-that-the-next-plan-sets",
        ),
        pytest.param(
            PlanProblem("p", "", Recorded("why", ProblemReason.TOO_FEW_BROKERS)),
            "pool p: why",
            id="a-pool",
        ),
        pytest.param(
            PlanProblem("", "", Recorded("why", ProblemReason.UNTOLD)), "why", id="the-cluster"
        ),
    ],
)
def test_what_a_plan_left_undone_is_told_with_its_place(problem: PlanProblem, said: str) -> None:
    (undone,) = left_undone.of_plan(plan(problems=(problem,)))
    assert left_undone.sentence(undone) == said


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        (ActionKind.LEFT_ALONE, True),
        (ActionKind.TOPIC_GONE, True),
        (ActionKind.LEADERS_KEPT, True),
        (ActionKind.STEP_OUTDATED, True),
        (ActionKind.CONFIG_REFUSED, True),
        (ActionKind.STAGE_FINISHED, False),
        (ActionKind.RUN_ENDED, False),
    ],
)
def test_what_a_run_gave_up_counts_once(kind: ActionKind, counts: bool) -> None:
    given_up = Action(kind, topic="t", partitions=T0)
    found = left_undone.of_actions([given_up, given_up])
    assert [each.reason for each in found] == ([kind.value] if counts else [])


def test_a_loop_does_not_tell_of_topics_that_its_run_moves() -> None:
    moving = PlanProblem("p", "", TopicLeftOut(Unsettled.MOVING, "partition 6"), "t")
    grown = PlanProblem("p", "", NotExtended(4, 6, TopicUntouched()), "t")
    damaged = PlanProblem("p", "", TopicLeftOut(Unsettled.DAMAGED, "no JSON"), "u")
    made = plan(problems=(moving, grown, damaged))
    in_run = Outcome(State.PROGRESSED, plan=plan(), fresh=made)
    assert [each.topic for each in left_undone.of_loop(in_run) or ()] == ["u"]
    at_rest = Outcome(State.CONVERGED, plan=made)
    assert [each.topic for each in left_undone.of_loop(at_rest) or ()] == ["t", "t", "u"]


def test_waits_count_with_their_reasons() -> None:
    found = left_undone.of_waits([Wait(WaitReason.NO_CONTROLLER)])
    assert left_undone.as_data(found) == [
        {"reason": "NoController", "message": "no controller is elected"}
    ]
