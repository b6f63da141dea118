"""Opens slots for the rack law in whole lists, all rows at once.

What `evictions` does with a single row, for rows of which nothing but the racks is wrong: round by
round, each row that is not even yet gives the replica that is cheapest to give.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.racks import Spread
from poolkeeper.planning.problem.arrays import NONE, Bools, Floats, Ints, any_slot, take_rows


@frozen
class WholeLists:
    """Rows × slots: `lists`, all of them brokers; `racks`, theirs; `leads`, whether one leads."""

    lists: Ints
    racks: Ints
    leads: Bools


def open_for_racks(whole: WholeLists, even: Spread, relative: Floats, opened_slot: int) -> Ints:
    """Open slots in overfull racks, in place, until filling alone makes the rows even.

    Return how many by row. `relative`: the load of brokers by weight; the fullest gives first, but
    no leader while others can, and of equals the last.
    """
    high, low = np.array(even.high), np.array(even.low)
    opened = np.zeros(len(whole.lists), dtype=np.int64)
    rows = np.arange(len(whole.lists))
    while len(rows):
        lists = take_rows(whole.lists, rows)
        kept = lists != opened_slot
        racks = np.where(kept, whole.racks[rows], NONE)
        earlier, held = _same_rack(racks)
        above = (kept & (earlier >= high[racks])).sum(axis=1)
        below = low.sum() - (kept & (earlier < low[racks])).sum(axis=1)
        bound = np.where(above[:, None] > 0, high[racks], low[racks])
        giving = kept & (held > bound)
        going_on = np.flatnonzero(((above > 0) | (below > opened[rows])) & any_slot(giving))
        rows, giving, lists = (
            rows[going_on],
            take_rows(giving, going_on),
            take_rows(lists, going_on),
        )
        giver = _giver(giving, whole.leads[rows], relative[lists])
        whole.lists[rows, giver] = opened_slot
        opened[rows] += 1
    return opened


def _same_rack(racks: Ints) -> tuple[Ints, Ints]:
    """By replica: how many before it, and how many in all, its list has in its rack."""
    slots = racks.shape[1]
    earlier, held = np.zeros_like(racks), np.ones_like(racks)
    for second in range(slots):
        for first in range(second):
            same = (racks[:, first] == racks[:, second]) & (racks[:, first] != NONE)
            earlier[:, second] += same
            held[:, first] += same
            held[:, second] += same
    return earlier, held


def _giver(giving: Bools, leads: Bools, relative: Floats) -> Ints:
    """By row, the slot that gives; there is one."""
    followers: Bools = giving & ~leads
    any_follower: Bools = any_slot(followers)
    only: Bools = np.where(any_follower[:, None], followers, giving)
    load = np.where(only, relative, -np.inf)
    most: Floats = load.max(axis=1, initial=-np.inf)
    fullest: Bools = only & (load == most[:, None])
    last: Ints = giving.shape[1] - 1 - np.argmax(fullest[:, ::-1], axis=1)
    return last
