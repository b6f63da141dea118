"""The report of a day: what is missing in it, its pages, its tables."""

import html
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import fs

from fleet import cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from fleet.reported_days import (
    ALONE,
    BEFORE,
    be_killed,
    clusters,
    cut_off,
    declare_windows,
    file_of,
    lake,
    made,
    make,
    report_of,
    rows,
    run,
)
from poolkeeper.cli.commands.fleet import steps
from poolkeeper.cli.commands.fleet import waves as fleet_commands
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult
from poolkeeper.fleet.lake import reading
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.stages import day_report, pipeline, plan_pages
from poolkeeper.fleet.stages.publishing import (
    BUDGET,
    FEATURES,
    FLEET,
    PLAN,
    REPORT,
    SNAPSHOT,
    TABLES_OF,
    publish_tables,
)
from poolkeeper.fleet.storage import parquet, report_schemas, schemas
from poolkeeper.planning.proposals import plan_json
from poolkeeper.report.values import Gap, Missing, Presence
from s3_server import Bucket

__all__ = ["clusters", "lake", "made", "run"]


def test_a_whole_day_misses_nothing(lake: Lake):
    report = report_of(lake)
    assert report.missing == ()
    assert [each.name for each in report.clusters] == ["came", "moving", "still"]
    moving = report.snapshots[1]
    assert (moving.cluster, moving.site, moving.read_ms) == ("moving", "north", cases.NOW_MS)
    assert (moving.partitions, moving.unknown_sizes) == (121, 0)
    assert {each.horizon_days for each in report.pools} == {90.0}
    assert {each.cluster for each in report.hottest} == {"came", "moving", "still"}
    assert report.differences is not None
    assert report.differences.since == BEFORE
    changed = {each.cluster: each.presence for each in report.differences.clusters}
    assert changed == {"came": Presence.CAME, "went": Presence.WENT}


@pytest.mark.parametrize(
    ("hours", "at"), [(35, ""), (37, "2026-02-27T23:00:00Z")], ids=["the-evening-before", "older"]
)
def test_a_snapshot_that_nobody_makes_anew_is_told(
    hours: int, at: str, clusters, tmp_path: Path
) -> None:
    lake = lake_at(tmp_path)
    make(lake, cases.DAY, cases.NOW_MS - hours * 3_600_000, {"still": clusters["balanced"]})
    old = (Missing(Gap.OLD_SNAPSHOT, "still", at),) if at else ()
    assert report_of(lake).missing == old


def fail(lake: Lake, step: str) -> None:
    outcome = ClusterOutcome("moving", schemas.FAILED, "it has no answer")
    cases.put_rows(lake, step, StepResult(outcome))


def schedule_nothing(lake: Lake) -> None:
    kept = {table: rows(lake, table, BUDGET) for table in (schemas.BUDGETS, schemas.LEFT_OUT)}
    made = {t: parquet.from_rows(t, map(dict.values, found)) for t, found in kept.items()}
    made[schemas.TURNS] = parquet.from_rows(schemas.TURNS, ())
    publish_tables(lake, BUDGET, cases.DAY, made)


def publish_again(lake: Lake, step: str, name: str, figures: dict[str, str]) -> None:
    """The entry of a cluster with these figures, over its own."""
    known = cases.entry(lake, step, name)
    run = lake.begin(step, cases.DAY, TABLES_OF[step])
    lake.publish(run, [replace(known, figures={**known.figures, **figures})])


GAPS = [
    pytest.param(
        lambda lake: be_killed(lake, SNAPSHOT, "moving"),
        [Missing(Gap.NO_SNAPSHOT, "moving")],
        id="declared and without a snapshot",
    ),
    pytest.param(
        lambda lake: fail(lake, SNAPSHOT),
        [Missing(Gap.NOT_READ, "moving", "it has no answer")],
        id="not read",
    ),
    pytest.param(
        lambda lake: be_killed(lake, PLAN, "moving"),
        [Missing(Gap.NO_PLAN, "moving")],
        id="planning was killed",
    ),
    pytest.param(
        lambda lake: be_killed(lake, PLAN),
        [Missing(Gap.NO_PLAN, name) for name in ("came", "moving", "still")],
        id="all planning was killed",
    ),
    pytest.param(
        lambda lake: fail(lake, PLAN),
        [Missing(Gap.NOT_PLANNED, "moving", "it has no answer")],
        id="not planned",
    ),
    pytest.param(
        lambda lake: be_killed(lake, FEATURES, "still"),
        [Missing(Gap.NO_FEATURES, "still")],
        id="features were killed",
    ),
    pytest.param(
        lambda lake: be_killed(lake, FEATURES),
        [Missing(Gap.NO_FEATURES, name) for name in ("came", "moving", "still")],
        id="all features were killed",
    ),
    pytest.param(
        lambda lake: fail(lake, FEATURES),
        [Missing(Gap.NO_FEATURES, "moving", "it has no answer")],
        id="features failed",
    ),
    pytest.param(
        lambda lake: be_killed(lake, BUDGET),
        [Missing(Gap.NO_BUDGET)],
        id="the budget was killed",
    ),
    pytest.param(
        schedule_nothing,
        [Missing(Gap.NOT_SCHEDULED, "came"), Missing(Gap.NOT_SCHEDULED, "moving")],
        id="plans are newer than the budget",
    ),
    pytest.param(
        lambda lake: publish_again(lake, PLAN, "moving", {"hash": "sha256:another"}),
        [Missing(Gap.NOT_SCHEDULED, "moving")],
        id="a plan of the same bytes is newer than the budget",
    ),
    pytest.param(
        lambda lake: declare_windows(lake, "came"),
        [Missing(Gap.NOT_SCHEDULED, "came")],
        id="windows are newer than the budget",
    ),
]


@pytest.mark.parametrize(("spoil", "missing"), GAPS)
def test_what_is_missing_is_in_the_report_and_in_the_exit_code(lake: Lake, run, spoil, missing):
    spoil(lake)
    assert list(report_of(lake).missing) == missing
    code, out, err = run(lake, "-o", "json")
    assert code == 4
    (told,) = json.loads(out)["steps"]
    assert [(each["reason"], each["cluster"]) for each in told["missing"]] == [
        (each.gap, each.cluster or None) for each in missing
    ]
    page = html.unescape((local_path(lake.root) / f"report-{cases.DAY}.html").read_text())
    for each, row in zip(told["missing"], rows(lake, report_schemas.MISSING), strict=True):
        assert each["message"] in page
        assert each["message"] in err
        assert (row["gap"], row["message"]) == (each["reason"], each["message"])


STEP_OF = {table.name: step for step, tables in TABLES_OF.items() for table in tables}


@pytest.mark.parametrize("table", ["partitions", "plans", "balances", "clusters", "features"])
def test_a_damaged_table_is_named_and_the_others_are_reported(lake: Lake, table):
    step = STEP_OF[table]
    file = file_of(lake, step, schemas.TABLES[table], "moving")
    there = lake.current(step, cases.DAY)
    concerned = [name for name, entry in there.items() if file in entry.files]
    assert concerned == (["came", "moving", "still"] if table == "features" else ["moving"])
    cut_off(lake, file)
    report = report_of(lake)
    gaps = [each for each in report.missing if each.cluster in concerned]
    assert [(gap.gap, gap.cluster) for gap in gaps] == [(Gap.DAMAGED, name) for name in concerned]
    assert all(file.path in gap.detail for gap in gaps)
    assert {each.name for each in report.clusters if each.failed} == set(concerned)
    distrusted = [name for name, e in lake.current(step, cases.DAY).items() if not e.input]
    assert distrusted == concerned


def test_a_whole_report_exits_with_0_and_has_a_page_for_each_plan(lake: Lake, run):
    code, _, err = run(lake, "--pages", "1", "--until", "2026-06-01")
    assert (code, err) == (0, "")
    root = local_path(lake.root)
    page = (root / f"report-{cases.DAY}.html").read_text()
    assert "until 2026-06-01" in page
    assert f'href="report-{cases.DAY}/came.html"' in page
    assert "There is no page of 2 more plans" in page
    folder = root / f"report-{cases.DAY}"
    assert sorted(file.name for file in folder.iterdir()) == ["came.html", "came.json"]
    kept = plan_json.decode((folder / "came.json").read_bytes(), "came.json")  # as `apply` does
    made = cases.kept(lake, "came")
    told = replace(kept, parts=(), problems=made.problems)
    assert (told, set(made.problems) <= set(kept.problems)) == (made, True)
    assert sum(len(part.moves) for part in kept.parts) == len(kept.moves) > 0
    line = f"kubectl poolkeeper approve --cluster came --plan {kept.hash}"
    assert line in page
    own = (folder / "came.html").read_text()
    assert line in own
    assert f'href="../report-{cases.DAY}.html"' in own
    assert run(lake)[0] == 0
    names = ["came.html", "moving.html", "still.html"]
    assert sorted(file.name for file in folder.glob("*.html")) == names


def test_a_forecast_does_not_end_before_the_day(lake: Lake, run):
    code, _, err = run(lake, "--until", BEFORE)
    assert code == 1
    assert f"--until {BEFORE}: is before the day of the report (expected {cases.DAY}" in err


def test_the_tables_of_a_report_are_what_it_shows(lake: Lake):
    report = report_of(lake)
    day_report.publish(lake, cases.DAY, report)
    names = ("snapshot_states", "pool_forecasts", "broker_forecasts", "hottest", "skews")
    shown = (report.snapshots, report.pools, report.brokers, report.hottest, report.skews)
    for name, values in zip(names, shown, strict=True):
        assert len(rows(lake, schemas.TABLES[name])) == len(values) > 0
    (came, went) = rows(lake, report_schemas.DIFFERENCES)
    assert (came["cluster"], came["presence"], came["partitions_before"]) == ("came", "came", 0)
    assert (went["cluster"], went["presence"], went["partitions"]) == ("went", "went", 0)
    assert (came["moves_before"], went["moves"]) == (None, None)


def test_a_plan_that_cannot_be_read_again_has_no_page_and_is_missed(lake: Lake):
    report = report_of(lake)
    cut_off(lake, file_of(lake, PLAN, schemas.MOVES, "came"))
    names = plan_pages.choose_clusters(report, 2)
    (gone, made) = plan_pages.write_pages(ALONE, lake, ALONE.storage, report, names)
    assert (gone.cluster, made.cluster, made.missing) == ("came", "moving", None)
    linked = plan_pages.with_pages(report, frozenset([made.cluster]), [gone.missing])
    assert [each.page for each in linked.clusters] == ["", f"report-{cases.DAY}/moving.html", ""]
    assert [each.gap for each in linked.missing] == [Gap.DAMAGED]
    assert linked.pages_left_out == 2
    assert not cases.entry(lake, PLAN, "came").input


def test_the_report_of_a_bucket_lies_in_the_bucket(made: Path, s3: Bucket):
    fs.copy_files(str(made), s3.path("fleet"), destination_filesystem=s3.files())
    storage = Storage.of(s3.hadoop())
    lake = Lake(ArrowObjects(s3.uri("fleet"), storage))
    be_killed(lake, FEATURES, "still")
    engine = InProcess()
    engine.storage = storage
    work = steps.FleetWork(engine, lake)
    names = [f"report-{cases.DAY}.html", f"report-{cases.DAY}.md"]
    for _ in range(2):  # the second over the first
        shown = fleet_commands.ReportOptions(pages=1)
        _, told = fleet_commands.report(work, cases.DAY, {}, shown)
        assert told["files"] == [s3.uri("fleet", name) for name in names]
        assert [each["reason"] for each in told["missing"]] == [Gap.NO_FEATURES]
    pages = [each.name for each in lake.objects.children(f"report-{cases.DAY}")]
    assert pages == ["came.html", "came.json"]
    assert f'href="report-{cases.DAY}/came.html"' in (lake.objects.read(names[0]) or b"").decode()
    entry = cases.entry(lake, REPORT, FLEET)
    (missing,) = Reader(lake.root, storage).rows(entry, report_schemas.MISSING).to_pylist()
    assert (missing["cluster"], missing["gap"]) == ("still", Gap.NO_FEATURES)


def test_rows_are_the_same_however_little_a_reader_keeps(lake: Lake, monkeypatch):
    report = report_of(lake)
    monkeypatch.setattr(reading, "KEPT_BYTES", 0)
    assert report_of(lake) == report


def test_a_cluster_of_the_longest_name_has_a_page(tmp_path: Path, run) -> None:
    lake, name = lake_at(tmp_path / "long"), "x" * 253
    cases.put(lake, cases.named(cases.separate(10, 1), name))
    pipeline.plan(ALONE, lake, cases.DAY, [name])
    code, _, err = run(lake)
    assert (code, err) == (0, "")
    root = local_path(lake.root)
    pages = sorted((root / f"report-{cases.DAY}").iterdir())
    assert [(page.stem[:201], page.suffix) for page in pages] == [
        ("x" * 200 + "-", ".html"),
        ("x" * 200 + "-", ".json"),
    ]
    assert (
        f'href="report-{cases.DAY}/{pages[0].name}"'
        in (root / f"report-{cases.DAY}.html").read_text()
    )
