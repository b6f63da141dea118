"""`poolkeeper fleet show`: what it counts it names, and its line for `apply` can be pasted."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import move
from poolkeeper.cli.commands.fleet import tables
from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.stages import waves
from poolkeeper.model.plans import Plan, PlanProblem
from poolkeeper.planning.facts.health import NoLiveBroker


def show(plan: Plan, file: Path | None) -> None:
    tables.show(SimpleNamespace(plan=plan, without=""), file, "text")


def test_problems_are_named_and_the_line_for_apply_names_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moves = (move("t", 0, (1, 2), (3, 2), reason="moving"),)
    problems = tuple(PlanProblem(f"p{n}", "", NoLiveBroker((n,))) for n in range(12))
    file = tmp_path / "my plan.json"
    show(Plan("east", "sha256:a", "sha256:f", moves=moves, problems=problems), file)
    first, *told, last = capsys.readouterr().out.splitlines()
    assert "12 problems" in first
    assert told[0] == "  • pool p0: no broker of the pool is live (broker 0): start them again"
    assert (len(told), told[-1]) == (11, "  • and 2 more")
    assert last == (f"to carry it out: poolkeeper apply -f DIR --cluster east --plan '{file}'")


def test_nothing_is_carried_out_of_a_plan_without_a_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(Plan("east", "sha256:a", "sha256:f"), None)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_lines_of_its_help_name_the_cluster_as_well(run) -> None:
    _, said, _ = run("fleet", "show", "--help")
    assert "poolkeeper apply -f clusters/ --cluster main --plan plan.json\n" in said


def test_of_a_cluster_without_a_plan_those_that_have_one_are_named(tmp_path: Path) -> None:
    entries = {
        "east": ClusterEntry("east", "r", "i"),
        "west": ClusterEntry("west", "r", "", "Failed", "ZooKeeper did not answer"),
    }
    lake = SimpleNamespace(current=lambda step, day: entries)
    with pytest.raises(Refused) as raised:
        waves.plan_of(lake, Storage(), "2026-03-01", "north")
    assert str(raised.value) == (
        "north has no plan of 2026-03-01"
        " (there are plans of east; `poolkeeper fleet plan` makes one)"
    )
    with pytest.raises(Refused, match="west has no plan of 2026-03-01: ZooKeeper did not answer"):
        waves.plan_of(lake, Storage(), "2026-03-01", "west")
