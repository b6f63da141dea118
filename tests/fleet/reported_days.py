"""Two days of a fleet up to its report, and what is done to them."""

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import TableFile
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.fleet.stages import day_clusters, day_report, pipeline, waves
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import (
    FLEET,
    REPORT,
    TABLES_OF,
)
from poolkeeper.fleet.storage import table_schema
from poolkeeper.model.specs import Window
from poolkeeper.report.values import FleetReport

BEFORE = "2026-02-28"
DAY_MS = 86_400_000
OPTIONS = day_report.ReportInputs({"moving": "north"}, cases.NOW_MS + 3_600_000, date(2026, 5, 30))


@pytest.fixture(scope="module")
def clusters():
    return cases.golden()


ALONE = InProcess()
HISTORY = HistoryOptions(window_s=7 * 86_400, step_s=3_600, coverage_min=0.5)


def make(lake: Lake, day: str, read_ms: int, found: dict[str, cases.Case]) -> None:
    """All steps of a day, but the report; each plan in a file of its own."""
    for name, case in found.items():
        cases.put(lake, cases.named(case, name), day, read_ms)
    pipeline.features(ALONE, lake, day, HISTORY)
    for name in found:
        pipeline.plan(ALONE, lake, day, [name])
    begin = datetime.fromtimestamp(read_ms / 1000, UTC)
    waves.schedule_day(lake, ALONE.storage, day, Budget(), {}, begin)


@pytest.fixture(scope="module")
def made(tmp_path_factory, clusters) -> Path:
    """Two days of a fleet; `went` is there on the first one only, `came` on the second."""
    folder = tmp_path_factory.mktemp("fleet")
    lake = lake_at(folder)
    moving, still = clusters["separate"], clusters["balanced"]
    make(lake, BEFORE, cases.NOW_MS - DAY_MS, {"moving": moving, "still": still, "went": moving})
    lake.objects.delete("manifests")  # `went` is not declared any more
    make(lake, cases.DAY, cases.NOW_MS, {"moving": moving, "still": still, "came": moving})
    return folder


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Lake:
    """The same fleet, to be spoilt."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return lake_at(tmp_path)


@pytest.fixture
def run(capsys, without_spark):
    def call(lake: Lake, *words: object) -> tuple[int, str, str]:
        given = ("fleet", "report", "--out", local_path(lake.root), "--day", cases.DAY, *words)
        code = main.main([str(word) for word in given])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def report_of(lake: Lake) -> FleetReport:
    return day_report.day_report(
        ALONE, day_clusters.day_of(lake, ALONE.storage, cases.DAY), OPTIONS
    )


def rows(lake: Lake, table: table_schema.TableSchema, step: str = REPORT) -> list[dict]:
    """The rows that count of a step of all clusters."""
    return Reader(lake.root, ALONE.storage).rows(cases.entry(lake, step, FLEET), table).to_pylist()


def file_of(lake: Lake, step: str, table: table_schema.TableSchema, cluster: str) -> TableFile:
    (file,) = cases.entry(lake, step, cluster).of_table(table)
    return file


def cut_off(lake: Lake, file: TableFile) -> None:
    path = local_path(lake.root) / file.path
    path.write_bytes(path.read_bytes()[:40])


def be_killed(lake: Lake, step: str, *clusters: str) -> None:
    """As if the step had not come to these clusters, or to none."""
    found = lake.current(step, cases.DAY)
    lake.objects.delete(f"current/step={step}/day={cases.DAY}")
    left = [entry for name, entry in found.items() if clusters and name not in clusters]
    if left:
        lake.publish(lake.begin(step, cases.DAY, TABLES_OF[step]), left)


def declare_windows(lake: Lake, name: str) -> None:
    desired = manifests.read(lake)[name].desired
    closed = replace(desired.cluster.execution, windows=(Window("0 22 * * *", 8 * 3600),))
    manifests.write(lake, [replace(desired, cluster=replace(desired.cluster, execution=closed))])
