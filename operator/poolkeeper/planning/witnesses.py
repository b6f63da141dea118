"""Why a request cannot be met: the smallest set of constraints that conflict, in names and numbers.

A partition of replication factor n needs n distinct brokers, and n racks to lose no more than one
replica with any of them. What a pool has less than that, it lacks for one of two reasons:

* it has too few brokers (racks) at all: the factor and the pool's members conflict, nothing else;
* it has m ≥ n, and more than m - n of them are not usable. Any m - n + 1 of these, with the factor,
  conflict; without one of them n are left. So this is the smallest set. Named are first those that
  a person can give back (drained), then those that are down, then those that are gone.

A rack is not usable if none of its brokers is. Brokers without a rack are one rack together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

DRAINED, DOWN, GONE = "is drained", "is not live", "is gone"
_ORDER = (DRAINED, DOWN, GONE)

REMEDIES = {DRAINED: "undrain {}", DOWN: "bring {} back", GONE: "replace {}"}
"""What a person can do about each."""

_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Member:
    """A broker of a pool; `obstacle` says why it may not be used, or is empty."""

    id: int
    rack: str = ""
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """The factor, what the pool has for it, and what takes the rest away: all of it conflicts.

    `usable` are names of brokers or racks; `obstacles` are sentences, by the brokers they are about
    (a rack's brokers together). Without obstacles the pool has too few of them at all.

    `remedies` are what a person can do about any that are not usable, whether named or not; each
    brings back one, and it takes `lacking` of them, or of new ones.
    """

    factor: int
    usable: tuple[str, ...]
    obstacles: Mapping[tuple[int, ...], str]
    remedies: tuple[str, ...] = ()

    @property
    def lacking(self) -> int:
        """How many more are needed."""
        return self.factor - len(self.usable)

    def advice(self, new: str) -> str:
        """`undrain 3, or add a broker`; `new` says how one more comes about."""
        shown = [*self.remedies[:_NAMED_MAX], new]
        ways = ", or ".join(shown) if self.lacking == 1 else ", ".join(shown)
        return ways if self.lacking == 1 else f"{self.lacking} more are needed: {ways}"

    @property
    def text(self) -> str:
        """`1, 2; 3 is drained`."""
        return "; ".join([", ".join(self.usable) or "none", *self.obstacles.values()])


def brokers_lacking(factor: int, members: Iterable[Member]) -> Witness | None:
    """Why that many replicas find no distinct brokers, if they do not."""
    pool = sorted(members, key=lambda member: member.id)
    usable = tuple(str(member.id) for member in pool if not member.obstacle)
    if factor <= len(usable):
        return None
    blocked = sorted(
        (member for member in pool if member.obstacle),
        key=lambda member: (_ORDER.index(member.obstacle), member.id),
    )
    named = blocked[: max(0, len(pool) - factor + 1)]
    remedies = tuple(REMEDIES[m.obstacle].format(m.id) for m in blocked)
    return Witness(factor, usable, {(m.id,): f"{m.id} {m.obstacle}" for m in named}, remedies)


def racks_lacking(factor: int, members: Iterable[Member]) -> Witness | None:
    """Why that many replicas find no racks of their own, if they do not."""
    racks: dict[str, list[Member]] = {}
    for member in sorted(members, key=lambda member: member.id):
        racks.setdefault(member.rack, []).append(member)
    usable = [rack for rack, held in sorted(racks.items()) if not all(m.obstacle for m in held)]
    if factor <= len(usable):
        return None
    blocked = sorted(
        (min(_ORDER.index(m.obstacle) for m in held), rack)
        for rack, held in racks.items()
        if rack not in usable
    )
    named = [rack for _, rack in blocked[: max(0, len(racks) - factor + 1)]]
    obstacles = {
        tuple(m.id for m in racks[rack]): f"of rack {rack or '(none)'} "
        + ", ".join(f"{m.id} {m.obstacle}" for m in racks[rack])
        for rack in named
    }
    remedies = tuple(
        REMEDIES[m.obstacle].format(m.id) + (f" (rack {rack})" if rack else "")
        for _, rack in blocked
        for m in sorted(racks[rack], key=lambda m: (_ORDER.index(m.obstacle), m.id))[:1]
    )
    return Witness(factor, tuple(rack or "(none)" for rack in usable), obstacles, remedies)
