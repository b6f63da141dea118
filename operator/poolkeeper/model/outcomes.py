"""What one pass of the loop did and what it waits for: data for people, status and metrics."""

from dataclasses import dataclass
from enum import StrEnum

from poolkeeper.errors import PoolkeeperError
from poolkeeper.model.plans import Plan, PlanProblem
from poolkeeper.model.records import Records
from poolkeeper.model.topology import Cluster


class Phase(StrEnum):
    """Where a run is; the order is that of a run."""

    STORING = "storing the plan"
    THROTTLING = "writing throttles"
    MOVING = "moving"
    ELECTING = "electing preferred leaders"
    RESTORING = "restoring throttles"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is; `bytes_done` counts replicas in sync and measured parts of the others.

    `rate_bytes_per_s` and `seconds_left` are `None` until they can be told. `arrived` are the
    positions, in the plan, of the moves that are done; `bytes_in_flight` what the request that is
    out has still to copy.
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
    rate_bytes_per_s: float | None = None
    seconds_left: float | None = None
    arrived: frozenset[int] = frozenset()
    bytes_in_flight: int = 0


class State(StrEnum):
    """What a pass ended with."""

    CONVERGED = "converged"
    PROGRESSED = "progressed"
    WAITING = "waiting"
    STOPPED = "stopped"


class ErrandState(StrEnum):
    """How a plan that somebody else offered to a cluster's loop stands."""

    WAITING = "waiting"
    MOVING = "moving"
    DONE = "done"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Errand:
    """What became of an offered plan, by its hash, in one pass; `why`: sentences.

    DONE also where no run of it is left after it was withdrawn.
    """

    plan: str
    state: ErrandState
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The whole cluster as it was last observed, for status; nothing is decided by it.

    `gone`: the brokers that count as lost.
    """

    cluster: Cluster
    records: Records
    gone: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pass of one cluster.

    `did`: sentences of what was written or found finished in this pass. `waits`: sentences of what
    the loop waits for, each naming topics, partitions or brokers. `plan`: the plan under way, or
    the one that waits for approval. `progress` is `None` while no run is recorded. `fresh`: beside
    a run, the plan that would be made now, for its steps and problems. `seen` may be older than
    the pass by half a minute. `error`: what kept the pass from its work.
    `recorded`: a run is, and nobody may take it further. `errand`: of the plan that was offered.
    """

    state: State
    did: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    plan: Plan | None = None
    progress: Progress | None = None
    fresh: Plan | None = None
    seen: Seen | None = None
    error: PoolkeeperError | None = None
    recorded: bool = False
    errand: Errand | None = None

    @property
    def problems(self) -> tuple[PlanProblem, ...]:
        """What the latest plan will not do or cannot mend."""
        latest = self.fresh or self.plan
        return latest.problems if latest else ()
