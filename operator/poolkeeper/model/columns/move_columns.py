"""Moves by column: what counts over all moves of a plan is counted without looking at each.

    of       moves as a plan has them; a row per move, and below it a row per replica list
    steps    a row per request: what one list of a path adds to the list before it, and removes

The columns say what the moves say and nothing else. The planner makes columns, and so does who
reads a plan from tables: the moves of such a plan are `ColumnMoves`, which become `Move`s when
somebody looks at one. `columns_of_moves` are the columns of any moves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TypeVar, overload

import numpy as np

from poolkeeper.model.columns.replica_lists import (
    NOBODY,
    Ints,
    ReplicaLists,
    distinct,
    whole_numbers,
)
from poolkeeper.model.columns.wide_lists import is_in_row
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Replicas

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class MoveSteps:
    """The steps of paths, in the order of moves and then of their paths.

    `move`: the position of the move. `number`: the place of the list to request in its path.
    `leader`: the first replica of the list before; `NOBODY` if that is empty.
    `removed`, `added` (steps × slots): each broker once, ascending, `NOBODY` where there is none.
    """

    move: Ints
    number: Ints
    leader: Ints
    removed: Ints
    added: Ints

    @property
    def copies(self) -> Ints:
        """By step, how many replicas it adds."""
        found: Ints = (self.added != NOBODY).sum(axis=1)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MoveColumns:
    """Columns of moves, and the lists of their paths.

    `topics`: (name, id) of the topics, `reasons`: texts; each once, and all that moves have.
    By move: `topic` and `reason`, which of these; `partition`, `bytes`, `urgency`; `counts`, the
    number of lists of its path.
    `lists`: those of all paths, path after path.
    """

    topics: tuple[tuple[str, str | None], ...]
    reasons: tuple[str, ...]
    topic: Ints
    partition: Ints
    bytes: Ints
    reason: Ints
    urgency: Ints
    counts: Ints
    lists: ReplicaLists

    @classmethod
    def of(cls, moves: Sequence[Move]) -> "MoveColumns":
        """The columns of these moves; raises as `whole_numbers` does."""
        columns = tuple(zip(*moves, strict=True)) if moves else ((),) * len(Move._fields)
        name, topic_id, partition, path, size, reason, urgency = columns
        topics: dict[tuple[str, str | None], int] = {}
        reasons: dict[str, int] = {}
        names = zip(name, topic_id, strict=True)
        topic = [topics.setdefault(each, len(topics)) for each in names]
        told = [reasons.setdefault(each, len(reasons)) for each in reason]
        return cls(
            tuple(topics),
            tuple(reasons),
            np.array(topic, dtype=np.int64),
            whole_numbers(partition),
            whole_numbers(size),
            np.array(told, dtype=np.int64),
            whole_numbers(urgency),
            whole_numbers(list(map(len, path))),
            ReplicaLists.of(list(chain.from_iterable(path))),
        )

    @classmethod
    def merged(cls, parts: Sequence["MoveColumns"]) -> "MoveColumns":
        """The moves of all parts as plans have them, by urgency, topic and partition."""
        joined = cls.joined(parts)
        topic = joined.ranks[joined.topic]
        return joined.take(np.lexsort((joined.partition, topic, joined.urgency)))

    @classmethod
    def joined(cls, parts: Sequence["MoveColumns"]) -> "MoveColumns":
        """The moves of all parts, part after part; there is at least one."""
        topics: dict[tuple[str, str | None], int] = {}
        reasons: dict[str, int] = {}
        topic = [_renumbered(each.topics, each.topic, topics) for each in parts]
        reason = [_renumbered(each.reasons, each.reason, reasons) for each in parts]
        return cls(
            tuple(topics),
            tuple(reasons),
            np.concatenate(topic),
            np.concatenate([each.partition for each in parts]),
            np.concatenate([each.bytes for each in parts]),
            np.concatenate(reason),
            np.concatenate([each.urgency for each in parts]),
            np.concatenate([each.counts for each in parts]),
            ReplicaLists.concatenated([each.lists for each in parts]),
        )

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def names(self) -> list[str]:
        """By move, the name of its topic."""
        names = [name for name, _ in self.topics]
        return [names[topic] for topic in self.topic.tolist()]

    @property
    def ranks(self) -> Ints:
        """By topic, the place of its name among all names in order; several ids share a place."""
        names = sorted({name for name, _ in self.topics})
        place = {name: number for number, name in enumerate(names)}
        return np.array([place[name] for name, _ in self.topics], dtype=np.int64)

    def are_of_different_partitions(self) -> bool:
        """Whether no partition moves twice; topics of one name and several ids count as one."""
        topic = self.ranks[self.topic]
        order = np.lexsort((self.partition, topic))
        topic, partition = topic[order], self.partition[order]
        return not ((np.diff(topic) == 0) & (np.diff(partition) == 0)).any()

    def take(self, rows: Ints) -> "MoveColumns":
        """The moves of these rows."""
        counts = self.counts[rows]
        begins = (np.cumsum(self.counts) - self.counts)[rows]
        lists = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return replace(
            self,
            topic=self.topic[rows],
            partition=self.partition[rows],
            bytes=self.bytes[rows],
            reason=self.reason[rows],
            urgency=self.urgency[rows],
            counts=counts,
            lists=self.lists.take(lists),
        )

    def paths(self) -> list[tuple[Replicas, ...]]:
        """By move, the lists of its path."""
        return _cut(self.lists.tuples(), self.counts)

    def moves(self) -> tuple[Move, ...]:
        """The moves themselves."""
        columns = zip(
            self.names,
            [self.topics[topic][1] for topic in self.topic.tolist()],
            self.partition.tolist(),
            self.paths(),
            self.bytes.tolist(),
            [self.reasons[reason] for reason in self.reason.tolist()],
            self.urgency.tolist(),
            strict=True,
        )
        # The constructor of a named tuple is slow Python, and there may be 100,000 of them.
        return tuple(map(partial(tuple.__new__, Move), columns))

    @property
    def sources(self) -> ReplicaLists:
        """By move, the first list of its path; every path has a list."""
        return self.lists.take(np.cumsum(self.counts) - self.counts)

    @property
    def targets(self) -> ReplicaLists:
        """By move, the last list of its path; every path has a list."""
        return self.lists.take(np.cumsum(self.counts) - 1)

    def steps(self) -> MoveSteps:
        """Every step of every path."""
        move = np.repeat(np.arange(len(self)), self.counts)
        place = np.arange(len(move)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        after = np.flatnonzero(place > 0)
        wide = self.lists.wide()
        olds, news = wide[after - 1], wide[after]
        return MoveSteps(
            move[after],
            place[after],
            olds[:, 0].copy(),
            brokers_not_in(olds, news),
            brokers_not_in(news, olds),
        )


class ColumnMoves(Sequence[Move]):
    """The moves of a plan that lie in columns."""

    __slots__ = ("_made", "columns")

    def __init__(self, columns: MoveColumns) -> None:
        self.columns = columns
        self._made: tuple[Move, ...] | None = None

    def _all(self) -> tuple[Move, ...]:
        if self._made is None:
            self._made = self.columns.moves()
        return self._made

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, at: int) -> Move: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, at: int | slice) -> Move | tuple[Move, ...]:
        if self._made is None and isinstance(at, slice):
            return self.columns.take(np.arange(len(self))[at]).moves()
        return self._all()[at]

    def __iter__(self) -> Iterator[Move]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnMoves | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type, tuple[MoveColumns]]:
        return ColumnMoves, (self.columns,)


def columns_of_moves(moves: Sequence[Move]) -> MoveColumns:
    """The columns of these moves; raises as `MoveColumns.of`."""
    return moves.columns if isinstance(moves, ColumnMoves) else MoveColumns.of(moves)


def moves_at(moves: Sequence[Move], places: Sequence[int]) -> Sequence[Move]:
    """The moves at these places; they lie in columns if all moves do."""
    if isinstance(moves, ColumnMoves):
        return ColumnMoves(moves.columns.take(np.array(places, dtype=np.int64)))
    return [moves[place] for place in places]


def topics_moved(moves: Sequence[Move]) -> set[str]:
    """The names of the topics that these moves are of."""
    if isinstance(moves, ColumnMoves):
        topics = moves.columns.topics
        return {topics[topic][0] for topic in distinct(moves.columns.topic).tolist()}
    return {move.topic for move in moves}


def _renumbered(values: Sequence[T], number: Ints, known: dict[T, int]) -> Ints:
    """The numbers of these values among those that are known, which they join."""
    places = [known.setdefault(each, len(known)) for each in values]
    found: Ints = np.array(places, dtype=np.int64)[number]
    return found


def _cut(lists: list[Replicas], counts: Ints) -> list[tuple[Replicas, ...]]:
    """The lists as paths of so many lists."""
    if (counts == 2).all():
        return list(zip(lists[::2], lists[1::2], strict=True))
    ends = np.cumsum(counts).tolist()
    begins = [0, *ends[:-1]]
    return [tuple(lists[begin:end]) for begin, end in zip(begins, ends, strict=False)]


def brokers_not_in(these: Ints, those: Ints) -> Ints:
    """By row, the brokers of `these` that are not in `those`: each once, ascending.

    Lists are wide ones; so is what is found, with `NOBODY` before the first.
    """
    found = np.where(is_in_row(these, those), NOBODY, these)
    found.sort(axis=1)
    again = found[:, 1:] == found[:, :-1]
    if (again & (found[:, 1:] != NOBODY)).any():
        found[:, 1:][again] = NOBODY
        found.sort(axis=1)
    return found
