"""What each broker's fair share is, and the band around it.

**Share.** All replicas of the unit are spread in proportion to weight, as far as the laws let them:
a broker holds one replica of a partition at most, a rack between the even spread's low and high,
and load that cannot move stays. That is a flow with bounds on racks and brokers nested in each
other, so it is found by filling: broker b gets clamp(level × weight_b, fixed_b, fixed_b + P), a
rack the sum of its brokers clamped to the rack's bounds, and one level is chosen so that all
replicas find a place; within a rack that hits a bound the level is its own.

Racks of 10, 10 and 5 equal brokers, 100 partitions of RF 3: each rack must hold 100, so the brokers
of the small rack have a share of 20, the others of 10.

**Band.** `{percent: p}` reaches p % from the share, `{count: n}` less than n; never tighter than
floor and ceiling of the share. A goal is triggered where a broker lies outside its band and is then
brought inside half of it, so that drift does not trigger it again at once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poolkeeper.model.specs import Goal
from poolkeeper.planning.columns import Floats, Ints

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Band:
    """The lowest and highest count that a goal accepts, by broker; and the shares."""

    low: Ints
    high: Ints
    share: Floats

    def outside(self, held: Ints) -> Ints:
        """By broker, how far the count is above (positive) or below (negative) the band."""
        excess: Ints = np.maximum(held - self.high, 0) - np.maximum(self.low - held, 0)
        return excess


def band(share: Floats, goal: Goal | None, *, half: bool = False) -> Band:
    """The band of a goal, or half of it; without a goal everything is inside.

    Share 10.4: `{count: 1}` → 10 to 11, `{percent: 20}` → 9 to 12, half of that 10 to 11.
    """
    if goal is None:
        huge = np.full(len(share), np.iinfo(np.int32).max, dtype=np.int64)
        return Band(np.zeros(len(share), dtype=np.int64), huge, share)
    factor = 0.5 if half else 1.0
    if goal.count is not None:
        reach = np.full(len(share), goal.count * factor)
        low = np.floor(share - reach + _ROUNDING) + 1
        high = np.ceil(share + reach - _ROUNDING) - 1
    else:
        reach = share * (goal.percent or 0.0) / 100 * factor
        low = np.ceil(share - reach - _ROUNDING)
        high = np.floor(share + reach + _ROUNDING)
    low = np.minimum(low, np.floor(share + _ROUNDING))
    high = np.maximum(high, np.ceil(share - _ROUNDING))
    return Band(np.maximum(low, 0).astype(np.int64), high.astype(np.int64), share)


@dataclass(frozen=True, slots=True)
class Domain:
    """Brokers that share a bound (a rack); vectors by broker of the domain."""

    members: Ints
    low: float
    high: float


def shares(
    total: float, weight: Floats, floor: Floats, ceiling: Floats, domains: tuple[Domain, ...]
) -> Floats:
    """Spread `total` over the brokers of the domains; brokers in none get 0.

    `floor` and `ceiling` bound each broker, a domain's `low` and `high` the sum of its members.
    """
    result = np.zeros(len(weight))

    def held(domain: Domain, level: float) -> float:
        rows = domain.members
        filled = np.clip(level * weight[rows], floor[rows], ceiling[rows]).sum()
        return float(min(max(filled, domain.low), domain.high))

    level = _level(lambda at: sum(held(domain, at) for domain in domains), total)
    for domain in domains:
        rows = domain.members
        wanted = held(domain, level)

        def filled(at: float, rows: Ints = rows) -> float:
            return float(np.clip(at * weight[rows], floor[rows], ceiling[rows]).sum())

        own = _level(filled, wanted)
        result[rows] = np.clip(own * weight[rows], floor[rows], ceiling[rows])
    return result


def _level(filled: Callable[[float], float], wanted: float) -> float:
    """The smallest level that fills as much as wanted, to within rounding of doubles."""
    low, high = 0.0, 1.0
    while filled(high) < wanted - _ROUNDING and high < 1e15:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if filled(middle) < wanted:
            low = middle
        else:
            high = middle
        if math.isclose(low, high, rel_tol=1e-15):
            break
    return high
