"""What is decided upon, and what may be decided about a run: one of these values in a pass.

Some only find out more (`FindOut`): then it is decided again, with what was found. `found` is what
a decision has found finished, to be told.
"""

from dataclasses import dataclass
from enum import Enum, auto

from poolkeeper.model.actions import Action
from poolkeeper.model.plans import Plan
from poolkeeper.model.records import BalanceRecord
from poolkeeper.model.runs import Ending, Phase, Run, RunDocument
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import TopicPartition
from poolkeeper.model.waits import Wait
from poolkeeper.planning.staging.next_stage import Stage
from poolkeeper.reconcile.observation import RunView
from poolkeeper.reconcile.stall_recovery import Stall


@dataclass(frozen=True, slots=True)
class RunSituation:
    """All that is decided upon.

    `paused`: the stage in flight is finished, none is started. `told`: the stage whose end was told
    before, and how many of its partitions had arrived. `adapted_ms`: when the rate was last looked
    at.
    """

    run: Run
    document: RunDocument
    view: RunView
    desired: Desired
    now_ms: int
    paused: bool = False
    told: tuple[int, int] | None = None
    adapted_ms: int = 0

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.document.plan


class FindOut(Enum):
    """What a decision cannot do without: it is found out, and decided again."""

    ENDING = auto()
    """Whether the run shall wind up."""
    CONFLICTS = auto()
    """Whose throttles are in force, once ours are written."""
    SETTLED = auto()
    """Whether the brokers have taken the throttle up."""


@dataclass(frozen=True, slots=True)
class SeekStage:
    """Look for the next stage. `at`: where each move is, or None where it must stay out of it."""

    at: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class BeginRun:
    """Record a run of the plan."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Do nothing in this pass."""

    waits: tuple[Wait, ...]
    found: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """Go on to another phase; `balance` is to be remembered of the run, if anything is."""

    phase: Phase
    ending: Ending | None = None
    found: tuple[Action, ...] = ()
    balance: BalanceRecord | None = None


@dataclass(frozen=True, slots=True)
class NoteThrottled:
    """Record that the throttles are written now."""


@dataclass(frozen=True, slots=True)
class RequestStage:
    """Request a stage of the plan, for the n-th time."""

    stage: Stage
    attempts: int
    found: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeThrottle:
    """Change the rate of a run, which takes two records: (new, old) and, once written, (new,).

    Without `rates` the rate is right as it is. `written`: whether the new rate is to be written to
    the brokers now.
    """

    rates: tuple[int, ...] | None = None
    written: bool = False


@dataclass(frozen=True, slots=True)
class Watch:
    """Leave the request in flight, but cure its stall and change the throttle where due."""

    waits: tuple[Wait, ...]
    stall: Stall | None = None
    late: tuple[Wait, ...] = ()
    throttle: ChangeThrottle | None = None


@dataclass(frozen=True, slots=True)
class Elect:
    """Request the election of preferred leaders of some partitions, of those that are due."""

    partitions: tuple[TopicPartition, ...]
    due: int


@dataclass(frozen=True, slots=True)
class EndRun:
    """Put the saved throttles back and remove the run."""


RunDecision = Stay | EnterPhase | NoteThrottled | RequestStage | Watch | Elect | EndRun
Needed = FindOut | SeekStage
