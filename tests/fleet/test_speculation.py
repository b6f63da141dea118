"""A task that is tried twice at one time, and executors that come and go: rows are there once."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from control_plane.building import CHECKOUT
from fleet import cases, slow_tasks
from fleet.conftest import lake_at
from poolkeeper.fleet.storage import schemas
from standalone_spark import CONF, StandaloneSpark, environment, standalone_spark

__all__ = ["standalone_spark"]

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
SPECULATING = {
    "spark.speculation": "true",
    "spark.speculation.interval": "500ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
}


def events(folder: Path) -> list[dict[str, Any]]:
    """What Spark has written of the application."""
    (file,) = (file for file in folder.iterdir() if not file.name.startswith("."))
    return [json.loads(line) for line in file.read_text().splitlines()]


def made(spark: StandaloneSpark, folder: Path, conf: dict[str, str]) -> list[dict[str, Any]]:
    """Make the step; returns the events."""
    (folder / "events").mkdir()
    settings = {
        **{key: str(value) for key, value in CONF.items()},
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.executorEnv.PYTHONPATH": f"{CHECKOUT / 'operator'}:{CHECKOUT / 'tests'}",
        **conf,
    }
    words = [spark.master, folder / "out", json.dumps(settings)]
    ran = subprocess.run(
        [sys.executable, "-m", "fleet.slow_tasks", *map(str, words)],
        env={**environment(), "PYTHONPATH": settings["spark.executorEnv.PYTHONPATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.split() == [str(len(slow_tasks.CLUSTERS)), "0"]
    return events(folder / "events")


def rows_once(folder: Path) -> None:
    """Every cluster has its rows once, of one attempt."""
    lake = lake_at(folder / "out")
    for name in slow_tasks.CLUSTERS:
        rows = cases.rows(lake, schemas.REQUESTS, name).to_pylist()
        assert [row["partition"] for row in rows] == list(range(slow_tasks.ROWS))
        assert len({row["topic"] for row in rows}) == 1
    (folder_of_run,) = (folder / "out" / "requests" / f"day={cases.DAY}").iterdir()
    slots = Counter(file.name.split("-")[1] for file in folder_of_run.glob("*.parquet"))
    assert set(slots.values()) == {1}


def test_a_second_attempt_wins_and_its_rows_are_there_once(
    standalone_spark: StandaloneSpark, tmp_path: Path
) -> None:
    begin = time.monotonic()
    found = made(standalone_spark, tmp_path, SPECULATING)
    assert time.monotonic() - begin < slow_tasks.SLEEP_S
    ends = [each["Task Info"] for each in found if each["Event"] == "SparkListenerTaskEnd"]
    second = [info for info in ends if info["Speculative"]]
    assert [info for info in second if not info["Failed"] and not info["Killed"]]
    overtaken = {info["Index"] for info in second}
    first = [i for i in ends if i["Index"] in overtaken and not i["Speculative"]]
    assert all(info["Killed"] for info in first), "killed, now or when Spark ends"
    rows_once(tmp_path)


def test_executors_that_come_when_they_are_asked_for(
    standalone_spark: StandaloneSpark, tmp_path: Path
) -> None:
    dynamic = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.executor.cores": "1",
    }
    found = made(standalone_spark, tmp_path, {**SPECULATING, **dynamic})
    kinds = [each["Event"] for each in found]
    assert "SparkListenerExecutorAdded" in kinds[kinds.index("SparkListenerJobStart") :]
    rows_once(tmp_path)
