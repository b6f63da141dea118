"""Which tasks run together, so that no last task delays the end. Pure."""

from collections.abc import Sequence

TASKS_PER_SLOT = 16
ROWS_PER_FILE = 4_000_000
"""Partitions of several clusters that share files, about at most."""


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


def runs_at_most(slots: int, weights: Sequence[int], per_file: int = ROWS_PER_FILE) -> int:
    """How many runs a job has at the most: many for each slot, so that the last ones end together.

    No file holds much more than `per_file` of what is weighed.
    """
    return max(TASKS_PER_SLOT * slots, -(-sum(weights) // per_file))
