"""Features of clusters: from files of samples, from earlier snapshots, from a real Prometheus."""

import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster_spec, pool_spec
from conditions import until
from control_plane import building
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages import pipeline
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import FEATURES, SNAPSHOT, FleetOutcome
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas, table_schema
from poolkeeper.load import refresh
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Capacity, LoadSource
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from unit.planning.instances import instances

ALONE = InProcess()
HOUR_MS = 3_600_000
GIB = 1024**3
NO_LOAD = LoadSource()


def case(load: LoadSource = NO_LOAD, size: int | None = GIB) -> cases.Case:
    """Two brokers, of 100 GiB each; topic `t` with two partitions."""
    pool = pool_spec("p", 1, 2, capacity=Capacity(disk_bytes=100 * GIB))
    spec = cluster_spec(load=load)
    partitions = tuple(Partition(n, (1, 2)[: 2 - n], size_bytes=size) for n in (0, 1))
    live = {1: Broker(1), 2: Broker(2)}
    return Desired(spec, (pool,)), Cluster("main", live, {"t": Topic("t", partitions)})


OPTIONS = HistoryOptions(window_s=10 * 3600)


def begun(lake: Lake, samples: object = "", options: HistoryOptions = OPTIONS) -> FleetOutcome:
    return pipeline.features(ALONE, lake, cases.DAY, options, str(samples))


def sample(hour: float, value: float | None, partition: int = 0, metric: str = "bytes") -> tuple:
    """A sample so many hours before the snapshot."""
    return ("t", partition, metric, cases.NOW_MS - int(hour * HOUR_MS), value)


def put_samples(folder: Path, *rows: tuple, name: str = "a") -> None:
    file = folder / "day=2026-03-01" / "cluster=main" / f"{name}.parquet"
    parquet.write(file, parquet.from_rows(schemas.SAMPLES, rows))


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


def rows_of(lake: Lake, table: table_schema.TableSchema = schemas.FEATURES) -> list[dict]:
    return cases.rows(lake, table).to_pylist()


def made(lake: Lake, samples: object = "", told: str = "") -> list[dict]:
    (line,) = begun(lake, samples).lines
    assert (line.status, line.reason) == ("ok", told)
    return rows_of(lake)


RISING = [sample(hour, (10 - hour) * GIB) for hour in range(1, 10)]


def test_features_of_files(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    rates = [sample(hour, 100.0 * hour, -1, "bytes_in_per_s") for hour in range(1, 10)]
    put_samples(history, *RISING, *rates, sample(1, 5.0, metric="of somebody else"))
    told = "1 of 19 samples left out: 1 of metrics that are not used ('of somebody else')"
    size, rate = sorted(made(lake, history, told), key=lambda row: row["metric"])
    assert size == {
        "topic": "t",
        "partition": 0,
        "metric": "bytes",
        "window_s": 36_000,
        "buckets": 9,
        "coverage": 0.9,
        "p50": 5.0 * GIB,
        "p95": 9.0 * GIB,
        "max": 9.0 * GIB,
        "last": 9.0 * GIB,
        "growth_per_day": 24.0 * GIB,
    }
    assert (rate["partition"], rate["p95"], rate["growth_per_day"]) == (-1, 900.0, -2400.0)
    first, second = rows_of(lake, schemas.BROKER_FEATURES)
    assert first == {
        "broker": 1,
        "bytes": 9 * GIB,
        "capacity_bytes": 100 * GIB,
        "growth_bytes_per_day": 24.0 * GIB,
        "days_to_full": 91 / 24,
    }
    assert (second["broker"], second["bytes"]) == (2, 9 * GIB)


SIZES = 2
"""What the snapshot tells."""
LATER = ("t", 0, "bytes", cases.NOW_MS + 1, 1.0)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param(
            [sample(1, 1.0, metric=f"{name}{'x' * 50}") for name in "gfedcba"],
            "7 of 7 samples left out: 7 of metrics that are not used ("
            + ", ".join(f"'{name}{'x' * 39}'" for name in "abcde")
            + ", …)",
            id="metrics of other names",
        ),
        pytest.param(
            [sample(1, 1.0, partition=-2)] * 2,
            "2 of 2 samples left out: 2 of partitions below -1",
            id="partitions that are none",
        ),
        pytest.param(
            [sample(1, -1.0), sample(1, float("nan")), sample(1, 2.0**60), sample(1, 7.0)],
            "3 of 4 samples left out: 3 with a value that is none, negative or above"
            " 9,007,199,254,740,992",
            id="values of no sense",
        ),
        pytest.param(
            [("t", 0, "bytes", cases.NOW_MS // 1000, 1.0), LATER],
            "2 of 2 samples left out: 1 from before the window, 1 from after the snapshot; at_ms is"
            " milliseconds since 1970",
            id="times in seconds",
        ),
        pytest.param([*RISING, sample(11, 1.0), LATER], "", id="other times beside the window's"),
        pytest.param(
            [*RISING, sample(11, 1.0), sample(1, 1.0, -2), LATER],
            "3 of 12 samples left out: 1 of partitions below -1, 1 from before the window, 1 from"
            " after the snapshot",
            id="other times beside what is wrong",
        ),
    ],
)
@pytest.mark.parametrize("groups", [1, 1_000], ids=["row groups of one", ""])
def test_samples_that_are_left_out_are_told(
    rows: list, told: str, groups: int, lake: Lake, history: Path
) -> None:
    """Whether a row group is left out by what its file says of it, or row by row.

    Sizes of the snapshot are no samples of theirs.
    """
    cases.put(lake, case())
    (history / "cluster=main").mkdir(parents=True)
    table = parquet.from_rows(schemas.SAMPLES, rows)
    pq.write_table(table, history / "cluster=main" / "a.parquet", row_group_size=groups)
    (line,) = begun(lake, history).lines
    assert (line.status, line.reason) == ("ok", told)
    left = len(rows) + SIZES - line.figures["samples"]
    assert line.figures.get("samplesLeftOut", 0) == left > 0
    assert begun(lake, history).lines == (replace(line, made=False),)


def test_samples_of_unknown_clusters_and_other_files_are_told(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    put_samples(history, *RISING)
    for place in ("cluster=mian/a.parquet", "cluster=main/b.csv", "c.parquet", "_SUCCESS"):
        (history / place).parent.mkdir(exist_ok=True)
        (history / place).write_bytes(b"")
    found = begun(lake, history)
    assert [line.reason for line in found.lines] == [""]
    assert found.warnings == (
        f"file://{history}: of no cluster that was read on {cases.DAY}: cluster=mian",
        f"file://{history}: not read (expected .parquet below cluster=NAME/): c.parquet,"
        " cluster=main/b.csv",
    )


@pytest.mark.parametrize("is_old", [False, True], ids=["", "int96"])
@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit_are_the_same_times(
    unit: str, zone: str | None, is_old: bool, lake: Lake, history: Path
) -> None:
    """Python's and Spark's own tables have such times by default."""
    cases.put(lake, case(size=None))
    put_samples(history, *RISING)
    expected = made(lake, history)
    (file,) = history.rglob("*.parquet")
    rows = parquet.read(file, schemas.SAMPLES)
    place = rows.column_names.index("at_ms")
    times = rows.column("at_ms").cast(pa.timestamp("ms", zone)).cast(pa.timestamp(unit, zone))
    moved = rows.set_column(place, "at_ms", times).replace_schema_metadata(None)
    pq.write_table(moved, file, row_group_size=2, use_deprecated_int96_timestamps=is_old)
    assert made(lake, history) == expected


def test_parts_of_milliseconds_are_cut_off_and_far_times_are_left_out(
    lake: Lake, history: Path
) -> None:
    cases.put(lake, case(size=None))
    put_samples(history, *RISING)
    expected = made(lake, history)
    (file,) = history.rglob("*.parquet")
    rows = parquet.read(file, schemas.SAMPLES).to_pylist()
    times = [row["at_ms"] * 1000 + 999 for row in rows] + [2**62, -(2**62)]
    moved = pa.Table.from_pylist([*rows, rows[0], rows[0]])
    place = moved.column_names.index("at_ms")
    moved = moved.set_column(place, "at_ms", pa.array(times, pa.timestamp("us")))
    pq.write_table(moved, file, row_group_size=1)
    assert made(lake, history) == expected
    assert begun(lake, history).total("samples") == len(RISING)


def test_what_is_planned_has_the_features(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    before = cases.plan_input(lake).cluster.topics["t"].partitions
    put_samples(history, *RISING, *(sample(h, 7.0, 1, "bytes_in_per_s") for h in range(1, 10)))
    made(lake, history)
    after = cases.plan_input(lake).cluster.topics["t"].partitions
    assert [(p.size_bytes, p.in_bytes_per_s) for p in before] == [(None, None)] * 2
    assert [(p.size_bytes, p.in_bytes_per_s) for p in after] == [(9 * GIB, None), (None, 7.0)]


def test_late_samples_make_new_features_and_the_same_ones_make_none(
    lake: Lake, history: Path
) -> None:
    cases.put(lake, case())
    put_samples(history, *RISING)
    made(lake, history)
    again = begun(lake, history)
    assert again.made == ()
    late = (sample(0.5, 20.0 * GIB), sample(0.5, 20.0 * GIB), sample(0.25, None))
    put_samples(history, *late, *RISING, name="b")
    told = (
        "1 of 21 samples left out: 1 with a value that is none, negative or above"
        " 9,007,199,254,740,992"
    )
    (found,) = (row for row in made(lake, history, told) if row["partition"] == 0)
    # The snapshot's own size is the latest of that hour.
    assert (found["buckets"], found["max"], found["last"]) == (10, 9.0 * GIB, 1.0 * GIB)


def test_sizes_in_snapshots_are_a_history_of_their_own(lake: Lake) -> None:
    for hour, day in enumerate(("2026-02-26", "2026-02-27", "2026-02-28")):
        grown = case(size=(hour + 1) * GIB)
        cases.put(lake, grown, day, cases.NOW_MS - (3 - hour) * 24 * HOUR_MS)
    cases.put(lake, case(size=4 * GIB))
    days = HistoryOptions(window_s=5 * 86_400, step_s=86_400)
    assert begun(lake, options=days).failed == ()
    first, second = rows_of(lake)
    assert (first["buckets"], first["p50"], first["growth_per_day"]) == (4, 2.0 * GIB, 1.0 * GIB)
    assert second["partition"] == 1


DAYS = HistoryOptions(window_s=5 * 86_400, step_s=86_400)
EARLIER = "2026-02-27"
REMEDY = (
    f": poolkeeper fleet snapshot -f DIR --out URI --day {EARLIER} makes it again, of a past day"
    " with --snapshots URI"
)


def put_days(lake: Lake) -> None:
    """Four days of a topic that grows, `EARLIER` among them."""
    for hour, day in enumerate(("2026-02-26", EARLIER, "2026-02-28", cases.DAY)):
        at_ms = cases.NOW_MS - (3 - hour) * 24 * HOUR_MS
        cases.put(lake, case(size=(hour + 1) * GIB), day, at_ms)


def garble(lake: Lake, path: str) -> None:
    file = local_path(lake.root) / path
    file.write_bytes(bytes(file.stat().st_size))


def test_a_day_of_the_history_that_cannot_be_read_is_left_out(lake: Lake) -> None:
    put_days(lake)
    (version,) = lake.objects.children(f"current/step=snapshot/day={EARLIER}")
    garble(lake, version.path)
    made = begun(lake, options=DAYS)
    assert [(line.status, line.reason) for line in made.lines] == [("ok", "")]
    (warning,) = made.warnings
    assert warning.startswith(f"left out of the history: {version.path} is damaged (")
    assert warning.endswith(REMEDY)
    assert [row["buckets"] for row in rows_of(lake)] == [3, 3]
    cases.put(lake, case(size=2 * GIB), EARLIER, cases.NOW_MS - 48 * HOUR_MS)
    again = begun(lake, options=DAYS)
    assert (len(again.made), again.warnings) == (1, ())
    assert [row["buckets"] for row in rows_of(lake)] == [4, 4]


def test_this_day_s_snapshots_that_cannot_be_read_are_an_error(lake: Lake) -> None:
    put_days(lake)
    (version,) = lake.objects.children(f"current/step=snapshot/day={cases.DAY}")
    garble(lake, version.path)
    with pytest.raises(DamagedFile):
        begun(lake, options=DAYS)


@pytest.mark.parametrize("as_rows", [False, True], ids=["held", "rows"])
def test_a_snapshot_of_the_history_that_cannot_be_read_is_left_out(
    as_rows: bool, lake: Lake, history: Path
) -> None:
    put_days(lake)
    if as_rows:
        put_samples(history, sample(1, 5.0, 1))
    (file,) = cases.entry(lake, SNAPSHOT, day=EARLIER).of_table(schemas.PARTITIONS)
    garble(lake, file.path)
    for count in (1, 0):
        found = begun(lake, history if as_rows else "", DAYS)
        (line,) = found.lines
        assert (line.status, len(found.made)) == ("ok", count)
        assert line.reason.startswith(f"left out of the history: {file.path} is damaged (")
        assert line.reason.endswith(REMEDY)
    assert [row["buckets"] for row in rows_of(lake)] == [3, 3]
    assert cases.entry(lake, SNAPSHOT, day=EARLIER).input == "", "the command makes it again"
    cases.put(lake, case(size=2 * GIB), EARLIER, cases.NOW_MS - 48 * HOUR_MS)
    (line,) = begun(lake, history if as_rows else "", DAYS).lines
    assert (line.made, line.reason) == (True, "")
    assert [row["buckets"] for row in rows_of(lake)] == [4, 4]


def test_samples_of_somebody_else_with_other_types(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    file = history / "cluster=main" / "x.parquet"
    file.parent.mkdir(parents=True)
    columns = zip(*RISING, strict=True)
    content = pa.table(dict(zip([c.name for c in schemas.SAMPLES.columns], columns, strict=True)))
    pq.write_table(content, file)  # numbers of 64 bits, no version
    (found,) = made(lake, history)
    assert found["last"] == 9.0 * GIB


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(pa.table({"topic": ["t"]}), "lacks its column partition", id="a-column-less"),
        pytest.param(
            pa.table(
                {"topic": ["t"], "partition": ["x"], "metric": ["bytes"], "at_ms": [cases.NOW_MS]}
            ),
            "column partition is string (expected int32)",
            id="another-type",
        ),
        pytest.param(
            pa.table(
                {"topic": ["t"], "partition": [2**31], "metric": ["bytes"], "at_ms": [cases.NOW_MS]}
            ),
            "column partition holds 2147483648 (expected -2147483648 to 2147483647)",
            id="out-of-range",
        ),
        pytest.param(
            pa.Table.from_arrays([pa.array(["t"]), pa.array(["t"])], ["topic", "topic"]),
            "cluster=main/x.parquet: has its column topic 2 times (expected once)",
            id="a-column-twice",
        ),
    ],
)
def test_samples_that_are_none_are_the_status_of_the_cluster(
    content: pa.Table, reason: str, lake: Lake, history: Path
) -> None:
    cases.put(lake, case())
    file = history / "cluster=main" / "x.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(content, file)
    (line,) = begun(lake, history).failed
    assert reason in line.reason
    assert not cases.entry(lake, FEATURES).is_ok
    assert rows_of(lake) == []


def test_topics_of_one_name_in_two_clusters_are_told_apart(lake: Lake, history: Path) -> None:
    for name, hours in (("main", 1), ("other", 3)):
        cases.put(lake, cases.named(case(size=None), name))
        rows = [(*row[:4], row[4] * hours) for row in RISING]
        file = history / f"cluster={name}" / "a.parquet"
        parquet.write(file, parquet.from_rows(schemas.SAMPLES, rows))
    assert begun(lake, history).failed == ()
    found = [cases.rows(lake, schemas.FEATURES, n).to_pylist() for n in ("main", "other")]
    assert [[row["last"] for row in rows] for rows in found] == [[9.0 * GIB], [27.0 * GIB]]


FIGURES = st.none() | st.floats(-1e12, 1e12)


@settings(max_examples=20)
@given(instances(), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), FIGURES)))
def test_brokers_by_columns_are_those_by_objects(instance, growths) -> None:
    desired, cluster, _ = instance
    topics = {
        name: replace(
            topic,
            partitions=tuple(p._replace(size_bytes=p.size_bytes or 7) for p in topic.partitions),
        )
        for name, topic in cluster.topics.items()
    }
    cluster, names = replace(cluster, topics=topics), [*sorted(topics), "gone"]
    known = {(names[n % len(names)], number): growth for n, number, growth in growths}
    rows = [
        (topic, number, "bytes", 1, 1, 1.0, None, None, None, 1.0, growth)
        for (topic, number), growth in sorted(known.items())
    ]
    made = parquet.from_rows(schemas.FEATURES, rows)
    bodies = cluster_rows.rows_of_cluster(cluster).bodies
    by_columns = feature_rows.of_brokers_of_known_sizes(
        made, bodies["partitions"], cluster.brokers, desired
    )
    assert by_columns.equals(feature_rows.of_brokers(made, cluster, desired))


def test_no_sample_at_all(lake: Lake) -> None:
    cases.put(lake, case(size=None))
    assert made(lake) == []
    assert feature_rows.loads_of(cases.rows(lake, schemas.FEATURES)).bytes == {}


class TestPrometheus:
    def test_a_real_server_that_scraped_yesterday(self, lake: Lake, tmp_path: Path) -> None:
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

    def test_one_cluster_is_planned_with_the_same_figures(self, lake: Lake, tmp_path: Path) -> None:
        with prometheus(tmp_path, exposition()) as url:
            load = LoadSource("Prometheus", {"url": url, "window": "10h"})
            cases.put(lake, case(load, size=None))
            made(lake)
            alone = refresh.fetch_loads(load, cases.NOW_MS)
        together = feature_rows.loads_of(cases.rows(lake, schemas.FEATURES))
        assert alone.bytes == {("t", 0): together.bytes["t", 0]}  # 1 is no longer measured
        assert alone.rate_bytes_per_s == pytest.approx(together.rate_bytes_per_s, rel=0.01)
        assert sorted(alone.rate_bytes_per_s) == [("t", -1)]

    def test_a_server_that_is_away_is_the_status_of_the_cluster(self, lake: Lake) -> None:
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
