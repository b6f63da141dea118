"""The throttle under which an offered plan keeps to its rate; when it runs is in the simulation."""

import pytest

from builders import desired
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, with_rate

NONE, FIXED, ADAPTIVE = ThrottleMode.NONE, ThrottleMode.FIXED, ThrottleMode.ADAPTIVE
MOVES = (
    Move("t", None, 0, ((1, 2), (2, 3)), 1, ""),
    Move("t", None, 1, ((1, 2), (3, 4)), 1, ""),
    Move("t", None, 2, ((1, 2), (2, 1)), 0, "leaders only"),
)
PLAN = Plan("c", "sha256:x", "f", moves=MOVES)


def declared(throttle):
    return desired((), name="c", execution=Execution(throttle=throttle))


@pytest.mark.parametrize(
    ("throttle", "rate", "expected"),
    [
        pytest.param(Throttle(FIXED, 100), None, Throttle(FIXED, 100), id="no-rate"),
        pytest.param(Throttle(NONE), 100, Throttle(FIXED, 50), id="two-brokers-take-half-each"),
        pytest.param(Throttle(FIXED, 80), 100, Throttle(FIXED, 50), id="less-than-declared"),
        pytest.param(Throttle(FIXED, 20), 100, Throttle(FIXED, 20), id="declared-is-less"),
        pytest.param(
            Throttle(ADAPTIVE, 20), 640, Throttle(ADAPTIVE, 20), id="it-never-rises-above"
        ),
        pytest.param(Throttle(ADAPTIVE, 20), 638, Throttle(FIXED, 20), id="it-could-rise-above"),
        pytest.param(Throttle(ADAPTIVE, 80), 100, Throttle(FIXED, 50), id="it-begins-above"),
        pytest.param(Throttle(NONE), 1, Throttle(FIXED, 1), id="never-nothing"),
    ],
)
def test_the_throttle_of_an_offered_plan(throttle, rate, expected):
    found = with_rate(declared(throttle), ExternalPlan(PLAN.hash, PLAN, bytes_per_s=rate))
    assert found == declared(expected)


def test_without_the_plan_what_is_declared_stays():
    desired = declared(Throttle(NONE))
    assert with_rate(desired, ExternalPlan(PLAN.hash, bytes_per_s=1)) is desired
