"""What steps do to the laws that concern one list alone, of all steps at once.

These are the first four: distinct brokers, pool, drained brokers, racks. Their excess is that of
the audit, `partition_excess`, but by column. A list's change does not depend on what else is in the
stage.
"""

from collections.abc import Sequence

import numpy as np

from poolkeeper.model.columns.partition_columns import Bools
from poolkeeper.model.columns.replica_lists import NOBODY, Ints, places_of
from poolkeeper.planning.audit.excess import Excesses, rack_excess
from poolkeeper.planning.rules import AuditHome, Rules

LAWFUL = Excesses()
"""The change of a step that leaves all laws as they are."""

_KEY_MAX = 2**62
_ABSENT = -2
_OTHER = -1
"""Stand for an empty slot, and for a broker in no rack that has a usable broker."""


def list_changes(
    rules: Rules, topics: Sequence[str], topic: Sequence[int], before: Ints, after: Ints
) -> list[Excesses]:
    """By step, how it changes the first four laws; equal changes are one object.

    `topics`: names; `topic`: the place of each step's topic among them.
    `before`, `after` (steps × slots): the lists, with `NOBODY` where there is no replica.
    """
    homes = [rules.home(name) for name in topics]
    kinds = list(dict.fromkeys(homes))
    number = {home: place for place, home in enumerate(kinds)}
    kind_of = np.array([number[home] for home in homes], dtype=np.int64)[
        np.array(topic, dtype=np.int64)
    ]
    change = np.zeros((len(kind_of), 4), dtype=np.int64)
    for place, home in enumerate(kinds):
        own = np.flatnonzero(kind_of == place)
        change[own] = _excess(rules, home, after[own]) - _excess(rules, home, before[own])
    distinct, kind = _distinct_rows(change)
    found = [Excesses(*row) if any(row) else LAWFUL for row in distinct.tolist()]
    return [found[each] for each in kind.tolist()]


def _excess(rules: Rules, home: AuditHome, lists: Ints) -> Ints:
    """The excess of lists by the first four laws (lists × 4)."""
    found = np.zeros((len(lists), 4), dtype=np.int64)
    there = lists != NOBODY
    to_empty = np.isin(lists, np.array(sorted(rules.to_empty), dtype=np.int64)) & there
    if home.pool is None:
        if home.evacuate:
            found[:, 2] = to_empty.sum(axis=1)
        return found
    again = repeated_slots(lists) & there
    members = np.isin(lists, np.array(sorted(rules.members[home.pool]), dtype=np.int64))
    found[:, 0] = again.sum(axis=1)
    found[:, 1] = (there & ~members).sum(axis=1)
    found[:, 2] = to_empty.sum(axis=1)
    if not home.manual:
        found[:, 3] = _rack_excess(rules, home.pool, np.where(there & ~again, lists, NOBODY))
    return found


def repeated_slots(lists: Ints) -> Bools:
    """By slot, whether an earlier slot of the list has the same."""
    found = np.zeros(lists.shape, dtype=bool)
    for slot in range(1, lists.shape[1]):
        for earlier in range(slot):
            found[:, slot] |= lists[:, slot] == lists[:, earlier]
    return found


def _rack_excess(rules: Rules, pool: str, lists: Ints) -> Ints:
    """The excess of lists by the law of racks; lists that use racks alike are counted once."""
    sizes = rules.usable_racks[pool]
    names = [*sizes]
    ids = np.array(sorted(rules.racks), dtype=np.int64)
    racks = [rules.racks[broker] for broker in ids.tolist()]
    rack = np.array([names.index(each) if each in sizes else _OTHER for each in racks] + [_OTHER])
    used = rack[places_of(lists, ids)]  # of brokers that are nowhere, the last
    used[lists == NOBODY] = _ABSENT
    used.sort(axis=1)
    distinct, kind = _distinct_rows(used)
    excess = [
        rack_excess([names[each] if each >= 0 else None for each in row if each != _ABSENT], sizes)
        for row in distinct.tolist()
    ]
    return np.array(excess, dtype=np.int64)[kind]


def _distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Each row once, and by row its place among these."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    least = int(rows.min())
    base = int(rows.max()) - least + 1
    if base ** rows.shape[1] > _KEY_MAX:
        found, kind = np.unique(rows, axis=0, return_inverse=True)
        return found, kind.reshape(-1)
    key = np.zeros(len(rows), dtype=np.int64)
    for slot in range(rows.shape[1]):
        key = key * base + (rows[:, slot] - least)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], kind.reshape(-1)
