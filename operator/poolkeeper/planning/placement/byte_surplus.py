"""How many replicas must leave a broker that cannot get its bytes inside the band otherwise.

The counts say how many replicas a broker gives: its surplus, and no more. Which replicas it gives
is free, so in most cases the bytes come out even at no cost. Two sorts of brokers are different:

  above   The broker holds too many bytes even if it gives its largest replicas as its surplus. So
          it gives more of the largest, and gets as many small replicas back.
  below   The broker holds too few bytes even if it gives its smallest replicas as its surplus, and
          its count leaves no room for others. So it gives more of the smallest, and gets as many
          large ones back: of those that brokers above their band give, the largest that fit.

Each such replica is a move that the lower bound for counts does not know. Requested from the flow
at once they are few, because they are large. Found one by one later they would be many small ones.
"""

from bisect import bisect_right

import numpy as np

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.placement.byte_targets import Aim
from poolkeeper.planning.problem.arrays import Floats, Ints, take_rows
from poolkeeper.planning.problem.grouping import stable_order

_SMALL = 0.25
_TAKEN_MAX = 100


def replicas_to_leave(aim: Aim, lists: Ints, replicas: Ints, counts: Band) -> Ints:
    """The number of replicas that must leave each broker; 0 where the surplus is enough.

    `replicas`: the replicas that each broker has.
    `counts`: the band of replicas that is aimed at.
    """
    large_first = np.argsort(-aim.value)
    broker = take_rows(lists, large_first).ravel()
    place = np.flatnonzero(broker >= 0)
    broker = broker[place]
    order = stable_order(broker, len(replicas))
    value = aim.value[large_first[place[order] // lists.shape[1]]]
    bounds = np.searchsorted(broker[order], np.arange(len(replicas) + 1))
    # The replicas that come in exchange are small, but not empty.
    small = float(np.quantile(value, _SMALL)) if len(value) else 0.0
    surplus, lacks = np.maximum(replicas - counts.high, 0), np.maximum(counts.low - replicas, 0)
    result = np.zeros(len(replicas), dtype=np.int64)
    given: list[int] = []
    below: list[tuple[float, int]] = []
    for at in np.flatnonzero(np.diff(bounds)).tolist():
        own = value[bounds[at] : bounds[at + 1]]
        large = own[own <= aim.most[at]]
        sums = np.cumsum(large)
        if aim.give[at] > 0:
            given += large[: int(np.searchsorted(sums, aim.give[at])) + 1].tolist()
        above = float(aim.load[at] + small * lacks[at] - aim.high[at])
        lacking = float(aim.low[at] - aim.load[at] + own[len(own) - int(surplus[at]) :].sum())
        if above > 0:
            result[at] = _to_give(sums, small, above, int(surplus[at]))
        elif lacking > 0 and not lacks[at]:
            below.append((-lacking, at))
    given.sort()
    for lacking, at in sorted(below):
        fits = float(aim.high[at] - aim.low[at])
        result[at] = surplus[at] + _to_take(given, small, -lacking, fits)
    return result


def _to_give(sums: Floats | Ints, small: float, above: float, surplus: int) -> int:
    """How many of the largest replicas a broker must give; 0 if its surplus is enough.

    `sums`: the sum of the k largest, by k.
    """
    count = int(np.searchsorted(sums - small * np.arange(len(sums)), above)) + 1
    return count if surplus < count <= len(sums) else 0


def _to_take(given: list[int], small: float, lacking: float, fits: float) -> int:
    """How many of the given replicas make up for what a broker lacks.

    `given`: sizes in ascending order; the ones used are removed. A replica is not used if more
    than `_TAKEN_MAX` of its size would be needed.
    """
    count, worth = 0, small + lacking / _TAKEN_MAX
    while lacking > 0:
        place = bisect_right(given, lacking + fits) - 1
        if place < 0 or given[place] < worth:
            break
        lacking -= given.pop(place) - small
        count += 1
    return count
