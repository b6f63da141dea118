"""Times of a run that lie ahead count from now on."""

import pytest

from poolkeeper.model.execution.runs import Phase, Run
from poolkeeper.reconcile.clock_jumps import AHEAD_MS, with_times_of_now

NOW_MS = 1_700_000_000_000


def run(started_ms: int, requested_ms: int, throttled_ms: int) -> Run:
    times = {"requested_ms": requested_ms, "throttled_ms": throttled_ms}
    return Run("p", "f", "c", Phase.MOVING, "d", 1, started_ms, **times)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((1, 2, 3), (1, 2, 3), id="past"),
        pytest.param((1, 0, 0), (1, 0, 0), id="not-yet-noted"),
        pytest.param((1, NOW_MS + AHEAD_MS, 3), (1, NOW_MS + AHEAD_MS, 3), id="another-clock"),
        pytest.param((1, NOW_MS + AHEAD_MS + 1, 3), (1, NOW_MS, 3), id="a-request-ahead"),
        pytest.param((NOW_MS * 2,) * 3, (NOW_MS,) * 3, id="all-ahead"),
        pytest.param((NOW_MS * 2, 0, 0), (NOW_MS, 0, 0), id="the-beginning-ahead"),
    ],
)
def test_times_ahead_are_now(before: tuple[int, int, int], after: tuple[int, int, int]) -> None:
    assert with_times_of_now(run(*before), NOW_MS) == run(*after)
