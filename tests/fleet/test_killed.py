"""Executors, Python workers and drivers that are killed at every step: the same rows in the end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fleet import cases, killers
from fleet.conftest import IMPORTED, lake_at
from fleet.in_process import InProcess
from fleet.whole_fleet import CODE, DAY, contents, made, whole, words
from matrices import soak
from poolkeeper.cli import main
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.lake.steps import TABLES_OF
from poolkeeper.fleet.storage import parquet, schemas
from standalone_spark import CONF, StandaloneSpark, standalone_spark

__all__ = ["made", "standalone_spark", "whole"]

RUN_S = 900
PATH = os.pathsep.join(map(str, (*IMPORTED, Path(main.__file__).parents[2])))
DRIVER = """
import os, signal, sys
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.lake.lake import Lake

step, moment = sys.argv[1:3]
publish = Lake.publish

def killed(lake, run, *more):
    if run.step != step:
        return publish(lake, run, *more)
    if moment == "after":
        publish(lake, run, *more)
    os.kill(os.getpid(), signal.SIGKILL)

Lake.publish = killed
engines.open_engine = InProcess.opened
main.main(sys.argv[3:])
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["plan", *soak("snapshot", "features", "budget", "report")])
def test_a_driver_that_is_killed_at_a_step(
    step: str, moment: str, made: Path, whole: Path, tmp_path: Path, capsys, without_spark
) -> None:
    """Around its publication; all that counts is whole, and the next run ends as one alone."""
    command, lake = words(made, tmp_path / "out", "run"), lake_at(tmp_path / "out")
    killed = subprocess.run(
        [sys.executable, "-c", DRIVER, step, moment, *command],
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        check=False,
        timeout=RUN_S,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    steps = list(TABLES_OF)
    done = steps[: steps.index(step) + (moment == "after")]
    assert [each for each in steps if lake.days(each)] == sorted(done, key=steps.index)
    for each in done:
        entries = lake.current(each, DAY)
        assert lake.whole(entries) == entries
    assert main.main(command) == CODE
    capsys.readouterr()
    assert contents(lake) == contents(lake_at(whole))


@pytest.fixture
def command(made: Path, whole: Path, tmp_path: Path) -> list[str]:
    """A run of all steps, with samples."""
    for name in ("east", "west"):
        topics = cases.rows(lake_at(whole), schemas.PARTITIONS, name, DAY).column("topic")
        at = [read_ms(whole, name) - hour * 3_600_000 for hour in range(30)]
        rows = [(topic, 0, "bytes_in_per_s", ms, 5.0) for topic in topics.to_pylist() for ms in at]
        file = tmp_path / "samples" / f"cluster={name}" / "a.parquet"
        parquet.write(file, parquet.from_rows(schemas.SAMPLES, rows))
    return [*words(made, tmp_path / "out", "run"), "--samples", str(tmp_path / "samples")]


def read_ms(lake: Path, name: str) -> int:
    return int(cases.entry(lake_at(lake), "snapshot", name, DAY).figures["read_ms"])


def expected(command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """What the same run makes in this process."""
    with monkeypatch.context() as patched:
        patched.setattr(engines, "open_engine", InProcess.opened)
        apart = [str(folder / "apart") if each == str(folder / "out") else each for each in command]
        assert main.main(apart) == CODE
    return contents(lake_at(folder / "apart"))


def run_with_killers(
    victim: str, command: list[str], folder: Path, master: str, conf: dict
) -> Path:
    """A run of all steps, whose first task of every kind kills; returns its tables."""
    (folder / "killed").mkdir()
    given = [f"--conf={key}={value}" for key, value in conf.items()]
    command = [*command, "--master", master, *given]
    program = [sys.executable, "-m", "fleet.killers", victim, str(folder / "killed")]
    ran = subprocess.run(
        [*program, *command],
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_S,
    )
    assert ran.returncode == CODE, ran.stderr[-3000:]
    assert {each.name for each in (folder / "killed").iterdir()} == killers.KINDS.keys()
    return folder / "out"


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_python_workers_that_are_killed_at_every_step(
    command: list[str], tmp_path: Path, java_options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java_options,
        "spark.executorEnv.PYTHONPATH": PATH,
    }
    out = run_with_killers("worker", command, tmp_path, "local[2]", conf)
    assert contents(lake_at(out)) == expected(command, tmp_path, monkeypatch)
    assert not lake_at(out).objects.files("attempts")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_executors_that_are_killed_at_every_step(
    command: list[str],
    tmp_path: Path,
    standalone_spark: StandaloneSpark,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = {**CONF, "spark.executorEnv.PYTHONPATH": PATH}
    out = run_with_killers("executor", command, tmp_path, standalone_spark.master, conf)
    assert contents(lake_at(out)) == expected(command, tmp_path, monkeypatch)
    assert not lake_at(out).objects.files("attempts")
