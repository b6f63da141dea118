"""How often a change may end a loop's wait: a table of times."""

import pytest

from poolkeeper.controller.loops.wake_ups import (
    REST,
    REST_S_MAX,
    WAKE_UP_EVERY_S,
    WAKE_UPS_AT_ONCE,
    WakeUpBudget,
    rest_s,
)

T = 1_000.0


@pytest.mark.parametrize(
    ("waits", "between_s", "pause_s"),
    [
        pytest.param(WAKE_UPS_AT_ONCE, 0.0, 0.0, id="some-at-once"),
        pytest.param(WAKE_UPS_AT_ONCE + 1, 0.0, WAKE_UP_EVERY_S, id="then-the-next-waits"),
        pytest.param(
            10 * WAKE_UPS_AT_ONCE, WAKE_UP_EVERY_S, 0.0, id="as-often-as-that-without-a-pause"
        ),
        pytest.param(10 * WAKE_UPS_AT_ONCE, 30.0, 0.0, id="rarely"),
    ],
)
def test_news_end_a_wait_so_often(waits: int, between_s: float, pause_s: float) -> None:
    budget = WakeUpBudget()
    pauses = [budget.pause_s(T + n * between_s) for n in range(waits)]
    assert pauses[-1] == pytest.approx(pause_s)


def test_passes_that_news_wake_at_once_are_bounded() -> None:
    budget, now_s, passes = WakeUpBudget(), T, 0
    while now_s < T + 60:
        now_s += 0.01 + budget.pause_s(now_s)
        passes += 1
    assert passes <= WAKE_UPS_AT_ONCE + 60 / WAKE_UP_EVERY_S + 1


@pytest.mark.parametrize(
    ("pass_s", "pause_s"),
    [
        pytest.param(0.01, 0.01 * REST, id="a-short-pass-is-soon-repeated"),
        pytest.param(0.4, 0.4 * REST, id="in-proportion"),
        pytest.param(30.0, REST_S_MAX, id="and-not-for-long"),
    ],
)
def test_a_loop_without_a_run_rests_after_a_pass(pass_s: float, pause_s: float) -> None:
    assert rest_s(pass_s) == pytest.approx(pause_s)
