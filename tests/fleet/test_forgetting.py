"""A cluster that is gone for good: it is missed until somebody says so."""

import json
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import DAY, lake_at, where
from poolkeeper.cli.output.left_undone import EXIT_CODE
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.stages.publishing import FLEET
from poolkeeper.fleet.storage import schemas

NEXT = "2026-03-02"


def of_east(fleet: Path) -> None:
    """West is taken out of the manifests and the snapshots."""
    text = (fleet / "manifests" / "all.yaml").read_text()
    kept = [each for each in text.split("---\n") if "west" not in each]
    (fleet / "manifests" / "all.yaml").write_text("---\n".join(kept))
    (fleet / "snapshots" / "west.json").unlink()


def missing(told: str) -> list[tuple[str, str]]:
    (report,) = [step for step in json.loads(told)["steps"] if step["step"] == "report"]
    return [(each["cluster"], each["reason"]) for each in report["missing"]]


def test_it_is_missed_every_day_until_it_is_forgotten(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    of_east(fleet)
    words = ("fleet", "run", *where(fleet), "--day", NEXT, "-o", "json")
    for _ in range(2):
        code, out, err = run(*words)
        assert (code, missing(out)) == (EXIT_CODE, [("west", "NoSnapshot")])
        assert "if the cluster is gone, run poolkeeper fleet forget\n" in err
    code, out, err = run("fleet", "forget", "west", "--out", fleet / "out")
    assert (code, err) == (0, "")
    assert out == "west is declared no more (keep it out of the manifests of the next run)\n"
    code, out, err = run(*words)
    assert (code, err, missing(out)) == (0, "", [])
    assert cases.rows(lake_at(fleet / "out"), schemas.PLANS, "west").num_rows == 1  # of its day


def test_it_is_gone_from_the_latest_day_at_once(fleet: Path, run) -> None:
    (fleet / "snapshots" / "west.json").write_text("{")
    words = ("fleet", "run", *where(fleet), *DAY, "-o", "json")
    assert missing(run(*words)[1]) == [("west", "NotRead")]
    of_east(fleet)
    told = json.loads(run("fleet", "forget", "west", "--out", fleet / "out", "-o", "json")[1])
    both = ["budget", "report"]
    assert told == {"declared": ["west"], "day": cases.DAY, "found": ["west"], "outdated": both}
    code, out, err = run(*words)
    assert (code, err, missing(out)) == (0, "", [])
    lake = lake_at(fleet / "out")
    assert [lake.current(step, cases.DAY).keys() for step in ("snapshot", "plan")] == [
        {"east"},
        {"east"},
    ]


def test_one_that_is_still_in_the_manifests_comes_back(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    assert run("fleet", "forget", "west", "east", "--out", fleet / "out")[0] == 0
    code, _, err = run("fleet", "plan", "--out", fleet / "out")
    made_by = "`poolkeeper fleet snapshot` makes them"
    assert (code, err) == (1, f"{fleet / 'out'}: holds no snapshots ({made_by})\n")
    code, out, _ = run("fleet", "run", *where(fleet), *DAY)
    assert code == 0
    assert out.startswith(f"snapshot {cases.DAY}: 2 of 2 clusters, 400 partitions\n")


def test_a_day_of_the_past_can_be_forgotten_alone(fleet: Path, run) -> None:
    for day in (cases.DAY, NEXT):
        assert run("fleet", "snapshot", *where(fleet), "--day", day)[0] == 0
    words = ("fleet", "forget", "west", "--out", fleet / "out", *DAY)
    gone = f"west is not in the snapshots and plans of {cases.DAY} any more\n"
    assert run(*words)[1] == gone
    lake = lake_at(fleet / "out")
    assert sorted(manifests.read(lake)) == ["east", "west"]
    assert [sorted(lake.current("snapshot", day)) for day in (cases.DAY, NEXT)] == [
        ["east"],
        ["east", "west"],
    ]


def test_what_is_of_the_whole_fleet_and_was_made_before_is_named(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    told = run("fleet", "forget", "west", "--out", fleet / "out")[1].splitlines()
    assert told[-1] == (
        "what `poolkeeper fleet budget` and `poolkeeper fleet report` made of"
        f" {cases.DAY} still has them: run that again"
    )
    for step in ("budget", "report"):
        assert run("fleet", step, "--out", fleet / "out")[0] == 0
    lake = lake_at(fleet / "out")
    for table in (schemas.TURNS, schemas.TABLES["pool_forecasts"]):
        of = set(cases.rows(lake, table, FLEET).column("cluster").to_pylist())
        assert of == {"east"}, table.name


def test_a_day_of_which_all_is_forgotten_hides_no_day_before(fleet: Path, run) -> None:
    for day in (cases.DAY, NEXT):
        assert run("fleet", "run", *where(fleet), "--day", day)[0] == 0
    out = ("--out", fleet / "out")
    assert run("fleet", "forget", "west", "east", *out, "--day", NEXT)[0] == 0
    assert run("fleet", "show", "east", *out)[0] == 0
    assert run("fleet", "report", *out)[1].startswith(f"report {cases.DAY}: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["north", "west"],
            "north: no such cluster is declared or found of 2026-03-01 (expected east, west)",
            id="unknown",
        ),
        pytest.param(
            ["west", "--day", NEXT],
            f"west: no such cluster is found of {NEXT} (expected none)",
            id="of-another-day",
        ),
    ],
)
def test_names_that_are_nowhere_change_nothing(words, message, fleet: Path, run) -> None:
    assert run("fleet", "snapshot", *where(fleet), *DAY)[0] == 0
    before = cases.files(fleet / "out")
    assert run("fleet", "forget", *words, "--out", fleet / "out") == (1, "", f"{message}\n")
    assert cases.files(fleet / "out") == before
