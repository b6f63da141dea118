"""Prometheus metrics; no other module uses prometheus-client.

Callers pass plain values; this module decides which series they become. The cluster's name is the
only resource name in a label. `forget` removes all series of a cluster once its loop ended, so that
a cluster that is no longer declared raises no alerts.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, exposition

from poolkeeper import __version__
from poolkeeper.errors import PoolkeeperError
from poolkeeper.model.execution import wait_reasons, waits
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.telemetry import families
from poolkeeper.telemetry.families import Family, Type

READY = ("True", "False", "Unknown")


class Metrics:
    """All metrics of one process; every method is thread-safe.

    Without a registry it makes one, with memory, processor time and open files of the process.
    `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        registry: CollectorRegistry | None = None,
        clock: Callable[[], float] = time.time,
        version: str = __version__,
    ) -> None:
        if registry is None:
            registry = CollectorRegistry()
            prometheus_client.ProcessCollector(registry=registry)
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry
        self._clock = clock
        self._counters: dict[Family, Counter] = {}
        self._gauges: dict[Family, Gauge] = {}
        self._histograms: dict[Family, Histogram] = {}
        for family in families.FAMILIES:
            self._declare(family)
        self._gauges[families.BUILD].labels(version).set(1)
        self._waiting_since: dict[str, float] = {}
        self._reasons: set[str] = set()

    def page(self) -> tuple[bytes, str]:
        """Return the exposition and its content type."""
        text = exposition.generate_latest(self._registry)
        return text, exposition.CONTENT_TYPE_PLAIN_0_0_4

    def set_leader(self, is_leader: bool) -> None:
        """Set whether this process holds the Lease."""
        self._gauges[families.LEADER].set(is_leader)

    def set_loops(self, number: int) -> None:
        """Set the number of running cluster loops."""
        self._gauges[families.LOOPS].set(number)

    def observe_phase(self, cluster: str, phase: str, seconds: float) -> None:
        """Record the duration of one phase of a pass: observe, plan, stage, apply, report."""
        self._histograms[families.PHASES].labels(cluster, phase).observe(seconds)

    @contextmanager
    def timed(self, cluster: str, phase: str) -> Iterator[None]:
        """Record the duration of the block as this phase, also if it raises."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self.observe_phase(cluster, phase, time.monotonic() - began_s)

    def count_error(self, cluster: str, error: BaseException) -> None:
        """Count a pass that raised this error; `observe_outcome` counts an error in the outcome."""
        kind = type(error).__name__ if isinstance(error, PoolkeeperError) else "Internal"
        self._counters[families.ERRORS].labels(cluster, kind).inc()
        self._set(families.CONVERGED, cluster, 0)

    def observe_outcome(self, cluster: str, outcome: Outcome) -> None:
        """Record the outcome of a pass and the progress of its plan.

        Values that a failed pass does not have stay as they were.
        """
        self._counters[families.PASSES].labels(cluster, outcome.state.value).inc()
        if outcome.error is not None:
            self.count_error(cluster, outcome.error)
            return
        self._set(families.LAST_PASS, cluster, self._clock())
        self._set(families.CONVERGED, cluster, outcome.state is State.CONVERGED)
        self._observe_waits(cluster, outcome)
        for family, value in _sizes(outcome).items():
            self._set(family, cluster, value)

    def set_rebalances(self, by_reason: Mapping[str, int]) -> None:
        """Set the number of Rebalances by reason; all other reasons are 0."""
        self._reasons |= by_reason.keys()
        for reason in self._reasons:
            self._gauges[families.REBALANCES].labels(reason).set(by_reason.get(reason, 0))

    def observe_planning(self, engine: str, seconds: float, size_bytes: int) -> None:
        """Record a planned Rebalance: its engine, its duration, and the bytes that it will copy."""
        self._histograms[families.REBALANCE_PLANNING].labels(engine).observe(seconds)
        self._counters[families.REBALANCE_PLANNED_BYTES].inc(size_bytes)

    def count_rebalanced(self, ended: Mapping[str, int], moved_bytes: int) -> None:
        """Count the clusters in which a Rebalance ended, by outcome, and the bytes it copied."""
        for outcome, number in ended.items():
            self._counters[families.REBALANCE_CLUSTERS].labels(outcome).inc(number)
        self._counters[families.REBALANCE_MOVED_BYTES].inc(moved_bytes)

    def count_zookeeper(self, cluster: str, *, reads: int = 0, writes: int = 0) -> None:
        """Count requests to a cluster's ZooKeeper."""
        for verb, number in (("read", reads), ("write", writes)):
            self._counters[families.ZOOKEEPER].labels(cluster, verb).inc(number)

    def observe_api_request(self, verb: str, status: int | None, seconds: float | None) -> None:
        """Count a request to the API server: get, list, watch, create, update, patch, delete.

        `status` is the HTTP status, `None` without a response; `seconds` is `None` for a watch.
        """
        kind = "none" if status is None else f"{status // 100}xx"
        self._counters[families.API_REQUESTS].labels(verb, kind).inc()
        if seconds is not None:
            self._histograms[families.API_DURATION].labels(verb).observe(seconds)

    def set_resources(self, cluster: str, kind: str, ready: Mapping[str, int]) -> None:
        """Set the number of resources of a kind by the status of Ready: True, False, Unknown."""
        for status in READY:
            self._gauges[families.RESOURCES].labels(cluster, kind, status).set(ready.get(status, 0))

    def forget_resources(self, cluster: str) -> None:
        """Remove what was counted of a cluster's resources, once it has none."""
        self._gauges[families.RESOURCES].remove_by_labels({"cluster": cluster})

    def observe_status_write(self, lag_s: float) -> None:
        """Record the delay between a new status and its acceptance by the API server."""
        self._histograms[families.STATUS_LAG].observe(lag_s)

    def follow_statuses(self, waiting: Callable[[], tuple[int, float]]) -> None:
        """Call `waiting` at each scrape: the number of queued statuses, the oldest one's age in s.

        It is polled because a status writer that is stuck reports nothing.
        """
        self._gauges[families.STATUSES].set_function(lambda: waiting()[0])
        self._gauges[families.STATUSES_AGE].set_function(lambda: waiting()[1])

    def forget(self, cluster: str) -> None:
        """Remove all series of a cluster; call it after the cluster's loop ended."""
        self._waiting_since.pop(cluster, None)
        for metrics in (self._counters, self._gauges, self._histograms):
            for family, metric in metrics.items():
                if "cluster" in family.labels:
                    metric.remove_by_labels({"cluster": cluster})

    def _observe_waits(self, cluster: str, outcome: Outcome) -> None:
        waiting = waits.has(outcome.waits, wait_reasons.WaitReason.APPROVAL_REQUIRED)
        late = waits.has(outcome.waits, wait_reasons.WaitReason.STAGE_DEADLINE)
        if waiting:
            self._waiting_since.setdefault(cluster, self._clock())
        else:
            self._waiting_since.pop(cluster, None)
        self._set(families.APPROVAL, cluster, waiting)
        self._set(families.APPROVAL_SINCE, cluster, self._waiting_since.get(cluster))
        self._set(families.LATE_STAGE, cluster, late)

    def _set(self, family: Family, cluster: str, value: float | None) -> None:
        """Set a gauge of a cluster; `None` removes its series."""
        if value is None:
            self._gauges[family].remove_by_labels({"cluster": cluster})
        else:
            self._gauges[family].labels(cluster).set(value)

    def _declare(self, family: Family) -> None:
        name, text, labels, registry = family.name, family.help, family.labels, self._registry
        match family.type:
            case Type.COUNTER:
                self._counters[family] = Counter(name, text, labels, registry=registry)
            case Type.GAUGE:
                self._gauges[family] = Gauge(name, text, labels, registry=registry)
            case Type.HISTOGRAM:
                self._histograms[family] = Histogram(
                    name, text, labels, registry=registry, buckets=family.buckets
                )


def _moving_rate(progress: Progress) -> float | None:
    """Return the rate of the moves; `None` where nothing arrives and nobody says what is copied."""
    if progress.rate_bytes_per_s is None and progress.bytes_in_doubt:
        return None
    return progress.rate_bytes_per_s or 0


def _sizes(outcome: Outcome) -> dict[Family, float | None]:
    """Return the values of the gauges of the cluster and its plan; `None` is no value."""
    progress, seen = outcome.progress, outcome.last_observation
    moves = () if outcome.plan is None else outcome.plan.moves
    sizes: dict[Family, float | None] = {
        families.MOVES: len(moves),
        families.MOVES_MOVING: 0,
        families.MOVES_DONE: 0,
        families.BYTES: sum(move.bytes for move in moves),
        families.BYTES_MOVING: 0,
        families.BYTES_DONE: 0,
        families.MOVING_RATE: 0,
        families.REMAINING: None,
        families.THROTTLE: None,
    }
    if progress is not None:
        sizes |= {
            families.MOVES: progress.moves_total,
            families.MOVES_MOVING: progress.moves_in_flight,
            families.MOVES_DONE: progress.moves_done,
            families.BYTES: progress.bytes_total,
            families.BYTES_MOVING: progress.bytes_in_flight,
            families.BYTES_DONE: progress.bytes_done,
            families.MOVING_RATE: _moving_rate(progress),
            families.REMAINING: progress.seconds_left,
            families.THROTTLE: progress.throttle_bytes_per_s,
        }
    if seen is not None:
        topics = seen.cluster.topics
        sizes |= {
            families.BROKERS: len(seen.cluster.brokers),
            families.TOPICS: len(topics),
            families.PARTITIONS: sum(len(topic.partitions) for topic in topics.values()),
        }
    return sizes
