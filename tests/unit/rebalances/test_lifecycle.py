"""How a Rebalance goes from step to step."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

import builders
from poolkeeper.errors import RefusalReason, Unavailable
from poolkeeper.fleet.schedule.budget import Bound, LeftOut, Schedule, Turn
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    Outcome,
    Progress,
    State,
)
from poolkeeper.model.execution.refusals import Refusal
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.rebalances import (
    BudgetSpec,
    ClusterRebalance,
    PartState,
    RebalanceSpec,
    RebalanceState,
    RebalanceStep,
)
from poolkeeper.model.specs import Approval, ApprovalPolicy, Mode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rebalances import lifecycle
from poolkeeper.rebalances.lifecycle import KnownCluster
from poolkeeper.rebalances.planning.response import ClusterPlan, RebalanceResponse
from poolkeeper.rebalances.scope import RebalanceScope
from poolkeeper.resources.checks.assembly import assemble
from unit.resources.bodies import kafka_cluster, pool

P, W, M, D, N, F = (
    PartState.PLANNED,
    PartState.WAITING,
    PartState.MOVING,
    PartState.DONE,
    PartState.IN_PLACE,
    PartState.FAILED,
)
SPEC = RebalanceSpec("r")


def move(partition):
    return builders.move("t", partition, (1, 2), (2, 3), bytes=100, reason="balance")


def plan(name, moves=2):
    return builders.plan(*map(move, range(moves)), cluster=name, hash=f"sha256:{name}")


def turn(name, begin_s, end_s, wave):
    return Turn(name, "", 4, 0, 1, 200, begin_s * 1000, end_s * 1000, 0, wave)


def answer(*planned, turns=(), left_out=()):
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return RebalanceResponse("q", planned, Schedule(begin, turns, (), left_out, Bound()))


NO_OTHERS = RebalanceScope((), (), 0, (), "scope")


def planned(found, others=()):
    scope = replace(NO_OTHERS, unplanned=others)
    return lifecycle.with_plans(
        RebalanceState(requested_ms=5, scope="scope"), scope, found, "record"
    )


def test_an_answer_becomes_parts_with_their_waves():
    course = planned(
        answer(
            ClusterPlan("a", plan("a")),
            ClusterPlan("b", plan("b", 0)),
            ClusterPlan("c", problem="no answer from zk:2181"),
            ClusterPlan("d", plan("d", 1)),
            ClusterPlan("e", plan("e", 1)),
            turns=(turn("a", 0, 10, 1), turn("d", 10, 25, 2), turn("d", 30, 35, 3)),
            left_out=(LeftOut("e", 0, 1, 100, "the fleet's rate is zero"),),
        ),
        others=(ClusterRebalance("bb", F, message="not planned: it is held"),),
    )
    assert course == RebalanceState(
        RebalanceStep.WAITING_FOR_APPROVAL,
        5,
        "scope",
        hash=course.hash,
        record="record",
        waves=3,
        seconds=35,
        parts=(
            ClusterRebalance("a", P, 1, "sha256:a", 2, 200),
            ClusterRebalance("b", N),
            ClusterRebalance("bb", F, message="not planned: it is held"),
            ClusterRebalance("c", F, message="not planned: no answer from zk:2181"),
            ClusterRebalance("d", P, 2, "sha256:d", 1, 100),
            ClusterRebalance(
                "e", F, 1, "", 1, 100, message="not in the budget: the fleet's rate is zero"
            ),
        ),
    )


def hash_of(*named):
    plans = {name: replace(plan(name), hash=f"sha256:{text}") for name, text in named}
    turns = tuple(turn(name, 0, 1, 1) for name in plans)
    return planned(answer(*(ClusterPlan(n, p) for n, p in plans.items()), turns=turns)).hash


def test_the_hash_names_every_plan_of_every_cluster():
    known = hash_of(("a", "1"), ("b", "2"))
    assert known.startswith("sha256:")
    assert known == hash_of(("b", "2"), ("a", "1"))
    others = {hash_of(("a", "2"), ("b", "1")), hash_of(("a", "1")), hash_of(("a", "1"), ("c", "2"))}
    assert known not in others
    assert len(others) == 3


@pytest.mark.parametrize(
    ("approval", "named", "expected"),
    [
        pytest.param(Approval(), "sha256:x", False, id="nobody-has-said-anything"),
        pytest.param(Approval(plans=("sha256:y",)), "sha256:x", False, id="another-plan"),
        pytest.param(Approval(plans=("sha256:x",)), "sha256:x", True, id="this-plan"),
        pytest.param(Approval(ApprovalPolicy.AUTO), "sha256:x", True, id="everything"),
        pytest.param(Approval(), "", True, id="nothing-moves"),
    ],
)
def test_approval(approval, named, expected):
    assert (
        lifecycle.is_approved(RebalanceSpec("r", approval=approval), RebalanceState(hash=named))
        == expected
    )


def part(name, state=P, wave=1, **more):
    return ClusterRebalance(name, state, wave, f"sha256:{name}", 10, 1000, **more)


def view(name="a", mode="Apply", outcome=None, **more):
    assembly = assemble((kafka_cluster(name, mode=mode), pool("p", 1, cluster=name)))[name]
    return KnownCluster(assembly, Outcome(State.CONVERGED) if outcome is None else outcome, **more)


def errand(state, *why, name="a"):
    return Outcome(State.WAITING, external=ExternalPlanStatus(f"sha256:{name}", state, why))


IN_FLIGHT = Wait(WaitReason.STAGE_IN_FLIGHT, stage=1, count=2, of=4)
NOT_LIVE = Wait(WaitReason.BROKER_NOT_LIVE, brokers=(3,), partitions=(TopicPartition("t", 0),))
PROGRESS = Progress("sha256:a", Phase.MOVING, 1, 4, 2, 10, 400, 1000)
RUNNING = Outcome(
    State.WAITING,
    waits=(IN_FLIGHT, NOT_LIVE),
    progress=PROGRESS,
)
STANDING = replace(RUNNING, progress=replace(PROGRESS, moves_in_flight=0))
MODE = (Wait(WaitReason.MODE_NOT_APPLY, name="a", mode=Mode.PLAN_ONLY),)
CLOSED = Wait(WaitReason.OUTSIDE_WINDOW, until="tomorrow")
LEFT = Action(ActionKind.LEFT_TO_OTHERS, partitions=(TopicPartition("t", 1),))
STALE = Refusal(RefusalReason.STALE_PLAN, "the plan is outdated")


@pytest.mark.parametrize(
    ("before", "seen", "after"),
    [
        pytest.param(part("a", D), KnownCluster(), part("a", D), id="what-has-ended-stays"),
        pytest.param(
            part("a"),
            KnownCluster(),
            part("a", F, message="KafkaCluster a does not exist any more"),
            id="its-cluster-is-gone",
        ),
        pytest.param(
            part("a", M),
            KnownCluster(abandoned="definitions were removed"),
            part(
                "a", W, why=(Wait(WaitReason.DECLARATION_HELD, detail="definitions were removed"),)
            ),
            id="its-cluster-went-with-its-definition",
        ),
        pytest.param(part("a"), view(), part("a"), id="about-to-begin"),
        pytest.param(
            part("a", M),
            replace(view(), outcome=None),
            part("a", M),
            id="a-new-leader-has-not-looked-yet",
        ),
        pytest.param(
            part("a"), view(mode="PlanOnly"), part("a", W, why=MODE), id="in-mode-plan-only"
        ),
        pytest.param(
            part("a"),
            view(outcome=Outcome(State.WAITING, error=Unavailable("no answer from zk"))),
            part("a", W, why=(Wait(WaitReason.UNAVAILABLE, detail="no answer from zk"),)),
            id="unreachable",
        ),
        pytest.param(
            part("a"),
            view(first="q"),
            part("a", W, why=(Wait(WaitReason.OTHER_REBALANCE_FIRST, name="q"),)),
            id="another-one-has-its-turn",
        ),
        pytest.param(
            part("a"),
            view(outcome=RUNNING),
            part("a", M, moves_done=4, bytes_done=400, begun=True, why=(NOT_LIVE,)),
            id="its-run-is-under-way",
        ),
        pytest.param(
            part("a"),
            view(mode="PlanOnly", outcome=RUNNING),
            part("a", W, moves_done=4, bytes_done=400, begun=True, why=MODE),
            id="its-run-stands-still",
        ),
        pytest.param(
            part("a"),
            view(outcome=replace(RUNNING, progress=replace(PROGRESS, plan="sha256:own"))),
            part("a", why=(IN_FLIGHT, NOT_LIVE)),
            id="a-run-of-its-own-is-under-way",
        ),
        pytest.param(
            part("a"),
            view(outcome=errand(ExternalPlanState.WAITING, CLOSED)),
            part("a", W, why=(CLOSED,)),
            id="it-waits-for-its-turn",
        ),
        pytest.param(
            part("a", M, moves_done=4, bytes_done=400),
            view(outcome=errand(ExternalPlanState.DONE, LEFT)),
            part("a", D, moves_done=10, bytes_done=1000, why=(LEFT,)),
            id="done",
        ),
        pytest.param(
            part("a"),
            view(outcome=errand(ExternalPlanState.REFUSED, STALE)),
            part("a", F, why=(STALE,)),
            id="refused",
        ),
        pytest.param(
            part("a"),
            view(outcome=errand(ExternalPlanState.DONE, name="b")),
            part("a"),
            id="done-is-another-one-s",
        ),
    ],
)
def test_what_is_known_of_a_cluster(before, seen, after):
    course = lifecycle.with_outcomes(RebalanceState(parts=(before,)), {"a": seen}, {"a"})
    assert course.parts == (after,)


def turns(parts, at_once=None, blocked=(), outcomes=None):
    spec = RebalanceSpec("r", budget=BudgetSpec(clusters_at_once=at_once))
    views = {
        each.cluster: view(
            each.cluster,
            "PlanOnly" if each.cluster in blocked else "Apply",
            (outcomes or {}).get(each.cluster),
        )
        for each in parts
    }
    return lifecycle.clusters_due(RebalanceState(parts=tuple(parts)), spec, views)


@pytest.mark.parametrize(
    ("parts", "more", "expected"),
    [
        pytest.param([part("a"), part("b"), part("c", wave=2)], {}, {"a", "b"}, id="a-wave"),
        pytest.param(
            [part("a", D), part("b", M), part("c", wave=2)], {}, {"b"}, id="a-wave-to-its-end"
        ),
        pytest.param([part("a", D), part("b", F), part("c", wave=2)], {}, {"c"}, id="the-next"),
        pytest.param(
            [part("a"), part("b"), part("c")], {"at_once": 2}, {"a", "b"}, id="two-at-once"
        ),
        pytest.param(
            [part("a"), part("b", M), part("c")],
            {"at_once": 1},
            {"b"},
            id="who-is-at-it-goes-on",
        ),
        pytest.param(
            [part("a", W), part("b", wave=2), part("c", wave=3)],
            {"blocked": ("a",)},
            {"b"},
            id="who-cannot-go-keeps-nobody-waiting",
        ),
        pytest.param(
            [part("a", W), part("b", M, wave=2), part("c", wave=2)],
            {},
            {"a", "b"},
            id="and-comes-first-when-it-can",
        ),
        pytest.param(
            [part("a", W, begun=True), part("b", wave=2)],
            {"at_once": 1, "blocked": ("a",), "outcomes": {"a": RUNNING}},
            set(),
            id="but-its-stage-in-flight-counts",
        ),
        pytest.param(
            [part("a", W, begun=True), part("b", wave=2)],
            {"at_once": 1, "blocked": ("a",), "outcomes": {"a": STANDING}},
            {"b"},
            id="until-that-has-ended",
        ),
    ],
)
def test_turns(parts, more, expected):
    assert turns(parts, **more) == expected


@pytest.mark.parametrize(
    ("states", "step"),
    [
        pytest.param((D, N), RebalanceStep.SUCCEEDED, id="all-done"),
        pytest.param((D, F), RebalanceStep.FAILED, id="one-failed"),
        pytest.param((D, W), RebalanceStep.EXECUTING, id="one-waits"),
        pytest.param((), RebalanceStep.SUCCEEDED, id="nothing-to-do"),
    ],
)
def test_the_end(states, step):
    parts = tuple(part(str(number), state) for number, state in enumerate(states))
    found = lifecycle.with_end(RebalanceState(RebalanceStep.EXECUTING, parts=parts), 7)
    assert (found.step, found.ended_ms) == (step, 7 if step.is_final else 0)


def test_without_the_record_what_is_left_has_failed():
    found = lifecycle.without_record(RebalanceState(parts=(part("a", D), part("b", M))))
    assert [(each.state, each.message) for each in found.parts] == [
        (D, ""),
        (F, "the record of the plans is gone, or was changed by somebody"),
    ]
