"""Which partitions a layout changes, their new lists, and the causes.

Causes are ordered: heal, drain, pool, replication factor and racks, balance.
"""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import ReplicaLists, distinct
from poolkeeper.model.columns.wide_lists import is_in_row
from poolkeeper.model.plans import Urgency
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.constraints.racks import Spread, even_spread, rack_capacity, rack_counts
from poolkeeper.planning.layout.balance_causes import BalanceCauses
from poolkeeper.planning.layout.leaders import leaders_by_broker
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, count_slots, take_rows
from poolkeeper.planning.problem.grouping import number_groups
from poolkeeper.planning.problem.pool_problem import PoolProblem
from poolkeeper.text import count, decimal

Badness = Callable[[Iterable[int]], int]
"""How uneven a set of replicas is over racks; 0 is even."""
Causes = tuple[tuple[int, str], ...]
"""(urgency, sentence), the most urgent first."""


@frozen
class Change:
    """One partition's new replica list, and the causes of the change."""

    topic: str
    partition: int
    target: Replicas
    causes: Causes
    badness: Badness


def changed_rows(layout: Layout) -> Ints:
    """Rows whose list changes, new partitions included."""
    before, after = layout.problem.lists, layout.lists
    differ = any_slot((before != after) & ((before >= 0) | (after >= 0)))
    return np.flatnonzero(differ | layout.problem.duplicate)


def targets_of(layout: Layout, rows: Ints) -> ReplicaLists:
    """The wanted lists of these rows."""
    ids = np.array([*layout.problem.brokers.ids, NONE], dtype=np.int64)
    wanted = take_rows(layout.lists, rows)
    held = count_slots(wanted >= 0)
    inside = np.arange(wanted.shape[1]) < held[:, None]
    return ReplicaLists(np.append(0, np.cumsum(held)), ids[wanted[inside]])


def added_by(layout: Layout, rows: Ints) -> Ints:
    """For each of these rows, the number of replicas that the layout adds."""
    before, after = take_rows(layout.problem.lists, rows), take_rows(layout.lists, rows)
    return count_slots((after >= 0) & ~is_in_row(after, before))


def changes_of(layout: Layout) -> list[Change]:
    """The changes of all partitions whose list changes."""
    problem, rows = layout.problem, changed_rows(layout)
    kind, causes = causes_by_kind(layout, rows)
    badness = rack_badness(problem)
    return [
        Change(problem.topics[topic], number, target, causes[of], badness)
        for topic, number, target, of in zip(
            problem.topic[rows].tolist(),
            problem.number[rows].tolist(),
            targets_of(layout, rows).tuples(),
            kind.tolist(),
            strict=True,
        )
    ]


def rack_badness(problem: PoolProblem) -> Badness:
    """A function that says how unevenly a set of broker ids is spread over the pool's racks."""
    capacity = rack_capacity(problem)
    nothing = (0,) * len(capacity)

    @cache
    def even(replicas: int) -> Spread:
        return even_spread(replicas, capacity, nothing)

    def badness(brokers: Iterable[int]) -> int:
        rows = problem.brokers.rows(brokers)
        return even(len(rows)).excess(rack_counts(problem, rows))

    return badness


def causes_by_kind(layout: Layout, rows: Ints) -> tuple[Ints, list[Causes]]:
    """These rows numbered by kind, and the causes of each kind.

    All rows of one kind change for the same causes.
    """
    problem = layout.problem
    before, after = take_rows(problem.lists, rows), take_rows(layout.lists, rows)
    before, after = np.where(before >= 0, before, NONE), np.where(after >= 0, after, NONE)
    stays = is_in_row(before, after)
    removed = np.where(stays, NONE, before)
    added = np.where(is_in_row(after, before), NONE, after)
    lost = take_rows(problem.lost, rows) & ~stays
    counts = count_slots(before >= 0), count_slots(after >= 0)
    forced, placed = layout.opened.forced_by_racks[rows] > 0, problem.placed[rows]
    leaves = any_slot(_has_to_go(problem, removed, placed) | lost)
    needed = leaves | forced | (counts[0] != counts[1])
    goes = any_slot(removed != NONE)
    balance, freely = BalanceCauses(layout), goes & ~needed
    told = np.full(removed.shape, NONE)
    told[freely] = balance.of(removed[freely], added[freely], rows[freely])
    others = [
        *removed.T,
        *lost.T.astype(np.int64),
        np.where(goes, NONE, before[:, 0]),
        np.where(goes, NONE, after[:, 0]),
        *counts,
        forced.astype(np.int64),
        placed.astype(np.int64),
    ]
    # What else there is does not tell rows apart that move for balance, as most of large plans do.
    more = () if freely.all() else (np.where(freely, NONE, key) for key in others)
    kind, first = number_groups([*told.T, *more])
    numbers = distinct(told[told >= 0]).tolist()
    sentence = {each: (Urgency.BALANCE, balance.text(each)) for each in numbers}
    why = _Why(layout)
    firsts = (columns[first].tolist() for columns in (told, rows, before, after))
    return kind, [
        tuple(dict.fromkeys([sentence[each] for each in causes if each >= 0]))
        or why.causes(row, found, wanted)
        for causes, row, found, wanted in zip(*firsts, strict=True)
    ]


def _has_to_go(problem: PoolProblem, removed: Ints, placed: Bools) -> Bools:
    """By row and slot of the replicas that leave, whether their broker has to give them away."""
    outside = np.ones(len(problem.brokers) + 1, dtype=bool)
    outside[[*problem.pool_brokers, NONE]] = False
    emptied = np.append(problem.brokers.gone, False)
    emptied[_drained(problem)] = True
    has: Bools = emptied[removed] | (outside[removed] & placed[:, None])
    return has


def _drained(problem: PoolProblem) -> list[int]:
    return list(problem.brokers.rows(problem.pool.drain & set(problem.pool.brokers)))


class _Why:
    """Finds causes other than balance; used only within `causes_by_kind`."""

    def __init__(self, layout: Layout) -> None:
        problem = layout.problem
        self.layout, self.problem = layout, problem
        self.leading = leaders_by_broker(problem, problem.lists[~problem.fresh])
        self.inside = set(problem.pool_brokers)
        self.drained = set(_drained(problem))
        self.lost = any_slot(problem.lost)

    def causes(self, row: int, before: list[int], after: list[int]) -> Causes:
        """The causes of a change that is needed, or of leaders alone."""
        found, wanted = [b for b in before if b >= 0], [b for b in after if b >= 0]
        removed = [b for b in found if b not in wanted]
        causes = self._needs(row, found, wanted, removed) or [self._leader(found, wanted)]
        return tuple(sorted(causes, key=lambda cause: cause[0]))

    def _needs(
        self, row: int, found: list[int], wanted: list[int], removed: list[int]
    ) -> list[tuple[int, str]]:
        """The causes other than balance."""
        causes = [cause for b in removed if (cause := self._leaves(row, b))]
        if len(found) != len(wanted):
            causes.append((Urgency.FACTOR, f"replication factor {len(found)} → {len(wanted)}"))
        if self.layout.opened.forced_by_racks[row]:
            causes.append(
                (Urgency.FACTOR, f"{len(found)} replicas are not spread evenly over racks")
            )
        return causes

    def _leaves(self, row: int, broker: int) -> tuple[int, str] | None:
        name = self.problem.brokers.ids[broker]
        if self.problem.brokers.gone[broker]:
            return Urgency.HEAL, f"broker {name} is gone"
        if self.lost[row] and (self.problem.lost[row] & (self.problem.lists[row] == broker)).any():
            return Urgency.HEAL, f"a log directory of broker {name} has failed"
        if broker in self.drained:
            return Urgency.DRAIN, f"broker {name} is drained"
        if broker not in self.inside and self.problem.placed[row]:
            return Urgency.POOL, f"moves into pool {self.problem.pool.name}"
        return None

    def _leader(self, found: list[int], wanted: list[int]) -> tuple[int, str]:
        ids = self.problem.brokers.ids
        if found[0] == wanted[0]:
            return Urgency.HEAL, "the list names a broker twice"
        old, new = found[0], wanted[0]
        text = f"preferred leader {ids[old]} → {ids[new]}"
        if not self.problem.leads[old]:
            kind = "is demoted" if self.problem.eligible[old] else "may not lead in this pool"
            return Urgency.DRAIN, f"{text}: broker {ids[old]} {kind}"
        share = self.layout.leadership.band.share
        leads_less = self.leading[old] <= share[old] and self.leading[new] < share[new]
        named = new if leads_less else old
        held = count(int(self.leading[named]), "partition", grouped=False)
        shared = decimal(float(share[named]), grouped=False)
        return Urgency.BALANCE, f"{text}: broker {ids[named]} leads {held}, its share is {shared}"
