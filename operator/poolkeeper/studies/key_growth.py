"""What more partitions do to the keys of a topic: by arithmetic, and measured for real keys.

A record's partition is the hash of its key modulo the number of partitions. With another number
most keys have another partition (`algorithms.key_remap`), and nothing moves the records that are
there. So for a key that changes partition

- its older records are in one partition, its newer ones in another: a consumer may read a newer
  one first, and a stream that joins by partition misses it;
- in a compacted topic the last record in the old partition is never replaced: compaction compares
  records of one partition only. Whoever reads the whole topic into a table finds two values of the
  key, and which one it takes is chance.

Keys are weighed as the file has them: a line is a record, so a key that is there twice counts twice
among the records and once among the keys. Different keys are told apart by 64 bits of a hash: of
ten million keys two are taken for one with a chance of one in 400,000.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from poolkeeper.algorithms.key_remap import moved_share
from poolkeeper.frozen import frozen
from poolkeeper.model.topic_config.values import elements
from poolkeeper.studies.key_hashes import Hashes, positive_hashes

DISTINCT_MAX = 10_000_000
"""The most different keys that are told apart: 12 bytes each, twice."""


@frozen
class PartitionGrowth:
    """A topic that gets partitions; `compacted` is None where its config is not known."""

    topic: str
    before: int
    after: int
    keyed: bool | None = None
    compacted: bool | None = None

    @property
    def moved(self) -> Fraction:
        """The share of evenly hashed keys that change partition."""
        return moved_share(self.before, self.after)

    @property
    def better(self) -> int | None:
        """The next multiple, if it moves fewer keys than the number that is asked for."""
        multiple = -(-self.after // self.before) * self.before
        fewer = moved_share(self.before, multiple) < self.moved
        return multiple if fewer else None


@frozen
class KeyCounts:
    """Records and keys in each partition, before and after; `keys` is None if there are too many.

    `left`: by partition before, the keys that are in another one after.
    """

    records_before: tuple[int, ...]
    records_after: tuple[int, ...]
    records_moved: int
    keys: int | None
    keys_moved: int | None
    left: tuple[int, ...] | None

    @property
    def records(self) -> int:
        """How many records were counted."""
        return sum(self.records_before)


def skew(counts: Sequence[int]) -> float:
    """The fullest partition over the mean of all: 1.0 is even. No records are even."""
    total = sum(counts)
    return max(counts) * len(counts) / total if total else 1.0


def is_compacted(config: Mapping[str, str] | None) -> bool | None:
    """Whether a topic's config says so; None if it is not known."""
    if config is None:
        return None
    return "compact" in elements(config.get("cleanup.policy", "delete"))


def count_keys(batches: Iterable[Sequence[bytes]], before: int, after: int) -> KeyCounts:
    """Count the keys of a stream, which is read once and not kept."""
    records = (np.zeros(before, dtype=np.int64), np.zeros(after, dtype=np.int64))
    moved = 0
    distinct = _DistinctKeys()
    for batch in batches:
        hashes = positive_hashes(batch)
        old, new = hashes % before, hashes % after
        records[0][:] += np.bincount(old, minlength=before)
        records[1][:] += np.bincount(new, minlength=after)
        moved += int(np.count_nonzero(old != new))
        distinct.add(batch, hashes)
    left = None
    known = distinct.hashes()
    if known is not None:
        old = known % before
        left = np.bincount(old[old != known % after], minlength=before)
    return KeyCounts(
        tuple(records[0].tolist()),
        tuple(records[1].tolist()),
        moved,
        None if known is None else len(known),
        None if left is None else int(left.sum()),
        None if left is None else tuple(left.tolist()),
    )


class _DistinctKeys:
    """Different keys, by 64 bits of a hash each, as long as there are not too many."""

    def __init__(self) -> None:
        self._marks: list[NDArray[np.int64]] = []
        self._hashes: list[Hashes] = []
        self._waiting = 0
        self._known = 0
        self._lost = False

    def add(self, keys: Sequence[bytes], hashes: Hashes) -> None:
        """Add keys with their positive hashes."""
        if self._lost:
            return
        self._marks.append(np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys)))
        self._hashes.append(hashes)
        self._waiting += len(keys)
        if self._waiting > max(1_000_000, self._known):
            self._merge()

    def _merge(self) -> None:
        marks, first = np.unique(np.concatenate(self._marks), return_index=True)
        hashes = np.concatenate(self._hashes)[first]
        self._known, self._waiting = len(marks), 0
        self._lost = self._known > DISTINCT_MAX
        self._marks, self._hashes = ([], []) if self._lost else ([marks], [hashes])

    def hashes(self) -> Hashes | None:
        """The positive hash of each different key, None if there are too many."""
        if self._marks:
            self._merge()
        if self._lost:
            return None
        return self._hashes[0] if self._hashes else np.empty(0, dtype=np.uint32)
