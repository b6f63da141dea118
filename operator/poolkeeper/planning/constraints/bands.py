"""Each broker's fair share, and the band around it.

**Share.** All replicas of the pool are spread in proportion to weight, as far as the laws permit:
a broker holds one replica of a partition at most, a rack between the even spread's low and high,
and load that cannot move stays. That is a flow with nested bounds on racks and brokers, so filling
finds it. Broker b gets clamp(level × weight_b, load_b, load_b + P), a rack the sum of its brokers
clamped to the rack's bounds, and one level is chosen so that all replicas find a place. A rack that
hits a bound has a level of its own.

Racks of 10, 10 and 5 equal brokers, 100 partitions of RF 3: each rack must hold 100, so the brokers
of the small rack have a share of 20, the others of 10.

**Band.** `{percent: p}` reaches p % from the share, `{count: n}` less than n; never tighter than
floor and ceiling of the share. A goal is triggered if a broker lies outside its band. Its brokers
are then brought inside half of the band, so that drift does not trigger the goal again at once.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal
from poolkeeper.planning.problem.arrays import Floats, Ints

_ROUNDING = 1e-6
_HALVINGS_MAX = 200


@frozen
class Band:
    """The shares, and the lowest and highest count that a goal accepts, by broker."""

    low: Ints
    high: Ints
    share: Floats

    def outside(self, held: Ints) -> Ints:
        """By broker, how far the count is above (positive) or below (negative) the band."""
        excess: Ints = np.maximum(held - self.high, 0) - np.maximum(self.low - held, 0)
        return excess

    def accepts_as(self, other: "Band") -> bool:
        """Whether it accepts the counts that the other one does."""
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)


def band(share: Floats, goal: Goal | None, *, half: bool = False) -> Band:
    """The band of a goal, or half of it; without a goal the band accepts every count.

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


@frozen
class BoundedGroup:
    """Brokers that share a bound (a rack); the vectors are by broker of the group."""

    members: Ints
    low: float
    high: float


def shares(
    total: float, weight: Floats, floor: Floats, ceiling: Floats, domains: tuple[BoundedGroup, ...]
) -> Floats:
    """Spread `total` over the brokers of the groups; brokers in no group get 0.

    `floor`, `ceiling`: the bounds of each broker. A group's `low` and `high` bound the sum of its
    brokers.
    """
    result = np.zeros(len(weight))
    domains = tuple(domain for domain in domains if len(domain.members))
    if not domains:
        return result
    rows = np.concatenate([domain.members for domain in domains])
    of = np.repeat(np.arange(len(domains)), [len(domain.members) for domain in domains])
    low = np.array([domain.low for domain in domains])
    high = np.array([domain.high for domain in domains])
    own, least, most = weight[rows], floor[rows], ceiling[rows]

    def fill(levels: Floats) -> Floats:
        part: Floats = np.clip(levels[of] * own, least, most)
        return part

    def sums(levels: Floats) -> Floats:
        total: Floats = np.bincount(of, fill(levels), len(domains)).astype(np.float64)
        return total

    def held(level: Floats) -> Floats:
        bounded: Floats = np.clip(sums(np.repeat(level, len(domains))), low, high)
        return bounded

    level = _levels(lambda at: held(at).sum(keepdims=True), np.array([total]))
    result[rows] = fill(_levels(sums, held(level)))
    return result


def _levels(fill: Callable[[Floats], Floats], wanted: Floats) -> Floats:
    """A level, of each entry by itself, that fills the wanted amount, up to rounding.

    `fill` never falls and is made of straight pieces: between two levels of one piece, a straight
    line meets the level. Halving in turn brings them there. Where it is flat, every level is right.
    """
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    below, above = fill(low), fill(high)
    while (short := (above < wanted - _ROUNDING) & (high < 1e15)).any():
        low, below = _where(short, (high, above), (low, below))
        high = np.where(short, 2 * high, high)
        above = fill(high)
    for halving in range(_HALVINGS_MAX):
        rise = above - below
        part = np.divide(wanted - below, rise, out=np.full(len(wanted), 0.5), where=rise > 0)
        middle = low + (high - low) * (0.5 if halving % 2 else np.clip(part, 0.0, 1.0))
        reached = fill(middle)
        found = np.abs(reached - wanted) <= 1e-13 * np.abs(wanted)
        low, below = _where(found | (reached < wanted), (middle, reached), (low, below))
        high, above = _where(found | (reached >= wanted), (middle, reached), (high, above))
        if (high - low <= 1e-15 * high).all():
            break
    return high


def _where(
    chosen: npt.NDArray[np.bool_], first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    return np.where(chosen, first[0], second[0]), np.where(chosen, first[1], second[1])
