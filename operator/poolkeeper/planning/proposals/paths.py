"""The path of a move: which requests bring a partition from one replica list to another.

1. Replace: in one request all replicas that change, or one replica a request.
2. Grow: one replica a request, so that a leader never feeds more than one new copy.
A lower replication factor is part of the replacing request: the controller removes replicas only
when all the others are in sync.

Every list on the path is as lawful as possible: of the possible next steps the path takes the one
that spreads replicas best. [1, 2] → [3, 4, 5]: [1, 2], [3, 4], [3, 4, 5]. But no list is spread
better than the last one, if that can be: a later step would make it worse, and no step may. Under
`rackPolicy: AsFound` a target may be uneven: what keeps it so goes first.
"""

from collections.abc import Container, Iterable
from functools import partial

from poolkeeper.model.topology import Replicas
from poolkeeper.planning.layout.changes import Badness

_BEHIND = 2**31


def path(
    source: Replicas,
    target: Replicas,
    badness: Badness,
    *,
    one_at_a_time: bool,
    live: Container[int],
) -> tuple[Replicas, ...]:
    """The lists from `source` to `target`, both included; `live`: the brokers that are."""
    if source == target:
        return (source,)
    if len(target) == len(source) and not one_at_a_time:
        return (source, target)
    badness = _not_below(badness, source, target)
    base = _base(source, target, badness)
    lists = [source]
    if one_at_a_time:
        lists += _one_by_one(source, base, badness, live)
    if lists[-1] != base:
        lists.append(base)
    lists += _growth(base, target, badness)
    return tuple(lists)


def _not_below(badness: Badness, source: Replicas, target: Replicas) -> Badness:
    """The same order, with what is better than both source and target behind all others."""
    end: list[int] = []  # most paths have no choice between lists

    def ordered(brokers: Iterable[int]) -> int:
        if not end:
            end.append(min(badness(dict.fromkeys(source)), badness(target)))
        found = badness(brokers)
        return found if found >= end[0] else _BEHIND - found

    return ordered


def _base(source: Replicas, target: Replicas, badness: Badness) -> Replicas:
    """The target, cut to the present number of replicas: the kept ones, then the best others."""
    size = len(set(source))
    chosen = [broker for broker in target if broker in source]
    while len(chosen) < min(size, len(target)):
        chosen.append(_best(chosen, target, badness))
    return tuple(broker for broker in target if broker in chosen[:size])


def _growth(base: Replicas, target: Replicas, badness: Badness) -> list[Replicas]:
    lists = []
    held = list(base)
    while len(held) < len(target):
        held.append(_best(held, target, badness))
        lists.append(tuple(broker for broker in target if broker in held))
    return lists


def _best(held: list[int], target: Replicas, badness: Badness) -> int:
    others = [broker for broker in target if broker not in held]
    return min(others, key=lambda b: badness([*held, b])) if len(others) > 1 else others[0]


def _order(
    held: list[int], badness: Badness, live: Container[int], pair: tuple[int, int]
) -> tuple[bool, bool, int]:
    """The order of replacements: none that makes the list worse, the dead first, then the best."""
    old, new = pair
    after = badness([new if broker == old else broker for broker in held])
    return after > badness(held), old in live, after


def _one_by_one(
    source: Replicas, base: Replicas, badness: Badness, live: Container[int]
) -> list[Replicas]:
    """Replace one replica a step; the leader goes last, so that it serves while others copy.

    Replicas on brokers that are not live go first: no controller ends a step whose list has one.
    """
    held = list(dict.fromkeys(source))
    leaving = [broker for broker in held if broker not in base]
    coming = [broker for broker in base if broker not in held]
    lists: list[Replicas] = []
    while len(coming) > 1:
        pairs = [(old, new) for old in reversed(leaving) for new in coming]
        old, new = min(pairs, key=partial(_order, held, badness, live))
        held[held.index(old)] = new
        leaving.remove(old)
        coming.remove(new)
        lists.append(tuple(held))
    return lists
