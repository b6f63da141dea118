"""Why a request cannot be met: the smallest set of constraints that conflict, in names and numbers.

A partition of replication factor n needs n distinct brokers, and n racks to lose at most one
replica with any of them. A pool can lack them for one of two reasons:

* It has too few brokers (racks) at all. Then only the factor and the pool's members conflict.
* It has m ≥ n, and more than m - n of them are not usable. Any m - n + 1 of these conflict with the
  factor, because without one of them n are left. So this is the smallest set. The set named has
  first the brokers that a person can give back (drained), then those that are down, then those that
  are gone.

A rack is not usable if none of its brokers is. Brokers without a rack form one rack.
"""

from collections.abc import Container, Iterable
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import FailureDomain, Headroom, ResourcePoolSpec


class Obstacle(StrEnum):
    """Why a broker of a pool may not be given replicas, the reason easiest to mend first."""

    DRAINED = "is drained"
    DOWN = "is not live"
    GONE = "is gone"
    LOG_DIR_FAILED = "has a failed log directory"

    def remedy(self, broker: int) -> str:
        """What a person can do about it: `take broker 3 out of spec.drain`."""
        return _REMEDIES[self].format(broker)


_ORDER = tuple(Obstacle)
_REMEDIES = {
    Obstacle.DRAINED: "take broker {} out of spec.drain",
    Obstacle.DOWN: "bring broker {} back",
    Obstacle.GONE: "replace broker {}",
    Obstacle.LOG_DIR_FAILED: "replace the failed disk of broker {} and restart it",
}
_NAMED_MAX = 5


@frozen
class Member:
    """A broker of a pool; `obstacle`: what keeps it from being given replicas, if anything."""

    id: int
    rack: str = ""
    obstacle: Obstacle | None = None

    def __str__(self) -> str:
        return f"{self.id} {self.obstacle}" if self.obstacle else str(self.id)


def obstacle_of(
    pool: ResourcePoolSpec,
    broker: int,
    live: Container[int],
    gone: Container[int] = frozenset(),
    failed: Container[int] = frozenset(),
) -> Obstacle | None:
    """What keeps a broker of the pool from being given replicas, if anything.

    A drained broker counts as drained, whether live or not, and even if it is gone for good.
    `failed`: live brokers with a failed log directory.
    """
    if broker in pool.drain:
        return Obstacle.DRAINED
    if broker in gone:
        return Obstacle.GONE
    if broker in failed:
        return Obstacle.LOG_DIR_FAILED
    return None if broker in live else Obstacle.DOWN


@frozen
class Witness:
    """Why that many replicas find no distinct brokers, or no distinct racks (`of_racks`).

    `usable`: names of brokers or racks.
    `blocked`: the others, each a broker or all brokers of a rack, the easiest to mend first.
    `lacking`: how many of these, or of new ones, are needed.
    """

    factor: int
    usable: tuple[str, ...]
    blocked: tuple[tuple[Member, ...], ...] = ()
    of_racks: bool = False

    @property
    def lacking(self) -> int:
        """How many more are needed."""
        return self.factor - len(self.usable)

    @property
    def conflicting(self) -> tuple[tuple[Member, ...], ...]:
        """The fewest of `blocked` that conflict with the factor; empty if members are too few."""
        return self.blocked[: max(0, len(self.usable) + len(self.blocked) - self.factor + 1)]

    @property
    def obstacles(self) -> tuple[str, ...]:
        """`3 is drained`, `of rack c 3 is drained, 4 is not live`: all obstacles that conflict."""
        return tuple(self._named(group) for group in self.conflicting)

    @property
    def text(self) -> str:
        """`1, 2; 3 is drained`."""
        return "; ".join([", ".join(self.usable) or "none", *self.obstacles])

    def advice(self, new: str) -> str:
        """`replace broker 3, or add a broker`; `new` says how to get one more."""
        shown = [*map(self._remedy, self.blocked[:_NAMED_MAX]), new]
        if self.lacking == 1:
            return ", or ".join(shown)
        noun = "rack" if self.of_racks else "broker"
        return f"{self.lacking} more {noun}s are needed: {', '.join(shown)}"

    def _named(self, group: tuple[Member, ...]) -> str:
        rack = f"of rack {group[0].rack or '(none)'} " if self.of_racks else ""
        return rack + ", ".join(map(str, group))

    def _remedy(self, group: tuple[Member, ...]) -> str:
        """How to get the broker, or one of a rack's brokers, back."""
        member = min(group, key=_blocked_order)
        where = f" (rack {member.rack})" if self.of_racks and member.rack else ""
        return (member.obstacle or Obstacle.GONE).remedy(member.id) + where


def brokers_lacking(factor: int, members: Iterable[Member]) -> Witness | None:
    """Why that many replicas find no distinct brokers, or `None` if they do."""
    pool = sorted(members, key=lambda member: member.id)
    usable = tuple(str(member.id) for member in pool if not member.obstacle)
    if factor <= len(usable):
        return None
    blocked = sorted((member for member in pool if member.obstacle), key=_blocked_order)
    return Witness(factor, usable, tuple((member,) for member in blocked))


def racks_lacking(factor: int, members: Iterable[Member]) -> Witness | None:
    """Why that many replicas find no racks of their own, or `None` if they do."""
    racks: dict[str, list[Member]] = {}
    for member in sorted(members, key=lambda member: member.id):
        racks.setdefault(member.rack, []).append(member)
    usable = tuple(
        rack or "(none)"
        for rack, held in sorted(racks.items())
        if not all(member.obstacle for member in held)
    )
    if factor <= len(usable):
        return None
    blocked = [tuple(held) for held in racks.values() if all(member.obstacle for member in held)]
    blocked.sort(key=lambda held: (min(map(_rank, held)), held[0].rack))
    return Witness(factor, usable, tuple(blocked), of_racks=True)


def domains_lacking(headroom: Headroom, members: Iterable[Member]) -> Witness | None:
    """Why no broker is left after the failures of the headroom, or `None` if one is."""
    lacking = racks_lacking if headroom.domain is FailureDomain.RACK else brokers_lacking
    return lacking(headroom.failures + 1, members)


def _rank(member: Member) -> int:
    """How hard the broker is to mend: the easiest is least; one without obstacle is last."""
    return _ORDER.index(member.obstacle) if member.obstacle else len(_ORDER)


def _blocked_order(member: Member) -> tuple[int, int]:
    return _rank(member), member.id
