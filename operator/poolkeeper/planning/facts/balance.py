"""What a plan leaves undone of a pool's balance: goals that are not met, or left out."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import GoalKind
from poolkeeper.planning.facts.phrases import Names, counted
from poolkeeper.text import join, size


@frozen
class GainTooSmall:
    """Nothing of the pool moves for balance, because the gain is too small."""

    reason: ClassVar = ProblemReason.GAIN_TOO_SMALL

    def __str__(self) -> str:
        return (
            "nothing moves for balance: that would remove less imbalance than"
            " spec.balancing.minGain of the cluster"
        )


@frozen
class BalanceHeld:
    """Topics cannot be read that may have replicas in the pool: what is uneven is not known.

    `changing`: all of them changed while they were read, so that the next reading has them.
    """

    reason: ClassVar = ProblemReason.BALANCE_HELD
    topics: Names
    changing: bool = False

    def __str__(self) -> str:
        one = self.topics.total == 1
        some = f"topic {self.topics} has its" if one else f"topics {self.topics} have their"
        return f"nothing is evened out while it is not known where {some} replicas"


@frozen
class RatesUnknown:
    """The pool has a goal of bytes in, and the rates are unknown."""

    reason: ClassVar = ProblemReason.RATES_UNKNOWN

    def __str__(self) -> str:
        return "spec.balance.bytesIn is left out: spec.load of the cluster gives no rate"


_NOUNS = {
    GoalKind.REPLICAS: "replicas",
    GoalKind.LEADERS: "preferred leaders",
    GoalKind.TOPIC_REPLICAS: "replicas of one topic",
    GoalKind.BYTES: "bytes",
    GoalKind.BYTES_IN: "bytes in",
}


@frozen
class UnevenTopics:
    """Topics whose replicas lie outside the band of the pool's goal."""

    reason: ClassVar = ProblemReason.GOAL_NOT_MET
    topics: Names

    def __str__(self) -> str:
        noun = _NOUNS[GoalKind.TOPIC_REPLICAS]
        return f"{noun} cannot be balanced further: {self.topics}"


def _rate(kib_per_s: int) -> str:
    return f"{size(1024 * kib_per_s)}/s"


_AMOUNTS: Mapping[GoalKind, Callable[[int], str]] = {
    GoalKind.BYTES: size,
    GoalKind.BYTES_IN: _rate,
}
"""How what a goal balances is written; a number where it only counts."""


@frozen
class OutsideBand:
    """What a broker holds after the plan, and the band that it lies outside of.

    In the unit of the goal's measure: bytes, KiB/s of bytes in, else a number.
    """

    broker: int
    held: int
    low: int
    high: int

    def told(self, amount: Callable[[int], str]) -> str:
        """The fact, with its numbers written so."""
        held, low, high = amount(self.held), amount(self.low), amount(self.high)
        return f"broker {self.broker} stays at {held} (band {low} to {high})"


@frozen
class UnevenBrokers:
    """The first brokers outside the band of a goal, and how many more there are."""

    reason: ClassVar = ProblemReason.GOAL_NOT_MET
    goal: GoalKind
    brokers: tuple[OutsideBand, ...]
    more: int

    def __str__(self) -> str:
        more = f", and {counted(self.more, 'more broker')}" if self.more else ""
        brokers = join(each.told(_AMOUNTS.get(self.goal, str)) for each in self.brokers)
        return f"{_NOUNS[self.goal]} cannot be balanced further: {brokers}{more}"
