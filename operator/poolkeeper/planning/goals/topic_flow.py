"""Replicas of topics that are too many on a broker go where the topic lacks some.

`topic_targets` says how many replicas of each topic every broker should end with. Replicas above
these numbers are dealt, within each topic, to the brokers that lack some. The smallest replicas go
first, from rack to the same rack if possible, else to any rack without a replica of the partition.
Where brokers hold the same partitions, a broker that lacks some takes each of these from one of
them only, so the others offer the next larger ones in the next pass. What cannot be dealt like this
is left to `topic_spread`.

Where bytes are a goal too, a broker gives larger replicas the more bytes it should give
(`byte_targets`): from the smallest of each topic alone to replicas of all sizes.
"""

import numpy as np

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.constraints.measures import LoadMeasure
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.goals.topic_targets import target_counts
from poolkeeper.planning.placement.byte_targets import aim_of
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import NONE, Bools, Floats, Ints, any_slot, take_rows
from poolkeeper.planning.problem.grouping import ordered_by
from poolkeeper.planning.problem.pool_problem import PoolProblem

_TURNS = 64
_PASSES_MAX = 16
_HALVINGS = 6
"""How finely it is told up to which size a broker gives: to this power of a half of all sizes."""


def route_topics(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    topics: TopicCounts,
    brokers: Band,
    weighed: LoadMeasure | None = None,
) -> Ints:
    """Lists with the topics' counts as near to their bands as one flow brings them.

    `lists`: filled where the laws opened slots; all other partitions start from where they were
    found.
    `brokers`: the band of replicas by broker.
    `weighed`: a load that should come out even besides, if any.
    """
    start = np.where(any_slot(opened.lists == OPEN)[:, None], lists, opened.lists)
    movable = (start >= 0) & problem.eligible[start] & ~opened.stays
    added = _added(problem, opened, start)
    all_sizes = weighed is not None
    target = target_counts(
        problem, start, movable, topics, brokers, all_sizes=all_sizes, added=added
    )
    return _move_surplus(problem, opened, start, movable, target, added, weighed)


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
    weighed: LoadMeasure | None,
) -> Ints:
    """The lists with surplus replicas moved to brokers that lack some, as far as racks permit."""
    lists = lists.copy()
    rack = problem.brokers.rack
    bounds = bounds_of(opened, np.arange(len(opened.spreads)), len(problem.brokers.rack_names))
    untried = movable.copy()
    surplus = replicas_by_topic(problem, np.where(movable, lists, NONE)) - target
    aim = None if weighed is None else aim_of(weighed, lists, problem.eligible)
    for _ in range(_PASSES_MAX):
        here = np.where(untried, lists, NONE)
        give = None
        if weighed is not None and aim is not None:
            left = np.maximum(weighed.load(lists) - (aim.load - aim.give), 0)
            give = weighed.value, left
        row, slot = _givers(problem, here, surplus, added, give)
        if not len(row):
            break
        untried[row, slot] = False
        topic, taker = np.nonzero(surplus < 0)
        order = ordered_by(taker, rack[taker], topic)
        lacking = -surplus[topic, taker][order]
        topic, taker = (np.repeat(column[order], lacking) for column in (topic, taker))
        idle = 0
        for turn in range(_TURNS):
            receiver = _receivers(problem.topic[row], topic, turn)
            row, slot, receiver = row[receiver >= 0], slot[receiver >= 0], receiver[receiver >= 0]
            if not len(row):
                break
            fits = _may_go(
                take_rows(lists, row), rack, slot, taker[receiver], opened.spread_of[row], bounds
            )
            at = fits.nonzero()[0]
            idle = 0 if len(at) else idle + 1
            if idle:
                if idle >= _most_places(topic):
                    break  # every replica was offered every place
                continue
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
    problem: PoolProblem,
    lists: Ints,
    surplus: Ints,
    added: Bools | None,
    give: tuple[Ints, Floats] | None,
) -> tuple[Ints, Ints]:
    """The (row, slot) of each surplus replica by (topic, broker), in order of racks.

    `give`: a value by row, and how much of it should leave each broker; the smallest go otherwise.
    """
    some = np.flatnonzero(any_slot(surplus > 0)[problem.topic])
    here = take_rows(lists, some)
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
    if give is None:
        chosen = number < goes
    else:
        chosen = _of_sizes(number, goes, count, broker, give[0][row], give[1])
    return row[chosen], slot[chosen]


def _of_sizes(
    number: Ints, goes: Ints, count: Ints, broker: Ints, value: Ints, give: Floats
) -> Bools:
    """Which replicas go so that each broker gives as much as it should, or as near as that gets.

    Of the `count` replicas of a topic on a broker, numbered by size, `goes` go: evenly spread over
    the first so many, from the smallest alone to those of all sizes.
    """
    part, more = np.zeros(len(give)), np.maximum(count - goes, 0)
    for step in range(1, _HALVINGS + 1):
        tried = part + 0.5**step
        first = goes + (more * tried[broker]).astype(np.int64)
        those = _spread_over(number, goes, first)
        given = np.bincount(broker[those], weights=value[those], minlength=len(give))
        part = np.where(given <= give, tried, part)
    first = goes + (more * part[broker]).astype(np.int64)
    return _spread_over(number, goes, first)


def _spread_over(number: Ints, goes: Ints, first: Ints) -> Bools:
    """Which of numbered replicas go, if so many go evenly spread over the first of them."""
    spread: Bools = (number + 1) * goes // first > number * goes // first
    return spread & (number < first)


def _receivers(topic: Ints, receivers: Ints, turn: int) -> Ints:
    """A receiving place of its topic for each replica, another every turn; -1 where there is none.

    Both are in order of topics, and of racks within them.
    """
    begin, end = np.searchsorted(receivers, topic), np.searchsorted(receivers, topic, side="right")
    number = np.arange(len(topic)) - np.searchsorted(topic, topic)
    count = end - begin
    alone = number < count  # each place is offered to one replica at a time
    return np.where(alone, begin + (number + turn) % np.maximum(count, 1), NONE)


def _most_places(topic: Ints) -> int:
    """How many receiving places the topic has that has most."""
    return int(np.unique(topic, return_counts=True)[1].max(initial=0))


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
