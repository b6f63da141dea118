"""The executor of rehearsals, with a planner that remembers: tests ask the same over and over."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.plans import Plan
from poolkeeper.reconcile.context import Planner, planner_of_a_loop
from poolkeeper.rehearsal import executor
from poolkeeper.rehearsal.executor import EVERYTHING, NeverEnds, converged

__all__ = ["EVERYTHING", "Executor", "NeverEnds", "PlannedBefore", "converged"]


@dataclass(slots=True)
class PlannedBefore:
    """A planner that answers its last questions again at once.

    A loop that waits repeats them, and so does a scenario that is played again with a fault.
    """

    known: deque[tuple[Any, Plan]] = field(default_factory=lambda: deque(maxlen=64))
    planner: Planner = field(default_factory=planner_of_a_loop)

    def __call__(self, *question: Any) -> Plan:
        for before, answer in self.known:
            if before == question:
                return answer
        self.known.append((question, self.planner(*question)))
        return self.known[-1][1]


PLANNED_BEFORE = PlannedBefore()


@dataclass(slots=True)
class Executor(executor.Executor):
    """Works until `at_rest` says so."""

    plan: Planner = field(default_factory=lambda: PLANNED_BEFORE)

    @property
    def endings(self) -> list[Ending | None]:
        """How the runs ended that ended so far."""
        did = (action for outcome in self.seen for action in outcome.did)
        return [action.ending for action in did if action.kind is ActionKind.RUN_ENDED]
