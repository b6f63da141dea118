"""The steps that may go next, by column: a row each.

Packing looks at every step many times. What it asks most is in lists by row; who needs more of a
step asks for its `Entry`.

A *side* is a broker and a direction, in or out, and has a number: twice the place of the broker
among `EntryTable.brokers`, and one more for out. A step takes its bytes out of the leader's side,
and brings them in on the side of each broker that it adds.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import numpy as np

from poolkeeper.model.columns.move_columns import MoveColumns, columns_of_moves
from poolkeeper.model.columns.partition_columns import UNKNOWN, Bools
from poolkeeper.model.columns.partition_queries import leaders_of, numbers_of
from poolkeeper.model.columns.replica_lists import (
    NOBODY,
    Ints,
    ReplicaLists,
    distinct,
    places_of,
)
from poolkeeper.model.plans import Move, Urgency
from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.staging.lawful.list_changes import repeated_slots
from poolkeeper.planning.staging.limits import Entry, bytes_at_most
from poolkeeper.planning.staging.makespan_bound import Copies

AT_RISK = Urgency.HEAL - 1
"""More urgent than what heals: a step that heals a partition of which one replica is in sync, or
fewer than `min.insync.replicas` asks for."""

_LEFT_OUT = -1
"""Stands for the place of a move that is left out."""


class EntryTable:
    """Steps by column. Rows are added at the end and never change.

    By row: `urgency`, or `AT_RISK`; `move` and `step`; `size`, the bytes of one copy, and `bytes`,
    of all of its copies; `out`, the side of its leader; `into`, the sides of the brokers that it
    adds; `sides`, a bit for each side that it touches, if it adds a replica; `topic`, the place
    among `topics`; `request_bytes`, more than it adds to a stage's transaction, or to the record of
    its request.

    `before` and `after`: the lists of the rows that were there from the beginning.
    """

    def __init__(
        self, moves: Sequence[Move], cluster: Cluster, at: Sequence[int | None] | None = None
    ) -> None:
        """The next step of each move that has one.

        `at[i]`: the place in move i's path where its live list is, or `None` to leave the move out;
        if `at` is not given, every move is at the first place of its path. Raises as
        `MoveColumns.of` does.
        """
        self._moves = moves
        columns = columns_of_moves(moves)
        self._lists: list[int] = columns.counts.tolist()
        going, place = _next_steps(columns.counts, at)
        self.move: list[int] = going.tolist()
        if len(going) < len(moves):
            columns = columns.take(going)
        before = np.cumsum(columns.counts) - columns.counts + place
        self.before, self.after = columns.lists.take(before), columns.lists.take(before + 1)
        self.topics, topic = _topics_of(columns)
        self.topic: list[int] = topic.tolist()
        self.brokers: list[int] = distinct(columns.lists.ids).tolist()
        olds, news = self.before.wide(), self.after.wide()
        added = _added(olds, news)
        count = added.sum(axis=1)
        size = np.where(count > 0, columns.bytes // _replicas_added(columns, news, added), 0)
        observed = _observed(cluster, self.topics, self.topic, columns.partition)
        ids = np.array(self.brokers, dtype=np.int64)
        # An empty list has no leader: its step is counted on the first side.
        out = 2 * np.maximum(places_of(_leaders(olds, observed, cluster.brokers), ids), 0) + 1
        taken = 2 * places_of(news[added], ids)
        self.urgency: list[int] = _urgencies(columns, self.before, cluster).tolist()
        self.step: list[int] = (place + 1).tolist()
        self.size: list[int] = size.tolist()
        self.bytes: list[int] = [a * b for a, b in zip(self.size, count.tolist(), strict=True)]
        self.out: list[int] = out.tolist()
        self.into = ReplicaLists(np.append(0, np.cumsum(count)), taken).tuples()
        most = [bytes_at_most(name, 0) for name in self.topics]
        more = bytes_at_most("", 1) - bytes_at_most("", 0)
        lengths = (self.before.lengths + self.after.lengths).tolist()
        self.request_bytes = [
            most[topic] + more * count for topic, count in zip(self.topic, lengths, strict=True)
        ]
        self._side = {broker: 2 * place for place, broker in enumerate(self.brokers)}
        self._bits: dict[tuple[int, ...], int] = {}
        self.sides = list(map(self._sides, self.into, self.out))

    def __len__(self) -> int:
        return len(self.move)

    def sort(self, order: Ints) -> None:
        """Put the rows into this order, so that what is read in turn lies side by side."""
        for name in ("urgency", "move", "step", "size", "bytes", "out", "topic", "request_bytes"):
            setattr(self, name, np.array(getattr(self, name), dtype=np.int64)[order].tolist())
        self.sides = [self.sides[row] for row in order.tolist()]
        self.into = ReplicaLists.of(self.into).take(order).tuples()
        self.before, self.after = self.before.take(order), self.after.take(order)

    def append(self, entry: Entry) -> int:
        """Add a later step of one of the moves, and return its row."""
        side = self._side
        self.urgency.append(entry.urgency)
        self.move.append(entry.move)
        self.step.append(entry.step)
        self.size.append(entry.size)
        self.bytes.append(entry.bytes)
        self.out.append(side[entry.leader] + 1)
        self.into.append(tuple([side[broker] for broker in entry.added]))
        self.sides.append(self._sides(self.into[-1], self.out[-1]))
        self.topic.append(self.topics.index(entry.topic))
        self.request_bytes.append(bytes_at_most(entry.topic, len(entry.before) + len(entry.after)))
        return len(self.move) - 1

    def _sides(self, into: tuple[int, ...], out: int) -> int:
        """A bit for each side of a step; none if it adds no replica."""
        found = self._bits.get(into)
        if found is None:
            found = self._bits[into] = sum({1 << side for side in into})
        if into:
            found |= 1 << out
        return found

    def entry(self, row: int) -> Entry:
        """All that is known of a step."""
        index, step = self.move[row], self.step[row]
        move = self._moves[index]
        before, after = move.path[step - 1], move.path[step]
        return Entry(
            max(self.urgency[row], Urgency.HEAL.value),
            self.bytes[row],
            index,
            step,
            move.topic,
            move.partition,
            before,
            after,
            tuple([self.brokers[side >> 1] for side in self.into[row]]),
            self.leader(row),
            self.size[row],
        )

    @property
    def has_further_steps(self) -> bool:
        """Whether any move has steps after the one that is here."""
        lengths = np.array(self._lists, dtype=np.int64)[np.array(self.move, dtype=np.int64)]
        return bool((np.array(self.step, dtype=np.int64) + 1 < lengths).any())

    def is_last(self, row: int) -> bool:
        """Whether it is the last step of its move."""
        return self.step[row] + 1 == self._lists[self.move[row]]

    def steps(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """The move and the step of each of these rows, ascending."""
        return sorted([(self.move[row], self.step[row]) for row in rows])

    def leader(self, row: int) -> int:
        """The broker from which the step copies."""
        return self.brokers[self.out[row] >> 1]

    def copies(self) -> Copies:
        """What each row copies; brokers by their sides."""
        out, size = (np.array(each, dtype=np.int64) for each in (self.out, self.size))
        return Copies(out, ReplicaLists.of(self.into), size)

    def replicas(self) -> tuple[Ints, Ints]:
        """By replica that a step adds: the step's row, and the side that takes it in."""
        counts = list(map(len, self.into))
        sides = np.fromiter(chain.from_iterable(self.into), dtype=np.int64, count=sum(counts))
        return np.repeat(np.arange(len(self)), counts), sides


def _urgencies(columns: MoveColumns, before: ReplicaLists, cluster: Cluster) -> Ints:
    """By move; `before`: the list from which its next step goes."""
    urgency = columns.urgency.copy()
    default = default_min_insync(cluster)
    for row in np.flatnonzero(urgency == Urgency.HEAL).tolist():
        topic = cluster.topics.get(columns.topics[columns.topic[row]][0])
        known = None if topic is None else topic.partition(int(columns.partition[row]))
        if topic is None or known is None:
            continue
        isr = before.take(np.array([row])).ids.tolist() if known.isr is None else known.isr
        in_sync = sum(broker in cluster.brokers for broker in isr)
        if in_sync <= 1 or in_sync < min_insync(topic, default):
            urgency[row] = AT_RISK
    return urgency


def _next_steps(counts: Ints, at: Sequence[int | None] | None) -> tuple[Ints, Ints]:
    """The moves that have a next step, and where each of these is in its path.

    `counts`: by move, the lists of its path.
    """
    places = np.zeros(len(counts), dtype=np.int64)
    if at is not None:
        places = np.array([_LEFT_OUT if each is None else each for each in at], dtype=np.int64)
    found = np.flatnonzero((places != _LEFT_OUT) & (places + 1 < counts))
    return found, places[found]


def _topics_of(columns: MoveColumns) -> tuple[list[str], Ints]:
    """The names of the topics of these moves, and by move which of them it is.

    Columns that were taken from others still name topics without a move, and those may be gone.
    """
    number: dict[str, int] = {}
    used = distinct(columns.topic)
    names = [columns.topics[topic][0] for topic in used.tolist()]
    place = np.zeros(len(columns.topics), dtype=np.int64)
    place[used] = [number.setdefault(name, len(number)) for name in names]
    return [*number], place[columns.topic]


def _added(olds: Ints, news: Ints) -> Bools:
    """By slot of the new lists, whether it holds a broker that the old list does not name."""
    found: Bools = news != NOBODY
    for slot in range(olds.shape[1]):
        found &= news != olds[:, slot, None]
    return found


def _replicas_added(columns: MoveColumns, news: Ints, added: Bools) -> Ints:
    """By move, how many replicas all steps of its path add, at least 1 so as to divide by it.

    `added`: which slots of the lists `news` hold a replica that the next step adds.
    """
    if (columns.counts == 2).all():  # of nearly all plans
        total = (added & ~repeated_slots(news)).sum(axis=1)
    else:
        steps = columns.steps()
        each = steps.copies
        total = np.bincount(steps.move, weights=each, minlength=len(columns)).astype(np.int64)
    found: Ints = np.maximum(total, 1)
    return found


def _observed(cluster: Cluster, topics: Sequence[str], topic: Sequence[int], numbers: Ints) -> Ints:
    """The observed leaders of partitions, `UNKNOWN` where there is none.

    `topics`: names; `topic`: the place of each partition's topic among them; `numbers`: the
    partitions.
    """
    parts = [cluster.topics[name].partitions if name in cluster.topics else () for name in topics]
    leaders = [leaders_of(each) for each in parts]
    begins = np.append(0, np.cumsum([len(each) for each in parts], dtype=np.int64))
    every = np.array(
        [UNKNOWN if leader is None else leader for leader in chain.from_iterable(leaders)],
        dtype=np.int64,
    )
    place = np.array(topic, dtype=np.int64)
    there = numbers < np.diff(begins)[place]
    found = np.full(len(numbers), UNKNOWN)
    found[there] = every[begins[place[there]] + numbers[there]]
    for gap, each in enumerate(parts):  # of a damaged topic ids are no positions
        known = numbers_of(each)
        if known != list(range(len(known))):
            own = dict(zip(known, leaders[gap], strict=True))
            rows = np.flatnonzero(place == gap)
            some = [own.get(number) for number in numbers[rows].tolist()]
            found[rows] = [UNKNOWN if leader is None else leader for leader in some]
    return found


def _leaders(olds: Ints, observed: Ints, live: Collection[int]) -> Ints:
    """The observed leader if the list names it, else its first live replica, else its first."""
    alive = np.isin(olds, np.array(list(live), dtype=np.int64))
    first = olds[np.arange(len(olds)), alive.argmax(axis=1)]
    leads = np.zeros(len(olds), dtype=bool)
    for slot in range(olds.shape[1]):
        leads |= olds[:, slot] == observed
    return np.where(leads & (observed != UNKNOWN), observed, first)
