"""What reports are made of. Whoever has a plan, or tables of a fleet, fills these in.

Sizes are bytes, times seconds from the begin of the schedule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from poolkeeper.model.plans import PlanProblem, PoolCertificate

URGENCIES = ("heal", "drain", "migration", "replication", "balance")
"""The classes of moves, by their number."""


class Holding(NamedTuple):
    """A broker, and what it holds before a plan and after it. `pool`: empty if it is in none.

    `weight` is that in its pool; 0: drained, dead or in no pool. `leaders`: first replicas.
    """

    pool: str
    broker: int
    rack: str | None
    live: bool
    weight: float
    replicas_before: int
    replicas_after: int
    leaders_before: int
    leaders_after: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """One cluster of the fleet: its plan in figures, or `failed`, why there is none.

    `destructive`: steps that a person must agree to.
    """

    name: str
    site: str = ""
    failed: str = ""
    hash: str = ""
    partitions: int = 0
    moves: int = 0
    steps: int = 0
    destructive: int = 0
    bytes: int = 0
    certificates: Sequence[PoolCertificate] = ()
    problems: Sequence[PlanProblem] = ()
    brokers: Sequence[Holding] = ()


class Bar(NamedTuple):
    """A cluster's turn in the timeline; lanes and waves are numbered from 0 and 1."""

    cluster: str
    site: str
    urgency: int
    stages: int
    bytes: int
    begin_s: float
    end_s: float
    lane: int
    wave: int


class Omitted(NamedTuple):
    """Stages of a cluster that no time was found for."""

    cluster: str
    stages: int
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """Who moves when under a shared budget, beside a bound that no schedule beats."""

    begin: datetime
    bars: Sequence[Bar] = ()
    omitted: Sequence[Omitted] = ()
    makespan_s: float = 0.0
    bound_s: float = 0.0
    bound_cause: str = ""
    budget: str = ""


@dataclass(frozen=True, slots=True)
class FleetReport:
    """Everything that a report of a fleet tells; `day` as people write it."""

    day: str
    clusters: Sequence[ClusterReport] = ()
    timeline: Timeline | None = None
