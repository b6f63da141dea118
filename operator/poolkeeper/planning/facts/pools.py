"""What a plan leaves undone in a pool or a cluster: one class of facts for each kind of problem.

Those of capacity are in `capacity`, of balance in `balance`, of log directories in `log_dirs`.
"""

from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.facts.conflicts import Witness
from poolkeeper.planning.facts.phrases import (
    Names,
    brokers,
    counted,
    needed,
    with_advice,
)
from poolkeeper.text import few, join, named


@frozen
class SharedBrokers:
    """Brokers of the pool that are in these other pools as well."""

    reason: ClassVar = ProblemReason.BROKERS_IN_SEVERAL_POOLS
    brokers: tuple[int, ...]
    pools: tuple[str, ...]

    def __str__(self) -> str:
        verb = "is" if len(self.brokers) == 1 else "are"
        pools = named("pool", self.pools)
        return f"nothing moves: {brokers(self.brokers)} {verb} also in {pools}"


@frozen
class BrokersNeverSeen:
    """Brokers of the pool that were never live and hold nothing; `live`: those that are."""

    reason: ClassVar = ProblemReason.BROKERS_MISSING
    brokers: tuple[int, ...]
    live: tuple[int, ...]

    def __str__(self) -> str:
        one = len(self.brokers) == 1
        verbs = "is not live and holds" if one else "are not live and hold"
        live = f"live: {few(self.live, grouped=False)}" if self.live else "no broker is live"
        return (
            f"{brokers(self.brokers)} {verbs} nothing ({live}): start {'it' if one else 'them'}, or"
            " correct spec.brokers"
        )


@frozen
class StraysStay:
    """Topics that stay on these live brokers of no pool: the pool names `unseen` ones."""

    reason: ClassVar = ProblemReason.BROKERS_MISSING
    unseen: tuple[int, ...]
    outside: tuple[int, ...]
    topics: Names

    def __str__(self) -> str:
        noun, stays = ("topic", "stays") if self.topics.total == 1 else ("topics", "stay")
        verb = "is" if len(self.outside) == 1 else "are"
        return (
            f"{noun} {self.topics} {stays} on {brokers(self.outside)}, which {verb} in no pool:"
            f" start {brokers(self.unseen)}, or correct spec.brokers"
        )


@frozen
class DataLost:
    """Partitions whose only in-sync replicas were on these brokers, which are gone.

    `told`: whether the cluster reports in-sync replicas.
    """

    reason: ClassVar = ProblemReason.DATA_LOST
    brokers: tuple[int, ...]
    partitions: Names
    told: bool

    def __str__(self) -> str:
        what = "the only replica in sync" if self.told else "the only replica known to be in sync"
        return (
            f"data is lost: {brokers(self.brokers)} held {what} of"
            f" {counted(self.partitions.total, 'partition')}: {self.partitions}"
        )


@frozen
class HealHeld:
    """Brokers that are missing and not replaced: more than `limit`, or all of `racks`."""

    reason: ClassVar = ProblemReason.HEAL_HELD
    missing: tuple[int, ...]
    racks: tuple[str, ...]
    limit: int

    def __str__(self) -> str:
        many = len(self.missing) > self.limit
        why = f"more than spec.heal.maxBrokers ({self.limit})" if many else ""
        all_ = f"all of rack {', '.join(self.racks)}" if self.racks else ""
        what = " and ".join(each for each in (why, all_) if each)
        verb = "is" if len(self.missing) == 1 else "are"
        return (
            f"{brokers(self.missing)} {verb} missing, {what}: such an outage is waited for, and"
            " nothing is rebuilt: start them again, or drain those that are gone for good"
        )


@frozen
class NoSource:
    """Partitions that should change and have no source to copy from."""

    reason: ClassVar = ProblemReason.NO_SOURCE
    partitions: Names

    def __str__(self) -> str:
        total = self.partitions.total
        return (
            f"{counted(total, 'partition')} cannot be moved: no live broker holds"
            f" {'it' if total == 1 else 'them'} in sync: {self.partitions}"
        )


@frozen
class UsableBrokers:
    """The pool's usable brokers, or why they are too few."""

    brokers: tuple[int, ...]
    lacking: Witness | None

    def __str__(self) -> str:
        if self.lacking is None:
            return join(self.brokers) or "none"
        return with_advice(self.lacking.text, [self.lacking.advice("add a broker")])


@frozen
class TooFewBrokers:
    """How many partitions of a topic keep fewer replicas than `factor`."""

    reason: ClassVar = ProblemReason.TOO_FEW_BROKERS
    partitions: int
    factor: int
    usable: UsableBrokers

    def __str__(self) -> str:
        stay = "stays" if self.partitions == 1 else "stay"
        return (
            f"{counted(self.partitions, 'partition')} {stay} at fewer than {self.factor} replicas:"
            f" {self.factor} distinct brokers are needed; usable: {self.usable}"
        )


@frozen
class CannotLeave:
    """How many replicas of a topic should leave these brokers and have no other broker."""

    reason: ClassVar = ProblemReason.TOO_FEW_BROKERS
    replicas: int
    brokers: tuple[int, ...]
    factor: int
    usable: UsableBrokers

    def __str__(self) -> str:
        return (
            f"{counted(self.replicas, 'replica')} cannot leave {named('broker', self.brokers)}:"
            f" {needed(self.factor)}; usable: {self.usable}"
        )


@frozen
class TooFewRacks:
    """How many topics have a replication factor that the racks do not suffice for."""

    reason: ClassVar = ProblemReason.TOO_FEW_RACKS
    topics: int
    witness: Witness

    def __str__(self) -> str:
        factor, needs = self.witness.factor, "needs" if self.topics == 1 else "need"
        why = "".join(f"; {obstacle}" for obstacle in self.witness.obstacles)
        one = len(self.witness.usable) == 1
        racks = f"{'rack' if one else 'racks'} {join(self.witness.usable)}"
        said = (
            f"{counted(self.topics, 'topic')} of replication factor {factor} {needs} {factor}"
            f" racks; {racks} {'has' if one else 'have'} usable brokers{why}, so some hold"
            " two replicas of a partition"
        )
        return with_advice(said, [self.witness.advice("add a broker in another rack")])


@frozen
class RacksAsFound:
    """How many partitions are not spread over racks, and stay so as the pool says."""

    reason: ClassVar = ProblemReason.RACKS_AS_FOUND
    partitions: int

    def __str__(self) -> str:
        are = "is" if self.partitions == 1 else "are"
        return (
            f"{counted(self.partitions, 'partition')} {are} not spread evenly over racks, and stay"
            f"{'s' if self.partitions == 1 else ''} so (spec.rackPolicy: AsFound)"
        )


@frozen
class RacksIncomplete:
    """Brokers without a rack beside brokers of these racks."""

    reason: ClassVar = ProblemReason.RACKS_INCOMPLETE
    brokers: tuple[int, ...]
    racks: tuple[str, ...]

    def __str__(self) -> str:
        one = len(self.brokers) == 1
        return (
            f"{brokers(self.brokers)} {'has' if one else 'have'} no rack and"
            f" count{'s' if one else ''} as one more rack beside {join(self.racks)};"
            f" name {'its rack' if one else 'theirs'} in spec.racks of the pool"
        )


@frozen
class RacksContradicted:
    """Brokers that register another rack than their pool names: `1 (a, not zz)`."""

    reason: ClassVar = ProblemReason.RACKS_CONTRADICTED
    brokers: Names

    def __str__(self) -> str:
        one = self.brokers.total == 1
        said = (
            f"spec.racks names {'another rack' if one else 'other racks'} than"
            f" {'broker' if one else 'brokers'} {self.brokers} register{'s' if one else ''}; what"
            " is registered counts"
        )
        them = "it" if one else "them"
        return with_advice(said, (f"take {them} out of spec.racks", "change broker.rack there"))


@frozen
class DemotedLeads:
    """How many partitions demoted brokers lead, as no other broker that may lead holds them."""

    reason: ClassVar = ProblemReason.DEMOTED_BROKER_LEADS
    partitions: int

    def __str__(self) -> str:
        keep = "keeps" if self.partitions == 1 else "keep"
        return (
            f"{counted(self.partitions, 'partition')} {keep} a demoted broker as preferred leader:"
            " no other broker that may lead holds them"
        )


@frozen
class AwaitsPartitions:
    """A pool with topics that cannot move before they have their new partitions."""

    reason: ClassVar = ProblemReason.AWAITS_PARTITIONS

    def __str__(self) -> str:
        return "is balanced further once new partitions exist: their topics cannot move before"


@frozen
class BrokersNotEmptied:
    """Drained brokers, and the replicas that stay on them, of topics that nobody may move."""

    reason: ClassVar = ProblemReason.BROKER_NOT_EMPTIED
    brokers: tuple[int, ...]
    replicas: int
    paused: Names
    unmanaged: Names

    def __str__(self) -> str:
        verb = "is drained and keeps" if len(self.brokers) == 1 else "are drained and keep"
        ways = [f"{_topics(self.paused)} paused"] if self.paused.total else []
        if self.unmanaged.total:
            ways.append(
                f"{_topics(self.unmanaged)} not managed (declare what shall leave, or set"
                " spec.unmanagedTopics of the KafkaCluster)"
            )
        kept = counted(self.replicas, "replica")
        return f"{brokers(self.brokers)} {verb} {kept}: {'; '.join(ways)}"


def _topics(names: Names) -> str:
    return f"topic {names} is" if names.total == 1 else f"topics {names} are"


@frozen
class AwaitsOwnMoves:
    """Partitions that a part of the plan moves, and that would have to move again."""

    reason: ClassVar = ProblemReason.AWAITS_MOVES
    partitions: Names

    def __str__(self) -> str:
        return (
            f"the next plan moves {counted(self.partitions.total, 'partition')} again, as parts of"
            f" this plan stay as they were asked about: {self.partitions}"
        )


@frozen
class Standstill:
    """Why the predicted stages end before the last move."""

    reason: ClassVar = ProblemReason.NO_STAGE
    wait: str

    def __str__(self) -> str:
        return self.wait
