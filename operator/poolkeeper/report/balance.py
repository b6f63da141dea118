"""The imbalance of a pool's brokers, the measure behind its picture and heat.

The *imbalance* of a pool is the part of what it holds that would have to move for every broker to
hold its share, where shares go by weight: the sum over brokers of (held - share)+ over all that is
held. 0 is even; what drained and dead brokers hold counts in full, as their share is nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.report.values import Holding

HEATS = (0.01, 0.025, 0.05, 0.1, 0.25)
"""The imbalances at which the next colour begins."""


class Measure(NamedTuple):
    """A measure of what brokers hold: replicas, leaders or bytes."""

    name: str
    before: str
    after: str


MEASURES = (
    Measure("Replicas", "replicas_before", "replicas_after"),
    Measure("Leaders", "leaders_before", "leaders_after"),
    Measure("Bytes", "bytes_before", "bytes_after"),
)


@frozen
class PoolBalance:
    """A pool of a cluster: its brokers, and (before, after) imbalances by measure."""

    cluster: str
    pool: str
    brokers: tuple[Holding, ...]
    imbalances: tuple[tuple[float, float], ...]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that are known: no bytes where no size is."""
        return MEASURES if all(each.sized for each in self.brokers) else MEASURES[:-1]

    @property
    def changes(self) -> int:
        """The sum of the changes in replica counts over its brokers."""
        return sum(abs(each.replicas_after - each.replicas_before) for each in self.brokers)


def pools_of(cluster: str, brokers: Iterable[Holding]) -> tuple[PoolBalance, ...]:
    """The pools by name; brokers by rack, then id. Brokers of no pool form the last pool, ""."""
    grouped: dict[str, list[Holding]] = defaultdict(list)
    for each in brokers:
        grouped[each.pool].append(each)
    return tuple(
        _balance(cluster, pool, members)
        for pool, members in sorted(grouped.items(), key=lambda item: (not item[0], item[0]))
    )


def heat(imbalance: float) -> int:
    """The heat of an imbalance: 0 below 1 %, up to 5 from 25 % on."""
    return sum(imbalance >= limit for limit in HEATS)


def _balance(cluster: str, pool: str, members: Sequence[Holding]) -> PoolBalance:
    return PoolBalance(
        cluster,
        pool,
        tuple(sorted(members, key=lambda each: (each.rack or "", each.broker))),
        tuple(
            (_imbalance(members, measure.before), _imbalance(members, measure.after))
            for measure in MEASURES
        ),
    )


def _imbalance(members: Sequence[Holding], field: str) -> float:
    held: list[int] = [getattr(each, field) for each in members]
    total, weight = sum(held), sum(each.weight for each in members)
    if not total or not weight:
        return 0.0
    shares = (total * each.weight / weight for each in members)
    return sum(max(0.0, h - share) for h, share in zip(held, shares, strict=True)) / total
