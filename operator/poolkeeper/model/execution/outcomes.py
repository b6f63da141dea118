"""What one pass of the loop did and what it waits for: values for status, metrics and people."""

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum

from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.refusals import Refusal
from poolkeeper.model.execution.runs import Ending, Phase, RateReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan, PlanProblem
from poolkeeper.model.topology import Cluster

Why = Wait | Action | Refusal
"""Whatever a pass has to say: what it waits for, did or refused."""


@frozen
class Progress:
    """How far a run is; `bytes_done` counts replicas in sync and the measured parts of others.

    `rate_bytes_per_s`, `seconds_left`: `None` until they are known.
    `throttle_highest_bytes_per_s`: the earlier rate, while it is the higher one and a change of the
    throttle is not settled; else the throttle's.
    `arrived`: the positions, in the plan, of the moves that are done, or whose topic is gone.
    `bytes_in_flight`: what the present request has still to copy.
    `bytes_in_doubt`: what of that may be copied already, as nobody says how far the copies are.
    `bytes_given_up`: what is not copied any more: a topic is gone, or others moved the partition.
    `still_s`: for how long nothing has moved, once that is long; no time left is known then.
    `ending`: why the run ends after the stage in flight; a person may have asked for it.
    `punctuality`: how it goes beside the plan's prediction, while it moves; time alone changes it.
    """

    plan: str
    phase: Phase
    stage: int
    moves_done: int
    moves_in_flight: int
    moves_total: int
    bytes_done: int
    bytes_total: int
    throttle_bytes_per_s: int | None = None
    throttle_highest_bytes_per_s: int | None = None
    throttle_reason: RateReason | None = None
    rate_bytes_per_s: float | None = None
    seconds_left: float | None = None
    arrived: frozenset[int] = frozenset()
    bytes_in_flight: int = 0
    bytes_in_doubt: int = 0
    bytes_given_up: int = 0
    still_s: float | None = None
    ending: Ending | None = None
    punctuality: Punctuality | None = field(default=None, compare=False)


class State(StrEnum):
    """The state of a cluster after a pass."""

    CONVERGED = "converged"
    PROGRESSED = "progressed"
    WAITING = "waiting"
    STOPPED = "stopped"


class ExternalPlanState(StrEnum):
    """How far a plan is that a Rebalance offered to a cluster's loop."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    REFUSED = "refused"


@frozen
class Result:
    """What one part of a pass did, and what it waits for."""

    did: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()

    def __add__(self, other: "Result") -> "Result":
        """Return both together, in their order."""
        return Result((*self.did, *other.did), (*self.waits, *other.waits))


@frozen
class ExternalPlanStatus:
    """The state of an offered plan, by its hash, after one pass, and why.

    A withdrawn plan of which no run is left is DONE too. `offer`: the number of the offer of a rate
    that the pass worked with; 0 without.
    """

    plan: str
    state: ExternalPlanState
    why: tuple[Why, ...] = ()
    offer: int = 0


@frozen
class LastObservation:
    """The whole cluster as last observed, for status; nothing is decided by it.

    `gone`: the brokers that count as lost. `unaccounted`: what is wrong with the cluster although
    nothing waits for it: nodes that disagree, throttles that no run accounts for.
    """

    cluster: Cluster
    records: Records
    gone: frozenset[int] = frozenset()
    unaccounted: tuple[Wait, ...] = ()


@frozen
class Outcome:
    """One pass of one cluster.

    `did`: what was written or found finished in this pass.
    `waits`: what the loop waits for.
    `plan`: the plan being executed, or the one that waits for approval.
    `progress`: `None` while no run is recorded.
    `fresh`: during a run, the plan that would be made now, for its steps and problems.
    `last_observation`: may be older than the pass by half a minute.
    `error`: what kept the pass from its work.
    `recorded`: a run is recorded, and nobody may continue it.
    `external`: the state of the plan that was offered.
    `balance_waits_until_ms`: the cluster could be more even, and balance starts no plan before
    (`balancing.coolDown`). It is no wait of the pass: the cluster is at rest meanwhile.
    `approved_by`: who allowed what is being done.
    `asked`: the plan that a person is asked about, where it has several parts; `approved_parts` are
    the names of those that are approved.
    `approvers_verified`: whoever approves has to say who that is.
    `history`: the runs that ended last, the oldest first; None where nobody looked.
    `answered`: what came of the last request of a person, once one was heard.
    """

    state: State
    did: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    plan: Plan | None = None
    progress: Progress | None = None
    fresh: Plan | None = None
    last_observation: LastObservation | None = None
    error: PoolkeeperError | None = None
    recorded: bool = False
    external: ExternalPlanStatus | None = None
    balance_waits_until_ms: int | None = None
    approved_by: str = ""
    asked: Plan | None = None
    approved_parts: frozenset[str] = frozenset()
    approvers_verified: bool = False
    history: tuple[FinishedRun, ...] | None = None
    answered: RequestAnswer | None = None

    @property
    def in_mid_run(self) -> bool:
        """Whether a run is recorded after the pass; its throttles are in force."""
        ended = any(action.kind is ActionKind.RUN_ENDED for action in self.did)
        return self.progress is not None and not ended

    @property
    def problems(self) -> tuple[PlanProblem, ...]:
        """What the latest plan will not do or cannot mend."""
        latest = self.fresh or self.plan
        return latest.problems if latest else ()


Report = Callable[[Outcome], None]
"""Is told how each pass ended."""
