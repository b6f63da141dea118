"""One stage while it is filled: which steps join, alone or with others, and which do not.

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

So an empty stage means that disks, in-sync replicas or missing parts of the plan block every entry.
The wait names the reason of the most urgent one.
"""

from collections.abc import Sequence

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, Wait
from poolkeeper.planning.audit.excess import LAWS, Excesses
from poolkeeper.planning.staging.disks.disk_deadlock import standstill
from poolkeeper.planning.staging.disks.disk_order import order
from poolkeeper.planning.staging.lawful.list_changes import LAWFUL
from poolkeeper.planning.staging.lawful.step_checks import StepChecks
from poolkeeper.planning.staging.limits import Entry
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity

_PRUNE_MAX = 200
"""A lawful group up to this size is made as small as possible."""


class LawfulStage:
    """One stage while it is filled.

    `room`: what joined, and what is left.
    """

    def __init__(self, checks: StepChecks, backlog: Backlog, room: StageCapacity) -> None:
        self._guarded = True
        self._checks = checks
        self._backlog = backlog
        self.room = room
        self._aside: dict[int, None] = {}
        self._changes: list[Excesses] = []
        self._plain = len(checks.changes) if not checks.disks.free else 0

    def try_to_join(self, row: int) -> bool:
        """Let a step that fits join if it may; put it aside if only laws forbid it."""
        checks = self._checks
        if row < self._plain and checks.changes[row] is LAWFUL and checks.table.into[row]:
            if self.room.taken or checks.possible(row):
                self._backlog.gone[row] = 1
                self.room.take(row)
                return True
            return False
        if not self._may_go(row):
            return False
        change = checks.change(row)
        if change > LAWFUL:
            self._aside[row] = None  # it may be offered again
            return False
        self._join(row, change)
        return True

    def _may_go(self, row: int) -> bool:
        """Whether only laws and limits can forbid the step."""
        checks = self._checks
        if checks.disks.free and self._guarded:
            entry = checks.table.entry(row)
            if not checks.guard.admits(entry.move, entry.step, entry.added):
                return False
        return checks.possible(row)

    def _join(self, row: int, change: Excesses) -> None:
        checks = self._checks
        self._aside.pop(row, None)
        self._backlog.take(row)
        self.room.take(row)
        if not checks.changes or checks.disks.free:
            entry = checks.table.entry(row)
            checks.ledger.apply(entry)
            if checks.disks.free:
                checks.disks.copy(entry)
                checks.guard.go(entry.move, entry.step, entry.added)
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
                change = self._checks.change(row)
                lawful = change.of_lists <= LAWFUL.of_lists and total.plus(change) <= LAWFUL
                if lawful and self.room.fits(row) and self._may_go(row):
                    self._join(row, change)
                    total = total.plus(change)
                    joined = True

    def rescue(self) -> Wait | None:
        """Join single steps, else a group of them; return the wait if none may go."""
        for self._guarded in (True, False):
            unlawful: list[int] = []
            for row in self._backlog.everything():
                if not self.room.fits(row) or not self._may_go(row):
                    continue
                change = self._checks.change(row)
                if change <= LAWFUL:
                    self._join(row, change)
                else:
                    unlawful.append(row)
            for row in () if self.room.taken else self._group(unlawful):
                self._join(row, self._checks.change(row))
            if self.room.taken:
                return None
        return self._standstill()

    def _standstill(self) -> Wait:
        """Why the most urgent step cannot go; steps that wait for space are named together."""
        checks = self._checks
        waiting: list[RoomNeed] = []
        other = None
        left_over = [*self._backlog.aside, *self._backlog.everything()]
        for row in sorted(left_over, key=checks.table.urgency.__getitem__):
            entry = checks.table.entry(row)
            if (need := checks.disks.need(entry)) is not None:
                waiting.append(need)
            elif other is None:
                other = row
                if not waiting:
                    break
        left, free = checks.guard.left, checks.disks.free
        if other is None or (waiting and order(left, free).blocked):
            return standstill(waiting, left, free)
        # The disks alone would let all go in some order, so they wait for this step.
        return checks.hard_problem(other) or _unlawful(
            checks.table.entry(other), checks.change(other)
        )

    def _group(self, candidates: Sequence[int]) -> Sequence[int]:
        """The shortest lawful beginning of the candidates, without those that it can spare."""
        group = self._beginning(candidates)
        for row in list(group) if len(group) <= _PRUNE_MAX else ():
            rest = [other for other in group if other != row]
            if rest and self._total(rest) <= LAWFUL:
                group = rest
        return group if self._checks.possible_together(group) else ()

    def _beginning(self, candidates: Sequence[int]) -> Sequence[int]:
        """The shortest beginning that is lawful as a whole, if there is one."""
        total, checks = LAWFUL, self._checks
        group: list[int] = []
        for row in candidates:
            total = total.plus(checks.change(row))
            checks.ledger.apply(checks.table.entry(row))
            group.append(row)
            if total <= LAWFUL:
                break
        for row in group:
            checks.ledger.undo(checks.table.entry(row))
        return group if total <= LAWFUL else ()

    def _total(self, group: Sequence[int]) -> Excesses:
        """The change of the laws if the whole group goes."""
        total, checks = LAWFUL, self._checks
        for row in group:
            total = total.plus(checks.change(row))
            checks.ledger.apply(checks.table.entry(row))
        for row in group:
            checks.ledger.undo(checks.table.entry(row))
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
