"""Replicas of topics that are too many on a broker go where the topic lacks some.

`topic_targets` says how many replicas of each topic every broker should end with. Replicas above
these numbers are dealt, within each topic, to the brokers that lack some. The smallest replicas go
first (or replicas of all sizes, where bytes are a goal too), from rack to the same rack if
possible, else to any rack without a replica of the partition. Where brokers hold the same
partitions, a broker that lacks some takes each of these from one of them only, so the others offer
the next larger ones in the next pass. What cannot be dealt like this is left to `topic_spread`.
"""

import numpy as np

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.goals.topic_targets import target_counts
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot
from poolkeeper.planning.problem.grouping import ordered_by
from poolkeeper.planning.problem.pool_problem import PoolProblem

_TURNS = 64
_PASSES_MAX = 16


def route_topics(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    topics: TopicCounts,
    brokers: Band,
    *,
    all_sizes: bool,
) -> Ints:
    """Lists with the topics' counts as near to their bands as one flow brings them.

    `lists`: filled where the laws opened slots; all other partitions start from where they were
    found.
    `brokers`: the band of replicas by broker.
    `all_sizes`: whether replicas of all sizes should go everywhere.
    """
    start = np.where(any_slot(opened.lists == OPEN)[:, None], lists, opened.lists)
    movable = (start >= 0) & problem.eligible[start] & ~opened.stays
    added = _added(problem, opened, start)
    target = target_counts(
        problem, start, movable, topics, brokers, all_sizes=all_sizes, added=added
    )
    return _move_surplus(problem, opened, start, movable, target, added, all_sizes=all_sizes)


def _added(problem: PoolProblem, opened: OpenSlots, lists: Ints) -> Bools | None:
    """Replicas that fill open slots, copied wherever they go; `None` if there are none."""
    row = np.flatnonzero(any_slot(opened.lists == OPEN))
    if not len(row):
        return None
    added = np.zeros(lists.shape, dtype=bool)
    found = (lists[row, :, None] == problem.lists[row, None, :]).any(axis=2)
    added[row] = (lists[row] >= 0) & ~found
    return added


def _move_surplus(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    movable: Bools,
    target: Ints,
    added: Bools | None,
    *,
    all_sizes: bool,
) -> Ints:
    """The lists with surplus replicas moved to brokers that lack some, as far as racks permit."""
    lists = lists.copy()
    rack = problem.brokers.rack
    bounds = bounds_of(opened, np.arange(len(opened.spreads)), len(problem.brokers.rack_names))
    untried = movable.copy()
    surplus = replicas_by_topic(problem, np.where(movable, lists, NONE)) - target
    for _ in range(_PASSES_MAX):
        here = np.where(untried, lists, NONE)
        row, slot = _givers(problem, here, surplus, added, all_sizes=all_sizes)
        if not len(row):
            break
        untried[row, slot] = False
        topic, taker = np.nonzero(surplus < 0)
        order = ordered_by(taker, rack[taker], topic)
        lacking = -surplus[topic, taker][order]
        topic, taker = (np.repeat(column[order], lacking) for column in (topic, taker))
        for turn in range(_TURNS):
            receiver = _receivers(problem.topic[row], topic, turn)
            row, slot, receiver = row[receiver >= 0], slot[receiver >= 0], receiver[receiver >= 0]
            if not len(row):
                break
            fits = _may_go(lists[row], rack, slot, taker[receiver], opened.spread_of[row], bounds)
            at = fits.nonzero()[0]
            # One replica of a partition moves per turn.
            at = at[np.sort(np.unique(row[at], return_index=True)[1])]
            gone = row[at], slot[at]
            np.add.at(surplus, (problem.topic[row[at]], lists[gone]), -1)
            np.add.at(surplus, (topic[receiver[at]], taker[receiver[at]]), 1)
            lists[gone] = taker[receiver[at]]
            topic, taker = np.delete(topic, receiver[at]), np.delete(taker, receiver[at])
            row, slot = np.delete(row, at), np.delete(slot, at)
    return lists


def _givers(
    problem: PoolProblem, lists: Ints, surplus: Ints, added: Bools | None, *, all_sizes: bool
) -> tuple[Ints, Ints]:
    """The (row, slot) of each surplus replica by (topic, broker), in order of racks."""
    some = np.flatnonzero(any_slot(surplus > 0)[problem.topic])
    here = lists[some]
    gives = (here >= 0) & (surplus > 0)[problem.topic[some, None], here]
    at, slot = np.nonzero(gives)
    row, broker = some[at], here[at, slot]
    # Places ascend, so that of equal ones the first row and its first slot come first.
    size = problem.mib[row]
    if added is not None:
        size = np.where(added[row, slot], NONE, size)
    order = ordered_by(size, broker, problem.brokers.rack[broker], problem.topic[row])
    row, slot, broker = row[order], slot[order], broker[order]
    key = problem.topic[row] * surplus.shape[1] + broker
    begin = np.flatnonzero(np.diff(key, prepend=-1))
    count = np.diff(np.append(begin, len(key)))
    number = np.arange(len(key)) - np.repeat(begin, count)
    count, goes = np.repeat(count, count), surplus.ravel()[key]
    chosen = number < goes
    if all_sizes:
        chosen = (number + 1) * goes // count > number * goes // count
    return row[chosen], slot[chosen]


def _receivers(topic: Ints, receivers: Ints, turn: int) -> Ints:
    """A receiving place of its topic for each replica, another every turn; -1 where there is none.

    Both are in order of topics, and of racks within them.
    """
    begin, end = np.searchsorted(receivers, topic), np.searchsorted(receivers, topic, side="right")
    number = np.arange(len(topic)) - np.searchsorted(topic, topic)
    count = end - begin
    alone = number < count  # each place is offered to one replica at a time
    return np.where(alone, begin + (number + turn) % np.maximum(count, 1), NONE)


def _may_go(
    lists: Ints, rack: Ints, slot: Ints, taker: Ints, spread: Ints, bounds: tuple[Ints, Ints]
) -> Bools:
    """Whether each replica may go to its receiving broker: distinctness and racks.

    `bounds`: the fewest and the most replicas by (spread, rack); `spread`: which of them hold.
    """
    least, most = bounds
    giver = lists[np.arange(len(lists)), slot]
    from_rack, to_rack = rack[giver], rack[taker]
    there, left = np.zeros((2, len(lists)), dtype=np.int64)
    fits = np.ones(len(lists), dtype=bool)
    for column in lists.T:
        held = column >= 0
        racks = np.where(held, rack[column], NONE)
        there += racks == to_rack
        left += racks == from_rack
        fits &= column != taker
    even: Bools = (there < most[spread, to_rack]) & (left > least[spread, from_rack])
    fits &= even | (from_rack == to_rack)
    return fits
