"""Moves by column: what counts over all moves of a plan is counted without looking at each.

    of       moves as a plan has them; a row per move, and below it a row per replica list
    steps    a row per request: what one list of a path adds to the list before it, and removes

The columns say what the moves say and nothing else. Whoever needs them makes them from the plan
that is to be checked, written or cut into stages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from poolkeeper.model.columns.replica_lists import NOBODY, Ints, ReplicaLists, whole_numbers
from poolkeeper.model.plans import Move


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


@dataclass(frozen=True, slots=True, eq=False)
class MoveColumns:
    """Columns of moves, and the lists of their paths.

    By move: `topic`, `topic_id` and `reason` as texts; `partition`, `bytes`, `urgency`; `counts`,
    the number of lists of its path.
    `lists`: those of all paths, path after path.
    """

    topic: tuple[str, ...]
    topic_id: tuple[str | None, ...]
    reason: tuple[str, ...]
    partition: Ints
    bytes: Ints
    urgency: Ints
    counts: Ints
    lists: ReplicaLists

    @classmethod
    def of(cls, moves: Sequence[Move]) -> "MoveColumns":
        """The columns of these moves; raises as `whole_numbers` does."""
        columns = tuple(zip(*moves, strict=True)) if moves else ((),) * len(Move._fields)
        topic, topic_id, partition, path, size, reason, urgency = columns
        return cls(
            topic,
            topic_id,
            reason,
            whole_numbers(partition),
            whole_numbers(size),
            whole_numbers(urgency),
            whole_numbers(list(map(len, path))),
            ReplicaLists.of(list(chain.from_iterable(path))),
        )

    def __len__(self) -> int:
        return len(self.topic)

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
            move[after], place[after], olds[:, 0].copy(), _less(olds, news), _less(news, olds)
        )


def _less(these: Ints, those: Ints) -> Ints:
    """By row, the brokers of these lists that are not in those: each once, ascending."""
    found = these.copy()
    for slot in range(these.shape[1]):
        known = np.zeros(len(these), dtype=bool)
        for other in range(those.shape[1]):
            known |= these[:, slot] == those[:, other]
        for before in range(slot):
            known |= these[:, slot] == these[:, before]
        found[known, slot] = NOBODY
    found.sort(axis=1)
    return found
