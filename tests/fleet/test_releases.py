"""Executors with another release of the package: one line that names both, and nothing done."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle

import poolkeeper
from fleet.conftest import DAY, where
from matrices import soak
from poolkeeper.errors import Refused
from poolkeeper.fleet.engines import releases
from standalone_spark import StandaloneSpark, standalone_spark

__all__ = ["standalone_spark"]

OTHER = "9.8.7"
PACKAGE = Path(poolkeeper.__file__).parent
DRIVER_S = 300
TOLD = (
    rf"Poolkeeper is {{found}} on \S+, and {re.escape(poolkeeper.__version__)} here"
    r" \(expected one release in the driver and in all executors\)"
)


@pytest.fixture
def other_release(tmp_path: Path) -> Path:
    """A folder with the package as another release has it: this one's modules, and a word more."""
    folder = tmp_path / "other"
    (folder / "poolkeeper").mkdir(parents=True)
    code = f"__version__ = {OTHER!r}\n__path__ = [{str(PACKAGE)!r}]\n"
    (folder / "poolkeeper" / "__init__.py").write_text(code)
    return folder


@pytest.fixture
def no_release(tmp_path: Path) -> Path:
    """A folder that hides the package."""
    folder = tmp_path / "none"
    (folder / "poolkeeper").mkdir(parents=True)
    (folder / "poolkeeper" / "__init__.py").write_text("raise ImportError('not here')\n")
    return folder


def tables(out: Path) -> list[Path]:
    """What is written; what is declared is known before Spark starts."""
    found = (each.relative_to(out) for each in out.rglob("*.parquet"))
    return [each for each in found if each.parts[0] != "manifests"]


@pytest.mark.parametrize(
    ("fixture", "found"),
    [("other_release", re.escape(OTHER)), *soak(("no_release", "not installed"))],
)
def test_nothing_is_read_or_written(
    fixture: str, found: str, fleet: Path, java_options: str, request: pytest.FixtureRequest
) -> None:
    conf = {
        "spark.executorEnv.PYTHONPATH": request.getfixturevalue(fixture),
        "spark.driver.extraJavaOptions": java_options,
        "spark.driver.memory": "512m",
    }
    words = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    words = ["fleet", "run", *map(str, (*where(fleet), *DAY)), "--processes", "1", *words]
    ran = subprocess.run(
        [sys.executable, "-m", "poolkeeper", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=DRIVER_S,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert (ran.returncode, ran.stdout) == (Refused.exit_code, "")
    told = [line for line in ran.stderr.splitlines() if not line.startswith("WARNING: Using")]
    assert len(told) == 1, ran.stderr
    assert re.fullmatch(TOLD.format(found=found), told[0]), ran.stderr
    assert tables(fleet / "out") == []


def test_an_executor_that_comes_later_fails_before_it_unpacks_its_task() -> None:
    """With what another release would unpack to something else, or not at all."""
    begin = cloudpickle.loads(cloudpickle.dumps(releases.guard_release(_never, OTHER)))
    with pytest.raises(RuntimeError) as failed:
        list(begin([]))
    said = f"RuntimeError: {failed.value}"
    told = releases.release_error(said)
    assert told is not None
    assert str(told).startswith(f"Poolkeeper is {poolkeeper.__version__} on ")
    assert str(told).endswith(f", and {OTHER} here ({releases.EXPECTED})")
    assert releases.release_error("RuntimeError: no space left on device") is None


def _never(batches: object) -> Iterator[object]:
    raise AssertionError("it was begun")


def test_what_compares_needs_nothing_of_the_package() -> None:
    sent = cloudpickle.dumps(releases.guard_release(len, OTHER))
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); print('poolkeeper' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, check=True, timeout=60
    )
    assert ran.stdout == b"False\n"


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_executors_of_a_standalone_spark(
    fleet: Path, other_release: Path, standalone_spark: StandaloneSpark
) -> None:
    words = ("run", *where(fleet), *DAY, "--master", standalone_spark.master)
    done = standalone_spark.submit(*words, conf={"spark.executorEnv.PYTHONPATH": other_release})
    assert done.returncode == Refused.exit_code, done.stdout[-3000:]
    assert re.fullmatch(TOLD.format(found=re.escape(OTHER)), done.stdout.splitlines()[-1])
    assert tables(fleet / "out") == []
