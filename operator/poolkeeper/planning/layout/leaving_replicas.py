"""Which replicas leave where laws and replication factors leave a choice, so that little moves.

A lower replication factor says how many replicas of a partition are dropped, and racks how many may
go in each. Where a rack holds too many of a partition, the law says how many leave it. Which of
them is free. Brokers above their band have to lose replicas anyway: one that leaves there costs no
move of its own. So a flow divides what leaves:

    partition ──> racks ──> brokers ──(tiers)── sink
    partition ──> racks ──> (topic, broker) ──(tiers)── brokers ──(tiers)── sink

Partitions that have the same replicas to choose from are one class. For m partitions that lose k
replicas each it sends m·k units, at most m of them to one broker, and to a rack between m times the
fewest and m times the most that may leave it. Any such flow can be dealt to single partitions: lay
the units of a class in a row, rack by rack and broker by broker, and deal them round after round.
As no broker has more than m units, none reaches a partition twice; a rack with m·a to m·b units
reaches each partition a to b times.

What a broker loses of what it has above its band is free. What it loses inside the band costs a
move, because another broker keeps one too many. Below the band a replica that is dropped costs two,
but for as many as open slots of other partitions will bring; one that leaves for the racks is
replaced somewhere, so it costs one, and a little more where more replicas are lacking than will
come. Where replicas of each topic are a goal, the same holds for
each topic and broker, and the goals' order ranks the two. A leader stays if that costs no more.

Many classes are divided batch by batch. At first each batch takes of a broker's tiers no more than
its part of all that leaves. If that costs moves, each is divided once more beside what the others
take.
"""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.constraints.lowered_factors import pack_left
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, count_slots, take_rows
from poolkeeper.planning.problem.grouping import number_groups, stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEADER = 1
_LACK = 2
_LOWER_GOAL = 100
_HIGHER_GOAL = 10_000
_CLASSES_MAX = 4_000
_UNBOUNDED = 2**40


@frozen
class KeptTargets:
    """What brokers should hold once these replicas have left, and all open slots are filled.

    `topics`: the band of each topic, if that is a goal. `topics_first`: it ranks above `band`.
    """

    band: Band
    topics: TopicCounts | None = None
    topics_first: bool = False


def choose_dropped(problem: PoolProblem, opened: OpenSlots, targets: KeptTargets) -> OpenSlots:
    """The same slots; partitions that drop replicas keep those that brokers should hold."""
    found = _dropping(problem, opened)
    if found is None:
        return opened
    rest = opened.lists.copy()
    rest[found.row] = NONE
    room = _room(problem, rest, found, targets)
    room.make_lack_dear()
    room.brokers.filled = max(int((rest == OPEN).sum()) - room.lack(problem, targets), 0)
    stays = found.marked(problem, found.broker >= 0) & ~_leaving(problem, found, room)
    rest[found.row] = pack_left(np.where(stays, take_rows(problem.lists, found.row), NONE))
    return replace(opened, lists=rest)


def choose_givers(problem: PoolProblem, opened: OpenSlots, targets: KeptTargets) -> OpenSlots:
    """As many open slots in each rack of a partition, of brokers that have too many replicas."""
    found = _crowding(problem, opened)
    if found is None:
        return opened
    free = found.marked(problem, found.broker >= 0)
    rest = opened.lists.copy()
    rest[found.row] = np.where(free, NONE, rest[found.row])
    room = _room(problem, rest, found, targets)
    if room.lack(problem, targets) > room.brokers.surplus.sum() + (rest == OPEN).sum():
        room.brokers.below = _LACK
    goes = _leaving(problem, found, room)
    own = np.where(goes, OPEN, take_rows(problem.lists, found.row))
    rest[found.row] = np.where(free, own, rest[found.row])
    return replace(opened, lists=rest)


def _leaving(problem: PoolProblem, found: "_Choices", room: "_Room") -> Bools:
    """By (row of `found`, slot of the list found), whether the replica leaves."""
    keys = [found.leaving, found.leader, *found.broker.T, *found.fewest.T, *found.most.T]
    if room.topics:
        keys.insert(0, found.topic)
    kind, first = number_groups(keys)
    gone = _divided(found.of(first), np.bincount(kind), room)
    return _dealt(problem, found, kind, gone)


@frozen
class _Choices:
    """By row: `leaving` replicas of those by slot, in order of racks, then of brokers.

    `broker`: who has the replica, `NONE` behind the last. `slot`: where it stands in the list
    found. `rack`: the first slot of its rack. `fewest`, `most`: how many leave that rack, at its
    first slot, elsewhere 0. `leader`: of the partition, if it is one of them.
    """

    row: Ints
    topic: Ints
    leaving: Ints
    leader: Ints
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


def _dropping(problem: PoolProblem, opened: OpenSlots) -> _Choices | None:
    """Partitions that drop some of their replicas; `None` if there are none.

    Those with open slots are not among them. Nor are those that drop what is not live: they drop
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
    leaving = count_slots(able & ~kept)
    some = (leaving > 0) & ~any_slot(kept & ~able) & any_slot(kept)
    row, able, leaving = row[some], able[some], leaving[some]
    if not len(row):
        return None
    found, number = _by_racks(problem, row, able, leaving)
    low = np.array([each.low for each in opened.spreads], dtype=np.int64)
    high = np.array([each.high for each in opened.spreads], dtype=np.int64)
    first = _firsts(found)
    spread, rack = opened.spread_of[row][:, None], np.where(first, number, 0)
    held = (found.rack[:, :, None] == found.rack[:, None, :]).sum(axis=2)
    fewest = np.where(first, np.maximum(held - high[spread, rack], 0), 0)
    most = np.where(first, np.minimum(np.maximum(held - low[spread, rack], 0), leaving[:, None]), 0)
    most = np.maximum(fewest, most)
    # Where racks cannot be even, what was dropped is as good as anything else.
    even = (fewest.sum(axis=1) <= leaving) & (leaving <= most.sum(axis=1))
    return replace(found, fewest=fewest, most=most).of(even) if even.any() else None


def _crowding(problem: PoolProblem, opened: OpenSlots) -> _Choices | None:
    """Partitions of which one of several replicas leaves a rack; `None` if there are none."""
    row = np.flatnonzero(opened.forced_by_racks > 0)
    own, now = take_rows(problem.lists, row), take_rows(opened.lists, row)
    some = ((now == own) | (now == OPEN)).all(axis=1) & ~problem.hold[row]
    row, own, now = row[some], own[some], now[some]
    free = (own >= 0) & ~problem.leaves[row] & ~take_rows(opened.stays, row)
    rack = np.where(free, problem.brokers.rack[own], NONE)
    alike = rack[:, :, None] == rack[:, None, :]
    leave = (alike & (now == OPEN)[:, None, :]).sum(axis=2)
    free &= (leave > 0) & (alike.sum(axis=2) > leave)
    some = any_slot(free)
    row, free, leave = row[some], free[some], leave[some]
    if not len(row):
        return None
    found, _ = _by_racks(problem, row, free, count_slots(free & (now[some] == OPEN)))
    leave = np.where(_firsts(found), np.take_along_axis(leave, found.slot, axis=1), 0)
    return replace(found, fewest=leave, most=leave)


def _by_racks(problem: PoolProblem, row: Ints, free: Bools, leaving: Ints) -> tuple[_Choices, Ints]:
    """The choice between these replicas, racks without bounds yet, and their racks by slot."""
    own, racks = take_rows(problem.lists, row), len(problem.brokers.rack_names)
    number = np.where(free, problem.brokers.rack[own], racks)
    slot = np.argsort(number * len(problem.brokers) + np.maximum(own, 0), axis=1, kind="stable")
    number = np.take_along_axis(number, slot, axis=1)
    broker = np.take_along_axis(np.where(free, own, NONE), slot, axis=1)
    leader = problem.leader[row]
    leader = np.where((broker == leader[:, None]).any(axis=1), leader, NONE)
    rack = (number[:, :, None] == number[:, None, :]).argmax(axis=2)
    none = np.zeros_like(broker)
    return _Choices(
        row, problem.topic[row], leaving, leader, broker, slot, rack, none, none
    ), number


def _firsts(found: _Choices) -> Bools:
    """By (row, slot), whether it is the first of its rack."""
    first: Bools = (found.rack == np.arange(found.rack.shape[1])) & (found.broker >= 0)
    return first


@dataclass(slots=True)
class _Tiers:
    """What is held above and inside bands if nothing is dropped, and how much of it goes.

    By place, which is a broker, or a broker of a topic: `surplus` is above the band, `spare` above
    its lower end, `gone` leaves. `cost`: of a replica inside the band; `below`: what one costs more
    below it, but for so many in all as are `filled` by open slots.
    """

    surplus: Ints
    spare: Ints
    gone: Ints
    cost: int
    below: int = 0
    filled: int = 0

    @classmethod
    def of(cls, held: Ints, low: Ints, high: Ints, cost: int) -> "_Tiers":
        """Of counts and a band."""
        surplus = np.maximum(held - high, 0)
        return cls(surplus, np.maximum(held - low, surplus), np.zeros_like(held), cost)

    @property
    def missed(self) -> int:
        """What all that leaves costs."""
        inside, below = (np.maximum(self.gone - end, 0).sum() for end in (self.surplus, self.spare))
        return int(inside * self.cost + max(below - self.filled, 0) * self.below)

    def link(self, network: Network, tails: Ints, heads: Ints, at: Ints, part: float) -> None:
        """Arcs for what may still go of these places until `part` of the tiers has gone."""
        left = [
            np.maximum(np.ceil(part * tier).astype(np.int64) - self.gone, 0)[at]
            for tier in (self.surplus, self.spare)
        ]
        network.add_arcs(tails, heads, left[0], 0)
        network.add_arcs(tails, heads, left[1] - left[0], self.cost)
        if not self.filled:
            network.add_arcs(tails, heads, _UNBOUNDED, self.cost + self.below)
            return
        lacking = network.add_nodes(1)
        used = np.maximum(self.gone - self.spare, 0).sum()
        network.add_arcs(tails, np.repeat(lacking, len(tails)), _UNBOUNDED, self.cost)
        network.add_arcs(lacking, heads[:1], max(math.ceil(part * self.filled) - used, 0), 0)
        network.add_arcs(lacking, heads[:1], _UNBOUNDED, self.below)


@frozen
class _Room:
    """The tiers of brokers, and of topics if these are a goal; `held`: replicas by broker."""

    held: Ints
    brokers: _Tiers
    topics: _Tiers | None

    def lack(self, problem: PoolProblem, targets: KeptTargets) -> int:
        """How many replicas brokers lack in any case."""
        missing = np.maximum(targets.band.low - self.held, 0)
        return int(missing[problem.eligible].sum())

    def make_lack_dear(self) -> None:
        """Count a replica below a band as a move of its own."""
        for tiers in filter(None, (self.brokers, self.topics)):
            tiers.below = tiers.cost

    @property
    def missed(self) -> int:
        """What all that leaves costs."""
        return self.brokers.missed + (self.topics.missed if self.topics else 0)

    def count(self, classes: _Choices, gone: Ints, sign: int = 1) -> None:
        """Count what leaves; `gone`: by (class, slot)."""
        of, place = np.nonzero(gone)
        chosen, units = classes.broker[of, place], sign * gone[of, place]
        np.add.at(self.brokers.gone, chosen, units)
        if self.topics:
            cell = classes.topic[of] * len(self.brokers.gone) + chosen
            np.add.at(self.topics.gone, cell, units)


def _room(problem: PoolProblem, rest: Ints, found: _Choices, targets: KeptTargets) -> _Room:
    """Tiers where nothing of the choice leaves; `rest`: the lists without what is of the choice."""
    at, place = np.nonzero(found.broker >= 0)
    broker, topic = found.broker[at, place], found.topic[at]
    held = replicas_by_broker(problem, rest)
    np.add.at(held, broker, 1)
    first, second = _HIGHER_GOAL, _LOWER_GOAL
    if targets.topics_first:
        first, second = second, first
    brokers = _Tiers.of(held, targets.band.low, targets.band.high, first)
    if (counts := targets.topics) is None:
        return _Room(held, brokers, None)
    of_topic = replicas_by_topic(problem, rest)
    np.add.at(of_topic, (topic, broker), 1)
    low, high = counts.low.ravel(), counts.high.ravel()
    return _Room(held, brokers, _Tiers.of(of_topic.ravel(), low, high, second))


def _divided(classes: _Choices, size: Ints, room: _Room) -> Ints:
    """By (class, slot), how many partitions of the class lose that replica."""
    gone = np.zeros(classes.broker.shape, dtype=np.int64)
    batches = _batches(classes, room)
    amount = size * classes.leaving
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
    """By (class, slot), what leaves besides what has left, until `part` of all has."""
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
    supply[group] = size * (classes.leaving - classes.fewest.sum(axis=1))
    supply[rack] = size[:, None] * classes.fewest
    supply[sink] = -(size * classes.leaving).sum()
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
