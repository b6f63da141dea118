"""Which troubles a seed draws: groups of a few, so that each pair of kinds is in at least one.

Two troubles at once are where most faults hide, and a group of g kinds has g·(g - 1) / 2 pairs. So
all pairs take far fewer groups than pairs. Each group begins with the first pair that none before
it has, and takes in turn the kind that has most such pairs with it. They are shuffled, so that a
few of them have all kinds.
"""

from functools import cache
from itertools import combinations
from random import Random

from simulation.campaign.excluded import EXCLUDED
from simulation.campaign.kinds import Trouble

KINDS = tuple(kind for kind in Trouble if frozenset({kind}) not in EXCLUDED)
SIZE = 4
"""More at once hide each other: the first to strike leaves little for the others to change."""


def may_join(kind: Trouble, others: list[Trouble]) -> bool:
    """Return whether the kind is none of the others and may be played beside each of them."""
    return kind not in others and not any({kind, other} >= e for other in others for e in EXCLUDED)


def pairs() -> list[frozenset[Trouble]]:
    """Return all pairs that are played."""
    return [frozenset(pair) for pair in combinations(KINDS, 2) if may_join(pair[0], [pair[1]])]


@cache
def groups() -> tuple[tuple[Trouble, ...], ...]:
    """Return groups of at most `SIZE` kinds that have all pairs."""
    found: list[tuple[Trouble, ...]] = []
    left = dict.fromkeys(pairs())
    while left:
        group = sorted(next(iter(left)))
        while len(group) < SIZE and (more := _next(group, left)):
            group.append(more)
        for pair in combinations(group, 2):
            left.pop(frozenset(pair), None)
        found.append(tuple(group))
    Random(0).shuffle(found)
    return tuple(found)


def _next(group: list[Trouble], left: dict[frozenset[Trouble], None]) -> Trouble | None:
    """Return the kind that has most of the pairs that are left with the group, if there is one."""
    allowed = [kind for kind in KINDS if may_join(kind, group)]
    gains = {kind: sum(frozenset({kind, other}) in left for other in group) for kind in allowed}
    return max(gains, key=gains.__getitem__, default=None)
