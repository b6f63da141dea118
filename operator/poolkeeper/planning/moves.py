"""From a layout to moves: what changes, along which path, and why.

The reason of a move is its most urgent cause, in the order heal, drain, pool, replication factor
and racks, balance; further causes follow after a semicolon.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.columns import Ints
from poolkeeper.planning.laws import rack_capacity, rack_counts, spread
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.leaders import leaders_by
from poolkeeper.planning.paths import path
from poolkeeper.planning.placement import held_by
from poolkeeper.planning.units import Unit, sizes_of

HEAL, DRAIN, POOL, FACTOR, BALANCE = range(5)
"""Urgency of a move's causes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One partition's new list, with causes as (urgency, sentence), the most urgent first."""

    topic: str
    partition: int
    target: Replicas
    causes: tuple[tuple[int, str], ...]
    badness: Callable[[Iterable[int]], int]


def changes_of(layout: Layout) -> list[Change]:
    """All partitions whose list changes."""
    unit = layout.unit
    before, after = _padded(unit.lists, layout.lists)
    why = _Why(layout)
    badness = rack_badness(unit)
    return [
        Change(
            unit.topics[unit.topic[row]],
            int(unit.number[row]),
            tuple(unit.brokers.ids[b] for b in after[row] if b >= 0),
            why.causes(row, before[row].tolist(), after[row].tolist()),
            badness,
        )
        for row in np.flatnonzero((before != after).any(axis=1)).tolist()
    ]


def move_of(change: Change, cluster: Cluster, *, one_at_a_time: bool) -> Move:
    """The change as a move of the live partition."""
    topic = cluster.topics[change.topic]
    partition = topic.partitions[change.partition]
    lists = path(partition.replicas, change.target, change.badness, one_at_a_time=one_at_a_time)
    added = len(set(change.target) - set(partition.replicas))
    size = partition.size_bytes
    if size is None:
        size = sizes_of(topic, change.partition + 1)[change.partition]
    return Move(
        topic=change.topic,
        topic_id=topic.topic_id,
        partition=change.partition,
        path=lists,
        bytes=size * added,
        reason="; ".join(dict.fromkeys(sentence for _, sentence in change.causes)),
        urgency=change.causes[0][0],
    )


def rack_badness(unit: Unit) -> Callable[[Iterable[int]], int]:
    """How uneven a set of broker ids is over the unit's racks."""
    capacity = rack_capacity(unit)
    nothing = (0,) * len(capacity)

    def badness(brokers: Iterable[int]) -> int:
        rows = unit.brokers.rows(brokers)
        return spread(len(rows), capacity, nothing).excess(rack_counts(unit, rows))

    return badness


def _padded(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Both with NONE wherever there is no replica."""
    return np.where(first >= 0, first, -1), np.where(second >= 0, second, -1)


class _Why:
    """Finds causes; lives only within `changes_of`."""

    def __init__(self, layout: Layout) -> None:
        unit = layout.unit
        self.layout, self.unit = layout, unit
        self.held = held_by(unit, unit.lists)
        self.leading = leaders_by(unit, unit.lists)
        self.inside = set(unit.brokers.rows(unit.pool.brokers))
        self.drained = set(unit.brokers.rows(unit.pool.drain & set(unit.pool.brokers)))

    def causes(self, row: int, before: list[int], after: list[int]) -> tuple[tuple[int, str], ...]:
        found, wanted = [b for b in before if b >= 0], [b for b in after if b >= 0]
        removed = [b for b in found if b not in wanted]
        causes = [cause for b in removed if (cause := self._leaves(row, b))]
        if len(found) != len(wanted):
            causes.append((FACTOR, f"replication factor {len(found)} → {len(wanted)}"))
        if self.layout.opened.crowded[row]:
            causes.append((FACTOR, f"{len(found)} replicas are not spread evenly over racks"))
        if not causes and removed:
            causes = [(BALANCE, self._too_full(b)) for b in removed]
        if not causes:
            causes = [self._leader(found, wanted)]
        return tuple(sorted(causes, key=lambda cause: cause[0]))

    def _leaves(self, row: int, broker: int) -> tuple[int, str] | None:
        name = self.unit.brokers.ids[broker]
        if self.unit.brokers.gone[broker]:
            return HEAL, f"broker {name} is gone"
        if broker in self.drained:
            return DRAIN, f"broker {name} is drained"
        if broker not in self.inside and self.unit.placed[row]:
            return POOL, f"moves into pool {self.unit.pool.name}"
        return None

    def _too_full(self, broker: int) -> str:
        name, held = self.unit.brokers.ids[broker], int(self.held[broker])
        cap = int(self.layout.room.replicas[broker])
        if held > cap:
            return f"broker {name} holds {held} replicas, it may hold {cap}"
        share = self.layout.placed.band.share[broker]
        return f"broker {name} holds {held} replicas, its share is {share:.4g}"

    def _leader(self, found: list[int], wanted: list[int]) -> tuple[int, str]:
        ids = self.unit.brokers.ids
        if found[0] == wanted[0]:
            return HEAL, "the list names a broker twice"
        old, new = found[0], wanted[0]
        text = f"preferred leader {ids[old]} → {ids[new]}"
        if not self.unit.leads[old]:
            kind = "is demoted" if self.unit.eligible[old] else "shall lead nothing here"
            return DRAIN, f"{text}: broker {ids[old]} {kind}"
        held, share = int(self.leading[old]), self.layout.led.band.share[old]
        return (
            BALANCE,
            f"{text}: broker {ids[old]} leads {held} partitions, its share is {share:.4g}",
        )
