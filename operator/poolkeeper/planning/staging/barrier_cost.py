"""What large entries cost: the stages that hold them last longer than other brokers can use.

Terms as in `makespan_bound`: M is the limit of bytes of a stage, n that of replicas per side and
stage. Take m sides of one direction, D, with T bytes in all. No stage is over before the average of
D has carried its part. So all stages last T / m together, and longer where D is idle. Take the
entries of at least x bytes each: H bytes in all, b of them on no side of D, none above M.

* At least N(x) stages hold them: H over M, rounded up, or one for each entry above M / 2, as no two
  of these go together.
* A stage lasts as long as its largest entry. If k stages hold the entries, these last at least
  k·x + ∫ N(y) dy together, for y above x: at least N(y) of all stages last longer than y.
* In these k stages D carries at most k·M - b, and of each side the k·n largest replicas, P(k) in
  all. The other stages carry the rest, and last (T - min(k·M - b, P(k))) / m.

The makespan is at least the sum of the last two, for the k that makes it least: whatever x and D
are. Both terms are convex in k, so it is least where it first grows. The x of the strongest bound
says which entries should go together: with more stages of such a length, or with less of D in
them, the plan lasts longer.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

LARGE_MAX = 256
"""Entries that are looked at."""


class LargeEntry(NamedTuple):
    """An entry: its bytes, and how many of them are on no side of D."""

    bytes: int
    outside_bytes: int


class Barrier(NamedTuple):
    """A bound, and the size from which on entries cause it."""

    shortest_bytes: int
    large_bytes: int


def barrier(
    entries: Iterable[LargeEntry],
    total_bytes: int,
    sides: int,
    bytes_max: int,
    carried: Callable[[int], int],
) -> Barrier:
    """The strongest of the bounds.

    `entries`: entries of at most `bytes_max` (M), the largest first.
    `total_bytes`: T.
    `sides`: m.
    `carried`: P by k.
    """
    best = Barrier(-(-total_bytes // sides), bytes_max)
    held = outside = longer = above_half = stages = size = 0
    for count, entry in enumerate(islice(entries, LARGE_MAX), 1):
        longer += stages * (size - entry.bytes)
        size = entry.bytes
        held += size
        outside += entry.outside_bytes
        above_half += 2 * size > bytes_max
        stages = max(-(-held // bytes_max), above_half)
        least = None
        for k in range(stages, count + 1):
            rest = total_bytes - min(k * bytes_max - outside, carried(k))
            found = sides * (longer + k * size) + max(0, rest)
            if least is not None and found >= least:
                break
            least = found
        if least is not None and least > best.shortest_bytes * sides:
            best = Barrier(-(-least // sides), size)
    return best


def longest_bytes(sizes: Iterable[int], bytes_max: int) -> int:
    """The least duration of the stages that hold these entries, in bytes: N(x)·x + ∫ N.

    `sizes`: bytes of the entries, the largest first.
    """
    longest = 0
    held = above_half = stages = last = 0
    for size in sizes:
        longest += stages * (last - size)
        last = size
        held += size
        above_half += 2 * size > bytes_max
        stages = max(-(-held // bytes_max), above_half)
    return longest + stages * last
