"""Which stage goes first, where stages of a cluster keep their order.

Urgency comes first: a stage is as urgent as the most urgent one that has to wait for it, itself
included. So along a cluster's work urgency only falls, and cuts it into classes.

Within a class the most gain per byte comes first. A stage of little gain may hold back one of much
gain behind it, so what counts is the best *block*: of all beginnings of what is left the one with
the highest gain per byte, all in all. For one stream of bytes and orders that are chains, taking
blocks by this ratio is optimal: at every moment the sum of (gain × bytes moved until it came) is as
small as it can be (Sidney 1975). The ratios of a chain's blocks fall, so that a block, once it has
begun, is still the best of its cluster.
"""

from collections.abc import Sequence
from typing import NamedTuple

from poolkeeper.fleet.budgets_values import Stage


class Rank(NamedTuple):
    """Lower goes first: the class, then gain per byte, negated."""

    urgency: int
    loss_per_byte: float


class _Block(NamedTuple):
    urgency: int
    gain: float
    bytes: int
    stages: int

    @property
    def ratio(self) -> float:
        return self.gain / self.bytes if self.bytes else float("inf")


def ranks(stages: Sequence[Stage]) -> list[Rank]:
    """The rank of every stage: that of its block.

    Gains 1, 9, 2 of 10 bytes each: the first two are a block of 10 per 20 bytes, the third is one.
    """
    blocks: list[_Block] = []
    for stage, urgency in zip(stages, _urgencies(stages), strict=True):
        block = _Block(urgency, stage.gain, stage.bytes, 1)
        while blocks and blocks[-1].urgency == urgency and blocks[-1].ratio <= block.ratio:
            before = blocks.pop()
            block = _Block(
                urgency,
                before.gain + block.gain,
                before.bytes + block.bytes,
                before.stages + block.stages,
            )
        blocks.append(block)
    return [Rank(b.urgency, -b.ratio) for b in blocks for _ in range(b.stages)]


def _urgencies(stages: Sequence[Stage]) -> list[int]:
    found: list[int] = []
    most = 2**31
    for stage in reversed(stages):
        most = min(most, stage.urgency)
        found.append(most)
    return found[::-1]
