"""Which replica is dropped where a replication factor falls, so that little moves afterwards.

A lower replication factor says how many replicas of a partition go, and racks how many may go in
each. Which of them is free. Brokers above their band have to lose replicas anyway, and a replica
that is dropped there need not be copied elsewhere. So a flow divides what is dropped:

    partition ──> racks ──> brokers ──(tiers)── sink
    partition ──> racks ──> (topic, broker) ──(tiers)── brokers ──(tiers)── sink

Partitions that have the same replicas to choose from are one class. For m partitions that drop k
replicas each it sends m·k units, at most m of them to one broker, and to a rack between m times the
fewest and m times the most that the spread of a partition allows. Any such flow can be dealt to
single partitions: lay the units of a class in a row, rack by rack and broker by broker, and deal
them round after round. As no broker has more than m units, none reaches a partition twice; a rack
with m·a to m·b units reaches each partition a to b times.

What a broker drops of what it has above its band is free. What it drops inside the band costs a
move, because another broker then keeps one too many; below the band it costs two. Where replicas
of each topic are a goal, the same holds for each topic and broker, and the goals' order ranks the
two. A leader stays if that costs no more.

Many classes are divided batch by batch. At first each batch takes of a broker's tiers no more than
its part of all that is dropped. If that costs moves, each is divided once more beside what the
others drop.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.constraints.lowered_factors import packed
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.grouping import number_groups, stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEADER = 1
_LOWER_GOAL = 100
_HIGHER_GOAL = 10_000
_CLASSES_MAX = 4_000
_UNBOUNDED = 2**40


@frozen
class DropTargets:
    """What brokers should hold once replicas are dropped.

    `topics`: the band of each topic, if that is a goal. `topics_first`: it ranks above `band`.
    """

    band: Band
    topics: TopicCounts | None = None
    topics_first: bool = False


def choose_dropped(problem: PoolProblem, opened: OpenSlots, targets: DropTargets) -> OpenSlots:
    """The same slots, in rows that drop replicas with those that brokers should keep."""
    found = _choices(problem, opened)
    if found is None:
        return opened
    keys = [found.drops, found.leader, found.spread, *found.broker.T]
    if targets.topics is not None:
        keys.insert(0, found.topic)
    kind, first = number_groups(keys)
    classes, size = found.of(first), np.bincount(kind)
    gone = _divided(classes, size, _room(problem, opened, found, targets))
    dropped = _dealt(problem, found, kind, gone)
    lists = opened.lists.copy()
    stays = found.marked(problem, found.broker >= 0) & ~dropped
    lists[found.row] = packed(np.where(stays, problem.lists[found.row], NONE))
    return replace(opened, lists=lists)


@frozen
class _Choices:
    """By row: `drops` replicas go of those by slot, which are in order of racks, then of brokers.

    `broker`: who has the replica, `NONE` behind the last. `slot`: where it stands in the list
    found. `rack`: the first slot of its rack. `fewest`, `most`: how many go of that rack, at its
    first slot, elsewhere 0. `leader`: of the partition.
    """

    row: Ints
    topic: Ints
    drops: Ints
    leader: Ints
    spread: Ints
    broker: Ints
    slot: Ints
    rack: Ints
    fewest: Ints
    most: Ints

    def of(self, at: Ints | Bools) -> "_Choices":
        """These rows alone."""
        return _Choices(*(getattr(self, each.name)[at] for each in fields(self)))

    def marked(self, problem: PoolProblem, here: Bools) -> Bools:
        """The same marks by (row, slot of the list found)."""
        mask = np.zeros((len(self.row), problem.lists.shape[1]), dtype=bool)
        at, place = np.nonzero(here)
        mask[at, self.slot[at, place]] = True
        return mask


def _choices(problem: PoolProblem, opened: OpenSlots) -> _Choices | None:
    """Rows that drop replicas of several that may go; `None` if there are none.

    Rows with open slots are not among them. Nor are rows that drop what is not live: they drop
    nothing else, or all the same what may not stay.
    """
    own, now = problem.lists, opened.lists
    row = np.flatnonzero(
        (count_slots(own >= 0) > count_slots(now >= 0))
        & ~any_slot((now == OPEN) | opened.stays)
        & ~problem.hold
    )
    own, now = own[row], now[row]
    able = (own >= 0) & problem.brokers.live[own] & ~problem.leaves[row] & ~problem.immovable[row]
    kept = (own[:, :, None] == now[:, None, :]).any(axis=2) & (own >= 0)
    drops = count_slots(able & ~kept)
    some = (drops > 0) & ~any_slot(kept & ~able) & any_slot(kept)
    row, own, able, drops = row[some], own[some], able[some], drops[some]
    if not len(row):
        return None
    racks = len(problem.brokers.rack_names)
    rack = np.where(able, problem.brokers.rack[own], racks)
    slot = np.argsort(rack * len(problem.brokers) + np.maximum(own, 0), axis=1, kind="stable")
    rack = np.take_along_axis(rack, slot, axis=1)
    broker = np.take_along_axis(np.where(able, own, NONE), slot, axis=1)
    spread = opened.spread_of[row]
    fewest, most = _bounds(opened, spread, rack, drops)
    alike = rack[:, :, None] == rack[:, None, :]
    found = _Choices(
        row,
        problem.topic[row],
        drops,
        np.where((broker == problem.leader[row, None]).any(axis=1), problem.leader[row], NONE),
        spread,
        broker,
        slot,
        alike.argmax(axis=2),
        fewest,
        most,
    )
    # Where racks cannot be even, what was dropped is as good as anything else.
    even = (fewest.sum(axis=1) <= drops) & (drops <= most.sum(axis=1))
    return found.of(even) if even.any() else None


def _bounds(opened: OpenSlots, spread: Ints, rack: Ints, drops: Ints) -> tuple[Ints, Ints]:
    """The fewest and the most that go of a rack, at its first slot; `rack`: by slot, ascending."""
    low = np.array([each.low for each in opened.spreads], dtype=np.int64)
    high = np.array([each.high for each in opened.spreads], dtype=np.int64)
    there = rack < low.shape[1]
    at = np.where(there, rack, 0)
    low, high = low[spread[:, None], at], high[spread[:, None], at]
    held = (rack[:, :, None] == rack[:, None, :]).sum(axis=2)
    first = there.copy()
    first[:, 1:] &= rack[:, 1:] != rack[:, :-1]
    fewest = np.where(first, np.maximum(held - high, 0), 0)
    most = np.where(first, np.minimum(held - np.minimum(low, held), drops[:, None]), 0)
    return fewest, np.maximum(fewest, most)


@dataclass(slots=True)
class _Tiers:
    """What is held above and inside bands if nothing is dropped, and how much of it goes.

    By place, which is a broker, or a broker of a topic: `surplus` is above the band, `spare` above
    its lower end, `gone` goes. `cost`: of a replica inside the band.
    """

    surplus: Ints
    spare: Ints
    gone: Ints
    cost: int

    @classmethod
    def of(cls, held: Ints, low: Ints, high: Ints, cost: int) -> "_Tiers":
        """Of counts and a band."""
        surplus = np.maximum(held - high, 0)
        return cls(surplus, np.maximum(held - low, surplus), np.zeros_like(held), cost)

    @property
    def missed(self) -> int:
        """What goes at a cost."""
        costs = np.maximum(self.gone - self.surplus, 0) + np.maximum(self.gone - self.spare, 0)
        return int(costs.sum()) * self.cost

    def link(self, network: Network, tails: Ints, heads: Ints, at: Ints, part: float) -> None:
        """Arcs for what may still go of these places until `part` of the tiers has gone."""
        left = [
            np.maximum(np.ceil(part * tier).astype(np.int64) - self.gone, 0)[at]
            for tier in (self.surplus, self.spare)
        ]
        network.add_arcs(tails, heads, left[0], 0)
        network.add_arcs(tails, heads, left[1] - left[0], self.cost)
        network.add_arcs(tails, heads, _UNBOUNDED, 2 * self.cost)


@frozen
class _Room:
    """The tiers of brokers, and those of topics if these are a goal."""

    brokers: _Tiers
    topics: _Tiers | None

    @property
    def missed(self) -> int:
        """What goes at a cost."""
        return self.brokers.missed + (self.topics.missed if self.topics else 0)

    def count(self, classes: _Choices, gone: Ints, sign: int = 1) -> None:
        """Count what goes; `gone`: by (class, slot)."""
        of, place = np.nonzero(gone)
        chosen, units = classes.broker[of, place], sign * gone[of, place]
        np.add.at(self.brokers.gone, chosen, units)
        if self.topics:
            cell = classes.topic[of] * len(self.brokers.gone) + chosen
            np.add.at(self.topics.gone, cell, units)


def _room(problem: PoolProblem, opened: OpenSlots, found: _Choices, targets: DropTargets) -> _Room:
    at, place = np.nonzero(found.broker >= 0)
    broker, topic = found.broker[at, place], found.topic[at]
    rest = opened.lists.copy()
    rest[found.row] = NONE
    held = replicas_by_broker(problem, rest)
    np.add.at(held, broker, 1)
    first, second = _HIGHER_GOAL, _LOWER_GOAL
    if targets.topics_first:
        first, second = second, first
    brokers = _Tiers.of(held, targets.band.low, targets.band.high, first)
    if (counts := targets.topics) is None:
        return _Room(brokers, None)
    of_topic = replicas_by_topic(problem, rest)
    np.add.at(of_topic, (topic, broker), 1)
    low, high = counts.low.ravel(), counts.high.ravel()
    return _Room(brokers, _Tiers.of(of_topic.ravel(), low, high, second))


def _divided(classes: _Choices, size: Ints, room: _Room) -> Ints:
    """By (class, slot), how many partitions of the class drop that replica."""
    gone = np.zeros(classes.broker.shape, dtype=np.int64)
    batches = _batches(classes, room)
    amount = size * classes.drops
    part = np.cumsum([amount[at].sum() for at in batches]) / amount.sum()
    for at, until in zip(batches, part, strict=True):
        gone[at] = _flow(classes.of(at), size[at], room, float(until))
        room.count(classes.of(at), gone[at])
    if len(batches) == 1 or not room.missed:
        return gone
    for at in batches:
        room.count(classes.of(at), gone[at], -1)
        gone[at] = _flow(classes.of(at), size[at], room, 1.0)
        room.count(classes.of(at), gone[at])
    return gone


def _batches(classes: _Choices, room: _Room) -> list[Ints]:
    """Classes to divide at once: a topic's together, if topics are a goal, else of all kinds."""
    every = np.arange(len(classes.row))
    count = -(-len(every) // _CLASSES_MAX)
    if room.topics:
        return np.array_split(every, count)
    return [every[first::count] for first in range(count)]


def _flow(classes: _Choices, size: Ints, room: _Room, part: float) -> Ints:
    """By (class, slot), what goes besides what has gone, until `part` of all has."""
    network = Network()
    shape = classes.broker.shape
    group = network.add_nodes(len(size))
    rack = network.add_nodes(classes.broker.size).reshape(shape)
    broker = network.add_nodes(len(room.brokers.gone))
    sink = network.add_nodes(1)
    of, place = np.nonzero(classes.most > classes.fewest)
    more = (classes.most - classes.fewest)[of, place]
    network.add_arcs(group[of], rack[of, place], size[of] * more, 0)
    of, place = np.nonzero(classes.broker >= 0)
    chosen = classes.broker[of, place]
    heads = broker[chosen]
    if room.topics:
        cells, number = np.unique(classes.topic[of] * len(broker) + chosen, return_inverse=True)
        node = network.add_nodes(len(cells))
        heads = node[number]
        room.topics.link(network, node, broker[cells % len(broker)], cells, 1.0)
    cost = np.where(chosen == classes.leader[of], _LEADER, 0)
    arcs = network.add_arcs(rack[of, classes.rack[of, place]], heads, size[of], cost)
    every = np.arange(len(broker))
    room.brokers.link(network, broker, np.repeat(sink, len(broker)), every, part)
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[group] = size * (classes.drops - classes.fewest.sum(axis=1))
    supply[rack] = size[:, None] * classes.fewest
    supply[sink] = -(size * classes.drops).sum()
    gone = np.zeros(shape, dtype=np.int64)
    gone[of, place] = network.solve(supply)[arcs]
    return gone


def _dealt(problem: PoolProblem, found: _Choices, kind: Ints, gone: Ints) -> Bools:
    """By (row, slot of the list found), whether the replica goes; `gone`: by (kind, slot)."""
    kinds, slots = gone.shape
    size, each = np.bincount(kind, minlength=kinds), gone.sum(axis=1)
    units = np.repeat(np.arange(gone.size), gone.ravel())
    of, place = units // slots, units % slots
    turn = np.arange(len(units)) - (np.cumsum(each) - each)[of]
    at = stable_order(kind, kinds)[(np.cumsum(size) - size)[of] + turn % size[of]]
    goes = np.zeros(found.broker.shape, dtype=bool)
    goes[at, place] = True
    return found.marked(problem, goes)
