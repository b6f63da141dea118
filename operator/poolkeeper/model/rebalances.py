"""A Rebalance: what is declared of it, and how far it is.

A Rebalance is one undertaking: planned at once for many clusters, approved once by one hash,
executed in waves, and a record from then on. Its steps:

    Planning → WaitingForApproval → Executing → Succeeded | Failed

`Course` is all that is known of one; what of it is written in the status is enough to go on from,
for whoever leads next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from poolkeeper.model.outcomes import Why
from poolkeeper.model.specs import Approval, SourceLocation, Window


class EngineChoice(StrEnum):
    """Who plans."""

    AUTO = "Auto"
    LOCAL = "Local"
    SPARK = "Spark"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Resources in scope, by name or by label selector (verbatim); neither is all of them."""

    names: tuple[str, ...] = ()
    selector: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Clusters that share a network; without a rate it only names them."""

    name: str
    clusters: tuple[str, ...]
    rate_bytes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class BudgetWindow:
    """A window of all clusters together, with a rate of its own if it has one."""

    window: Window
    rate_bytes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """What all clusters together may use."""

    rate_bytes_per_s: int | None = None
    clusters_at_once: int | None = None
    sites: tuple[Site, ...] = ()
    windows: tuple[BudgetWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class RebalanceSpec:
    """A Rebalance."""

    name: str
    clusters: Chosen = Chosen()
    pools: Chosen = Chosen()
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
    def ended(self) -> bool:
        """Whether nothing is done any more."""
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
    def ended(self) -> bool:
        """Whether nothing is done for it any more."""
        return self in (PartState.DONE, PartState.IN_PLACE, PartState.FAILED)


@dataclass(frozen=True, slots=True)
class ClusterRebalance:
    """One cluster of a Rebalance. `hash`: of its plan, empty where there is none.

    `why`: what it waits for, or how it ended, as its loop told last. `message`: the words of that
    as its status has them, or of what no loop tells.
    """

    cluster: str
    state: PartState = PartState.PLANNED
    wave: int = 1
    hash: str = ""
    moves: int = 0
    bytes: int = 0
    moves_done: int = 0
    bytes_done: int = 0
    message: str = ""
    why: tuple[Why, ...] = ()

    @property
    def begun(self) -> bool:
        """Whether something of its plan was done, or is under way."""
        return self.state is PartState.MOVING or self.moves_done > 0


@dataclass(frozen=True, slots=True)
class Course:
    """How far a Rebalance is.

    `asked_ms`: the moment that is planned for. `scope`: the digest of what was asked. `hash` names
    all plans together, `record` the text in which they are kept. `seconds`: of all waves, as
    predicted.
    """

    step: RebalanceStep = RebalanceStep.PLANNING
    asked_ms: int = 0
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
        """The clusters that have no plan, or where it was not carried out."""
        return tuple(part for part in self.parts if part.state is PartState.FAILED)
