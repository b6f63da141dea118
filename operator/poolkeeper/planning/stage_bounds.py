"""What no sequence of stages can be shorter than, in bytes at one rate for every broker.

*Side*: a broker and a direction, in or out. A stage lasts as long as its busiest side needs, so the
makespan is the sum over the stages of the load of their busiest side, at least.

1. *The busiest broker*: whatever the stages are, a side with T bytes to carry carries them in some
   of them, each of which lasts as long as the part that it carries there. So the makespan is at
   least the largest T.
2. *Barriers*: take the k largest entries of one side, G bytes together, and any k stages that hold
   them all. These stages last G together, as each holds its share of the side's G. In k stages
   another side of T bytes carries no more than its k·n largest replicas, P bytes, where n is the
   limit per broker; and all sides of one direction together carry no more than k times the limit of
   bytes of a stage, of which G are that side's. The stages that are left carry the rest: at least
   T − P of the other side, and at least the level L to which all sides of the direction can be
   brought down by taking G from the one, and what the limit leaves from the fullest of all. So the
   makespan is at least G + max(T − P, L). With k = 0 this is 1.

An entry that is above a limit goes alone, so the limits count as no less than the largest entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

_STAGES_MAX = 64
"""The largest k that is looked at."""


class Load(NamedTuple):
    """What one side has to carry: bytes of entries, and of single replicas, largest first."""

    entries: Sequence[int]
    replicas: Sequence[int]


def shortest_bytes(
    sides: Mapping[tuple[int, bool], Load], *, replicas_max: int, bytes_max: int
) -> int:
    """The bound for these sides, (broker, out).

    `replicas_max`: replicas per side and stage; `bytes_max`: bytes of a stage, counted once.
    """
    totals = {side: sum(load.replicas) for side, load in sides.items()}
    best = max(totals.values(), default=0)
    carried = {side: [0, *accumulate(load.replicas)] for side, load in sides.items()}
    for out in (False, True):
        some = {side: load for side, load in sides.items() if side[1] == out}
        for stages, (together, longest) in enumerate(_longest(some), 1):
            for side, total in totals.items():
                most = carried[side]
                best = max(best, together + total - most[min(stages * replicas_max, len(most) - 1)])
            loaded = [totals[side] - together * (side == longest) for side in some]
            best = max(best, together + level_bytes(loaded, stages * bytes_max - together))
    return best


def level_bytes(loaded: Iterable[int], taken_bytes: int) -> int:
    """How low all loads can be brought at best by taking so many bytes from them in all."""
    left = taken_bytes
    for count, (size, below) in enumerate(pairwise([*sorted(loaded, reverse=True), 0]), 1):
        if count * (size - below) >= left:
            return size - left // count
        left -= count * (size - below)
    return 0


def _longest(sides: Mapping[tuple[int, bool], Load]) -> list[tuple[int, tuple[int, bool]]]:
    """By k, the most bytes that the k largest entries of any one side have, and that side."""
    most: list[tuple[int, tuple[int, bool]]] = []
    for side, load in sorted(sides.items()):
        for k, together in enumerate(accumulate(load.entries[:_STAGES_MAX])):
            if k == len(most):
                most.append((0, side))
            if together > most[k][0]:
                most[k] = together, side
    return most
