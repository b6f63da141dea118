"""Wide lists, rows × slots, compared within each row.

Lists have few slots, and then each slot is compared with each, for all rows at once: several times
as fast as sorting. One list of thousands, among the others, would make that take minutes; from
`COMPARED_MAX` pairs of slots on, values are sorted.
"""

import numpy as np
import numpy.typing as npt

from poolkeeper.model.columns.replica_lists import NOBODY, Ints

Bools = npt.NDArray[np.bool_]
COMPARED_MAX = 256


def repeats(lists: Ints, above: int = NOBODY) -> Bools:
    """By row, whether a value above that one is there twice."""
    slots = lists.shape[1]
    if slots * slots > COMPARED_MAX:
        ordered = np.sort(lists, axis=1)
        again = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > above)
        there: Bools = again.any(axis=1)
        return there
    found = np.zeros(len(lists), dtype=bool)
    for second in range(1, slots):
        for first in range(second):
            found |= (lists[:, first] == lists[:, second]) & (lists[:, first] > above)
    return found


def is_in_row(these: Ints, those: Ints) -> Bools:
    """By row and slot of `these`, whether the value is in the same row of `those`."""
    if these.shape[1] * those.shape[1] > COMPARED_MAX:
        return _found_by_order(these, those)
    found = np.zeros(these.shape, dtype=bool)
    for slot in range(those.shape[1]):
        found |= these == those[:, slot, None]
    return found


def _found_by_order(these: Ints, those: Ints) -> Bools:
    values = np.unique(np.concatenate([these.ravel(), those.ravel()]))
    row = np.arange(len(these))[:, None] * len(values)
    wanted, known = (row + np.searchsorted(values, each) for each in (these, those))
    found: Bools = np.isin(wanted, known)
    return found
