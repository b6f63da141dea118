"""Files of samples: which are read, what of them is left out and told."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fleet import cases
from fleet.histories import GIB, RISING, begun, case, made, put_samples, rows_of, sample
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages.publishing import FEATURES
from poolkeeper.fleet.storage import parquet, schemas

SIZES = 2
"""What the snapshot tells."""

LATER = ("t", 0, "bytes", cases.NOW_MS + 1, 1.0)


def of_types(**columns: object) -> pa.Table:
    """Two samples, of which some columns have other types."""
    plain = {"topic": ["t"] * 2, "partition": [0, 1], "metric": ["bytes"] * 2, "value": [1.0] * 2}
    return pa.table({**plain, "at_ms": [cases.NOW_MS] * 2, **columns})


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


def test_rates_of_topics_that_the_snapshot_lacks_are_told_if_it_has_none_of_them(
    lake: Lake, history: Path
) -> None:
    """As where whoever sampled has other names of topics; one that was deleted needs no word."""
    cases.put(lake, case())
    rate = ("cluster.t", 0, "bytes_in_per_s", cases.NOW_MS - 1, 1.0)
    put_samples(history, rate, sample(1, 1.0))
    told = "no topic of its samples is in its snapshot: cluster.t"
    assert [line.reason for line in begun(lake, history).lines] == [told]
    put_samples(history, rate, sample(1, 1.0, metric="bytes_in_per_s"))
    assert [line.reason for line in begun(lake, history).lines] == [""]


@pytest.mark.parametrize(
    "place",
    [
        "_temporary/0/_temporary/attempt_1/cluster=main/part-0.parquet",
        "cluster=main/_temporary/0/part-0.parquet",
        ".spark-staging-1/cluster=main/part-0.parquet",
        "cluster=main/._a.parquet",
    ],
)
def test_samples_that_are_being_written_are_none(place: str, lake: Lake, history: Path) -> None:
    """Spark's job may fail, or write the same again: neither is it told."""
    cases.put(lake, case(size=None))
    put_samples(history, *RISING)
    expected = made(lake, history)
    (history / place).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(of_types(value=[9e9, 9e9]), history / place)
    found = begun(lake, history)
    assert (found.warnings, [line.made for line in found.lines]) == ((), [False])
    assert rows_of(lake) == expected


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
        pytest.param(
            of_types(partition=[0.0, float("nan")]),
            "column partition is double (expected int32): Float value nan was truncated",
            id="a-float-that-is-no-number",
        ),
        pytest.param(
            of_types(topic=[b"t", b"\xff"]),
            "column topic is binary (expected string): Invalid UTF8",
            id="bytes-that-are-no-text",
        ),
        *(
            pytest.param(of_types(**column), reason, id=reason)
            for column, reason in (
                ({"value": [True, False]}, "column value is bool (expected double)"),
                ({"partition": [False, False]}, "column partition is bool (expected int32)"),
                ({"topic": [1.0, 1.0]}, "column topic is double (expected string)"),
                (
                    {"at_ms": pa.array([cases.NOW_MS] * 2).cast(pa.float32(), safe=False)},
                    "column at_ms is float (expected int64)",
                ),
                (
                    {"at_ms": pa.array([1, 2], pa.time64("us"))},
                    "column at_ms is time64[us] (expected int64)",
                ),
                (
                    {"at_ms": pa.array([cases.NOW_MS] * 2, pa.duration("us"))},
                    "column at_ms is duration[us] (expected int64)",
                ),
            )
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
