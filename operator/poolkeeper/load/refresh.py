"""Load history in the observation of a cluster that declares `load: {source: Prometheus}`.

The figures are those of fleets (`load.time_series`): a rate is the 95th percentile of the window, a
size the latest that was measured. So only the last step is requested for sizes: the window of two
hundred thousand partitions would be tens of millions of samples. A partition that is no longer
measured has no size.

An answer may take a minute, and a pass must not. So a loop requests it in the background, every
`REFRESH_S`, and uses the last answer until the next one succeeds. Until the first one the figures
are unknown, and unknown loads are not balanced.
"""

import logging
import time
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from threading import Thread

import numpy as np

from poolkeeper.errors import PoolkeeperError
from poolkeeper.load import prometheus, time_series
from poolkeeper.load.apply import Figure, MeasuredLoads, with_loads
from poolkeeper.load.prometheus import BYTES, RATE, PrometheusServer, Sample
from poolkeeper.load.time_series import HistoryWindow, Samples
from poolkeeper.model.specs import LoadSource
from poolkeeper.model.topology import Cluster
from poolkeeper.resources.parse.quantities import duration_s

SOURCE = "Prometheus"
WINDOW = "24h"
REFRESH_S = 900.0
DEADLINE_S = 120.0
ANSWER_BYTES_MAX = 128 * 1024 * 1024
STEPS_MAX = 96
STEP_MIN_S = 60
NONE = LoadSource()
NOTHING = MeasuredLoads({}, {})

logger = logging.getLogger(__name__)

FetchLoads = Callable[[LoadSource, int], MeasuredLoads]


def fetch_loads(load: LoadSource, now_ms: int, deadline_s: float = DEADLINE_S) -> MeasuredLoads:
    """Request the history up to now; raises as `prometheus.samples` does."""
    settings = load.prometheus
    queries = {**prometheus.QUERIES, **_queries(load)}
    server = PrometheusServer(str(settings["url"]), deadline_s, ANSWER_BYTES_MAX)
    length_s = duration_s(str(settings.get("window", WINDOW)))
    step_s = max(STEP_MIN_S, -(-length_s // STEPS_MAX))
    last = HistoryWindow(now_ms, step_s, step_s)
    whole = HistoryWindow(now_ms, length_s, step_s)
    size = prometheus.samples(server, last, {BYTES: queries[BYTES]})
    rate = prometheus.samples(server, whole, {RATE: queries[RATE]})
    return MeasuredLoads(_sizes(size, last), _rates(rate, whole))


def with_load_history(cluster: Cluster, load: LoadSource, now_ms: int) -> tuple[Cluster, str]:
    """The cluster with its declared load history, requested now; or why it has none."""
    if load.source != SOURCE:
        return cluster, ""
    try:
        return with_loads(cluster, fetch_loads(load, now_ms)), ""
    except PoolkeeperError as error:
        return cluster, f"no load history: {error}"


def _queries(load: LoadSource) -> dict[str, str]:
    said = load.prometheus.get("queries")
    return {str(name): str(query) for name, query in said.items()} if isinstance(said, dict) else {}


def _sizes(samples: Iterable[Sample], window: HistoryWindow) -> Figure:
    return _figures(samples, window, latest=True)


def _rates(samples: Iterable[Sample], window: HistoryWindow) -> Figure:
    return _figures(samples, window, latest=False)


def _figures(samples: Iterable[Sample], window: HistoryWindow, *, latest: bool) -> Figure:
    """The last figure of each series, or its 95th percentile where that is known."""
    number: dict[tuple[str, int], int] = {}
    series, at_ms, value = array("q"), array("q"), array("d")
    for each in samples:
        series.append(number.setdefault((each.topic, each.partition), len(number)))
        at_ms.append(each.at_ms)
        value.append(each.value)
    columns = Samples(np.array(series), np.array(at_ms), np.array(value))
    made = time_series.figures(columns, window, latest=latest)
    names = list(number)
    chosen = made.last if latest else made.p95
    return {
        names[of]: figure
        for of, figure in zip(made.series.tolist(), chosen.tolist(), strict=True)
        if figure == figure  # NaN: it was not measured for long enough
    }


@dataclass(slots=True)
class LoadHistory:
    """The load history of one cluster, for its loop. For one thread; `clock_s` only rises."""

    load_source: Callable[[], LoadSource]
    fetch: FetchLoads = fetch_loads
    clock_s: Callable[[], float] = time.monotonic
    _load: LoadSource = NONE
    _loads: MeasuredLoads = NOTHING
    _next_s: float | None = None
    _fetch_thread: Thread | None = None
    _answers: list[tuple[LoadSource, MeasuredLoads | PoolkeeperError]] = field(default_factory=list)
    _last_error: str = ""

    def __call__(self, cluster: Cluster) -> Cluster:
        """The cluster with the last figures; requests new ones if they are due."""
        self._take_answer()
        if self.load_source() != self._load:
            self._load, self._loads, self._next_s = self.load_source(), NOTHING, None
        if self._load.source != SOURCE:
            return cluster
        if self._fetch_thread is None and (self._next_s is None or self.clock_s() >= self._next_s):
            self._next_s = self.clock_s() + REFRESH_S
            fetch = partial(self._fetch, self._load)
            self._fetch_thread = Thread(target=fetch, name="load history", daemon=True)
            self._fetch_thread.start()
        return with_loads(cluster, self._loads)

    def _fetch(self, load: LoadSource) -> None:
        answer: MeasuredLoads | PoolkeeperError
        try:
            answer = self.fetch(load, time.time_ns() // 1_000_000)
        except PoolkeeperError as wrong:
            answer = wrong
        self._answers.append((load, answer))

    def _take_answer(self) -> None:
        if self._fetch_thread is None or self._fetch_thread.is_alive():
            return
        self._fetch_thread = None
        # Neither: a bug of ours ended the thread, and is in the log.
        load, answer = self._answers.pop() if self._answers else (None, None)
        if load != self._load:
            return
        if isinstance(answer, MeasuredLoads):
            self._loads, self._last_error = answer, ""
        elif str(answer) != self._last_error:
            self._last_error = str(answer)
            logger.warning("no load history: %s; the last figures stand", answer)
