"""Which clusters may still run the plan of a Rebalance that is deleted."""

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
from poolkeeper.model.rebalances import ClusterRebalance, PartState
from poolkeeper.rebalances.deletion import OfferedPlans, may_run


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
    ("state", "outcome", "offered", "kept", "expected"),
    [
        pytest.param(PartState.DONE, runs("sha256:a"), True, True, False, id="it-has-ended"),
        pytest.param(PartState.MOVING, None, True, True, True, id="not-looked-at-and-it-moved"),
        pytest.param(PartState.PLANNED, None, False, True, False, id="not-looked-at-nor-offered"),
        pytest.param(PartState.PLANNED, None, True, True, True, id="not-looked-at-and-offered"),
        pytest.param(PartState.MOVING, None, True, False, False, id="there-is-no-loop"),
        pytest.param(PartState.WAITING, runs("sha256:a"), True, True, True, id="its-run"),
        pytest.param(PartState.WAITING, runs("sha256:b"), True, True, False, id="another-run"),
        pytest.param(
            PartState.WAITING, told(ExternalPlanState.WAITING), True, True, True, id="it-may-begin"
        ),
        pytest.param(
            PartState.WAITING, told(ExternalPlanState.DONE), True, True, False, id="it-is-withdrawn"
        ),
        pytest.param(
            PartState.MOVING,
            Outcome(State.WAITING, recorded=True),
            True,
            True,
            True,
            id="stands-still",
        ),
        pytest.param(PartState.MOVING, NOTHING_THERE, True, True, False, id="nothing-there"),
        pytest.param(
            PartState.MOVING,
            Outcome(State.WAITING),
            True,
            True,
            True,
            id="its-first-write-was-lost",
        ),
        pytest.param(
            PartState.MOVING, UNREACHABLE, True, True, True, id="unreachable-and-it-moved"
        ),
        pytest.param(
            PartState.PLANNED, UNREACHABLE, False, True, False, id="unreachable-not-offered"
        ),
        pytest.param(
            PartState.PLANNED, UNREACHABLE, True, True, True, id="unreachable-and-offered"
        ),
        pytest.param(
            PartState.MOVING, UNREACHABLE, True, False, False, id="unreachable-without-a-loop"
        ),
        pytest.param(
            PartState.MOVING, HELD, True, True, True, id="the-killed-process-still-holds-it"
        ),
        pytest.param(PartState.PLANNED, HELD, True, True, True, id="held-and-its-status-was-late"),
    ],
)
def test_what_may_run(state, outcome, offered, kept, expected):
    part = ClusterRebalance("a", state, 1, "sha256:a", 1, 1)
    assert may_run(part, outcome, offered=offered, has_loop=kept) is expected


def test_a_report_from_before_the_withdrawal_proves_nothing():
    part, before = ClusterRebalance("a", hash="sha256:a", moves=1), NOTHING_THERE
    offered = OfferedPlans({"a"})
    for _ in range(2):
        assert offered.still_running([part], lambda name: before, {"a"}) == [part]
    begun = runs("sha256:a")
    assert offered.still_running([part], lambda name: begun, {"a"}) == [part]
    ended = told(ExternalPlanState.DONE)
    assert offered.still_running([part], lambda name: ended, {"a"}) == []
    assert OfferedPlans().still_running([part], lambda name: before, {"a"}) == []
    assert OfferedPlans({"a"}).still_running([part], lambda name: before, ()) == []
