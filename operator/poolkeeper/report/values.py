"""The inputs of reports; filled in from a plan, or from the tables of a fleet.

Sizes are bytes, times are seconds from the start of the schedule.
"""

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.plans import PlanProblem, PoolCertificate

URGENCIES = ("heal", "drain", "migration", "replication", "balance")
"""The urgency classes of moves, by number."""


class Holding(NamedTuple):
    """A broker, and what it holds before and after a plan; `pool` is empty without a pool.

    `weight` is its weight in the pool; 0 for a broker that is drained, dead or in no pool.
    `leaders` counts first replicas. `sized`: whether any size is known; without, bytes are 0.
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
    sized: bool = True


class Gap(StrEnum):
    """What a fleet's report should have and does not."""

    NO_SNAPSHOT = "NoSnapshot"
    """The cluster is declared, and there is no snapshot of that day."""
    OLD_SNAPSHOT = "OldSnapshot"
    """The cluster's snapshot was read more than a day before that day."""
    NOT_READ = "NotRead"
    """The cluster could not be read."""
    NOT_READ_AGAIN = "NotReadAgain"
    """A later snapshot of that day could not be read; the one before it counts."""
    NO_FEATURES = "NoFeatures"
    """Other clusters or earlier days have features, this cluster has none of that day."""
    NO_PLAN = "NoPlan"
    """There is a snapshot and no result of planning: the step was not made, or killed."""
    NOT_PLANNED = "NotPlanned"
    """The cluster could not be planned."""
    OLD_PLAN = "OldPlan"
    """The cluster's snapshot is newer than its plan, which therefore has no page."""
    NO_BUDGET = "NoBudget"
    """Plans move something, budgets are made for this fleet, and that day has none."""
    NOT_SCHEDULED = "NotScheduled"
    """The budget was made from another plan of the cluster, or from other windows."""
    NO_TIME = "NoTime"
    """The budget leaves out the cluster's plan, or its last stages."""
    DAMAGED = "Damaged"
    """A table of the cluster cannot be read."""


class Missing(NamedTuple):
    """A gap, and the cluster that has it; `cluster` is empty for the whole day.

    `detail`: what was found instead, if something was.
    """

    gap: Gap
    cluster: str = ""
    detail: str = ""


@frozen
class SnapshotReport:
    """How old and how complete a cluster's snapshot is; `read_ms` is None without one.

    `unknown_sizes`: partitions whose size neither the snapshot nor the load history knows.
    `torn`: topics that changed while they were read. `damaged`: those that cannot be decoded.
    `remark`: what could not be learnt, or why there is no snapshot.
    """

    cluster: str
    site: str = ""
    read_ms: int | None = None
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    unknown_sizes: int = 0
    torn: int = 0
    damaged: int = 0
    remark: str = ""


class BrokerLoad(NamedTuple):
    """What is known of the load of a broker; `pool` is empty without a pool.

    `weight` as in Holding. `bytes` are of the `sized` replicas, whose size is known. Of `growth`
    (bytes per day, or None) it is known for replicas of `grown_bytes`. `bytes_in_per_s` is written
    to its replicas, None where no rate is known.
    """

    cluster: str
    pool: str
    broker: int
    rack: str | None
    weight: float
    replicas: int
    leaders: int
    sized: int
    bytes: int
    grown_bytes: int
    growth: float | None
    capacity: int | None
    bytes_in_per_s: float | None


class Coverage(NamedTuple):
    """What a forecast is made from, each 0 to 1.

    `sizes`: the part of the replicas whose size is known. `growth`: the part of the bytes whose
    growth is known.
    """

    sizes: float
    growth: float


class BrokerForecast(NamedTuple):
    """When a broker is full at its growth: 0 now, None never or unknown."""

    load: BrokerLoad
    coverage: Coverage
    days_to_full: float | None


@frozen
class PoolForecast:
    """How full a pool of a cluster is, when it will be, and how many brokers it needs by then.

    `brokers`: those that take replicas. `capacity` and `limit` (the capacity after the failures
    that its headroom asks for) are None where a broker's capacity is unknown. `brokers_to_add`:
    brokers of the usual capacity that keep it below its limit for `horizon_days`; None if that is
    unknown, or if no number would.
    """

    cluster: str
    pool: str
    brokers: int
    bytes: int
    capacity: int | None
    limit: int | None
    growth: float | None
    coverage: Coverage
    days_to_full: float | None
    days_to_limit: float | None
    first_broker_days: float | None
    horizon_days: float
    brokers_to_add: int | None


class Measured(StrEnum):
    """What is counted of partitions and brokers."""

    REPLICAS = "replicas"
    LEADERS = "leaders"
    BYTES = "bytes"
    BYTES_IN = "bytes_in_per_s"


class Hot(NamedTuple):
    """A partition, or with partition -1 a topic, that is among the first of its cluster."""

    cluster: str
    pool: str
    measured: Measured
    topic: str
    partition: int
    value: float


class Skew(NamedTuple):
    """The broker of a pool that is furthest above its share; `share` goes by weight."""

    cluster: str
    pool: str
    measured: Measured
    broker: int
    held: float
    share: float

    @property
    def ratio(self) -> float:
        """How many times its share it holds."""
        return self.held / self.share if self.share else 0.0


class ProblemKey(NamedTuple):
    """A problem of a plan, without the figures that change from day to day."""

    pool: str
    law: str
    topic: str


@frozen
class ClusterDay:
    """What a cluster was like on a day: what days are compared by.

    `partitions` is None where it was not read. `planned`: whether it had a plan; only then are
    `held` (the bytes of all replicas), `moves`, `move_bytes`, `problems` and `imbalance` (the part
    of the replicas off their share) known.
    """

    cluster: str
    partitions: int | None = None
    held: int | None = None
    planned: bool = False
    moves: int = 0
    move_bytes: int = 0
    imbalance: float = 0.0
    problems: frozenset[ProblemKey] = frozenset()


class Presence(StrEnum):
    """Whether a cluster is in both days."""

    CAME = "came"
    WENT = "went"
    STAYED = "stayed"


@frozen
class ClusterDifference:
    """A cluster on the earlier day and now; an absent day is that of an empty cluster."""

    cluster: str
    presence: Presence
    before: ClusterDay
    now: ClusterDay
    problems_new: tuple[ProblemKey, ...] = ()
    problems_solved: tuple[ProblemKey, ...] = ()


@frozen
class Differences:
    """All clusters that differ from an earlier day, by name; `since` is that day."""

    since: str
    clusters: tuple[ClusterDifference, ...] = ()


@frozen
class ClusterReport:
    """One cluster of the fleet: the numbers of its plan, or `failed`, the reason without one.

    `destructive`: the steps that need a person's approval.
    `page`: the path of its plan's page beside the report; empty: it has none.
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
    page: str = ""


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


@frozen
class Timeline:
    """When each cluster moves under the shared budget, beside the makespan's lower bound."""

    begin: datetime
    bars: Sequence[Bar] = ()
    omitted: Sequence[Omitted] = ()
    makespan_s: float = 0.0
    bound_s: float = 0.0
    bound_cause: str = ""
    budget: str = ""


@frozen
class FleetReport:
    """The inputs of a fleet's report; `day` as people write it.

    `made_ms`: when it is made, the time that ages are counted to. `until`: the day to which pools
    are forecast. `differences`: None where there is no earlier day. `pages_left_out`: plans for
    which no page was made, as there are too many.
    """

    day: str
    clusters: Sequence[ClusterReport] = ()
    timeline: Timeline | None = None
    made_ms: int = 0
    until: date | None = None
    snapshots: Sequence[SnapshotReport] = ()
    pools: Sequence[PoolForecast] = ()
    brokers: Sequence[BrokerForecast] = ()
    hottest: Sequence[Hot] = ()
    skews: Sequence[Skew] = ()
    differences: Differences | None = None
    missing: Sequence[Missing] = ()
    pages_left_out: int = 0
