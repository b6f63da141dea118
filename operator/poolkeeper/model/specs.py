"""What people declare, parsed: one frozen value per resource, with all defaults applied.

Sizes are bytes, durations seconds, rates bytes per second. `None` is "not declared". The shapes
follow the schemas in `crds/`. `resources/` builds these values only after it has reported every
problem.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.tenancy import NAMESPACE_LIMITS, TOPIC_LIMITS, Adoption, DeclarationLimits
from poolkeeper.model.topology import Replicas


@frozen
class SourceLocation:
    """Where a document came from: file and line (1-based) of its start, or neither."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


class Mode(StrEnum):
    """How much the loop may do."""

    APPLY = "Apply"
    PLAN_ONLY = "PlanOnly"
    PAUSED = "Paused"
    ROLL_BACK = "RollBack"


class ApprovalPolicy(StrEnum):
    """Whether moves and destructive steps need a person's approval."""

    AUTO = "Auto"
    MANUAL = "Manual"


class ReplicasAtATime(StrEnum):
    """How many replicas of one partition a migration replaces in one request."""

    ALL = "All"
    ONE = "One"


class ThrottleMode(StrEnum):
    """Replication throttling while moves run."""

    NONE = "None"
    FIXED = "Fixed"
    ADAPTIVE = "Adaptive"


class UnmanagedTopics(StrEnum):
    """What happens to topics that no Topic resource and no claim names."""

    IGNORE = "Ignore"
    EVACUATE_ONLY = "EvacuateOnly"
    MANAGE = "Manage"


class Strategy(StrEnum):
    """How a topic's replicas are placed."""

    BALANCED = "Balanced"
    KAFKA = "Kafka"
    MANUAL = "Manual"


class DeletionPolicy(StrEnum):
    """What happens to the Kafka topic when its resource is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class FailureDomain(StrEnum):
    """A failure domain."""

    BROKER = "Broker"
    RACK = "Rack"


class RackPolicy(StrEnum):
    """Whether replicas are moved to spread a partition over racks."""

    SPREAD = "Spread"
    AS_FOUND = "AsFound"


class LimitPolicy(StrEnum):
    """Whether a limit only warns or is a law."""

    WARN = "Warn"
    ENFORCE = "Enforce"


@frozen
class Tls:
    """PEM files of a TLS client; `ca` alone authenticates the server only.

    `secret` names the Secret that holds them instead, on Kubernetes.
    """

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    secret: str | None = None


@frozen
class ZooKeeperSpec:
    """`connect` is `host:port,host:port/chroot`; credentials are named, never held."""

    connect: str
    credentials_secret: str | None = None
    tls: Tls | None = None


@frozen
class BrokersSpec:
    """How to reach the brokers' own protocol, if it may be used."""

    bootstrap_servers: tuple[str, ...]
    credentials_secret: str | None = None
    tls: Tls | None = None


@frozen
class Approval:
    """`plans` holds approved hashes, `sha256:…`, of plans and of parts of them.

    `by`: the users who approved, by hash. `commit`: in which commit, where that is said.
    """

    policy: ApprovalPolicy = ApprovalPolicy.MANUAL
    plans: tuple[str, ...] = ()
    by: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""


@frozen
class Throttle:
    """`rate_bytes_per_s` is the fixed rate, or the start of the adaptive one."""

    mode: ThrottleMode = ThrottleMode.ADAPTIVE
    rate_bytes_per_s: int = 100 * 1024 * 1024


@frozen
class Window:
    """Stages start only between a firing of `cron` and `duration_s` later."""

    cron: str
    duration_s: int
    time_zone: str = "UTC"


@frozen
class Remedies:
    """Interventions in Kafka's own admin state that a person has allowed."""

    remove_stale_requests: bool = False
    finish_orphaned_moves: bool = False
    allow_controller_failover: bool = False
    overwrite_larger_logs: bool = False


@frozen
class Execution:
    """Limits of what is in flight."""

    max_moves: int = 200
    max_moves_per_broker: int = 10
    max_bytes: int = 1024**4
    replicas_at_a_time: ReplicasAtATime = ReplicasAtATime.ALL
    throttle: Throttle = Throttle()
    stage_deadline_s: int = 6 * 3600
    roll_back_on_deadline: bool = False
    windows: tuple[Window, ...] = ()
    remedies: Remedies = Remedies()
    restart_lock: str | None = None


@frozen
class Heal:
    """Whether and when a missing broker's replicas are rebuilt elsewhere."""

    enabled: bool = False
    after_s: int = 30 * 60
    max_brokers: int = 1


@frozen
class Balancing:
    """Balancing: whether it alone may start a plan; `min_gain_percent` of the imbalance removed."""

    enabled: bool = True
    cool_down_s: int = 3600
    min_gain_percent: float = 0.0


@frozen
class ClusterLimits:
    """Limits of ZooKeeper-mode clusters by experience; laws if enforced."""

    partitions: int = 200_000
    replicas_per_broker: int = 4_000
    policy: LimitPolicy = LimitPolicy.WARN


@frozen
class LoadSource:
    """Where load figures come from; `prometheus` holds its settings verbatim."""

    source: str = "None"
    prometheus: Mapping[str, object] = field(default_factory=dict)


@frozen
class KafkaClusterSpec:
    """A KafkaCluster.

    `system_topics`: the namespaces whose Topics may have names that start with `_`; None is all.
    `topic_prefix`: how the names of a namespace's topics begin, with `{namespace}` in it.
    """

    name: str
    zookeeper: ZooKeeperSpec
    brokers: BrokersSpec | None = None
    kafka_version: str | None = None
    cluster_id: str | None = None
    mode: Mode = Mode.PLAN_ONLY
    approval: Approval = Approval()
    execution: Execution = Execution()
    heal: Heal = Heal()
    balancing: Balancing = Balancing()
    unmanaged_topics: UnmanagedTopics = UnmanagedTopics.IGNORE
    default_pool: str | None = None
    load: LoadSource = LoadSource()
    limits: ClusterLimits = ClusterLimits()
    topic_limits: DeclarationLimits = TOPIC_LIMITS
    namespace_limits: DeclarationLimits = NAMESPACE_LIMITS
    adoption: Adoption = Adoption()
    system_topics: tuple[str, ...] | None = None
    topic_prefix: str | None = None
    source: SourceLocation = SourceLocation()


class GoalKind(StrEnum):
    """What a balance goal balances."""

    REPLICAS = "replicas"
    LEADERS = "leaders"
    TOPIC_REPLICAS = "topicReplicas"
    BYTES = "bytes"
    BYTES_IN = "bytesIn"
    LOG_DIRS = "logDirs"


@frozen
class Goal:
    """A band around the share: exactly one of `percent` and `count` is set."""

    kind: GoalKind
    percent: float | None = None
    count: int | None = None


DEFAULT_GOALS = (Goal(GoalKind.REPLICAS, percent=5.0), Goal(GoalKind.LEADERS, percent=5.0))


@frozen
class Capacity:
    """The capacity of one broker: its weight in the shares, its disk and its cap of replicas."""

    weight: float = 1.0
    disk_bytes: int | None = None
    replicas: int | None = None


@frozen
class Headroom:
    """The pool must hold its data with this many failures of the domain."""

    domain: FailureDomain = FailureDomain.BROKER
    failures: int = 0


@frozen
class Quotas:
    """Bounds of what a pool accepts; per namespace and in all."""

    topics: int | None = None
    partitions: int | None = None
    per_namespace: Mapping[str, "Quotas"] = field(default_factory=dict)


@frozen
class AllowedNamespaces:
    """Namespaces by name or by label selector (verbatim); `None` everywhere allows all."""

    names: tuple[str, ...] | None = None
    selector: Mapping[str, object] | None = None


@frozen
class TopicDefaults:
    """Defaults for Topics that do not declare these fields, at creation only."""

    partitions: int | None = None
    replication_factor: int | None = None


@frozen
class DrainLogDir:
    """A log directory to be emptied."""

    broker: int
    path: str


@frozen
class ResourcePoolSpec:
    """A ResourcePool; `brokers` is the expanded, ascending set of ids.

    `capacity_of` holds an entry for every broker with an override; others have `capacity`.
    `goals` are in declared order.
    """

    name: str
    cluster: str
    brokers: tuple[int, ...]
    racks: Mapping[int, str] = field(default_factory=dict)
    drain: frozenset[int] = frozenset()
    demote: frozenset[int] = frozenset()
    drain_log_dirs: tuple[DrainLogDir, ...] = ()
    capacity: Capacity = Capacity()
    capacity_of: Mapping[int, Capacity] = field(default_factory=dict)
    headroom: Headroom | None = None
    quotas: Quotas | None = None
    allowed_namespaces: AllowedNamespaces | None = None
    claims: tuple[str, ...] = ()
    defaults: TopicDefaults = TopicDefaults()
    goals: tuple[Goal, ...] = DEFAULT_GOALS
    rack_policy: RackPolicy = RackPolicy.SPREAD
    source: SourceLocation = SourceLocation()

    def capacity_for(self, broker: int) -> Capacity:
        """The broker's own capacity, or the pool's."""
        return self.capacity_of.get(broker, self.capacity)


@frozen
class TopicSpec:
    """A Topic; `topic` is the Kafka topic's name, `pool` the ResourcePool's."""

    name: str
    namespace: str
    topic: str
    pool: str
    partitions: int | None = None
    replication_factor: int | None = None
    keyed: bool = False
    accept_key_remap_to: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    strategy: Strategy = Strategy.BALANCED
    assignment: tuple[Replicas, ...] | None = None
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    paused: bool = False
    source: SourceLocation = SourceLocation()

    @property
    def owner(self) -> str:
        """`namespace/name`, as the ownership record names it."""
        return f"{self.namespace}/{self.name}"

    @property
    def manual(self) -> tuple[Replicas, ...] | None:
        """The replica lists of the topic's manual assignment, by partition, if it has one."""
        return self.assignment if self.strategy is Strategy.MANUAL else None

    @property
    def declared_partitions(self) -> int | None:
        """How many partitions the Topic declares, if it does."""
        return self.partitions if self.manual is None else len(self.manual)
