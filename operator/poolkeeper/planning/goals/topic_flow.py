"""How many replicas of each topic every broker should end with: one flow, exact except for racks.

    topics ──(kept 0, added 1)── (topic, broker) ── brokers ──(band of counts)── sink

The arcs of a (topic, broker) are tiers. Below the topic's band each replica is rewarded and above
it charged, with more than any chain of moves costs. Replicas that the broker holds already are
free; each added one costs one move. Brokers have tiers for the goal of replicas, which comes first.
So the flow meets both goals as far as they can be met together, with the fewest moves. It ignores
racks, which rarely matter where a replica may go to several of them.

Replicas above these numbers are then dealt, within each topic, to the brokers that lack some. The
smallest replicas go first (or replicas of all sizes, where bytes are a goal too), from rack to the
same rack if possible, else to any rack without a replica of the partition. What cannot be dealt
like this is left to `topic_spread`.
"""

import numpy as np

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem

_OUTSIDE = 10_000
_UNEVEN = 40_000
_TURNS = 64


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
    target = _target_counts(problem, start, movable, topics, brokers)
    return _move_surplus(problem, opened, start, movable, target, all_sizes=all_sizes)


def _target_counts(
    problem: PoolProblem, lists: Ints, movable: Bools, topics: TopicCounts, brokers: Band
) -> Ints:
    """The wanted number of movable replicas by (topic, broker)."""
    eligible = np.flatnonzero(problem.eligible)
    free = replicas_by_topic(problem, np.where(movable, lists, NONE))[:, eligible]
    staying = replicas_by_topic(problem, np.where(movable, NONE, lists))[:, eligible]
    most = np.bincount(problem.topic, minlength=len(problem.topics))[:, None] - staying
    low = np.clip(topics.low[:, eligible] - staying, 0, most)
    high = np.clip(topics.high[:, eligible] - staying, low, most)
    network = Network()
    topic = network.add_nodes(len(free))
    broker = network.add_nodes(len(eligible))
    sink = network.add_nodes(1)
    kept_low = np.minimum(free, low)
    kept_high = np.clip(free, low, high)
    kept_most = np.clip(free, high, most)
    tiers = (
        (kept_low, -_OUTSIDE),
        (low - kept_low, 1 - _OUTSIDE),
        (kept_high - low, 0),
        (high - kept_high, 1),
        (kept_most - high, _OUTSIDE),
        (most - kept_most, 1 + _OUTSIDE),
    )
    arcs = []
    for capacity, cost in tiers:
        of, at = np.nonzero(capacity > 0)
        arcs.append((network.add_arcs(topic[of], broker[at], capacity[of, at], cost), of, at))
    other = problem.background_load.replicas[eligible] + staying.sum(axis=0)
    least, enough = (np.maximum(end[eligible] - other, 0) for end in (brokers.low, brokers.high))
    everything = int(free.sum())
    into = np.repeat(sink, len(eligible))
    network.add_arcs(broker, into, np.minimum(least, everything), -_UNEVEN)
    network.add_arcs(broker, into, np.clip(enough - least, 0, everything), 0)
    network.add_arcs(broker, into, everything, _UNEVEN)
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[topic] = free.sum(axis=1)
    supply[sink] = -everything
    flow = network.solve(supply)
    target = np.zeros((len(free), len(problem.brokers)), dtype=np.int64)
    for block, of, at in arcs:
        np.add.at(target, (of, eligible[at]), flow[block])
    return target


def _move_surplus(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    movable: Bools,
    target: Ints,
    *,
    all_sizes: bool,
) -> Ints:
    """The lists with surplus replicas moved to brokers that lack some, as far as racks permit."""
    lists = lists.copy()
    rack = problem.brokers.rack
    least, most = bounds_of(opened, opened.spread_of, len(problem.brokers.rack_names))
    for smallest in (True, False):
        here = np.where(movable, lists, NONE)
        surplus = replicas_by_topic(problem, here) - target
        row, slot = _givers(problem, here, surplus, smallest=smallest, all_sizes=all_sizes)
        topic, taker = np.nonzero(surplus < 0)
        order = np.lexsort((taker, rack[taker], topic))
        lacking = -surplus[topic, taker][order]
        topic, taker = (np.repeat(column[order], lacking) for column in (topic, taker))
        for turn in range(_TURNS):
            receiver = _receivers(problem.topic[row], topic, turn)
            row, slot, receiver = row[receiver >= 0], slot[receiver >= 0], receiver[receiver >= 0]
            if not len(row):
                break
            fits = _may_go(lists[row], rack, slot, taker[receiver], least[row], most[row])
            at = fits.nonzero()[0]
            # One replica of a partition moves per turn.
            at = at[np.sort(np.unique(row[at], return_index=True)[1])]
            lists[row[at], slot[at]] = taker[receiver[at]]
            topic, taker = np.delete(topic, receiver[at]), np.delete(taker, receiver[at])
            row, slot = np.delete(row, at), np.delete(slot, at)
    return lists


def _givers(
    problem: PoolProblem, lists: Ints, surplus: Ints, *, smallest: bool, all_sizes: bool
) -> tuple[Ints, Ints]:
    """The (row, slot) of each surplus replica by (topic, broker), in order of racks."""
    gives = (lists >= 0) & (surplus > 0)[problem.topic[:, None], lists]
    place = np.flatnonzero(gives)
    row, slot = np.divmod(place, lists.shape[1])
    broker = lists.ravel()[place]
    size = problem.mib[row] if smallest else -problem.mib[row]
    order = np.lexsort((slot, row, size, broker, problem.brokers.rack[broker], problem.topic[row]))
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


def _may_go(lists: Ints, rack: Ints, slot: Ints, taker: Ints, least: Ints, most: Ints) -> Bools:
    """Whether each replica may go to its receiving broker: distinctness and racks."""
    every = np.arange(len(lists))
    giver = lists[every, slot]
    racks = np.where(lists >= 0, rack[lists], NONE)
    there = count_slots(racks == rack[taker][:, None])
    left = count_slots(racks == rack[giver][:, None]) - 1
    spread: Bools = (there < most[every, rack[taker]]) & (left >= least[every, rack[giver]])
    fits: Bools = ~any_slot(lists == taker[:, None]) & (spread | (rack[giver] == rack[taker]))
    return fits
