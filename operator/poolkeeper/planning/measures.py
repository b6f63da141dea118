"""What goals even out, as numbers by partition and by broker: replicas, bytes, bytes per second.

A measure counts a value for every replica of a partition: 1, its size, its rate. The share of a
broker follows from the same filling as for replicas, with the value as weight of each partition:
where the rack law wants one replica of each partition in each rack, every rack must hold all data.

`laws` are measures too: what the brokers' caps and disks allow is a band from nothing to there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.columns import NONE, Bools, Floats, Ints
from poolkeeper.planning.opening import Opened
from poolkeeper.planning.shares import Band, Domain, band, shares
from poolkeeper.planning.units import Unit

NOUNS = {
    GoalKind.REPLICAS: "replicas",
    GoalKind.LEADERS: "preferred leaders",
    GoalKind.TOPIC_REPLICAS: "replicas of one topic",
    GoalKind.BYTES: "bytes",
    GoalKind.BYTES_IN: "KiB/s",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A value by row of the unit, the load by broker that does not move, and the bands."""

    noun: str
    value: Ints
    fixed: Ints
    wide: Band
    narrow: Band

    def held(self, lists: Ints) -> Ints:
        """The load by broker."""
        row, slot = np.nonzero(lists >= 0)
        # Doubles add whole numbers up to 2^53 exactly.
        own = np.bincount(lists[row, slot], weights=self.value[row], minlength=len(self.fixed))
        held: Ints = self.fixed + own.astype(np.int64)
        return held

    def outside(self, held: Ints, eligible: Bools) -> bool:
        """Whether an eligible broker lies outside the wide band."""
        return bool((self.wide.outside(held) != 0)[eligible].any())


def measure_of(unit: Unit, opened: Opened, goal: Goal) -> Measure:
    """The measure of a goal for replicas, bytes or bytes per second."""
    value, fixed = _values(unit, goal.kind)
    share = share_of_value(unit, opened, value, fixed)
    return Measure(NOUNS[goal.kind], value, fixed, band(share, goal), band(share, goal, half=True))


def replica_measure(unit: Unit, share: Floats, goal: Goal) -> Measure:
    """The measure of replicas around a share that is known."""
    ones = np.ones(len(unit), dtype=np.int64)
    bands = band(share, goal), band(share, goal, half=True)
    return Measure(NOUNS[goal.kind], ones, unit.fixed, *bands)


def laws(unit: Unit, replicas: Ints, mib: Ints) -> tuple[Measure, Measure]:
    """Replicas under the brokers' caps, MiB under their disks."""
    nothing = np.zeros(len(unit.fixed), dtype=np.int64)
    caps, disks = (Band(nothing, high, nothing.astype(float)) for high in (replicas, mib))
    ones = np.ones(len(unit), dtype=np.int64)
    return (
        Measure("replicas", ones, unit.fixed, caps, caps),
        Measure("MiB", unit.mib, unit.fixed_mib, disks, disks),
    )


def _values(unit: Unit, kind: GoalKind) -> tuple[Ints, Ints]:
    if kind is GoalKind.BYTES:
        return unit.size, unit.fixed_mib * 1024 * 1024
    if kind is GoalKind.BYTES_IN:
        return unit.rate, unit.fixed_rate
    return np.ones(len(unit), dtype=np.int64), unit.fixed


def share_of_value(unit: Unit, opened: Opened, value: Ints, fixed: Ints) -> Floats:
    """Each eligible broker's fair share of the value of all replicas and the fixed load."""
    eligible, rack = unit.eligible, unit.brokers.rack
    racks, size = len(unit.brokers.rack_names), len(fixed)
    spreads = len(opened.spreads)
    weight: Floats = np.bincount(
        opened.spread_of, weights=value.astype(float), minlength=spreads
    ).astype(float)
    low = _by_rack(weight, [spread.low for spread in opened.spreads], racks)
    high = _by_rack(weight, [spread.high for spread in opened.spreads], racks)
    row, slot = np.nonzero(opened.pinned)
    values = value[row].astype(float)
    pinned: Floats = np.bincount(opened.lists[row, slot], weights=values, minlength=size).astype(
        float
    )
    floor: Floats = fixed.astype(float) + pinned
    elsewhere = np.bincount(rack[~eligible], weights=pinned[~eligible], minlength=racks)
    domains = []
    for number in np.unique(rack[eligible]):
        members = np.flatnonzero(eligible & (rack == number))
        own = fixed[members].sum() - elsewhere[number]
        domains.append(Domain(members, float(low[number] + own), float(high[number] + own)))
    per_row = (opened.lists != NONE).sum(axis=1)
    total = float((per_row * value).sum() + fixed[eligible].sum() - pinned[~eligible].sum())
    ceiling = floor + float((per_row * value).sum())
    return shares(total, unit.weight, floor, ceiling, tuple(domains))


def _by_rack(weight: Floats, bounds: Sequence[tuple[int, ...]], racks: int) -> Floats:
    return weight @ np.array(bounds, dtype=np.float64).reshape(len(bounds), racks)
