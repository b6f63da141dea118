"""What the sides of a cluster have left to carry, in bytes and in replicas."""

from collections.abc import Iterable

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.planning.staging.entries import EntryTable

_EXACT_MAX = 2**62
"""Sums of bytes below this are exact in 64 bits."""


class SideLoads:
    """Bytes and replicas left to carry, by side, and in all.

    A step that adds no replica counts as one replica in all, and as none of any side.
    """

    def __init__(self, table: EntryTable) -> None:
        """Nothing of these steps yet."""
        self._table = table
        sides = 2 * len(table.brokers)
        self.bytes_of = [0] * sides
        self.replicas_of = [0] * sides
        self.bytes = 0
        self.replicas = 0

    @classmethod
    def of_all(cls, table: EntryTable) -> "SideLoads":
        """All that the steps carry."""
        loads = cls(table)
        row, side = table.replicas()
        size = _vector(table.size)
        out, counts = np.array(table.out, dtype=np.int64), np.bincount(row, minlength=len(table))
        sides = len(loads.bytes_of)
        loads.bytes_of = [
            taken + given
            for taken, given in zip(
                _sums(side, size[row], sides), _sums(out, _vector(table.bytes), sides), strict=True
            )
        ]
        given = np.bincount(np.repeat(out, counts), minlength=sides)
        loads.replicas_of = (np.bincount(side, minlength=sides) + given).tolist()
        loads.bytes = sum(table.bytes)
        loads.replicas = int(np.maximum(counts, 1).sum())
        return loads

    def clone(self) -> "SideLoads":
        """An independent copy."""
        other = SideLoads(self._table)
        other.bytes_of, other.replicas_of = self.bytes_of.copy(), self.replicas_of.copy()
        other.bytes, other.replicas = self.bytes, self.replicas
        return other

    def count(self, rows: Iterable[int], sign: int) -> None:
        """Count steps in (`sign` 1), or out again (-1)."""
        table, bytes_of, replicas_of = self._table, self.bytes_of, self.replicas_of
        for row in rows:
            into, out = table.into[row], table.out[row]
            carried, size, replicas = sign * table.bytes[row], sign * table.size[row], len(into)
            self.bytes += carried
            self.replicas += sign * (replicas or 1)
            for side in into:
                bytes_of[side] += size
                replicas_of[side] += sign
            bytes_of[out] += carried
            replicas_of[out] += sign * replicas

    @property
    def busiest_bytes(self) -> int:
        """The bytes that the busiest side has left."""
        return max(self.bytes_of, default=0)

    @property
    def busiest_replicas(self) -> int:
        """The most replicas that a side has left."""
        return max(self.replicas_of, default=0)


def _vector(sizes: list[int]) -> Ints:
    """The sizes, of a type in which their sum is exact."""
    exact = sum(sizes) < _EXACT_MAX
    return np.array(sizes, dtype=np.int64 if exact else object)


def _sums(places: Ints, amounts: Ints, count: int) -> list[int]:
    """The sum of the amounts by place."""
    totals = np.zeros(count, dtype=amounts.dtype)
    np.add.at(totals, places, amounts)
    found: list[int] = totals.tolist()
    return found
