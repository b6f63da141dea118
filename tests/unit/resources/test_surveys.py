"""Which problem of a plan a person must mend."""

import pytest

from poolkeeper.model.plans import PlanProblem
from poolkeeper.planning.newpartitions import DELAYED
from poolkeeper.planning.scopes import LEFT_OUT
from poolkeeper.resources.surveys import hindrance

FULL = PlanProblem("p", "capacity", "not created: broker 1 would hold 5 replicas", "t")
QUOTA = PlanProblem("p", "quotas", "not created: pool p has 1 of 1 topics", "t")
MOVED = PlanProblem("p", "", f"{LEFT_OUT}a reassignment request names it", "t")
ROOM = PlanProblem("p", "capacity", f"{DELAYED}moves of this plan have made room for it", "t")


@pytest.mark.parametrize(
    ("problems", "mend"),
    [
        pytest.param([FULL, QUOTA], QUOTA, id="quotas come first"),
        pytest.param([MOVED, FULL], FULL, id="what is left out may go on by itself"),
        pytest.param([ROOM], None, id="what moves make room for goes on by itself"),
    ],
)
def test_only_what_does_not_mend_itself_is_a_hindrance(
    problems: list[PlanProblem], mend: PlanProblem | None
) -> None:
    assert hindrance(problems) == mend
