"""Which replica leaves where a rack holds too many of a partition.

The law of racks says how many replicas of a partition must leave a rack, and not which. A broker
above its band has to give replicas anyway. If one of these is among those that may leave the rack,
the law costs no move of its own. So a small flow divides what the law demands:

    (partition, rack) ──(leader 1)── brokers ──(tiers)── sink

Partitions with the same brokers in that rack are one class. A broker gives for nothing what it has
above its band. What it gives besides costs one move, because another broker still has to give. If
brokers lack more replicas than will come to them, one that gives below its band makes that worse,
while one inside its band gives for less. A leader stays if that costs no more.
"""

from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.problem.arrays import NONE, Ints, count_slots
from poolkeeper.planning.problem.grouping import number_groups, stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEADER = 1
_MOVE = 100
_LACK = 2
"""More than a leader, less than a move."""


@frozen
class _Choices:
    """By (row, rack): `broker` has the brokers of which some leave, ascending, then `NONE`.

    `slot`: where these replicas stand. `leaving`: how many leave. `leader`: who leads, if it is
    one of them.
    """

    row: Ints
    slot: Ints
    broker: Ints
    leaving: Ints
    leader: Ints


def choose_givers(problem: PoolProblem, opened: OpenSlots, held: Ints, target: Band) -> OpenSlots:
    """The same slots opened in number and by rack, of brokers that have too many replicas if any.

    `held`: replicas by broker as found.
    """
    found = _choices(problem, opened)
    if found is None:
        return opened
    kind, first = number_groups([found.leaving, found.leader, *found.broker.T])
    size = np.bincount(kind, minlength=len(first))
    broker, leaving = found.broker[first], found.leaving[first]
    network = Network()
    group = network.add_nodes(len(first))
    giver = network.add_nodes(len(problem.brokers))
    sink = network.add_nodes(1)
    of, slot = np.nonzero(broker != NONE)
    heads = broker[of, slot]
    cost = np.where(heads == found.leader[first][of], _LEADER, 0)
    arcs = network.add_arcs(group[of], giver[heads], size[of], cost)
    # What leaves in any case has left.
    fixed = (opened.lists == OPEN) & problem.leaves & (problem.lists >= 0)
    left = held - np.bincount(problem.lists[fixed], minlength=len(held))
    total = int((size * leaving).sum())
    surplus = np.maximum(left - target.high, 0)
    inside = np.maximum(left - target.low, 0) - surplus
    lack = np.maximum(target.low - left, 0)[problem.eligible].sum()
    comes = surplus.sum() + (opened.lists == OPEN).sum() - total
    below = _MOVE + (_LACK if lack > comes else 0)
    into = np.repeat(sink, len(giver))
    for capacity, price in ((surplus, 0), (inside, _MOVE), (np.full_like(left, total), below)):
        network.add_arcs(giver, into, np.minimum(capacity, total), price)
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[group], supply[sink] = size * leaving, -total
    gives = np.zeros(broker.shape, dtype=np.int64)
    gives[of, slot] = network.solve(supply)[arcs]
    return replace(opened, lists=_dealt(problem, opened, found, kind, gives))


def _choices(problem: PoolProblem, opened: OpenSlots) -> _Choices | None:
    """Where one of several replicas could leave; `None` if nowhere."""
    own = problem.lists
    row = np.flatnonzero(opened.forced_by_racks > 0)
    now = opened.lists[row]
    row = row[(((now == own[row]) | (now == OPEN)).all(axis=1)) & ~problem.hold[row]]
    if not len(row):
        return None
    now, brokers = opened.lists[row], own[row]
    free = (brokers >= 0) & ~problem.leaves[row] & ~opened.stays[row]
    rack = np.where(free, problem.brokers.rack[brokers], NONE)
    parts = []
    for number in range(len(problem.brokers.rack_names)):
        here = rack == number
        leaving = count_slots(here & (now == OPEN))
        at = np.flatnonzero((leaving > 0) & (count_slots(here) > leaving))
        if not len(at):
            continue
        some = np.where(here[at], brokers[at], np.iinfo(np.int64).max)
        slot = np.argsort(some, axis=1, kind="stable")
        some = np.take_along_axis(np.where(here[at], brokers[at], NONE), slot, axis=1)
        leader = problem.leader[row[at]]
        leader = np.where((some == leader[:, None]).any(axis=1), leader, NONE)
        parts.append((row[at], slot, some, leaving[at], leader))
    if not parts:
        return None
    return _Choices(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _dealt(
    problem: PoolProblem, opened: OpenSlots, found: _Choices, kind: Ints, gives: Ints
) -> Ints:
    """The lists with these slots open; `gives`: by (kind, place), how many leave there.

    The places of a kind, each as often as replicas leave there, are dealt to its rows round after
    round, so none reaches a row twice.
    """
    lists = opened.lists.copy()
    there = found.broker != NONE
    every = np.repeat(found.row[:, None], there.shape[1], axis=1)
    lists[every[there], found.slot[there]] = problem.lists[every[there], found.slot[there]]
    order = stable_order(kind, len(gives))
    ends = np.cumsum(np.bincount(kind, minlength=len(gives)))
    for number, chosen in enumerate(gives):
        begin = int(ends[number - 1]) if number else 0
        members = order[begin : int(ends[number])]
        places = np.repeat(np.arange(len(chosen)), chosen).reshape(-1, len(members))
        for column in places:
            lists[found.row[members], found.slot[members, column]] = OPEN
    return lists
