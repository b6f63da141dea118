"""What is wrong with a cluster although it may be as declared: one class of facts for each kind."""

from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.topology import LaterEpochs
from poolkeeper.planning.facts.phrases import Names, brokers, counted
from poolkeeper.text import join


@frozen
class NoController:
    """No broker is elected controller."""

    reason: ClassVar = ProblemReason.NO_CONTROLLER

    def __str__(self) -> str:
        return "no controller is elected: no leader changes and no topic is created until one is"


@frozen
class BrokersMissing:
    """Declared brokers that are not registered in ZooKeeper, of so many that are declared."""

    reason: ClassVar = ProblemReason.BROKERS_MISSING
    missing: tuple[int, ...]
    declared: int

    def __str__(self) -> str:
        number = len(self.missing)
        verb, them = ("is", "it") if number == 1 else ("are", "them")
        return (
            f"{number} of {counted(self.declared, 'declared broker')} {verb} not live"
            f" ({_some(self.missing)}): start {them} again, or drain {them}, or take {them} out of"
            " spec.brokers"
        )


@frozen
class NoLiveBroker:
    """None of a pool's brokers is live."""

    reason: ClassVar = ProblemReason.NO_LIVE_BROKER
    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"no broker of the pool is live ({_some(self.brokers)}): start them again"


@frozen
class TooFewLiveBrokers:
    """Topics with more replicas (at most `factor`) than their pool has live brokers."""

    reason: ClassVar = ProblemReason.TOO_FEW_LIVE_BROKERS
    topics: Names
    factor: int
    live: int

    def __str__(self) -> str:
        verb = "has" if self.topics.total == 1 else "have"
        return (
            f"{counted(self.topics.total, 'topic')} ({self.topics}) {verb}"
            f" up to {self.factor} replicas, on {counted(self.live, 'live broker')}: start brokers"
            " again, or add some"
        )


@frozen
class PartitionsOffline:
    """Partitions without a live leader; `held`: the brokers that held them in sync last."""

    reason: ClassVar = ProblemReason.PARTITIONS_OFFLINE
    partitions: Names
    held: tuple[int, ...]

    def __str__(self) -> str:
        many = self.partitions.total > 1
        start = f"; start {_some(self.held)} again" if self.held else ""
        return (
            f"{_counted(self.partitions.total)} {'have' if many else 'has'} no leader and"
            f" {'are' if many else 'is'} offline: {self.partitions}{start}"
        )


@frozen
class ElectionPending:
    """Partitions whose leader is not live; `eligible`: the live brokers that are in sync."""

    reason: ClassVar = ProblemReason.ELECTION_PENDING
    partitions: Names
    eligible: tuple[int, ...]

    def __str__(self) -> str:
        verb = "has" if self.partitions.total == 1 else "have"
        one = "one of " if self.eligible[1:] else ""
        return (
            f"{_counted(self.partitions.total)} {verb} no leader yet: {self.partitions}; the"
            f" controller is to elect {one}{_some(self.eligible)}"
        )


@frozen
class UnderMinIsr:
    """Partitions with fewer replicas in sync than `min.insync.replicas`; `missing`: not in sync."""

    reason: ClassVar = ProblemReason.UNDER_MIN_ISR
    partitions: Names
    missing: tuple[int, ...]

    def __str__(self) -> str:
        verb = "has" if self.partitions.total == 1 else "have"
        return (
            f"{_counted(self.partitions.total)} {verb} fewer replicas in sync than"
            f" min.insync.replicas, so that producers with acks=all fail: {self.partitions}; not in"
            f" sync: {_some(self.missing)}"
        )


@frozen
class UnderReplicated:
    """Partitions with replicas that are not in sync, on the brokers `missing`."""

    reason: ClassVar = ProblemReason.UNDER_REPLICATED
    partitions: Names
    missing: tuple[int, ...]

    def __str__(self) -> str:
        verb = "is" if self.partitions.total == 1 else "are"
        return (
            f"{_counted(self.partitions.total)} {verb} under-replicated: {self.partitions}; not in"
            f" sync: {_some(self.missing)}"
        )


@frozen
class MinIsrUnreachable:
    """A topic has, or would have, fewer replicas than its `min.insync.replicas`."""

    reason: ClassVar = ProblemReason.MIN_ISR_UNREACHABLE
    factor: int
    needed: int

    def __str__(self) -> str:
        verb = "is" if self.factor == 1 else "are"
        return (
            f"{counted(self.factor, 'replica')} {verb} fewer than min.insync.replicas"
            f" ({self.needed}), so that producers with acks=all always fail: raise"
            f" replicationFactor, or lower min.insync.replicas to {self.factor} at most"
        )


@frozen
class DisksFull:
    """Log directories of a broker that have almost no space left."""

    reason: ClassVar = ProblemReason.DISK_FULL
    broker: int
    paths: tuple[str, ...]
    percent: int

    def __str__(self) -> str:
        one = len(self.paths) == 1
        return (
            f"log {'directory' if one else 'directories'} {join(self.paths)} of broker"
            f" {self.broker} {'has' if one else 'have'} less than {self.percent} % of space left:"
            " make room before the broker stops"
        )


@frozen
class TopicsDamaged:
    """Topics whose znode cannot be read."""

    reason: ClassVar = ProblemReason.TOPICS_DAMAGED
    topics: Names

    def __str__(self) -> str:
        total = self.topics.total
        return (
            f"the znode of {counted(total, 'topic')} cannot be read: {self.topics}: the next"
            " controller may not start; `poolkeeper repair` says what is wrong"
        )


@frozen
class ControllerEpochBehind:
    """States of partitions were written under later controller epochs than there have been."""

    reason: ClassVar = ProblemReason.CONTROLLER_EPOCH_BEHIND
    later: LaterEpochs

    def __str__(self) -> str:
        later = self.later
        verb = "was" if later.count == 1 else "were"
        return (
            f"/controller_epoch was deleted or restored: {_counted(later.count)} (such as"
            f" {later.first}) {verb} written under controller epochs up to {later.highest}, which"
            " it has not reached: no leader is elected for them, no move of them begins, and"
            " brokers may ignore the controller: `poolkeeper repair --allow-controller-failover`"
            " sets it"
        )


_SHOWN_MAX = 10
_STEPS = (10_000, 1_000, 100, 30, 10)


def _counted(partitions: int) -> str:
    """`3 partitions`; a large number as `more than 100`, as statuses change with each word."""
    for step in _STEPS:
        if partitions > step:
            return f"more than {step} partitions"
    return counted(partitions, "partition")


def _some(ids: tuple[int, ...]) -> str:
    """`brokers 1, 2`, and how many more there are."""
    more = len(ids) - _SHOWN_MAX
    return brokers(ids[:_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
