"""Replica lists in two vectors: where each list begins, and the ids of all, one after the other.

A list is made a tuple when somebody asks for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from poolkeeper.model.topology import Replicas

Ints = npt.NDArray[np.int64]

NOBODY = np.iinfo(np.int64).min
"""Stands in a slot that no broker takes; no broker has this id."""
NOWHERE = -1
"""The place of an id that is in no order."""
_LOOKED_UP_MAX = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaLists:
    """List n has the ids from `offsets[n]` to `offsets[n + 1]`."""

    offsets: Ints
    ids: Ints

    @classmethod
    def of(cls, lists: Sequence[Replicas]) -> "ReplicaLists":
        """These lists; raises `OverflowError`, or `TypeError` for ids that are no numbers."""
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum(list(map(len, lists)), out=offsets[1:])
        return cls(offsets, whole_numbers(list(chain.from_iterable(lists))))

    @classmethod
    def empty(cls, count: int) -> "ReplicaLists":
        """So many empty lists."""
        return cls(np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int64))

    @classmethod
    def concatenated(cls, parts: Sequence["ReplicaLists"]) -> "ReplicaLists":
        """The lists of each of these, one after the other."""
        lengths = [part.lengths for part in parts]
        offsets = np.append(0, np.cumsum(np.concatenate(lengths)))
        ids = [part.ids[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(offsets, np.concatenate(ids))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Replicas:
        begin, end = self.offsets[row : row + 2].tolist()
        return tuple(self.ids[begin:end].tolist())

    @property
    def lengths(self) -> Ints:
        """By list, how many ids it has."""
        return np.diff(self.offsets)

    def preferred(self, first: int = 0, last: int | None = None) -> Ints:
        """The first id of each list from `first` up to `last`; `NOBODY` of an empty one."""
        ends = self.offsets[first : (len(self) if last is None else last) + 1]
        held = np.diff(ends) > 0
        found = np.full(len(held), NOBODY)
        found[held] = self.ids[ends[:-1][held]]
        return found

    def wide(self) -> Ints:
        """Rows × slots, with `NOBODY` behind the last replica."""
        lengths = self.lengths
        slots = int(lengths.max(initial=1))
        if len(self.ids) == len(lengths) * slots:
            return self.ids.reshape(len(lengths), slots).copy()
        wide = np.full((len(lengths), slots), NOBODY, dtype=np.int64)
        wide[np.arange(slots) < lengths[:, None]] = self.ids
        return wide

    def take(self, rows: Ints) -> "ReplicaLists":
        """The lists of these rows."""
        lengths = self.lengths
        slots = int(lengths.max(initial=1))
        if len(self.ids) == len(lengths) * slots:
            ids = self.ids.reshape(len(lengths), slots).take(rows, axis=0).ravel()
            return ReplicaLists(np.arange(len(rows) + 1) * slots, ids)
        lengths = lengths[rows]
        offsets = np.append(0, np.cumsum(lengths))
        shift = np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return ReplicaLists(offsets, self.ids[np.arange(len(shift)) + shift])

    def tuples(self, first: int = 0, last: int | None = None) -> list[Replicas]:
        """The lists from `first` up to `last`; neighbours of one length are cut at once."""
        offsets = self.offsets[first : (len(self) if last is None else last) + 1]
        base = int(offsets[0])
        values = self.ids[base : int(offsets[-1])].tolist()
        changes = np.flatnonzero(np.diff(np.diff(offsets))) + 1
        rows = [0, *changes.tolist(), len(offsets) - 1]
        found: list[Replicas] = []
        ends = (offsets[rows] - base).tolist()
        for (row, next_row), (begin, end) in zip(pairwise(rows), pairwise(ends), strict=True):
            if begin == end:
                found += [()] * (next_row - row)
            else:
                same = iter(values[begin:end])
                found += zip(*[same] * ((end - begin) // (next_row - row)), strict=True)
        return found


def whole_numbers(values: Sequence[int]) -> Ints:
    """The numbers as a vector; raises `OverflowError` beyond 64 bits, `TypeError` for others."""
    try:
        found = np.array(values, dtype=None if values else np.int64)
    except ValueError as wrong:
        raise TypeError("these are no whole numbers") from wrong
    if found.dtype != np.int64 or found.ndim != 1:
        kind = OverflowError if all(isinstance(each, int) for each in values) else TypeError
        raise kind("these are no whole numbers of 64 bits")
    return found


def distinct(numbers: Ints) -> Ints:
    """Each whole number once, in ascending order; small ones are marked in a table, not sorted.

    `numpy.unique` brings its masked arrays, which take longer to import than to sort.
    """
    if not len(numbers):
        return numbers
    if numbers.min() < 0 or numbers.max() > len(numbers):
        ordered: Ints = np.sort(numbers)
        first: npt.NDArray[np.bool_] = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        return ordered[first]
    return np.flatnonzero(np.bincount(numbers))


def places_of(ids: Ints, order: Ints) -> Ints:
    """By id, its place in `order`, which ascends; `NOWHERE` for ids that are not in it.

    Of small ids by a table, in a tenth of the time of `numpy.searchsorted`.
    """
    if not len(order):
        return np.full(ids.shape, NOWHERE, dtype=np.int64)
    if order[0] >= 0 and order[-1] < _LOOKED_UP_MAX:
        # Ids outside the range are clipped to the two ends, which hold `NOWHERE`.
        place_of = np.full(order[-1] + 3, NOWHERE, dtype=np.int64)
        place_of[order + 1] = np.arange(len(order))
        return place_of[np.clip(ids, -1, order[-1] + 1) + 1]
    place = np.minimum(np.searchsorted(order, ids), len(order) - 1)
    return np.where(order[place] == ids, place, NOWHERE)
