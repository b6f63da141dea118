"""Rows numbered and ordered by equal keys, in time linear in the number of rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poolkeeper.planning.problem.arrays import Ints


def number_groups(keys: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Number rows by equal keys, in ascending order of the keys; return also the first row of each.

    Keys are at least -1. If there are not many more possible keys than rows, counting replaces
    sorting.
    """
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    width = 1
    for key in keys:
        span = int(key.max(initial=-1)) + 2
        if width * span >= 2**62:
            combined = np.unique(combined, return_inverse=True)[1].astype(np.int64)
            width = int(combined.max(initial=0)) + 1
        combined = combined * span + key + 1
        width *= span
    if width > 8 * len(combined) + 1_000:
        _, first, number = np.unique(combined, return_index=True, return_inverse=True)
        return number.astype(np.int64), first.astype(np.int64)
    row_of = np.full(width, -1, dtype=np.int64)
    row_of[combined[::-1]] = np.arange(len(combined) - 1, -1, -1)
    used = row_of >= 0
    number = np.cumsum(used) - 1
    return number[combined], row_of[used]


def stable_order(number: Ints | npt.NDArray[np.int32], span: int) -> Ints:
    """Rows by ascending number below `span`; rows of equal number keep their order."""
    if span <= 2**16:
        return np.argsort(number.astype(np.uint16), kind="stable")
    low = np.argsort((number & 0xFFFF).astype(np.uint16), kind="stable")
    if span <= 2**32:
        return low[np.argsort((number >> 16)[low].astype(np.uint16), kind="stable")]
    return np.argsort(number, kind="stable")


def ordered_by(*keys: Ints) -> Ints:
    """Rows in the order of the last key, equal ones in that of the key before it, and so on.

    Does the same as numpy's lexsort, of whole numbers in about a quarter of its time.
    """
    order: Ints | None = None
    for key in keys:
        low = int(key.min(initial=0))
        number = key - low if low else key
        span = int(number.max(initial=0)) + 1
        if order is None:
            order = stable_order(number, span)
        else:
            order = order[stable_order(number[order], span)]
    return np.arange(0) if order is None else order
