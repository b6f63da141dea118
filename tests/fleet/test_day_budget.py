"""The budget of a day: when it is older than what it was made from, and made again."""

from dataclasses import replace
from datetime import UTC, datetime

from fleet import cases
from fleet.reported_days import (
    ALONE,
    clusters,
    declare_windows,
    file_of,
    lake,
    made,
    report_of,
    run,
)
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.schedule.budget import Budget, Schedule
from poolkeeper.fleet.stages import pipeline, waves
from poolkeeper.fleet.stages.publishing import (
    BUDGET,
    FLEET,
    TABLES_OF,
)
from poolkeeper.fleet.storage import schemas

__all__ = ["clusters", "lake", "made", "run"]


def test_a_budget_is_not_older_than_a_plan_that_is_made_again_and_the_same(lake: Lake):
    pipeline.plan(ALONE, lake, cases.DAY, ["moving"], again=True)
    assert report_of(lake).missing == ()


def test_a_budget_that_does_not_say_what_it_was_made_from_is_of_plans_of_its_bytes(lake: Lake):
    known = cases.entry(lake, BUDGET, FLEET)
    run = lake.begin(BUDGET, cases.DAY, TABLES_OF[BUDGET])  # of an earlier release
    lake.publish(run, [replace(known, figures={})])
    assert report_of(lake).missing == ()


def test_a_damaged_budget_is_missed_and_made_again(lake: Lake, run):
    file = file_of(lake, BUDGET, schemas.TURNS, FLEET)
    path = local_path(lake.root) / file.path
    path.write_bytes(bytes(file.bytes))
    code, _, err = run(lake)
    assert code == 4
    assert file.path in err
    assert not cases.entry(lake, BUDGET, FLEET).input
    make_budget(lake)
    assert report_of(lake).missing == ()


def make_budget(lake: Lake) -> Schedule:
    begin = datetime.fromtimestamp(cases.NOW_MS / 1000, UTC)
    return waves.schedule_day(lake, ALONE.storage, cases.DAY, Budget(), {}, begin).schedule


def test_a_budget_has_the_windows_that_are_declared_now(lake: Lake):
    assert make_budget(lake).turns[0].begin_ms == 0
    for name in ("moving", "came", "still"):
        declare_windows(lake, name)
    assert {turn.begin_ms for turn in make_budget(lake).turns} == {10 * 3_600_000}
