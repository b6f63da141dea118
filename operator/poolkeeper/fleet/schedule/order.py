"""Which stage goes first, while stages of a cluster keep their order.

Urgency comes first. A stage is as urgent as the most urgent of itself and the stages after it,
which have to wait for it. So urgency only falls along a cluster's work, and divides it into
classes.

Within a class the most gain per byte comes first. A stage of little gain may hold back one of much
gain behind it, so the best *block* counts: of all beginnings of what is left, the one with the
highest total gain per byte. For one stream of bytes and orders that are chains, taking blocks by
this ratio is optimal: at every moment the sum of (gain × bytes moved until it came) is as small as
possible (Sidney 1975). The ratios of a chain's blocks fall, so a block that has begun remains the
best of its cluster.
"""

from collections.abc import Sequence
from typing import NamedTuple

from poolkeeper.fleet.schedule.budget import ScheduledStage


class Rank(NamedTuple):
    """Lower goes first: the class, then gain per byte, negated."""

    urgency: int
    loss_per_byte: float


def ranks(stages: Sequence[ScheduledStage]) -> list[Rank]:
    """The rank of every stage: that of its block.

    Gains 1, 9, 2 of 10 bytes each: the first two are a block of 10 per 20 bytes, the third is one.
    """
    # Four stacks of plain values: there may be a million stages.
    classes: list[int] = []
    gains: list[float] = []
    sizes: list[int] = []
    counts: list[int] = []
    for stage, urgency in zip(stages, _urgencies(stages), strict=True):
        gain, size, count = stage.gain, stage.bytes, 1
        while classes and classes[-1] == urgency and _beats(gain, size, gains[-1], sizes[-1]):
            classes.pop()
            gain, size, count = gain + gains.pop(), size + sizes.pop(), count + counts.pop()
        classes.append(urgency)
        gains.append(gain)
        sizes.append(size)
        counts.append(count)
    return [
        rank
        for urgency, gain, size, count in zip(classes, gains, sizes, counts, strict=True)
        for rank in [Rank(urgency, -gain / size if size else -float("inf"))] * count
    ]


def _beats(gain: float, size: int, before_gain: float, before_size: int) -> bool:
    """Whether a block gains at least as much per byte as the one before; always without bytes."""
    if not size:
        return True
    return before_size > 0 and gain * before_size >= before_gain * size


def _urgencies(stages: Sequence[ScheduledStage]) -> list[int]:
    found: list[int] = []
    most = 2**31
    for stage in reversed(stages):
        most = min(most, stage.urgency)
        found.append(most)
    return found[::-1]
