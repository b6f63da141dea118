"""Whether a plan puts replicas on brokers that are gone: a table of values."""

from dataclasses import replace

import pytest

from poolkeeper.model.plans import MoveLogDir
from poolkeeper.reconcile.cluster import needs
from unit.reconcile.situations import PLAN

COPYING = replace(PLAN, steps=(MoveLogDir("t", 0, 2, "/d1", "/d2", 1),))


@pytest.mark.parametrize(
    ("plan", "gone", "answer"),
    [
        pytest.param(PLAN, (), False, id="nothing-is-gone"),
        pytest.param(PLAN, (3,), True, id="a-target-is"),
        pytest.param(PLAN, (1,), False, id="a-broker-that-is-left-is"),
        pytest.param(PLAN, (2,), False, id="one-that-keeps-its-replica-is"),
        pytest.param(COPYING, (2,), True, id="one-that-copies-between-its-directories-is"),
    ],
)
def test_what_a_plan_needs(plan, gone, answer):
    assert needs(plan, frozenset(gone)) is answer


def test_a_plan_is_not_walked_through_while_nothing_is_gone():
    """It has hundreds of thousands of moves, and every pass asks."""
    assert not needs(replace(PLAN, moves=None), frozenset())
