"""Which problem of a plan a person must mend."""

import pytest

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.resources.status.status_inputs import blocking_problem


def _told(reason: ProblemReason) -> Recorded:
    """Say nothing that could be taken for the reason."""
    return Recorded("said", reason)


FULL = PlanProblem("p", "capacity", _told(ProblemReason.CAPACITY_EXCEEDED), "t")
QUOTA = PlanProblem("p", "quotas", _told(ProblemReason.QUOTA_EXCEEDED), "t")
MOVED = PlanProblem("p", "", _told(ProblemReason.LEFT_OUT), "t")
UNTOUCHED = PlanProblem("p", "", _told(ProblemReason.UNTOUCHED), "t")
ROOM = PlanProblem("p", "capacity", _told(ProblemReason.AWAITS_ROOM), "t")
MOVES = PlanProblem("p", "", _told(ProblemReason.AWAITS_MOVES), "t")
PARTITIONS = PlanProblem("p", "", _told(ProblemReason.AWAITS_PARTITIONS))


@pytest.mark.parametrize(
    ("problems", "mend"),
    [
        pytest.param([FULL, QUOTA], QUOTA, id="quotas come first"),
        pytest.param([MOVED, FULL], FULL, id="what is left out may go on by itself"),
        pytest.param([MOVED, UNTOUCHED], None, id="nor is what is not done to it meanwhile"),
        pytest.param([UNTOUCHED, FULL], FULL, id="why nothing is done to it is what counts"),
        pytest.param([ROOM], None, id="what moves make room for goes on by itself"),
        pytest.param([MOVES], None, id="what is to come after moves goes on by itself"),
        pytest.param([PARTITIONS], None, id="what is to come after new partitions as well"),
    ],
)
def test_only_what_does_not_mend_itself_is_a_hindrance(
    problems: list[PlanProblem], mend: PlanProblem | None
) -> None:
    assert blocking_problem(problems) == mend
