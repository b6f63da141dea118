"""Every metric, declared once: its name, what it counts, its labels, its buckets.

Names follow Prometheus' conventions: base units at the end, `_total` on what only grows, time
stamps (not ages) for "since". Labels stay few, whatever the cluster holds: no topic, partition,
broker or namespace is ever a label.
"""

from enum import StrEnum

from poolkeeper.frozen import frozen

PHASE_BUCKETS_S = (0.01, 0.05, 0.25, 1, 5, 15, 60, 180)
PLANNING_BUCKETS_S = (1, 5, 20, 60, 180, 600, 1800, 3600)
REQUEST_BUCKETS_S = (0.005, 0.02, 0.1, 0.5, 2, 10)
STATUS_BUCKETS_S = (0.1, 0.5, 1, 2, 5, 15, 60)


class Type(StrEnum):
    """The type of a metric, as the exposition format names it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@frozen
class Family:
    """One metric; a histogram has `buckets` in its unit."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, *labels: str) -> Family:
    return Family(f"poolkeeper_{name}", Type.COUNTER, text, labels)


def _gauge(name: str, text: str, *labels: str) -> Family:
    return Family(f"poolkeeper_{name}", Type.GAUGE, text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Family:
    return Family(f"poolkeeper_{name}", Type.HISTOGRAM, text, labels, buckets)


BUILD = _gauge("build_info", "Always 1; the label tells the version.", "version")
LEADER = _gauge("leader", "1 where this process holds the lease, 0 where it stands by.")
LOOPS = _gauge("loops", "Loops that run in this process, one a cluster.")

PASSES = _counter(
    "passes_total", "Passes, by what they ended with (converged, progressed, …).", "cluster", "kind"
)
LAST_PASS = _gauge(
    "last_pass_timestamp_seconds",
    "When the last pass ended without an error, since 1970.",
    "cluster",
)
PHASES = _histogram(
    "phase_duration_seconds",
    "How long the phases of a pass take: observe, plan, stage, apply, report.",
    PHASE_BUCKETS_S,
    "cluster",
    "phase",
)
ERRORS = _counter(
    "errors_total",
    "Passes that ended with an error, by its kind; Internal is a defect of ours.",
    "cluster",
    "kind",
)
CONVERGED = _gauge("converged", "1 where everything is as declared, else 0.", "cluster")

BROKERS = _gauge("brokers", "Live brokers.", "cluster")
TOPICS = _gauge("topics", "Topics in the cluster, declared or not.", "cluster")
PARTITIONS = _gauge("partitions", "Their partitions.", "cluster")

MOVES = _gauge("plan_moves", "Moves of the plan under way or waiting.", "cluster")
MOVES_MOVING = _gauge("plan_moves_moving", "Moves whose step is in flight.", "cluster")
MOVES_DONE = _gauge("plan_moves_done", "Moves of the plan that arrived.", "cluster")
BYTES = _gauge("plan_bytes", "Bytes to be copied by the plan under way or waiting.", "cluster")
BYTES_MOVING = _gauge(
    "plan_moving_bytes", "Bytes that the request which is out has still to copy.", "cluster"
)
BYTES_DONE = _gauge("plan_done_bytes", "Bytes of the plan that are copied.", "cluster")
MOVING_RATE = _gauge(
    "moving_bytes_per_second",
    "Rate of the moves as seen in the last minute; absent where nothing arrives and nobody tells"
    " how far copies are.",
    "cluster",
)
REMAINING = _gauge(
    "plan_remaining_seconds", "Predicted time to the plan's end, where it can be told.", "cluster"
)
THROTTLE = _gauge(
    "throttle_bytes_per_second",
    "Throttle per broker; absent where nothing is throttled.",
    "cluster",
)
APPROVAL = _gauge(
    "plan_waits_for_approval", "1 where a plan waits for a person, else 0.", "cluster"
)
APPROVAL_SINCE = _gauge(
    "plan_waits_for_approval_timestamp_seconds",
    "Since when this process knows that the plan waits, since 1970; absent where none waits.",
    "cluster",
)
LATE_STAGE = _gauge(
    "stage_deadline_exceeded", "1 where a stage is over its deadline, else 0.", "cluster"
)

REBALANCES = _gauge(
    "rebalances", "Rebalances by what they say: the reason of their condition Ready.", "reason"
)
REBALANCE_PLANNING = _histogram(
    "rebalance_planning_seconds",
    "From the question of a Rebalance to the plans of all its clusters, by engine: Local, Spark.",
    PLANNING_BUCKETS_S,
    "engine",
)
REBALANCE_CLUSTERS = _counter(
    "rebalance_clusters_total",
    "Clusters that a Rebalance has ended in, by outcome: Done, InPlace, Failed.",
    "outcome",
)
REBALANCE_PLANNED_BYTES = _counter(
    "rebalance_planned_bytes_total", "Bytes that plans of Rebalances copy, once they are made."
)
REBALANCE_MOVED_BYTES = _counter(
    "rebalance_moved_bytes_total", "Bytes that Rebalances have copied."
)

ZOOKEEPER = _counter(
    "zookeeper_requests_total", "Requests to ZooKeeper, by verb: read, write.", "cluster", "verb"
)
API_REQUESTS = _counter(
    "api_requests_total",
    "Requests to the API server, by verb and by kind of answer: 2xx, 3xx, 4xx, 5xx, none.",
    "verb",
    "kind",
)
API_DURATION = _histogram(
    "api_request_duration_seconds",
    "How long the API server takes to answer, watches not counted.",
    REQUEST_BUCKETS_S,
    "verb",
)

RESOURCES = _gauge(
    "resources",
    "Resources by kind and by status of their condition Ready.",
    "cluster",
    "kind",
    "ready",
)
STATUS_LAG = _histogram(
    "status_lag_seconds",
    "From the moment a status is known to its acceptance by the API server.",
    STATUS_BUCKETS_S,
)
STATUSES = _gauge("statuses_waiting", "Statuses that wait to be written.")
STATUSES_AGE = _gauge("statuses_waiting_seconds", "Age of the oldest of them, 0 where none waits.")

FAMILIES = (
    BUILD,
    LEADER,
    LOOPS,
    PASSES,
    LAST_PASS,
    PHASES,
    ERRORS,
    CONVERGED,
    BROKERS,
    TOPICS,
    PARTITIONS,
    MOVES,
    MOVES_MOVING,
    MOVES_DONE,
    BYTES,
    BYTES_MOVING,
    BYTES_DONE,
    MOVING_RATE,
    REMAINING,
    THROTTLE,
    APPROVAL,
    APPROVAL_SINCE,
    LATE_STAGE,
    REBALANCES,
    REBALANCE_PLANNING,
    REBALANCE_CLUSTERS,
    REBALANCE_PLANNED_BYTES,
    REBALANCE_MOVED_BYTES,
    ZOOKEEPER,
    API_REQUESTS,
    API_DURATION,
    RESOURCES,
    STATUS_LAG,
    STATUSES,
    STATUSES_AGE,
)
"""All metrics, in the order of the documentation."""
