"""What is offered to one cluster's loop, and when."""

import pytest

import builders
from poolkeeper.errors import HolderActive, Unavailable
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    LastObservation,
    Outcome,
    Progress,
    State,
)
from poolkeeper.model.execution.records import NOTHING_RECORDED
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.rebalances import (
    BudgetSpec,
    BudgetWindow,
    ClusterRebalance,
    PartState,
    RebalanceSpec,
)
from poolkeeper.model.specs import Window
from poolkeeper.rebalances.external_plans import may_run, wait_before_stage

HOUR_MS = 3_600_000
NIGHT = BudgetWindow(Window("0 22 * * *", 8 * 3600), 600)
PLAIN = BudgetWindow(Window("0 12 * * *", 3600))


@pytest.mark.parametrize(
    ("spec", "hour", "expected"),
    [
        pytest.param({}, 0, None, id="at-any-time"),
        pytest.param({"paused": True}, 0, Wait(WaitReason.REBALANCE_PAUSED), id="paused"),
        pytest.param({"budget": BudgetSpec(windows=(NIGHT,))}, 23, None, id="in-a-window"),
        pytest.param(
            {"budget": BudgetSpec(windows=(NIGHT, PLAIN))},
            9,
            Wait(WaitReason.OUTSIDE_REBALANCE_WINDOW, until="1970-01-01 12:00 UTC"),
            id="outside-of-all",
        ),
    ],
)
def test_held(spec, hour, expected):
    assert wait_before_stage(RebalanceSpec("r", **spec), hour * HOUR_MS) == expected


def told(state):
    return Outcome(State.WAITING, external=ExternalPlanStatus("sha256:a", state))


def runs(plan):
    return Outcome(State.WAITING, progress=Progress(plan, Phase.MOVING, 1, 0, 1, 1, 0, 1))


NOTHING_THERE = Outcome(
    State.CONVERGED, last_observation=LastObservation(builders.cluster((1,)), NOTHING_RECORDED)
)
UNREACHABLE = Outcome(State.WAITING, error=Unavailable("no answer from zk"))
HELD = Outcome(State.WAITING, error=HolderActive("the executor before"))


@pytest.mark.parametrize(
    ("state", "outcome", "kept", "expected"),
    [
        pytest.param(PartState.DONE, runs("sha256:a"), True, False, id="it-has-ended"),
        pytest.param(PartState.MOVING, None, True, True, id="not-looked-at-and-it-moved"),
        pytest.param(PartState.PLANNED, None, True, False, id="not-looked-at-nor-begun"),
        pytest.param(PartState.MOVING, None, False, False, id="there-is-no-loop"),
        pytest.param(PartState.WAITING, runs("sha256:a"), True, True, id="its-run"),
        pytest.param(PartState.WAITING, runs("sha256:b"), True, False, id="another-run"),
        pytest.param(
            PartState.WAITING, told(ExternalPlanState.WAITING), True, True, id="it-may-begin"
        ),
        pytest.param(
            PartState.WAITING, told(ExternalPlanState.DONE), True, False, id="it-is-withdrawn"
        ),
        pytest.param(
            PartState.MOVING, Outcome(State.WAITING, recorded=True), True, True, id="stands-still"
        ),
        pytest.param(PartState.MOVING, NOTHING_THERE, True, False, id="nothing-there"),
        pytest.param(
            PartState.MOVING, Outcome(State.WAITING), True, True, id="its-first-write-was-lost"
        ),
        pytest.param(PartState.MOVING, UNREACHABLE, True, True, id="unreachable-and-it-moved"),
        pytest.param(PartState.PLANNED, UNREACHABLE, True, False, id="unreachable-not-begun"),
        pytest.param(PartState.MOVING, UNREACHABLE, False, False, id="unreachable-without-a-loop"),
        pytest.param(PartState.MOVING, HELD, True, True, id="the-killed-process-still-holds-it"),
    ],
)
def test_what_may_run(state, outcome, kept, expected):
    part = ClusterRebalance("a", state, 1, "sha256:a", 1, 1)
    assert may_run(part, outcome, has_loop=kept) is expected
