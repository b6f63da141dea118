"""The fleet is what is declared: a cluster whose snapshot is missing or damaged does not vanish."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import DAY, lake_at, where
from poolkeeper.cli.output.left_undone import EXIT_CODE
from poolkeeper.fleet.stages.publishing import SNAPSHOT

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


def gaps_of(out: str) -> list[tuple[str, str]]:
    (reported,) = (step for step in json.loads(out)["steps"] if step["step"] == "report")
    return [(each["cluster"], each["reason"]) for each in reported["missing"]]


def test_what_was_read_before_counts_where_a_later_file_of_the_day_cannot_be_read(
    fleet: Path, run
) -> None:
    words = ("fleet", "run", *where(fleet), *DAY, "--processes", 1, "--output", "json")
    file = fleet / "snapshots" / "west.json"
    whole = file.read_bytes()
    code, first, _ = run(*words)
    assert (code, gaps_of(first)) == (0, [])
    for happen in (be_cut_off, vanish):
        happen(file)
        for _ in range(2):  # it is tried again each time
            code, out, err = run(*words)
            assert (code, gaps_of(out)) == (EXIT_CODE, [("west", "NotReadAgain")])
            assert "; its snapshot of 2026-03-01T23:59:59Z still counts\n" in err
            assert "plan west" not in err
            report = (fleet / "out" / f"report-{cases.DAY}.md").read_text()
            assert "all clusters could be planned" in report
            assert "it could not be read again, and its plan is made of the snapshot" in report
    file.write_bytes(whole + b"\n")
    code, out, _ = run(*words)
    assert (code, gaps_of(out)) == (0, [])
    made = {each["step"]: each for each in json.loads(out)["steps"]}["snapshot"]["clusters"]
    assert [each["made"] for each in made] == [False, True]


def test_rows_that_are_gone_do_not_outlast_a_file_that_cannot_be_read(fleet: Path, run) -> None:
    words = ("fleet", "snapshot", *where(fleet), *DAY, "--processes", 1)
    assert run(*words)[0] == 0
    for rows in (fleet / "out" / "partitions").rglob("*.parquet"):
        rows.unlink()
    be_cut_off(fleet / "snapshots" / "west.json")
    code, _, err = run(*words)
    assert code == EXIT_CODE
    assert "still counts" not in err
    lake = lake_at(fleet / "out")
    assert {name: each.status for name, each in lake.current(SNAPSHOT, cases.DAY).items()} == {
        "east": "ok",
        "west": "failed",
    }
