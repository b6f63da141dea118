"""Load history from a Prometheus server, by its HTTP API, and the default queries.

A query gives series with a label `topic`, and `partition` if known; figures are bytes, or bytes per
second. `spec.load.prometheus.queries` replaces `QUERIES` by name:

    bytes             size of a replica, the largest if several brokers report it
    bytes_in_per_s    bytes written, by topic: brokers do not report them by partition

A range query of the server has at most 11,000 points a series, and 100,000 series of a day are too
much for one answer. So a window is requested in pieces of `PIECE_POINTS` steps, each answer
bounded, all of them within one deadline. Samples are the values of a query at every step.
Prometheus has removed duplicates, and looks back five minutes for missing ones.
"""

import json
import math
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import WHOLE_TOPIC
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.text import size

BYTES, RATE = "bytes", "bytes_in_per_s"
QUERIES: Mapping[str, str] = {
    BYTES: "max by (topic, partition) (kafka_log_log_size)",
    RATE: "sum by (topic) (rate(kafka_server_brokertopicmetrics_bytesin_total[5m]))",
}
PIECE_POINTS = 60
ANSWER_BYTES_MAX = 512 * 1024 * 1024
DEADLINE_S = 300.0
_MESSAGE_MAX = 300
_NUMBER = re.compile(r"[0-9]{1,9}")


@frozen
class Sample:
    """One figure of a partition, or of a whole topic."""

    topic: str
    partition: int
    metric: str
    at_ms: int
    value: float


@frozen
class PrometheusServer:
    """The server's address, and the time that all pieces of a window may take together."""

    url: str
    deadline_s: float = DEADLINE_S
    answer_bytes_max: int = ANSWER_BYTES_MAX


def samples(
    server: PrometheusServer, window: HistoryWindow, queries: Mapping[str, str] = QUERIES
) -> Iterator[Sample]:
    """All samples of the window, metric by metric, in pieces.

    Raises `Unavailable` for a server that does not answer in time. Raises `Refused` for a query
    that the server rejects, or for a malformed answer.
    """
    until_s = time.monotonic() + server.deadline_s
    step_ms = window.step_s * 1000
    for metric, query in sorted(queries.items()):
        # A step is named by its end; the end of the window itself is not in it.
        begin_ms = window.begin_ms + step_ms - 1
        while begin_ms < window.end_ms:
            end_ms = min(begin_ms + (PIECE_POINTS - 1) * step_ms, window.end_ms - 1)
            asked = {
                "query": query,
                "start": f"{begin_ms / 1000:.3f}",
                "end": f"{end_ms / 1000:.3f}",
                "step": str(window.step_s),
            }
            yield from read_matrix(_query_range(server, asked, until_s), metric, server.url)
            begin_ms = end_ms + step_ms


def read_matrix(answer: object, metric: str, url: str) -> Iterator[Sample]:
    """The samples of an answer, without series without a topic and without NaN."""
    match answer:
        case {"status": "success", "data": {"resultType": "matrix", "result": [*series]}}:
            pass
        case _:
            raise Refused(f"{url}: the answer is no range of samples")
    for each in series:
        labels = each.get("metric", {})
        topic, partition = labels.get("topic"), _partition(labels.get("partition"))
        if not topic or partition is None:
            continue
        for at_s, text in each.get("values", ()):
            value = float(text)
            if math.isfinite(value):
                yield Sample(topic, partition, metric, round(float(at_s) * 1000), value)


def _partition(label: str | None) -> int | None:
    if not label:
        return WHOLE_TOPIC
    return int(label) if _NUMBER.fullmatch(label) else None


def _query_range(server: PrometheusServer, parameters: Mapping[str, str], until_s: float) -> Any:
    request = urllib.request.Request(
        f"{server.url.rstrip('/')}/api/v1/query_range",
        data=urlencode(parameters).encode(),
        headers={"Accept": "application/json"},
    )
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise Unavailable(f"{server.url}: no answer in {server.deadline_s:g} s")
    try:
        with urllib.request.urlopen(request, timeout=left_s) as response:
            body = _read_body(response, server, until_s)
    except urllib.error.HTTPError as refused:
        with refused:
            raise _failure(server, refused) from refused
    except (OSError, HTTPException, ssl.SSLError) as failed:
        raise Unavailable(f"{server.url}: {getattr(failed, 'reason', failed)}") from failed
    try:
        return json.loads(body)
    except ValueError as wrong:
        raise Refused(f"{server.url}: the answer is not JSON") from wrong


def _read_body(response: Any, server: PrometheusServer, until_s: float) -> bytes:
    """The body, of bounded length and in bounded time."""
    found = bytearray()
    while piece := response.read1(1 << 20):
        found += piece
        if len(found) > server.answer_bytes_max:
            most = size(server.answer_bytes_max)
            raise Refused(f"{server.url}: the answer is longer than {most}")
        if time.monotonic() > until_s:
            raise Unavailable(f"{server.url}: no whole answer in {server.deadline_s:g} s")
    return bytes(found)


def _failure(server: PrometheusServer, error: urllib.error.HTTPError) -> Refused | Unavailable:
    """`Refused` for 400 and 422, which concern the query; else `Unavailable`."""
    body = error.read(65536)
    try:
        said = json.loads(body)
        said = said["error"]
    except (ValueError, TypeError, KeyError):
        said = error.reason
    message = f"{server.url}: {error.code}: {' '.join(str(said).split())[:_MESSAGE_MAX]}"
    return Refused(message) if error.code in (400, 422) else Unavailable(message)
