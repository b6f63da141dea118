"""Features of clusters that no task can hold: in shares, and the same as in one piece."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fleet import cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages import pipeline
from poolkeeper.fleet.stages.features import day_features, feature_rows
from poolkeeper.fleet.stages.features.feature_rows import number_texts
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import FleetOutcome
from poolkeeper.fleet.storage import schemas

HOUR_MS = 3_600_000
WINDOW = HistoryOptions(window_s=48 * 3600, coverage_min=0.1)
METRICS = ("bytes", "bytes_in_per_s", "of somebody else")
HERE = InProcess(2)


def samples_of(cluster: cases.Cluster, seed: int, count: int = 4000) -> pa.Table:
    """Of partitions and whole topics, some twice, some before the window, some of no sense."""
    dice = np.random.default_rng(seed)
    topics = sorted(cluster.topics)[:9]
    place = dice.integers(0, len(topics), count)
    hours = dice.integers(-1, 60, count)
    value = np.where(dice.random(count) < 0.05, np.nan, dice.random(count) * 1e9)
    return pa.table(
        {
            "topic": pa.array([topics[n] for n in place]),
            "partition": pa.array(dice.integers(-2, 4, count), pa.int32()),
            "metric": pa.array([METRICS[n] for n in dice.integers(0, 3, count)]),
            "at_ms": pa.array(cases.NOW_MS - hours * HOUR_MS),
            "value": pa.array(value, mask=dice.random(count) < 0.05),
        }
    )


def prepared(lake: Lake, folder: Path) -> None:
    """Three clusters with samples, of which one is damaged; one without."""
    for number, name in enumerate(("first", "second", "third", "none")):
        case = cases.named(cases.separate(90, 3), name)
        cases.put(lake, case)
        if name != "none":
            own = folder / f"cluster={name}"
            own.mkdir(parents=True, exist_ok=True)
            rows = samples_of(case[1], number)
            pq.write_table(rows, own / "a.parquet", row_group_size=257)
            pq.write_table(rows.slice(100, 700), own / "b.parquet")
    wrong = pa.table({"topic": ["t"], "at_ms": [cases.NOW_MS]})
    pq.write_table(wrong, folder / "cluster=third" / "c.parquet")


def made(engine: Engine, lake: Lake, folder: Path) -> FleetOutcome:
    return pipeline.features(engine, lake, cases.DAY, WINDOW, str(folder))


def compared(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, shared, files = lake_at(tmp_path / "whole"), lake_at(tmp_path / "shared"), tmp_path / "s"
    prepared(whole, files)
    prepared(shared, files)
    expected = made(HERE, whole, files)
    assert [line.cluster for line in expected.failed] == ["third"]
    assert expected.total("samples") > 4000
    monkeypatch.setattr(day_features, "HELD_SAMPLES", 100)
    monkeypatch.setattr(day_features, "SHARE_SAMPLES", 900)
    assert made(engine, shared, files) == expected
    assert cases.rows_of_all(shared) == cases.rows_of_all(whole)
    assert cases.rows(shared, schemas.FEATURES, "second").num_rows > 50


def test_shares_give_what_the_whole_gives(tmp_path: Path, monkeypatch) -> None:
    compared(HERE, tmp_path, monkeypatch)


def test_shares_that_spark_exchanges_do(spark: Engine, tmp_path: Path, monkeypatch) -> None:
    compared(spark, tmp_path, monkeypatch)


@pytest.mark.parametrize("last", [3, 2**31 - 1])
def test_series_are_numbered_alike_whether_their_numbers_are_dense_or_not(last: int) -> None:
    topic, partition = np.array([2, 0, 2, 2, 0]), np.array([1, last, 1, -1, last])
    keys, series = feature_rows._series(topic, partition)
    expected = np.unique(topic * 2**32 + partition + 1, return_inverse=True)
    assert (keys.tolist(), series.tolist()) == tuple(each.tolist() for each in expected)


def test_names_of_several_pieces_are_numbered_together() -> None:
    pieces = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    found = number_texts(pa.chunked_array(pieces))
    assert (found.names, found.codes.tolist()) == (["a", "b", "c"], [1, 0, 2, 1])
    assert number_texts(pa.chunked_array([], pa.string())).names == []
