"""Packs one stage: the largest lawful set of the backlog's entries that fits.

`filler` takes entries out of the queues as limits and pace allow. The packer checks each of them
against the laws and the disks, and decides about those that may not go by themselves:

1. An entry that by itself would make a law worse is put aside. It joins at the end if the entries
   that joined meanwhile compensate for it (a broker's cap has room again, say). No other entry
   compensates for the laws that concern one list alone (distinct brokers, pool, drained brokers,
   racks): the moves of a stage complete in any order, and a stage may be stopped half done.
2. If nothing joined, every single entry is tried. If none may go, the entries that were put aside
   go together, as few of them as make the whole lawful: two replicas that change places between two
   full brokers, for example. As the whole plan is lawful, so is at least the group of all that is
   left of it. A group goes even if it is above a limit of counts.
3. If disks cannot take at once all that is to come, the order of `disk_order` says what may go
   now. If the laws forbid all of that, step 2 is repeated without that order.

While large entries set the lengths of stages (`StagePace.is_scarce`), the entries that run beside
them decide how long the plan lasts. Then the stage is tried in every style of `_STYLES`, each time
with one more stage after it. The style is chosen for which the two stages, and the bytes that the
busiest side has left after both, are together the shortest.

So an empty stage means that disks, in-sync replicas or missing parts of the plan block every entry.
The wait names the reason of the most urgent one.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Urgency
from poolkeeper.model.specs import Execution
from poolkeeper.planning.audit.excess import LAWS, Excesses
from poolkeeper.planning.staging.disks.disk_deadlock import standstill
from poolkeeper.planning.staging.disks.disk_order import order
from poolkeeper.planning.staging.disks.disk_reserve import Guard
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.excess_ledger import LAWFUL, Ledger
from poolkeeper.planning.staging.filling.filler import USUAL, StageFiller, Style
from poolkeeper.planning.staging.filling.pace import StagePace, pace_of
from poolkeeper.planning.staging.limits import Bounds, Entry
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity

_STYLES = tuple(
    Style(part, by_gain, span)
    for span in (100, 110)
    for part in (None, 25, 50, 80)
    for by_gain in (False, True)
)[1:]
"""Styles in which a scarce stage is tried besides the usual, which wins ties; so does the first."""

_SHORT = 25
"""A side falls short in a stage if it misses more than one in so many bytes of the span."""

_SHORT_MAX = 2
"""Sides that go first at once because they fell short, those that miss most."""

_TRIALS = 3
"""Further stages that are tried because sides fell short."""

_PRUNE_MAX = 200
"""A lawful group up to this size is made as small as possible."""


_HEAL = Urgency.HEAL.value
_UNBOUNDED = 2**62


@dataclass
class StagePacker:
    """What packing needs to know; `ledger` and `disks` are updated with every step that joins.

    `caps`: by topic of the table, how many of its partitions may be in one stage.
    `in_sync_problem`: what a step waits for because of its replicas' state, if it does.
    `changes`: by row, how a step changes the laws, for the rows at the beginning of the table;
    empty where that depends on the stage.
    """

    table: EntryTable
    execution: Execution
    bounds: Bounds
    caps: Sequence[int]
    ledger: Ledger
    disks: Disks
    in_sync_problem: Callable[[Entry], Wait | None]
    guard: Guard
    changes: Sequence[Excesses]

    def pack(self, backlog: Backlog) -> tuple[StageCapacity, Wait | None]:
        """Take a stage out of the backlog; if it is empty, the wait tells why."""
        pace = self._pace(backlog)
        trial = self._try(backlog, USUAL, pace)
        if pace is not None and trial.room.taken:
            if pace.is_scarce:
                trial = self._best_style(backlog, trial)
            trial = self._least_short(backlog, trial)
        wait = None if trial.room.taken else trial.stage.rescue()
        tried = trial.packer
        self.ledger, self.disks, self.guard = tried.ledger, tried.disks, tried.guard
        backlog.adopt(trial.backlog)
        backlog.settle(trial.room)
        backlog.compact(trial.room.taken)
        return trial.room, wait

    def _pace(self, backlog: Backlog) -> StagePace | None:
        """The usual pace; `None` if the stage heals."""
        if _HEAL in backlog.queues:
            return None
        caps = self.most_of_topic
        return pace_of(backlog.all, backlog.queues, backlog, self.execution, most_of_topic=caps)

    @cached_property
    def most_of_topic(self) -> Ints:
        """`caps`, without bound for topics that may not move."""
        return np.array([cap or _UNBOUNDED for cap in self.caps], dtype=np.int64)

    def _clone(self) -> "StagePacker":
        """A packer to try stages with."""
        other = copy.copy(self)
        other.ledger, other.disks = self.ledger.clone(), self.disks.clone()
        other.guard = self.guard.clone()
        return other

    def _try(self, backlog: Backlog, style: Style, pace: StagePace | None = None) -> "_Trial":
        """A stage in that style; this packer and the backlog stay as they are.

        `pace`: if it is known.
        """
        tried, packer = backlog.clone(), self._clone()
        return _Trial(packer, tried, packer._fill(tried, style, pace), style)

    def _best_style(self, backlog: Backlog, usual: "_Trial") -> "_Trial":
        """The stage in the style with which the plan is expected to end first."""
        best, shortest_bytes = usual, self._lasting_bytes(usual)
        for style in _STYLES:
            trial = self._try(backlog, style)
            if trial.room.taken and trial.lasting_bytes < shortest_bytes:
                found = self._lasting_bytes(trial)
                if found < shortest_bytes:
                    best, shortest_bytes = trial, found
        return best

    def _lasting_bytes(self, trial: "_Trial") -> int:
        """The least duration of the stage, of another one after it, and of the rest."""
        first, packer = trial.room, trial.packer._clone()
        if not trial.backlog.all.replicas:
            return trial.lasting_bytes
        tried = trial.backlog.without(first.taken)
        if packer.disks.free:
            for row in first.taken:
                packer.disks.release(self.table.entry(row))
        second = packer._fill(tried, USUAL).room
        rest = tried.lasting_bytes(self.most_of_topic)
        return first.span_used_bytes + second.span_used_bytes + rest

    def _least_short(self, backlog: Backlog, trial: "_Trial") -> "_Trial":
        """The best of the stage and of others in which sides go first that fell short."""
        best = trial
        for _ in range(_TRIALS):
            sides = trial.style.first_sides | trial.short_sides(backlog.all.busiest_bytes)
            if sides == trial.style.first_sides:
                break
            trial = self._try(backlog, trial.style._replace(first_sides=sides))
            if trial.room.taken and trial.lasting_bytes < best.lasting_bytes:
                best = trial
        return best

    def _fill(self, backlog: Backlog, style: Style, pace: StagePace | None = None) -> "_Stage":
        """Fill a stage with the steps that may go by themselves; `pace`: if it is known."""
        healing = {urgency: q for urgency, q in backlog.queues.items() if urgency == _HEAL}
        rest = {urgency: q for urgency, q in backlog.queues.items() if urgency != _HEAL}
        percent, caps = style.span_percent, self.most_of_topic
        paces = [
            (
                pace
                or pace_of(
                    loads,
                    queues,
                    backlog,
                    self.execution,
                    most_of_topic=caps if queues is rest else None,
                    span_percent=percent,
                ),
                queues,
            )
            for loads, queues in ((backlog.healing, healing), (backlog.all, rest))
            if queues
        ]
        # Steps that heal set the span; the others join if the stage does not last longer by them.
        span_bytes = paces[0][0].span_bytes
        room = StageCapacity(self.table, self.execution, self.bounds, self.caps, span_bytes)
        self.guard.begin(self.disks.free)
        stage = _Stage(self, backlog, room)
        for pace, queues in paces:
            StageFiller(backlog, queues, room, pace, self.execution, stage.try_to_join, style).run()
            backlog.settle(room)
        stage.make_up()
        backlog.settle(room)
        return stage

    def change(self, row: int) -> Excesses:
        """How a step changes the laws, given those that joined before."""
        if row < len(self.changes):
            return self.changes[row]
        return self.ledger.change(self.table.entry(row))

    def hard_problem(self, row: int) -> Wait | None:
        """What the step waits for, other than space on disks, if anything."""
        entry = self.table.entry(row)
        if not self.caps[self.table.topic[row]]:
            return Wait(WaitReason.TOPIC_NODE_TOO_LARGE, partitions=(entry.name,))
        return self.in_sync_problem(entry)

    def possible(self, row: int) -> bool:
        """Whether disks, topic node and in-sync replicas allow the step."""
        if self.disks.free and self.disks.lacking(self.table.entry(row)) is not None:
            return False
        return self.caps[self.table.topic[row]] > 0 and (
            bool(self.table.into[row]) or not self.in_sync_problem(self.table.entry(row))
        )

    def possible_together(self, rows: Sequence[int]) -> bool:
        """Whether disks, topic nodes and in-sync replicas allow all of these steps at once."""
        copied = []
        for row in rows:
            if not self.possible(row):
                break
            self.disks.copy(self.table.entry(row))
            copied.append(row)
        for row in copied:
            self.disks.cancel(self.table.entry(row))
        return len(copied) == len(rows)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A stage, with the packer and the backlog that were filled and emptied by it."""

    packer: StagePacker
    backlog: Backlog
    stage: "_Stage"
    style: Style

    @property
    def room(self) -> StageCapacity:
        """What joined."""
        return self.stage.room

    @property
    def lasting_bytes(self) -> int:
        """The least duration of the stage and of the rest."""
        rest = self.backlog.lasting_bytes(self.packer.most_of_topic)
        return self.room.span_used_bytes + rest

    def short_sides(self, busiest_bytes: int) -> set[int]:
        """The sides by which the plan lasts longer than its busiest side's bytes before the stage.

        `busiest_bytes`: these. Named are those that miss most.
        """
        span = self.room.span_used_bytes
        level = busiest_bytes - span + span // _SHORT
        left = enumerate(self.backlog.all.bytes_of)
        short = sorted([(-size, side) for side, size in left if size > level])
        return {side for _, side in short[:_SHORT_MAX]}


class _Stage:
    """One stage while it is packed."""

    def __init__(self, packer: StagePacker, backlog: Backlog, room: StageCapacity) -> None:
        self._guarded = True
        self._packer = packer
        self._backlog = backlog
        self.room = room
        self._aside: list[int] = []
        self._changes: list[Excesses] = []
        self._plain = len(packer.changes) if not packer.disks.free else 0

    def try_to_join(self, row: int) -> bool:
        """Let a step that fits join if it may; put it aside if only laws forbid it."""
        packer = self._packer
        if row < self._plain and packer.changes[row] is LAWFUL and packer.table.into[row]:
            if self.room.taken or packer.possible(row):
                self._backlog.gone[row] = 1
                self.room.take(row)
                return True
            return False
        if not self._may_go(row):
            return False
        change = packer.change(row)
        if change > LAWFUL:
            self._aside.append(row)
            return False
        self._join(row, change)
        return True

    def _may_go(self, row: int) -> bool:
        """Whether only laws and limits can forbid the step."""
        packer = self._packer
        if packer.disks.free and self._guarded:
            entry = packer.table.entry(row)
            if not packer.guard.admits(entry.move, entry.step, entry.added):
                return False
        return packer.possible(row)

    def _join(self, row: int, change: Excesses) -> None:
        packer = self._packer
        self._backlog.take(row)
        self.room.take(row)
        if not packer.changes or packer.disks.free:
            entry = packer.table.entry(row)
            packer.ledger.apply(entry)
            if packer.disks.free:
                packer.disks.copy(entry)
                packer.guard.go(entry.move, entry.step, entry.added)
        if change != LAWFUL:
            self._changes.append(change)

    def make_up(self) -> None:
        """Let steps join that were put aside and that the stage compensates for by now."""
        if not self._aside or not self.room.taken:
            return
        total = _total(self._changes)
        joined = True
        while joined:
            joined = False
            for row in list(self._aside):
                change = self._packer.change(row)
                lawful = change.of_lists <= LAWFUL.of_lists and total.plus(change) <= LAWFUL
                if lawful and self.room.fits(row) and self._may_go(row):
                    self._join(row, change)
                    total = total.plus(change)
                    self._aside.remove(row)
                    joined = True

    def rescue(self) -> Wait | None:
        """Join single steps, else a group of them; return the wait if none may go."""
        for self._guarded in (True, False):
            unlawful: list[int] = []
            for row in self._backlog.everything():
                if not self.room.fits(row) or not self._may_go(row):
                    continue
                change = self._packer.change(row)
                if change <= LAWFUL:
                    self._join(row, change)
                else:
                    unlawful.append(row)
            for row in () if self.room.taken else self._group(unlawful):
                self._join(row, self._packer.change(row))
            if self.room.taken:
                return None
        return self._standstill()

    def _standstill(self) -> Wait:
        """Why the most urgent step cannot go; steps that wait for space are named together."""
        packer = self._packer
        waiting: list[Entry] = []
        other = None
        for row in self._backlog.everything():
            entry = packer.table.entry(row)
            if packer.disks.lacking(entry) is not None:
                waiting.append(entry)
            elif other is None:
                other = row
                if not waiting:
                    break
        left, free = packer.guard.left, packer.disks.free
        if other is None or (waiting and order(left, free).blocked):
            return standstill(waiting, left, free)
        # The disks alone would let all go in some order, so they wait for this step.
        return packer.hard_problem(other) or _unlawful(
            packer.table.entry(other), packer.change(other)
        )

    def _group(self, candidates: Sequence[int]) -> Sequence[int]:
        """The shortest lawful beginning of the candidates, without those that it can spare."""
        group = self._beginning(candidates)
        for row in list(group) if len(group) <= _PRUNE_MAX else ():
            rest = [other for other in group if other != row]
            if rest and self._total(rest) <= LAWFUL:
                group = rest
        return group if self._packer.possible_together(group) else ()

    def _beginning(self, candidates: Sequence[int]) -> Sequence[int]:
        """The shortest beginning that is lawful as a whole, if there is one."""
        total, packer = LAWFUL, self._packer
        group: list[int] = []
        for row in candidates:
            total = total.plus(packer.change(row))
            packer.ledger.apply(packer.table.entry(row))
            group.append(row)
            if total <= LAWFUL:
                break
        for row in group:
            packer.ledger.undo(packer.table.entry(row))
        return group if total <= LAWFUL else ()

    def _total(self, group: Sequence[int]) -> Excesses:
        """The change of the laws if the whole group goes."""
        total, packer = LAWFUL, self._packer
        for row in group:
            total = total.plus(packer.change(row))
            packer.ledger.apply(packer.table.entry(row))
        for row in group:
            packer.ledger.undo(packer.table.entry(row))
        return total


def _total(changes: Sequence[Excesses]) -> Excesses:
    return Excesses(*map(sum, zip(LAWFUL, *changes, strict=True)))


def _unlawful(entry: Entry, change: Excesses) -> Wait:
    law = next(law for law, number in zip(LAWS, change, strict=True) if number > 0)
    return Wait(
        WaitReason.LAW_WORSENED,
        partitions=(entry.name,),
        before=entry.before,
        replicas=entry.after,
        law=law,
    )
