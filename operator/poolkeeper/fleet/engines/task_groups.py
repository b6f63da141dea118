"""Which tasks go together, so that nobody waits for a last one: pure."""

from collections.abc import Sequence


def order(weights: Sequence[int]) -> list[int]:
    """The places of tasks, the heaviest first; of equals the first."""
    return sorted(range(len(weights)), key=lambda task: (-weights[task], task))


def runs(weights: Sequence[int], at_most: int) -> list[int]:
    """By task, the number of its run; runs are numbered from 0 in the order they shall start.

    The heaviest tasks are alone. Light ones share a run until it weighs an even share, as starting
    a run costs more than planning a small cluster: with weights 9, 1, 1, 1 and at most 2 runs, the
    first run is the 9 and the second are the others. No run but of one task weighs more than twice
    an even share.
    """
    share = -(-sum(weight + 1 for weight in weights) // max(at_most, 1))
    placed = [0] * len(weights)
    run, filled = -1, share
    for task in order(weights):
        weight = weights[task] + 1
        if filled + weight > share or run < 0:
            run, filled = run + 1, 0
        placed[task] = run
        filled += weight
    return placed


def makespan(weights: Sequence[int], placed: Sequence[int], slots: int) -> int:
    """The weight of the busiest slot, if runs start in their order as slots become free."""
    of_run = [0] * (max(placed, default=-1) + 1)
    for weight, run in zip(weights, placed, strict=True):
        of_run[run] += weight
    busy = [0] * slots
    for weight in of_run:
        busy[busy.index(min(busy))] += weight
    return max(busy)
