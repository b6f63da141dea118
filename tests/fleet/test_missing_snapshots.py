"""The fleet is what is declared: a cluster whose snapshot is missing or damaged does not vanish."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import DAY, where
from poolkeeper.cli.output.left_undone import EXIT_CODE

MISSING = ": no snapshot of west is there (expected west.json, west.json.gz or west.parquet)"


def vanish(file: Path) -> None:
    file.unlink()


def be_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def be_cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("happen", "reason"),
    [
        pytest.param(vanish, MISSING, id="no-file"),
        pytest.param(be_a_folder, MISSING, id="a-folder"),
        pytest.param(be_cut_off, "/west.json:50: is not JSON: ", id="cut-off"),
    ],
)
def test_it_is_a_row_a_warning_a_line_of_the_report_and_an_exit_code(
    happen: Callable[[Path], None], reason: str, fleet: Path, run
) -> None:
    happen(fleet / "snapshots" / "west.json")
    for made in ("", ", 1 as they were"):
        code, out, err = run("fleet", "run", *where(fleet), *DAY, "--processes", 1)
        assert code == EXIT_CODE
        assert out.startswith(f"snapshot {cases.DAY}: 1 of 2 clusters, 200 partitions{made}\n")
        assert f"warning: snapshot west: {fleet / 'snapshots'}{reason}" in err
        assert "warning: plan west: it could not be read: " in err
        assert reason in (fleet / "out" / f"report-{cases.DAY}.md").read_text()


def test_files_of_none_of_the_declared_clusters_are_a_wrong_request(fleet: Path, run) -> None:
    for name in ("east", "west"):
        file = fleet / "snapshots" / f"{name}.json"
        file.rename(file.with_name(f"other-{name}.json"))
    code, _, err = run("fleet", "run", *where(fleet), *DAY, "--processes", 1)
    assert code == 1
    assert "none of these snapshots is of a declared cluster" in err


@pytest.mark.timeout(60)
def test_a_pipe_holds_up_nobody(fleet: Path, run) -> None:
    file = fleet / "snapshots" / "east.json"
    file.unlink()
    os.mkfifo(file)
    code, out, err = run("fleet", "run", *where(fleet), *DAY)
    assert code == 4
    assert "snapshot 2026-03-01: 1 of 2 clusters" in out
    told = f"{file}: is no file that can be read (expected a regular one)"
    assert err.splitlines()[0] == f"warning: snapshot east: {told}"
    place = fleet / "samples" / "cluster=west"
    place.mkdir(parents=True)
    os.mkfifo(place / "a.parquet")
    options = ("--out", fleet / "out", "--samples", fleet / "samples")
    code, _, err = run("fleet", "features", *options)
    assert code == 1
    assert f"{place / 'a.parquet'}: is no file that can be read (expected a regular one)" in err
