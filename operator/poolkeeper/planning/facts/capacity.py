"""What does not fit into a pool: one class of facts for each kind of problem."""

from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Headroom
from poolkeeper.planning.facts.conflicts import Member, Witness
from poolkeeper.planning.facts.phrases import (
    Names,
    brokers,
    counted,
    failures_text,
    needed,
    room_after_failures,
    with_advice,
)
from poolkeeper.text import join, named, size_of_mib, sizes_of_mib


class Quantity(StrEnum):
    """The unit in which capacity is counted: replicas or bytes."""

    REPLICAS = "replicas"
    MIB = "MiB"

    def text(self, count: int) -> str:
        """`1 replica`, `3 replicas`, and sizes as people read them: `8 GiB`."""
        return (
            size_of_mib(count) if self is Quantity.MIB else counted(count, "replica", grouped=False)
        )

    def two_amounts(self, count: int, other: int) -> tuple[str, str]:
        """Two amounts as texts that differ: `3 replicas` and `2`, `24 GiB` and `16 GiB`."""
        if self is Quantity.MIB:
            first, second = sizes_of_mib(count, other)
            return first, second
        return counted(count, "replica", grouped=False), str(other)

    def more(self, count: int) -> str:
        """`1 more replica`, `at least 8 GiB more`."""
        if self is Quantity.MIB:
            return f"at least {size_of_mib(count, up=True)} more"
        return counted(count, "more replica", grouped=False)


@frozen
class Place:
    """Brokers that a load must fit on, and their racks; `every`: all usable ones of the pool."""

    brokers: tuple[int, ...]
    racks: tuple[str, ...]
    every: bool

    @staticmethod
    def of(ids: tuple[int, ...], members: Iterable[Member]) -> "Place":
        """The place of these brokers, given the members of their pool."""
        pool = tuple(members)
        racks = {member.rack for member in pool if member.id in ids and member.rack}
        usable = sum(1 for member in pool if not member.obstacle)
        return Place(ids, tuple(sorted(racks)), len(ids) == usable)

    def __str__(self) -> str:
        if self.every and len(self.brokers) > 1:
            return f"all {len(self.brokers)} usable brokers"
        of = f" of {named('rack', self.racks)}" if self.racks else ""
        return f"{brokers(self.brokers)}{of}"


@frozen
class ConflictRemedies:
    """What would end a conflict, each remedy sufficient by itself.

    `unblock`: brokers of which one more is enough.
    `lacking`: the capacity that is missing at the place, or that a new broker needs if that helps.
    `by_limit`: whether the limit of the cluster, and not the pool, bounds replicas there.
    `by_capacity`: whether more capacity helps; it does not where headroom leaves no broker.
    `headroom`: what the capacity is missing for, if not for the brokers alone, and `smallest_lost`:
    the capacity of the smallest broker or rack that counts as lost.
    """

    unblock: tuple[Member, ...]
    less_headroom: bool
    quantity: Quantity
    lacking: int
    place: Place
    new_broker: bool
    by_limit: bool = False
    by_capacity: bool = True
    headroom: Headroom | None = None
    smallest_lost: int | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """Each way by itself: `replace broker 6`, `add capacity for 1 more replica on broker 1`."""
        return (
            *(["lower spec.headroom"] if self.less_headroom else []),
            *(m.obstacle.remedy(m.id) for m in self.unblock if m.obstacle),
            *([self._more_capacity()] if self.by_capacity else []),
        )

    def _more_capacity(self) -> str:
        more = self.quantity.more(self.lacking)
        if self.headroom is not None and self.smallest_lost is not None:
            most = self.quantity.text(self.smallest_lost)
            return room_after_failures(self.headroom, more, most)
        if self.by_limit:
            elsewhere = ", or add a broker" if self.new_broker else ""
            return f"raise spec.limits.replicasPerBroker for {more} on {self.place}{elsewhere}"
        elsewhere = " or on a new broker" if self.new_broker else ""
        return f"add capacity for {more} on {self.place}{elsewhere}"


@frozen
class CapacityConflict:
    """No layout could fit: constraints that conflict, none of which can be spared.

    The brokers of `place` must hold `wanted` and have room for `room`. `blocked` and `spread` (over
    racks) are what forces the load there. With `headroom`, the total must fit after the failures.
    """

    quantity: Quantity
    place: Place
    wanted: int
    room: int
    headroom: Headroom | None
    spread: bool
    blocked: tuple[Member, ...]
    remedies: ConflictRemedies

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        if self.headroom is None:
            return ProblemReason.CAPACITY_EXCEEDED
        return ProblemReason.HEADROOM_EXCEEDED

    def __str__(self) -> str:
        if self.headroom is None:
            wanted, room = self.quantity.two_amounts(self.wanted, self.room)
            said = f"{self.place} must hold {wanted} and may hold {room}"
        else:
            said = str(HeadroomExceeded(self.quantity, self.wanted, self.room, self.headroom))
        spread = ["replicas of a partition are spread over all racks"] if self.spread else []
        why = "; ".join([said, *spread, *map(str, self.blocked)])
        return with_advice(why, self.remedies.ways)


@frozen
class HeadroomExceeded:
    """The pool holds `held`, of which `room` fits after the failures that its headroom asks for."""

    reason: ClassVar = ProblemReason.HEADROOM_EXCEEDED
    quantity: Quantity
    held: int
    room: int
    headroom: Headroom

    def __str__(self) -> str:
        held, room = self.quantity.two_amounts(self.held, self.room)
        fit = "fits" if self.room == 1 else "fit"
        return f"holds {held}; {room} {fit} with {failures_text(self.headroom)}"


@frozen
class HeadroomBeyondPool:
    """The headroom asks for the loss of all usable brokers, which no capacity makes up for.

    `survived`: the most that can be lost, as far as brokers for the largest `factor` are left.
    """

    reason: ClassVar = ProblemReason.HEADROOM_EXCEEDED
    headroom: Headroom
    witness: Witness
    survived: int
    factor: int

    def __str__(self) -> str:
        noun = "rack" if self.witness.of_racks else "broker"
        why = "".join(f"; {obstacle}" for obstacle in self.witness.obstacles)
        most = f"the loss of {self.survived} at most" if self.survived else "no loss"
        few = self.survived < len(self.witness.usable) - 1
        left = f", as {needed(self.factor)}" if few else ""
        said = (
            f"no broker is left with {failures_text(self.headroom)}: of"
            f" {counted(len(self.witness.usable), f'usable {noun}')} the pool survives"
            f" {most}{left}{why}"
        )
        lower = "take out spec.headroom"
        if self.survived:
            lower = f"lower spec.headroom to {counted(self.survived, 'failure')}"
        new = "add a broker in another rack" if self.witness.of_racks else "add a broker"
        return with_advice(said, (lower, self.witness.advice(new)))


@frozen
class BrokerOverfull:
    """A broker above its bound; `came`: what unmanaged topics brought when they left `left`."""

    reason: ClassVar = ProblemReason.CAPACITY_EXCEEDED
    broker: int
    quantity: Quantity
    held: int
    room: int
    came: int
    left: Names

    def __str__(self) -> str:
        held, room = self.quantity.two_amounts(self.held, self.room)
        said = f"broker {self.broker} holds {held}, it may hold {room}"
        if not self.came:
            return said
        plural = "s" if self.left.total > 1 else ""
        come = "comes" if self.came == 1 else "come"
        return (
            f"{said}; {self.quantity.text(self.came)} of that {come} with unmanaged topics that"
            f" leave broker{plural} {self.left}"
        )


@frozen
class Lack:
    """How much of one quantity does not fit.

    `over`: the amount above the bounds of brokers.
    `brokers`: the first of these brokers, each with what it lacks.
    `rest`, `rest_lacks`: how many other brokers there are, and what they lack.
    `beyond`: the amount that does not fit with the headroom.
    """

    quantity: Quantity
    over: int
    brokers: tuple[tuple[int, int], ...]
    rest: int
    rest_lacks: int
    beyond: int
    headroom: Headroom | None

    @property
    def parts(self) -> tuple[str, ...]:
        """`18 MiB do not fit: broker 1 lacks 6 MiB`, `1 replica does not fit with …`."""
        found = []
        if self.over:
            does = "does" if self.over == 1 else "do"
            found.append(f"{self.quantity.text(self.over)} {does} not fit: {self._named()}")
        if self.beyond > 0 and self.headroom is not None:
            does = "does" if self.beyond == 1 else "do"
            more = self.quantity.text(self.beyond)
            found.append(f"{more} {does} not fit with {failures_text(self.headroom)}")
        return tuple(found)

    def _named(self) -> str:
        """`broker 4 lacks 8 GiB, broker 5 lacks 4 GiB, and 3 more brokers lack 345 MiB`."""
        named = [f"broker {b} lacks {self.quantity.text(lacks)}" for b, lacks in self.brokers]
        if self.rest:
            lack = "lacks" if self.rest == 1 else "lack"
            rest = counted(self.rest, "more broker")
            named.append(f"and {rest} {lack} {self.quantity.text(self.rest_lacks)}")
        return join(named)


@frozen
class Growth:
    """What all topics of a pool lack whose replication factor is not raised.

    `remedies`: by quantity that is missing; `None` if no conflict is known.
    """

    topics: int
    lacks: tuple[Lack, ...]
    remedies: tuple[ConflictRemedies | None, ...]

    def __str__(self) -> str:
        together = f"{self.topics} topics of the pool declare more replicas; with all of them "
        lacks = "; ".join(part for lack in self.lacks for part in lack.parts)
        ways = [
            way
            for found in self.remedies
            for way in (["add capacity there or on new brokers"] if found is None else found.ways)
        ]
        ways = list(dict.fromkeys([*ways, "lower the replication factor"]))
        return with_advice(f"{together if self.topics > 1 else ''}{lacks}", ways)


@frozen
class FactorNotRaised:
    """A topic whose partitions have `found` replicas, and should have `wanted`."""

    reason: ClassVar = ProblemReason.FACTOR_NOT_RAISED
    found: tuple[int, ...]
    wanted: int
    why: Growth

    def __str__(self) -> str:
        before = " or ".join(map(str, self.found))
        return f"the replication factor is not raised from {before} to {self.wanted}: {self.why}"


@frozen
class PartitionTooLarge:
    """The largest partition of a topic that fits on fewer brokers than it has replicas.

    `fitting`: the brokers with a disk for it.
    `broker`, `free_mib`: the next broker, and the room on it.
    `more`: how many other partitions of the topic fit on too few brokers as well.
    """

    reason: ClassVar = ProblemReason.PARTITION_TOO_LARGE
    partition: str
    mib: int
    wanted: int
    pool: str
    fitting: tuple[int, ...]
    broker: int
    free_mib: int
    more: int

    def __str__(self) -> str:
        size, room = sizes_of_mib(self.mib, self.free_mib)
        largest = f"{room} (broker {self.broker})"
        if self.fitting:
            said = (
                f"partition {self.partition} of {size} needs {self.wanted} brokers of pool"
                f" {self.pool} and fits {len(self.fitting)} of them ({join(self.fitting)}): the"
                f" next free disk has {largest}"
            )
        else:
            said = (
                f"partition {self.partition} of {size} fits no broker of pool {self.pool}: the"
                f" largest free disk has {largest}"
            )
        verb = "is" if self.more == 1 else "are"
        more = f"; {counted(self.more, 'more partition')} of the topic {verb} too large as well"
        also = more if self.more else ""
        return with_advice(
            f"{said}{also}", ("add brokers with larger disks", "lower its retention")
        )


@frozen
class QuotaHeld:
    """A pool, or a namespace in it, holds more than its quota."""

    reason: ClassVar = ProblemReason.QUOTA_EXCEEDED
    held: int
    noun: str
    most: int
    namespace: str = ""

    def __str__(self) -> str:
        whose = f" of namespace {self.namespace}" if self.namespace else ""
        return f"holds {self.held} {self.noun}{whose}, its quota is {self.most}"


@frozen
class TooManyPartitions:
    """The cluster has more partitions than the limit, which is `enforced` or a warning."""

    held: int
    most: int
    enforced: bool

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        return _limit_reason(enforced=self.enforced)

    def __str__(self) -> str:
        return f"the cluster has {self.held} partitions, the limit is {self.most}"


@frozen
class TooManyReplicas:
    """How many brokers hold more replicas than the limit; `broker` holds most."""

    brokers: int
    most: int
    broker: int
    held: int
    enforced: bool

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        return _limit_reason(enforced=self.enforced)

    def __str__(self) -> str:
        verb = "holds" if self.brokers == 1 else "hold"
        return (
            f"{counted(self.brokers, 'broker')} {verb} more replicas than the limit of"
            f" {self.most} (broker {self.broker} most, {self.held})"
        )


def _limit_reason(*, enforced: bool) -> ProblemReason:
    return ProblemReason.LIMIT_EXCEEDED if enforced else ProblemReason.LIMIT_WARNED
