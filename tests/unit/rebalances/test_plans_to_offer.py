"""What is offered to one cluster's loop, and when."""

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.rebalances import (
    BudgetSpec,
    BudgetWindow,
    RebalanceSpec,
)
from poolkeeper.model.specs import Window
from poolkeeper.rebalances.plans_to_offer import wait_before_stage

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
