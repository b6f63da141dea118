"""The inputs of reports; filled in from a plan, or from the tables of a fleet.

Sizes are bytes, times are seconds from the start of the schedule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from poolkeeper.model.plans import PlanProblem, PoolCertificate

URGENCIES = ("heal", "drain", "migration", "replication", "balance")
"""The urgency classes of moves, by number."""


class Holding(NamedTuple):
    """A broker, and what it holds before and after a plan; `pool` is empty without a pool.

    `weight` is its weight in the pool; 0 for a broker that is drained, dead or in no pool.
    `leaders` counts first replicas.
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
    """One cluster of the fleet: the numbers of its plan, or `failed`, the reason without one.

    `destructive`: the steps that need a person's approval.
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
    """A cluster's moves in the timeline; lanes are numbered from 0, waves from 1."""

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
    """The stages of a cluster that did not fit into the schedule."""

    cluster: str
    stages: int
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """When each cluster moves under the shared budget, beside the makespan's lower bound."""

    begin: datetime
    bars: Sequence[Bar] = ()
    omitted: Sequence[Omitted] = ()
    makespan_s: float = 0.0
    bound_s: float = 0.0
    bound_cause: str = ""
    budget: str = ""


@dataclass(frozen=True, slots=True)
class FleetReport:
    """The inputs of a fleet's report; `day` as people write it."""

    day: str
    clusters: Sequence[ClusterReport] = ()
    timeline: Timeline | None = None
