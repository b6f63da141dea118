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

While large entries set the lengths of stages (`_is_scarce`), the entries that run beside them
decide how long the plan lasts. Then the stage is tried in every style of `_STYLES`, each time with
one more stage after it. The style is chosen for which the two stages, and the bytes that the
busiest side has left after both, are together the shortest.

So an empty stage means that disks, in-sync replicas or missing parts of the plan block every entry.
The wait names the reason of the most urgent one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Urgency
from poolkeeper.model.specs import Execution
from poolkeeper.planning.audit.excess import LAWS, Excesses
from poolkeeper.planning.staging.disks.disk_deadlock import standstill
from poolkeeper.planning.staging.disks.disk_order import order
from poolkeeper.planning.staging.disks.disk_reserve import Guard
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.excess_ledger import LAWFUL, Ledger
from poolkeeper.planning.staging.filler import USUAL, StageFiller, StagePace, Style, pace_of
from poolkeeper.planning.staging.limits import Bounds, Entry, StageCapacity, TopicCaps
from poolkeeper.planning.staging.queues import Backlog, SideQueue

_STYLES = tuple(
    Style(part, gathers, span)
    for span in (100, 110)
    for part in (None, 25, 50, 80)
    for gathers in (False, True)
)[1:]
"""Styles in which a scarce stage is tried besides the usual, which wins ties; so does the first."""

_USUAL = 2
"""A stage is scarce only if its largest entry is as many times what one stage should carry."""

_PART = 25
"""A stage is scarce only if its largest entry is above one in so many bytes of the busiest side."""

_PRUNE_MAX = 200
"""A lawful group up to this size is made as small as possible."""


_HEAL = Urgency.HEAL.value
Item = tuple[SideQueue, int, Entry]
"""An entry and its place in a queue."""


@dataclass
class StagePacker:
    """What packing needs to know; `ledger` and `disks` are updated with every entry that joins.

    `in_sync_problem`: what a step waits for because of its replicas' state, if it does.
    """

    execution: Execution
    bounds: Bounds
    caps: TopicCaps
    ledger: Ledger
    disks: Disks
    in_sync_problem: Callable[[Entry], Wait | None]
    guard: Guard

    def pack(self, backlog: Backlog) -> tuple[list[Entry], StageCapacity, Wait | None]:
        """Take a stage out of the backlog; if it is empty, the wait tells why."""
        pace = self._pace(backlog)
        style = self._style(backlog, pace)
        stage = self._fill(backlog, style, pace if style is USUAL else None)
        wait = None if stage.entries else stage.rescue()
        stage.settle()
        backlog.compact()
        return stage.entries, stage.room, wait

    def _pace(self, backlog: Backlog) -> StagePace | None:
        """The usual pace; `None` if the stage heals."""
        if _HEAL in backlog.queues:
            return None
        return pace_of(backlog.all, backlog.queues, self.execution)

    def _style(self, backlog: Backlog, pace: StagePace | None) -> Style:
        """The style of the next stage: the one with which the plan is expected to end first.

        A stage that heals has the usual style.
        """
        best = USUAL
        if pace is None or not _is_scarce(pace):
            return best
        shortest_bytes = self._lasting_bytes(backlog, best)
        if shortest_bytes is None:
            return best
        for style in _STYLES:
            found = self._lasting_bytes(backlog, style, shortest_bytes)
            if found is not None and found < shortest_bytes:
                best, shortest_bytes = style, found
        return best

    def _lasting_bytes(
        self, backlog: Backlog, style: Style, enough: int | None = None
    ) -> int | None:
        """The least duration of a stage in that style and of the rest; `None` if it is empty.

        The second stage is not filled if what it leaves surely lasts `enough` or longer: it carries
        at most its own length of any side.
        """
        tried, disks = backlog.clone(), self.disks.clone()
        packer = replace(self, ledger=self.ledger.clone(), disks=disks, guard=self.guard.clone())
        first = packer._fill(tried, style)
        if not first.entries:
            return None
        tried.compact()
        lasting_bytes = first.room.span_used_bytes
        hopeless = enough is not None and lasting_bytes + tried.all.busiest_bytes >= enough
        if tried.queues and not hopeless:
            for entry in first.entries:
                disks.release(entry)
            lasting_bytes += packer._fill(tried, USUAL).room.span_used_bytes
        return lasting_bytes + tried.all.busiest_bytes

    def _fill(self, backlog: Backlog, style: Style, pace: StagePace | None = None) -> "_Stage":
        """Fill a stage with the entries that may go by themselves; `pace`: if it is known."""
        healing = {urgency: q for urgency, q in backlog.queues.items() if urgency == _HEAL}
        rest = {urgency: q for urgency, q in backlog.queues.items() if urgency != _HEAL}
        percent = style.span_percent
        paces = [
            (pace or pace_of(loads, queues, self.execution, span_percent=percent), queues)
            for loads, queues in ((backlog.healing, healing), (backlog.all, rest))
            if queues
        ]
        # Entries that heal set the span; the others join if the stage does not last longer by them.
        room = StageCapacity(self.execution, self.bounds, self.caps, paces[0][0].span_bytes)
        self.guard.begin(self.disks.free)
        stage = _Stage(self, backlog, room)
        for pace, queues in paces:
            StageFiller(queues, room, pace, self.execution, stage.try_to_join, style).run()
            stage.settle()
        stage.make_up()
        stage.settle()
        return stage

    def hard_problem(self, entry: Entry) -> Wait | None:
        """What the entry waits for, other than space on disks, if anything."""
        if self.caps.of(entry.topic) == 0:
            return Wait(WaitReason.TOPIC_NODE_TOO_LARGE, partitions=(entry.name,))
        return self.in_sync_problem(entry)

    def possible(self, entry: Entry) -> bool:
        """Whether disks, topic node and in-sync replicas allow the entry."""
        return (
            self.disks.lacking(entry) is None
            and self.caps.of(entry.topic) > 0
            and not self.in_sync_problem(entry)
        )

    def possible_together(self, entries: Sequence[Entry]) -> bool:
        """Whether disks, topic nodes and in-sync replicas allow all of these entries at once."""
        copied = []
        for entry in entries:
            if not self.possible(entry):
                break
            self.disks.copy(entry)
            copied.append(entry)
        for entry in copied:
            self.disks.cancel(entry)
        return len(copied) == len(entries)


def _is_scarce(pace: StagePace) -> bool:
    """Whether the largest entry sets the length of the next stage, and much of the plan's."""
    largest, busiest = pace.largest_bytes, pace.loads.busiest_bytes
    return largest * pace.stages >= _USUAL * busiest and largest * _PART > busiest


class _Stage:
    """One stage while it is packed."""

    def __init__(self, packer: StagePacker, backlog: Backlog, room: StageCapacity) -> None:
        self.entries: list[Entry] = []
        self._guarded = True
        self._packer = packer
        self._backlog = backlog
        self.room = room
        self._aside: list[Item] = []
        self._change = LAWFUL
        self._settled = 0

    def settle(self) -> None:
        """Count what joined out of what is left to carry."""
        self._backlog.settle(self.entries[self._settled :])
        self._settled = len(self.entries)

    def try_to_join(self, queue: SideQueue, place: int) -> bool:
        """Let an entry that fits join if it may; put it aside if only laws forbid it."""
        entry = queue.entries[place]
        assert entry is not None
        if not self._may_go(entry):
            return False
        change = self._packer.ledger.change(entry)
        if change is not LAWFUL and change > LAWFUL:
            self._aside.append((queue, place, entry))
            return False
        self._join(queue, place, change)
        return True

    def _may_go(self, entry: Entry) -> bool:
        """Whether only laws and limits can forbid the entry."""
        packer = self._packer
        if packer.disks.free:
            in_turn = packer.guard.admits(entry.move, entry.step, entry.added)
            if (self._guarded and not in_turn) or packer.disks.lacking(entry) is not None:
                return False
        return packer.caps.of(entry.topic) > 0 and not packer.in_sync_problem(entry)

    def _join(self, queue: SideQueue, place: int, change: Excesses) -> None:
        entry = self._backlog.take(queue, place)
        self.room.take(entry)
        self._packer.ledger.apply(entry)
        if self._packer.disks.free:
            self._packer.disks.copy(entry)
            self._packer.guard.go(entry.move, entry.step, entry.added)
        if change is not LAWFUL:
            self._change = self._change.plus(change)
        self.entries.append(entry)

    def make_up(self) -> None:
        """Let entries join that were put aside and that the stage compensates for by now."""
        joined = bool(self.entries)
        while joined:
            joined = False
            for item in list(self._aside):
                queue, place, entry = item
                change = self._packer.ledger.change(entry)
                lawful = change.of_lists <= LAWFUL.of_lists and self._change.plus(change) <= LAWFUL
                if lawful and self.room.fits(entry) and self._may_go(entry):
                    self._join(queue, place, change)
                    self._aside.remove(item)
                    joined = True

    def rescue(self) -> Wait | None:
        """Join single entries, else a group of them; return the wait if none may go."""
        for self._guarded in (True, False):
            unlawful: list[Item] = []
            for queue, place, entry in self._backlog.everything():
                if not self.room.fits(entry) or not self._may_go(entry):
                    continue
                change = self._packer.ledger.change(entry)
                if change <= LAWFUL:
                    self._join(queue, place, change)
                else:
                    unlawful.append((queue, place, entry))
            for queue, place, entry in () if self.entries else self._group(unlawful):
                self._join(queue, place, self._packer.ledger.change(entry))
            if self.entries:
                return None
        return self._standstill()

    def _standstill(self) -> Wait:
        """Why the most urgent entry cannot go; entries that wait for space are named together."""
        packer = self._packer
        waiting, other = [], None
        for _, _, entry in self._backlog.everything():
            if packer.disks.lacking(entry) is not None:
                waiting.append(entry)
            elif other is None:
                other = entry
                if not waiting:
                    break
        left, free = packer.guard.left, packer.disks.free
        if other is None or (waiting and order(left, free).blocked):
            return standstill(waiting, left, free)
        # The disks alone would let all go in some order, so they wait for this entry.
        return packer.hard_problem(other) or _unlawful(other, packer.ledger.change(other))

    def _group(self, candidates: Sequence[Item]) -> Sequence[Item]:
        """The shortest lawful beginning of the candidates, without those that it can spare."""
        group = self._beginning(candidates)
        for item in list(group) if len(group) <= _PRUNE_MAX else ():
            rest = [other for other in group if other is not item]
            if rest and self._total(rest) <= LAWFUL:
                group = rest
        return group if self._packer.possible_together([entry for _, _, entry in group]) else ()

    def _beginning(self, candidates: Sequence[Item]) -> Sequence[Item]:
        """The shortest beginning that is lawful as a whole, if there is one."""
        total, ledger = LAWFUL, self._packer.ledger
        group: list[Item] = []
        for item in candidates:
            total = total.plus(ledger.change(item[2]))
            ledger.apply(item[2])
            group.append(item)
            if total <= LAWFUL:
                break
        for _, _, entry in group:
            ledger.undo(entry)
        return group if total <= LAWFUL else ()

    def _total(self, group: Sequence[Item]) -> Excesses:
        """The change of the laws if the whole group goes."""
        total, ledger = LAWFUL, self._packer.ledger
        for _, _, entry in group:
            total = total.plus(ledger.change(entry))
            ledger.apply(entry)
        for _, _, entry in group:
            ledger.undo(entry)
        return total


def _unlawful(entry: Entry, change: Excesses) -> Wait:
    law = next(law for law, number in zip(LAWS, change, strict=True) if number > 0)
    return Wait(
        WaitReason.LAW_WORSENED,
        partitions=(entry.name,),
        before=entry.before,
        replicas=entry.after,
        law=law,
    )
