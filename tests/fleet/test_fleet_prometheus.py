"""Samples of clusters with a Prometheus, a real one: asked, kept and made into features."""

import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conditions import until
from control_plane import building
from fleet import cases
from fleet.histories import GIB, begun, case, made, rows_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.storage import schemas
from poolkeeper.load import refresh
from poolkeeper.model.specs import LoadSource


def test_a_real_server_that_scraped_yesterday(lake: Lake, tmp_path: Path) -> None:
    with prometheus(tmp_path, exposition()) as url:
        load = LoadSource("Prometheus", {"url": url, "window": "10h"})
        cases.put(lake, case(load, size=None))
        found = made(lake)
        samples = rows_of(lake, schemas.SAMPLES)
    by = {(row["partition"], row["metric"]): row for row in found}
    assert sorted(by) == [(-1, "bytes_in_per_s"), (0, "bytes"), (1, "bytes")]
    size = by[0, "bytes"]
    assert (size["buckets"], size["last"], size["max"]) == (10, 9.0 * GIB, 9.0 * GIB)
    assert size["growth_per_day"] == pytest.approx(24.0 * GIB, rel=0.02)
    # Partition 1 was measured for three hours only.
    assert (by[1, "bytes"]["p95"], by[1, "bytes"]["buckets"]) == (None, 3)
    assert by[-1, "bytes_in_per_s"]["p50"] == pytest.approx(1000.0, rel=0.01)
    assert {row["metric"] for row in samples} == {"bytes", "bytes_in_per_s"}
    partitions = cases.plan_input(lake).cluster.topics["t"].partitions
    assert [p.size_bytes for p in partitions] == [9 * GIB, 7 * GIB]
    assert [p.in_bytes_per_s for p in partitions] == pytest.approx([500.0, 500.0], rel=0.01)


def test_one_cluster_is_planned_with_the_same_figures(lake: Lake, tmp_path: Path) -> None:
    with prometheus(tmp_path, exposition()) as url:
        load = LoadSource("Prometheus", {"url": url, "window": "10h"})
        cases.put(lake, case(load, size=None))
        made(lake)
        alone = refresh.fetch_loads(load, cases.NOW_MS)
    together = feature_rows.loads_of(cases.rows(lake, schemas.FEATURES))
    assert alone.bytes == {("t", 0): together.bytes["t", 0]}  # 1 is no longer measured
    assert alone.rate_bytes_per_s == pytest.approx(together.rate_bytes_per_s, rel=0.01)
    assert sorted(alone.rate_bytes_per_s) == [("t", -1)]


def test_a_server_that_is_away_is_the_status_of_the_cluster(lake: Lake) -> None:
    cases.put(lake, case(LoadSource("Prometheus", {"url": "http://127.0.0.1:1"})))
    (line,) = begun(lake).failed
    assert line.reason == "http://127.0.0.1:1: [Errno 111] Connection refused"


def exposition() -> str:
    """Ten hours of brokers' metrics, every few minutes, to the moment of the snapshot."""
    begin_s, lines = cases.NOW_MS // 1000 - 36_000 - 900, []
    lines += ["# TYPE kafka_log_log_size gauge"]
    times = range(begin_s, cases.NOW_MS // 1000, 300)
    for partition, until_s in ((0, 36_000), (1, 900 + 3 * 3600 - 300)):
        for broker in (1, 2):
            for at_s in times:
                if at_s <= begin_s + until_s + 900:
                    size = 7 * GIB if partition else (at_s - begin_s - 900) // 3600 * GIB
                    labels = f'topic="t",partition="{partition}",instance="b{broker}"'
                    lines.append(f"kafka_log_log_size{{{labels}}} {max(size, 0)} {at_s}")
    lines += ["# TYPE kafka_server_brokertopicmetrics_bytesin counter"]
    lines += [
        f'kafka_server_brokertopicmetrics_bytesin_total{{topic="t",instance="b{broker}"}}'
        f" {500 * (at_s - begin_s)} {at_s}"
        for broker in (1, 2)
        for at_s in range(begin_s, cases.NOW_MS // 1000, 60)
    ]
    return "\n".join([*lines, "# EOF", ""])


@contextmanager
def prometheus(folder: Path, text: str) -> Iterator[str]:
    """A server of its own over these metrics."""
    source, data, settings = folder / "metrics", folder / "data", folder / "prometheus.yml"
    source.write_text(text)
    settings.write_text("{}\n")
    subprocess.run(
        [building.promtool(), "tsdb", "create-blocks-from", "openmetrics", source, data],
        check=True,
        capture_output=True,
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [f"--config.file={settings}", f"--storage.tsdb.path={data}"]
    words += [f"--web.listen-address={address}", "--storage.tsdb.retention.time=100y"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([building.prometheus(), *words], stdout=log, stderr=log)
        try:
            until(lambda: _ready(address), "Prometheus serves", 60)
            yield f"http://{address}"
        finally:
            server.kill()
            server.wait(30)


def _ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready", timeout=5) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False
