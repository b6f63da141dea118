"""A Rebalance: what is declared of it, and how far it is.

A Rebalance is one plan over many clusters: planned at once, approved by one hash, executed in
waves, and kept as a record afterwards. Its steps:

    Planning → WaitingForApproval → Executing → Succeeded | Failed

`RebalanceState` is the state of a Rebalance. The part of it in the resource's status is enough for
the next leader to continue.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.outcomes import Why
from poolkeeper.model.specs import Approval, SourceLocation, Window


class EngineChoice(StrEnum):
    """Which engine plans."""

    AUTO = "Auto"
    LOCAL = "Local"
    SPARK = "Spark"


@frozen
class ResourceSelection:
    """Resources in scope, by name or by label selector (verbatim); all of them without either."""

    names: tuple[str, ...] = ()
    selector: Mapping[str, Any] | None = None


@frozen
class Site:
    """Clusters that share a network; without a rate it only names them."""

    name: str
    clusters: tuple[str, ...]
    rate_bytes_per_s: int | None = None


@frozen
class BudgetWindow:
    """A window of all clusters together, with its own rate if it has one."""

    window: Window
    rate_bytes_per_s: int | None = None


@frozen
class BudgetSpec:
    """What all clusters together may use."""

    rate_bytes_per_s: int | None = None
    clusters_at_once: int | None = None
    sites: tuple[Site, ...] = ()
    windows: tuple[BudgetWindow, ...] = ()


@frozen
class RebalanceSpec:
    """A Rebalance."""

    name: str
    clusters: ResourceSelection = ResourceSelection()
    pools: ResourceSelection = ResourceSelection()
    engine: EngineChoice = EngineChoice.AUTO
    approval: Approval = field(default_factory=Approval)
    budget: BudgetSpec = BudgetSpec()
    paused: bool = False
    source: SourceLocation = field(default_factory=SourceLocation)


class RebalanceStep(StrEnum):
    """How far a Rebalance is."""

    PLANNING = "Planning"
    WAITING_FOR_APPROVAL = "WaitingForApproval"
    EXECUTING = "Executing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def is_final(self) -> bool:
        """Whether the Rebalance is over."""
        return self in (RebalanceStep.SUCCEEDED, RebalanceStep.FAILED)


class PartState(StrEnum):
    """How far one cluster of a Rebalance is."""

    PLANNED = "Planned"
    WAITING = "Waiting"
    MOVING = "Moving"
    DONE = "Done"
    IN_PLACE = "InPlace"
    FAILED = "Failed"

    @property
    def is_final(self) -> bool:
        """Whether the cluster is done with."""
        return self in (PartState.DONE, PartState.IN_PLACE, PartState.FAILED)


@frozen
class ClusterRebalance:
    """One cluster of a Rebalance.

    `hash`: of its plan, empty without one.
    `begun`: a run of its plan was seen, also if none of its moves is done and it stands still now.
    `why`: what it waits for, or how it ended, by the last report of its loop.
    `message`: the words for that in the status, also for what no loop reports.
    """

    cluster: str
    state: PartState = PartState.PLANNED
    wave: int = 1
    hash: str = ""
    moves: int = 0
    bytes: int = 0
    moves_done: int = 0
    bytes_done: int = 0
    begun: bool = False
    message: str = ""
    why: tuple[Why, ...] = ()

    @property
    def has_begun(self) -> bool:
        """Whether some of its plan was done, or is being done."""
        return self.begun or self.state is PartState.MOVING or self.moves_done > 0


@frozen
class RebalanceState:
    """How far a Rebalance is.

    `requested_ms`: the moment that is planned for.
    `scope`: the digest of what was requested.
    `hash`: names all plans together.
    `record`: names the text in which they are kept.
    `seconds`: the predicted duration of all waves.
    """

    step: RebalanceStep = RebalanceStep.PLANNING
    requested_ms: int = 0
    scope: str = ""
    engine: str = ""
    hash: str = ""
    record: str = ""
    waves: int = 0
    seconds: int = 0
    ended_ms: int = 0
    parts: tuple[ClusterRebalance, ...] = field(default_factory=tuple)

    @property
    def moves(self) -> int:
        """Partitions that move."""
        return sum(part.moves for part in self.parts)

    @property
    def bytes(self) -> int:
        """Bytes that are copied."""
        return sum(part.bytes for part in self.parts)

    @property
    def failed(self) -> tuple[ClusterRebalance, ...]:
        """The clusters without a plan, or whose plan was not carried out."""
        return tuple(part for part in self.parts if part.state is PartState.FAILED)
