"""From a layout to moves: what changes, along which path, and why.

The reason of a move is its most urgent cause, in the order heal, drain, pool, replication factor
and racks, balance; further causes follow after a semicolon.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from poolkeeper.model.plans import Move, Urgency
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.columns import NONE, Ints, any_slot, count_slots
from poolkeeper.planning.groups import numbered
from poolkeeper.planning.laws import rack_capacity, rack_counts, spread
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.leaders import leaders_by
from poolkeeper.planning.paths import Badness, path
from poolkeeper.planning.placement import held_by
from poolkeeper.planning.tables import Table
from poolkeeper.planning.units import Unit

Causes = tuple[tuple[int, str], ...]
"""(urgency, sentence), the most urgent first."""


@dataclass(frozen=True, slots=True)
class Change:
    """One partition's new list, and why."""

    topic: str
    partition: int
    target: Replicas
    causes: Causes
    badness: Badness


def changed_rows(layout: Layout) -> Ints:
    """Rows whose list changes, new partitions included."""
    before, after = layout.unit.lists, layout.lists
    differ = any_slot((before != after) & ((before >= 0) | (after >= 0)))
    return np.flatnonzero(differ | layout.unit.doubled)


def targets_of(layout: Layout, rows: Ints) -> list[Replicas]:
    """The wanted lists of these rows."""
    ids = np.array([*layout.unit.brokers.ids, NONE], dtype=np.int64)
    wanted = np.maximum(layout.lists[rows], NONE)
    found: list[Replicas] = list(zip(*ids[wanted].T.tolist(), strict=True))
    held = count_slots(wanted != NONE)
    for at in np.flatnonzero(held < wanted.shape[1]).tolist():
        found[at] = found[at][: held[at]]
    return found


def added_by(layout: Layout, rows: Ints) -> Ints:
    """How many replicas each of these rows gains that it has not now."""
    before, after = layout.unit.lists[rows], layout.lists[rows]
    new = after >= 0
    for slot in range(before.shape[1]):
        new &= after != before[:, slot, None]
    return count_slots(new)


def changes_of(layout: Layout) -> list[Change]:
    """All partitions whose list changes."""
    unit, rows = layout.unit, changed_rows(layout)
    kind, causes = causes_by_kind(layout, rows)
    badness = rack_badness(unit)
    return [
        Change(unit.topics[topic], number, target, causes[of], badness)
        for topic, number, target, of in zip(
            unit.topic[rows].tolist(),
            unit.number[rows].tolist(),
            targets_of(layout, rows),
            kind.tolist(),
            strict=True,
        )
    ]


def moves_of(layout: Layout, cluster: Cluster, table: Table, *, one_at_a_time: bool) -> list[Move]:
    """The moves of all existing partitions, ordered by urgency, topic and partition.

    Rows that change for the same causes share the text of their reason.
    """
    unit, rows = layout.unit, changed_rows(layout)
    rows = rows[~unit.fresh[rows]]
    kind, causes = causes_by_kind(layout, rows)
    urgency = np.array([found[0][0] for found in causes], dtype=np.int64)[kind]
    order = np.argsort(urgency, kind="stable")
    rows, kind = rows[order], kind[order]
    reasons = [_reason(found) for found in causes]
    known = (cluster.topics.get(name) for name in unit.topics)
    ids = [topic.topic_id if topic else None for topic in known]
    badness = rack_badness(unit)
    begin = np.array([table.start[table.rank.get(n, 0)] for n in unit.topics], dtype=np.int64)
    found_at = begin[unit.topic[rows]] + unit.number[rows]
    sources = list(map(table.replicas.__getitem__, found_at.tolist()))
    targets = targets_of(layout, rows)
    ways: list[tuple[Replicas, ...]] = list(zip(sources, targets, strict=True))
    resized = count_slots(layout.lists[rows] >= 0) != table.held[found_at]
    for at in np.flatnonzero(resized | one_at_a_time).tolist():
        ways[at] = path(sources[at], targets[at], badness, one_at_a_time=one_at_a_time)
    topics = unit.topic[rows].tolist()
    columns = zip(
        [unit.topics[topic] for topic in topics],
        [ids[topic] for topic in topics],
        unit.number[rows].tolist(),
        ways,
        (unit.size[rows] * added_by(layout, rows)).tolist(),
        [reasons[of] for of in kind.tolist()],
        urgency[order].tolist(),
        strict=True,
    )
    # The constructor of a named tuple is Python, and there may be 100,000 of them.
    return list(map(partial(tuple.__new__, Move), columns))


def move_of(change: Change, cluster: Cluster, table: Table, *, one_at_a_time: bool) -> Move:
    """The change as a move of the live partition."""
    topic = cluster.topics[change.topic]
    row = int(table.start[table.rank[change.topic]]) + change.partition
    source = table.replicas[row]
    lists = path(source, change.target, change.badness, one_at_a_time=one_at_a_time)
    added = len(set(change.target) - set(source))
    size = int(table.size[row])
    return Move(
        topic=change.topic,
        topic_id=topic.topic_id,
        partition=change.partition,
        path=lists,
        bytes=size * added,
        reason=_reason(change.causes),
        urgency=int(change.causes[0][0]),
    )


def rack_badness(unit: Unit) -> Badness:
    """How uneven a set of broker ids is over the unit's racks."""
    capacity = rack_capacity(unit)
    nothing = (0,) * len(capacity)

    def badness(brokers: Iterable[int]) -> int:
        rows = unit.brokers.rows(brokers)
        return spread(len(rows), capacity, nothing).excess(rack_counts(unit, rows))

    return badness


def causes_by_kind(layout: Layout, rows: Ints) -> tuple[Ints, list[Causes]]:
    """Number these rows by kind; the causes of each kind. Rows of a kind change for the same."""
    unit = layout.unit
    before, after = unit.lists[rows], layout.lists[rows]
    before, after = np.where(before >= 0, before, NONE), np.where(after >= 0, after, NONE)
    stays = np.zeros(before.shape, dtype=bool)
    for slot in range(after.shape[1]):
        stays |= before == after[:, slot, None]
    removed = np.where(stays, NONE, before)
    reordered = ~any_slot(removed != NONE)
    kind, first = numbered(
        [
            *removed.T,
            np.where(reordered, before[:, 0], NONE),
            np.where(reordered, after[:, 0], NONE),
            count_slots(before >= 0),
            count_slots(after >= 0),
            (layout.opened.crowded[rows] > 0).astype(np.int64),
            unit.placed[rows].astype(np.int64),
        ]
    )
    why = _Why(layout)
    return kind, [
        why.causes(int(rows[row]), before[row].tolist(), after[row].tolist()) for row in first
    ]


def _reason(causes: Causes) -> str:
    return "; ".join(dict.fromkeys(sentence for _, sentence in causes))


class _Why:
    """Finds causes; lives only within `causes_by_kind`."""

    def __init__(self, layout: Layout) -> None:
        unit = layout.unit
        self.layout, self.unit = layout, unit
        self.held = held_by(unit, unit.lists)
        self.leading = leaders_by(unit, unit.lists)
        self.inside = set(unit.brokers.rows(unit.pool.brokers))
        self.drained = set(unit.brokers.rows(unit.pool.drain & set(unit.pool.brokers)))
        self.too_full: dict[int, str] = {}

    def causes(self, row: int, before: list[int], after: list[int]) -> Causes:
        found, wanted = [b for b in before if b >= 0], [b for b in after if b >= 0]
        removed = [b for b in found if b not in wanted]
        causes = self._needs(row, found, wanted, removed)
        if not causes and removed:
            causes = [(Urgency.BALANCE, self._too_full(b)) for b in removed]
        if not causes:
            causes = [self._leader(found, wanted)]
        return tuple(sorted(causes, key=lambda cause: cause[0]))

    def _needs(
        self, row: int, found: list[int], wanted: list[int], removed: list[int]
    ) -> list[tuple[int, str]]:
        """Causes besides balance."""
        causes = [cause for b in removed if (cause := self._leaves(row, b))]
        if len(found) != len(wanted):
            causes.append((Urgency.FACTOR, f"replication factor {len(found)} → {len(wanted)}"))
        if self.layout.opened.crowded[row]:
            causes.append(
                (Urgency.FACTOR, f"{len(found)} replicas are not spread evenly over racks")
            )
        return causes

    def _leaves(self, row: int, broker: int) -> tuple[int, str] | None:
        name = self.unit.brokers.ids[broker]
        if self.unit.brokers.gone[broker]:
            return Urgency.HEAL, f"broker {name} is gone"
        if broker in self.drained:
            return Urgency.DRAIN, f"broker {name} is drained"
        if broker not in self.inside and self.unit.placed[row]:
            return Urgency.POOL, f"moves into pool {self.unit.pool.name}"
        return None

    def _too_full(self, broker: int) -> str:
        if broker not in self.too_full:
            self.too_full[broker] = self._how_full(broker)
        return self.too_full[broker]

    def _how_full(self, broker: int) -> str:
        name, held = self.unit.brokers.ids[broker], int(self.held[broker])
        cap = int(self.layout.room.replicas[broker])
        if held > cap:
            return f"broker {name} holds {held} replicas, it may hold {cap}"
        share = self.layout.placed.band.share[broker]
        return f"broker {name} holds {held} replicas, its share is {share:.4g}"

    def _leader(self, found: list[int], wanted: list[int]) -> tuple[int, str]:
        ids = self.unit.brokers.ids
        if found[0] == wanted[0]:
            return Urgency.HEAL, "the list names a broker twice"
        old, new = found[0], wanted[0]
        text = f"preferred leader {ids[old]} → {ids[new]}"
        if not self.unit.leads[old]:
            kind = "is demoted" if self.unit.eligible[old] else "shall lead nothing here"
            return Urgency.DRAIN, f"{text}: broker {ids[old]} {kind}"
        held, share = int(self.leading[old]), self.layout.led.band.share[old]
        return (
            Urgency.BALANCE,
            f"{text}: broker {ids[old]} leads {held} partitions, its share is {share:.4g}",
        )
