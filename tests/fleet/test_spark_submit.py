"""`spark-submit` in client mode, at a standalone master with two workers: the same plans."""

import json
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import DAY, NAMES, where
from poolkeeper.errors import Refused
from standalone_spark import SUBMIT_S, StandaloneSpark, standalone_spark

__all__ = ["standalone_spark"]

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


def hashes(told: str) -> dict[str, str]:
    """The hashes of plans by cluster, of a command's JSON."""
    (step,) = (each for each in json.loads(told)["steps"] if each["step"] == "plan")
    return {each["cluster"]: each["hash"] for each in step["clusters"]}


def test_a_submitted_run_makes_the_plans_of_this_machine(
    fleet: Path, run, standalone_spark: StandaloneSpark
) -> None:
    words = ("run", *where(fleet), *DAY, "-o", "json", "--master", standalone_spark.master)
    done = standalone_spark.submit(*words)
    assert done.returncode == 0, done.stderr[-3000:]
    code, told, _ = run("fleet", "run", *where(fleet), *DAY, "-o", "json", "--again")
    assert code == 0
    assert hashes(done.stdout) == hashes(told)
    assert sorted(hashes(told)) == list(NAMES)
    assert standalone_spark.applications() == {"poolkeeper-fleet": "FINISHED"}


def test_an_executor_that_is_killed_costs_no_plan(
    fleet: Path, run, standalone_spark: StandaloneSpark
) -> None:
    words = ("run", *where(fleet), *DAY, "-o", "json", "--master", standalone_spark.master)
    speculation = {"spark.speculation": "true", "spark.speculation.interval": "500ms"}
    with standalone_spark.submitted(*words, conf=speculation) as driver:
        standalone_spark.kill_executor(0)
        told, _ = driver.communicate(timeout=SUBMIT_S)
    assert driver.returncode == 0, told[-3000:]
    _, ours, _ = run("fleet", "run", *where(fleet), *DAY, "-o", "json", "--again")
    assert hashes(told) == hashes(ours)


def test_the_exit_code_and_the_error_are_the_commands(
    tmp_path: Path, standalone_spark: StandaloneSpark
) -> None:
    done = standalone_spark.submit("plan", "--out", tmp_path, *DAY)
    assert done.returncode == Refused.exit_code
    # Spark's runner of Python joins what goes to stderr and what goes to stdout.
    assert f"{tmp_path}: holds no snapshots of {cases.DAY}" in done.stdout
