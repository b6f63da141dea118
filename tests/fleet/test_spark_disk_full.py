"""Small file systems under a real Spark: `--out` and Spark's own folder. Nobody needs to be root.

The whole of it runs in namespaces of its own, in which a file system in memory can be mounted: the
run that finds no room, what it left, more room, and the run after it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import poolkeeper
from fleet.conftest import DAY, lake_at, where
from fleet.in_process import InProcess
from fleet.whole_fleet import contents
from poolkeeper.cli import main
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.engines.session import LOCAL_DISK
from poolkeeper.fleet.lake.lake import Lake

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
RUNS_S = 900
PROGRAM = """
small=$1 size=$2 kept=$3; shift 3
mkdir -p "$small" "$kept" && mount -t tmpfs -o size="$size" none "$small" || exit 99
"$@" > "$kept/out" 2> "$kept/err"; echo $? > "$kept/code"
cp -a "$OUT" "$kept/lake" 2> "$kept/copied"
mount -o remount,size=1g "$small" || exit 99
"$@" > "$kept/out2" 2> "$kept/err2"; echo $? > "$kept/code2"
cp -a "$OUT" "$kept/lake2"
"""


def two_runs(fleet: Path, out: Path, local: Path, size: str, java_options: str) -> Path:
    """Run with a small `fleet/small`, then with a large one; returns the folder of both."""
    kept = fleet / "kept"
    conf = {
        "spark.local.dir": local,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java_options,
    }
    given = [f"--conf={key}={value}" for key, value in conf.items()]
    words = [*where(fleet)[:-1], out, *DAY, "--master", "local[2]", *given]
    command = [sys.executable, "-m", "poolkeeper", "fleet", "run", *map(str, words)]
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", PROGRAM, "sh"]
    done = subprocess.run(
        [*apart, fleet / "small", size, kept, *command],
        env={**os.environ, "PYTHONPATH": str(Path(poolkeeper.__file__).parents[1]), "OUT": out},
        check=False,
        timeout=RUNS_S,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return kept


def expected(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """What a run with room makes, in this process."""
    words = ["fleet", "run", *map(str, (*where(fleet), *DAY))]
    with monkeypatch.context() as patched:
        patched.setattr(engines, "open_engine", InProcess.opened)
        assert main.main(words) == 0
    return lake_at(fleet / "out")


def told(kept: Path) -> str:
    """The one line of an error."""
    lines = (kept / "err").read_text().splitlines()
    (line,) = (each for each in lines if not each.startswith("WARNING: Using incubator"))
    return line


def check_nothing_half(left: Lake) -> None:
    """Whatever counts is whole, and is what it would be with room."""
    for step in ("snapshot", "features", "plan"):
        entries = left.current(step, DAY[1]) if (Path(left.root[7:]) / "current").exists() else {}
        assert entries.keys() in (set(), {"east", "west"})
        assert left.whole(entries).keys() == entries.keys()


@pytest.mark.parametrize("size", ["8k", "64k", "100k", "160k"])
def test_the_folder_of_tables_is_full(
    size: str, fleet: Path, java_options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = two_runs(fleet, fleet / "small" / "out", fleet / "local", size, java_options)
    code = int((kept / "code").read_text())
    assert code in (Refused.exit_code, Unavailable.exit_code), told(kept)
    line = told(kept)
    assert "No space left on device" in line
    assert str(fleet / "small" / "out") in line
    check_nothing_half(lake_at(kept / "lake"))
    assert (kept / "code2").read_text() == "0\n", (kept / "err2").read_text()
    assert contents(lake_at(kept / "lake2")) == contents(expected(fleet, monkeypatch))


@pytest.mark.parametrize("size", ["16k", "28k"])
def test_the_folder_of_spark_is_full(
    size: str, fleet: Path, java_options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = two_runs(fleet, fleet / "tables", fleet / "small", size, java_options)
    assert (kept / "code").read_text() == f"{Unavailable.exit_code}\n", told(kept)
    line = told(kept)
    assert line.endswith(f"No space left on device{LOCAL_DISK}")
    check_nothing_half(lake_at(kept / "lake"))
    assert (kept / "code2").read_text() == "0\n", (kept / "err2").read_text()
    assert contents(lake_at(kept / "lake2")) == contents(expected(fleet, monkeypatch))
