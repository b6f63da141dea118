"""The inputs of a decision about a run, and the decisions: a pass makes one of these.

`NeededInput` asks for more input (`MissingInput`); then the decision is made again with it. `found`
are the actions that a decision found completed, to be reported.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import Enum, auto

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.records import BalanceRecord
from poolkeeper.model.execution.runs import (
    Ending,
    Phase,
    RateReason,
    Run,
    RunDocument,
    UnreadableConfig,
)
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.reassignments.requests import Stall
from poolkeeper.planning.run_state.throttling.throttles import ThrottleWatch
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS, Bounds
from poolkeeper.planning.staging.next_stage import Stage
from poolkeeper.reconcile.observe.run_view import RunView
from poolkeeper.reconcile.pass_memory import CopyMemory

WAITS_MAX = 10
"""How many waits a decision names."""


@frozen
class RunSituation:
    """The inputs of every decision about a run.

    `paused`: the stage in flight is finished, and no other starts. `rate_known`: the rate that the
    run may have is known. `asks_brokers`: the brokers' protocol can be spoken. `reported_stage`:
    the stage whose end was reported last, and how many of its partitions had arrived. `adapted_ms`:
    the time at which the adaptive throttle was last checked. `electing_since_ms`: since when a
    request for elections is there at every look. `throttles`: what is known of the run's. `copies`:
    what is known of its moves between log directories. `held`: those of them that are held.
    `unwritable`: by topic and by broker, why it cannot be throttled. `bounds`: what the ZooKeeper
    servers take.
    """

    run: Run
    document: RunDocument
    view: RunView
    desired: Desired
    now_ms: int
    paused: bool = False
    rate_known: bool = True
    asks_brokers: bool = False
    reported_stage: tuple[int, int] | None = None
    adapted_ms: int = 0
    throttles: ThrottleWatch = field(default_factory=ThrottleWatch)
    copies: CopyMemory = field(default_factory=CopyMemory)
    electing_since_ms: int | None = None
    held: Collection[int] = ()
    unwritable: Mapping[str | int, UnreadableConfig] = field(default_factory=dict)
    bounds: Bounds = DEFAULT_BOUNDS

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.document.plan


class MissingInput(Enum):
    """An input that a decision needs and that is not known yet."""

    ENDING = auto()
    """Whether the run is to end early."""
    CONFLICTS = auto()
    """Whose throttles are in force, once ours are written."""
    SETTLED = auto()
    """Whether the brokers have applied the throttle."""
    GONE = auto()
    """Which brokers count as gone for good, now that one that is moved to is not live."""
    RATE_SIGNALS = auto()
    """How the cluster bears the rate of the throttle."""


@frozen
class ComputeStage:
    """Look for the next stage.

    `states`: the state of each move, or None for a move that must stay out of the stage.
    """

    states: tuple[int | None, ...]


@frozen
class CheckThrottles:
    """Compare the live throttles of these topics and of all brokers of the run with the run's."""

    topics: frozenset[str]


@frozen
class BeginRun:
    """Record a run of the plan."""


@frozen
class DoNothing:
    """Do nothing in this pass."""

    waits: tuple[Wait, ...]
    found: tuple[Action, ...] = ()


@frozen
class EnterPhase:
    """Enter another phase, and record when balance began if `balance` is given.

    `rates`: the throttle to be written from now on, and the one before.
    """

    phase: Phase
    ending: Ending | None = None
    found: tuple[Action, ...] = ()
    balance: BalanceRecord | None = None
    rates: tuple[int, ...] = ()


@frozen
class RecordThrottled:
    """Record that the throttles have been written."""


@frozen
class RequestStage:
    """Request a stage of the plan; `attempts` counts how often."""

    stage: Stage
    attempts: int
    found: tuple[Action, ...] = ()


@frozen
class ElectController:
    """Have another controller elected, which reads what the present one goes by memory for."""

    found: tuple[Action, ...] = ()


@frozen
class StopRun:
    """Record that the run ends as stopped: somebody else cancelled these moves of its request."""

    moves: tuple[int, ...]


@frozen
class BeginReturn:
    """Record that these moves of the request are cancelled, and why the run ends if it does."""

    moves: tuple[int, ...]
    ending: Ending | None = None


@frozen
class CancelMoves:
    """Have `moves` cancelled: by the brokers, or by another request and another controller.

    `step` and `returning` are what the run's request is then: cancelled moves that are not back
    yet, and the others that go on. `by_brokers`: whether the brokers can be asked to.
    `may_fail_over`: whether another controller may be elected.
    """

    moves: tuple[int, ...]
    step: tuple[tuple[int, int], ...]
    returning: tuple[int, ...]
    by_brokers: bool
    may_fail_over: bool


@frozen
class RequestOrder:
    """Request the order of replicas that cancelled moves had before; `step` names them.

    `attempts` counts how often they themselves are requested to return so.
    """

    step: tuple[tuple[int, int], ...]
    attempts: int = 0


@frozen
class ChangeThrottle:
    """Change the rate of a run in two records: (new, old) and, once written, (new,).

    Without `rates` the rate stays. `written`: whether the new rate is to be written to the brokers
    now. `reason`: why the rate is what it will be. `declared`: the declared rate that it begins
    from, `None` if that is as before.
    """

    rates: tuple[int, ...] | None = None
    written: bool = False
    reason: RateReason | None = None
    declared: int | None = None


@frozen
class Watch:
    """Leave the request in flight; recover a stall and change the throttle where due.

    `needs_remedy`: whether a remedy must allow the recovery. `check`: the topics whose throttles
    are compared with the run's, and set again if `keep`.
    """

    waits: tuple[Wait, ...]
    stall: Stall | None = None
    needs_remedy: bool = True
    late: tuple[Wait, ...] = ()
    throttle: ChangeThrottle | None = None
    check: frozenset[str] = frozenset()
    keep: bool = True


Targets = Mapping[TopicPartition, str]
"""The target log directory of each replica of one broker."""


@frozen
class MoveLogDirs:
    """Have replicas moved between log directories, and leave those in flight that are.

    `begun`: the moves of the plan that begin. `cancelled`: those that go back to the directory that
    they are in; `stalled`: those that do so as nothing of them is copied any more. All are
    positions among its moves between log directories. `check`: whether throttles are compared with
    the run's first, and set again if `keep`. `throttle`: how the rate changes before.
    """

    begun: tuple[int, ...] = ()
    cancelled: tuple[int, ...] = ()
    stalled: tuple[int, ...] = ()
    waits: tuple[Wait, ...] = ()
    check: bool = False
    keep: bool = True
    throttle: ChangeThrottle | None = None


@frozen
class Elect:
    """Request the election of preferred leaders, for some of the partitions that are due."""

    partitions: tuple[TopicPartition, ...]
    due: int


@frozen
class EndRun:
    """Restore the saved throttles and remove the run."""


ReturnDecision = BeginReturn | CancelMoves | RequestOrder | StopRun
RunDecision = (
    DoNothing
    | EnterPhase
    | RecordThrottled
    | RequestStage
    | ElectController
    | ReturnDecision
    | Watch
    | MoveLogDirs
    | Elect
    | EndRun
)
NeededInput = MissingInput | ComputeStage | CheckThrottles
