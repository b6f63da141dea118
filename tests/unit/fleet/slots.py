"""What becomes of tasks that are placed in runs."""

from collections.abc import Sequence


def makespan(weights: Sequence[int], placed: Sequence[int], slots: int) -> int:
    """The weight of the busiest slot, if runs start in their order as slots become free."""
    of_run = [0] * (max(placed, default=-1) + 1)
    for weight, run in zip(weights, placed, strict=True):
        of_run[run] += weight
    busy = [0] * slots
    for weight in of_run:
        busy[busy.index(min(busy))] += weight
    return max(busy)
