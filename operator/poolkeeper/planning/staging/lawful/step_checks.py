"""What can forbid a step, apart from the limits of a stage: laws, disks, in-sync replicas."""

import copy
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.audit.excess import Excesses
from poolkeeper.planning.staging.disks.disk_reserve import Guard
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.lawful.excess_ledger import Ledger
from poolkeeper.planning.staging.limits import Entry


@dataclass
class StepChecks:
    """What is asked about steps; `ledger`, `disks` and `guard` change with every step that joins.

    `caps`: by topic of the table, how many of its partitions may be in one stage.
    `in_sync_problem`: what a step waits for because of its replicas' state, if it does.
    `lagging`: the topics of the table for whose steps that may be so at first.
    `changes`: by row, how a step changes the laws, for the rows at the beginning of the table;
    empty where that depends on the stage.
    """

    table: EntryTable
    caps: Sequence[int]
    ledger: Ledger
    disks: Disks
    in_sync_problem: Callable[[Entry], Wait | None]
    lagging: Container[int]
    guard: Guard
    changes: Sequence[Excesses]

    def clone(self) -> "StepChecks":
        """An independent copy, to try stages with; the same if no step that joins changes it."""
        if self.changes and not self.disks.free:
            return self
        other = copy.copy(self)
        other.ledger, other.disks = self.ledger.clone(), self.disks.clone()
        other.guard = self.guard.clone()
        return other

    def change(self, row: int) -> Excesses:
        """How a step changes the laws, given those that joined before."""
        if row < len(self.changes):
            return self.changes[row]
        return self.ledger.change(self.table.entry(row))

    def hard_problem(self, row: int) -> Wait | None:
        """What the step waits for, other than space on disks, if anything."""
        entry = self.table.entry(row)
        if not self.caps[self.table.topic[row]]:
            return Wait(
                WaitReason.TOPIC_NODE_TOO_LARGE,
                topic=entry.name.topic,
                partitions=(entry.name,),
            )
        return self.in_sync_problem(entry)

    def impossible_rows(self) -> list[int]:
        """The rows whose problem no step of the plan ends: the topic's node, in-sync replicas."""
        rows = zip(self.table.topic, self.table.into, strict=True)
        caps, lagging = self.caps, self.lagging
        return [
            row
            for row, (topic, into) in enumerate(rows)
            if not caps[topic] or (not into and topic in lagging and self.hard_problem(row))
        ]

    def possible(self, row: int) -> bool:
        """Whether disks, topic node and in-sync replicas allow the step."""
        if self.disks.free and self.disks.need(self.table.entry(row)) is not None:
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
