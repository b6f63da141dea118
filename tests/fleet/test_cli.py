"""`poolkeeper fleet`, and Parquet where other commands take snapshots."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fleet import cases
from fleet.conftest import DAY, NAMES, lake_at, where
from fleet.in_process import InProcess
from poolkeeper.cli.commands.fleet import outcomes
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.stages.publishing import FleetOutcome, Line
from poolkeeper.fleet.storage import parquet, schemas, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.planning.proposals import plan_json


def turns(fleet: Path) -> list[dict]:
    """Who moves when, as it counts."""
    lake = lake_at(fleet / "out")
    entry = lake.current("budget", cases.DAY)[""]
    return Reader(lake.root, InProcess.storage).rows(entry, schemas.TURNS).to_pylist()


def test_all_steps_and_again(fleet: Path, run) -> None:
    words = ("fleet", "run", *where(fleet), *DAY, "--processes", 1)
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    read, loaded, planned, budgeted, reported = out.splitlines()
    assert read == "snapshot 2026-03-01: 2 of 2 clusters, 400 partitions"
    assert loaded.startswith("features 2026-03-01: 2 of 2 clusters")
    assert planned.startswith("plan 2026-03-01: 2 of 2 clusters, 400 partitions, ")
    assert budgeted.startswith("budget 2026-03-01: 1 wave, ")
    page, text = (fleet / "out" / f"report-{cases.DAY}{suffix}" for suffix in (".html", ".md"))
    assert reported == f"report 2026-03-01: {page}, {text}"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "east" in text.read_text()
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    steps = out.splitlines()[:3]
    assert [line.rpartition(", ")[2] for line in steps] == ["2 as they were"] * 3


def test_a_budget_of_sites_and_windows(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY, "--processes", 1)[0] == 0
    before = turns(fleet)
    limits = ("--rate", "100Mi", "--site", "a=east", "--site", "b=west", "--site-rate", "a=1Mi")
    words = ("fleet", "budget", "--out", fleet / "out", *limits, "--window", "0 22 * * * 8h")
    code, out, err = run(*words, "-o", "json")
    assert (code, err) == (0, "")
    (told,) = json.loads(out)["steps"]
    assert told["makespanSeconds"] >= told["lowerBoundSeconds"] > 0
    made = turns(fleet)
    assert made != before
    assert run(*words, "-o", "json")[1] == out
    assert turns(fleet) == made
    for given, sites in (((), "ab"), (("--site", "c=east"), "c-")):
        code, out, err = run("fleet", "report", "--out", fleet / "out", *given)
        assert (code, err) == (0, "")
        text = (fleet / "out" / f"report-{cases.DAY}.md").read_text()
        assert "1 MiB/s at site a" in text
        for name, site in zip(NAMES, sites, strict=True):
            assert f"| `{name}` | {site} |" in text or f"| `{name}` | `{site}` |" in text


def test_windows_have_a_time_zone_and_a_rate_also_in_a_run_of_all_steps(fleet: Path, run) -> None:
    windows = ("--window", "0 22 * * 1-5 8h Europe/Zurich 20Mi", "--window", "0 8 * * 0 4h 40Mi")
    words = ("--rate", "10Mi", *windows, "--clusters-at-once", 1)
    code, _, err = run("fleet", "run", *where(fleet), *DAY, "--processes", 1, *words)
    assert (code, err) == (0, "")
    before = turns(fleet)
    assert run("fleet", "budget", "--out", fleet / "out", *words)[0] == 0
    assert turns(fleet) == before
    assert (
        "10 MiB/s in all, windows of 8 h at 0 22 * * 1-5 (Europe/Zurich) with 20 MiB/s,"
        " windows of 4 h at 0 8 * * 0 (UTC) with 40 MiB/s, 1 cluster at once"
    ) in (fleet / "out" / f"report-{cases.DAY}.html").read_text()


def test_plans_are_those_of_the_command_plan(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY, "--processes", 1)[0] == 0
    code, out, _ = run("fleet", "plan", "--out", fleet / "out", "-o", "json")
    assert code == 0
    told = {line["cluster"]: line["hash"] for line in json.loads(out)["steps"][0]["clusters"]}
    for name in NAMES:
        snapshot = fleet / "snapshots" / f"{name}.json"
        words = ("-f", fleet / "manifests", "--cluster", name, "--snapshot", snapshot)
        _, out, _ = run("plan", *words, "-o", "json")
        assert json.loads(out)["hash"] == told[name]


def test_steps_one_by_one_take_the_latest_day(fleet: Path, run) -> None:
    assert run("fleet", "snapshot", *where(fleet), *DAY, "--processes", 1)[0] == 0
    options = ("--out", fleet / "out", "--processes", 1)
    assert run("fleet", "features", *options, "--history", "48h")[1].startswith(
        "features 2026-03-01"
    )
    declared = (fleet / "manifests" / "all.yaml").read_text()
    first = run("fleet", "plan", *options, "-o", "json")[1]
    (fleet / "manifests" / "all.yaml").write_text(declared.replace("- 26\n", ""))
    again = run("fleet", "plan", *options, "-f", fleet / "manifests", "-o", "json")[1]
    assert {line["made"] for line in json.loads(first)["steps"][0]["clusters"]} == {True}
    assert json.loads(again)["steps"][0]["day"] == cases.DAY


def test_a_plan_with_the_features_of_the_fleet_is_the_plan_of_the_fleet(fleet: Path, run) -> None:
    east = snapshots.read(fleet / "snapshots" / "east.json")
    topics = {
        name: replace(
            topic, partitions=tuple(p._replace(size_bytes=None) for p in topic.partitions)
        )
        for name, topic in east.topics.items()
    }
    snapshots.write(fleet / "snapshots" / "east.json", replace(east, topics=topics))
    rows = [(name, 0, "bytes", cases.NOW_MS, 2.0**30 * n) for n, name in enumerate(topics)]
    folder = fleet / "history" / "cluster=east"
    parquet.write(folder / "x.parquet", parquet.from_rows(schemas.SAMPLES, rows))
    words = ("--samples", fleet / "history", "-o", "json")
    assert run("fleet", "run", *where(fleet), *DAY, *words)[0] == 0
    _, shown, _ = run("fleet", "show", "east", "--out", fleet / "out", "-o", "json")
    wanted = json.loads(shown)
    snapshot = fleet / "snapshots" / "east.json"
    alone = ("plan", "-f", fleet / "manifests", "--cluster", "east", "--snapshot", snapshot)
    told = json.loads(run(*alone, "--features", fleet / "out", "-o", "json")[1])
    assert (told["hash"], told["moves"]) == (wanted["hash"], wanted["moves"])
    assert json.loads(run(*alone, "-o", "json")[1])["moves"] != wanted["moves"]
    code, out, err = run(*alone, "--features", fleet / "nowhere")
    assert (code, out) == (1, "")
    assert err.endswith("holds no features of east (`poolkeeper fleet features` makes them)\n")


def test_a_plan_with_features_of_an_earlier_day_says_so(fleet: Path, run) -> None:
    east = fleet / "east.json"
    east.write_bytes((fleet / "snapshots" / "east.json").read_bytes())
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    words = ("plan", "-f", fleet / "manifests", "--cluster", "east", "--snapshot", east)
    code, _, err = run(*words, "--features", fleet / "out")
    assert (code, err) == (2, "")
    (fleet / "snapshots" / "east.json").unlink()
    assert run("fleet", "run", *where(fleet), "--day", "2026-03-02")[0] == 4
    code, _, err = run(*words, "--features", fleet / "out")
    told = f"features of east are those of {cases.DAY}: it has none of 2026-03-02, for which `fleet"
    assert (code, told in err, err.count("\n")) == (2, True, 1)


def test_a_plan_of_the_fleet_is_what_apply_takes(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    words = ("fleet", "show", "east", "--out", fleet / "out", "--plan", fleet / "plan.json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    told = json.loads((fleet / "plan.json").read_text())
    assert out.startswith(f"plan {told['hash']} of east: ")
    assert out.splitlines()[-1].endswith(f" --cluster east --plan {fleet / 'plan.json'}")
    snapshot = fleet / "snapshots" / "east.json"
    of_one = ("-f", fleet / "manifests", "--cluster", "east", "--snapshot", snapshot)
    alone = json.loads(run("plan", *of_one, "-o", "json")[1])
    assert {"stages", "makespan", "parts", "problems"} <= told.keys() <= alone.keys()
    assert told == {key: alone[key] for key in told}
    assert (len(told["stages"]), len(told["parts"])) == (3, 1)
    assert out.splitlines()[0].endswith(" problems, 3 stages in 2 s")
    page = fleet / "out" / f"report-{cases.DAY}" / "east.json"
    assert json.loads(page.read_text()) == {**told, "stages": [], "makespan": None}
    plan = plan_json.from_json(told)
    assert (plan.hash, len(plan.moves)) == (told["hash"], len(told["moves"]))
    code, out, err = run("fleet", "show", "north", "--out", fleet / "out")
    assert (code, out) == (1, "")
    others = "there are plans of east, west; `poolkeeper fleet plan` makes one"
    assert err == f"north has no plan of 2026-03-01 ({others})\n"


def test_a_plan_older_than_its_snapshot_is_shown_without_stages(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    whole = json.loads(run("fleet", "show", "east", "--out", fleet / "out", "-o", "json")[1])
    east = fleet / "snapshots" / "east.json"
    seen = snapshots.read(east)
    snapshots.write(east, replace(seen, topics=dict(list(seen.topics.items())[1:])))
    assert run("fleet", "snapshot", *where(fleet), *DAY)[0] == 0
    old = "its plan is older than its snapshot (`poolkeeper fleet plan` makes it again)"
    words = ("fleet", "show", "east", "--out", fleet / "out")
    code, out, err = run(*words, "-o", "json")
    assert (code, err) == (4, f"warning: east: without stages and parts: {old}\n")
    told = json.loads(out)
    assert (told["stages"], told["makespan"], "parts" in told) == ([], None, False)
    assert run(*words)[1].splitlines()[0].endswith(" problems")
    assert (told["hash"], told["moves"]) == (whole["hash"], whole["moves"])
    code, _, err = run("fleet", "report", "--out", fleet / "out")
    assert (code, err) == (4, f"warning: report east: its plan has no page: {old}\n")
    assert run("fleet", "plan", "--out", fleet / "out")[0] == 0
    assert run(*words)[0] == 0


def test_a_plan_whose_snapshot_is_damaged_is_shown_without_stages(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    (file,) = cases.entry(lake_at(fleet / "out"), "snapshot", "east").of_table(schemas.PARTITIONS)
    (fleet / "out" / file.path).write_bytes(bytes(file.bytes))
    file_told = fleet / "plan.json"
    code, _, err = run("fleet", "show", "east", "--out", fleet / "out", "--plan", file_told)
    assert code == 4
    assert err.startswith(f"warning: east: without stages and parts: {file.path} is damaged (")
    assert plan_json.from_json(json.loads(file_told.read_text())).moves


@pytest.mark.parametrize("engine", ["spark", "duckdb", "trino"])
def test_views_are_of_every_table_that_there_is(
    engine: str, fleet: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    read: list[str] = []
    monkeypatch.setattr(ArrowObjects, "read", lambda _, path: read.append(path))
    code, out, err = run("fleet", "ddl", "--out", fleet / "out", "--engine", engine)
    assert (code, err) == (0, "")
    assert read == [], "whole files, of which the end has the columns"
    views = [line for line in out.splitlines() if line.startswith("create or replace view")]
    names = {line.split()[4].removeprefix("fleet_") for line in views}
    assert {"current", "manifests", "clusters", "partitions", "plans", "moves", "turns"} <= names
    assert {"missing", "snapshot_states", "pool_forecasts", "differences"} <= names
    assert names <= schemas.TABLES.keys()
    # Tables of Trino have the columns that were declared when they were made, by whatever release.
    statements = [each.strip().split("(")[0].split() for each in out.split(";")]
    made = [each[-1] for each in statements if each[:2] == ["create", "table"]]
    assert made == [each[-1] for each in statements if each[:2] == ["drop", "table"]]
    assert bool(made) == (engine == "trino")
    # A swept run leaves folders, of which Spark and DuckDB say that no table is there.
    for name in ("requests", "turns"):
        shutil.rmtree(fleet / "out" / name, ignore_errors=True)
        (fleet / "out" / name / f"day={cases.DAY}" / "run=swept").mkdir(parents=True)
    _, out, _ = run("fleet", "ddl", "--out", fleet / "out", "--engine", engine)
    assert {name for name in ("requests", "turns", "plans") if f"fleet_{name} as" in out} == {
        "plans"
    }
    assert run("fleet", "ddl", "--out", fleet / "empty")[0] == 1


@pytest.mark.parametrize("name", ["`poolkeeper plan`", "a\u202eb", "it's"])
def test_views_name_their_place_to_the_letter(name: str, fleet: Path, run) -> None:
    lake = fleet / name
    assert run("fleet", "snapshot", *where(fleet)[:-2], "--out", lake, *DAY)[0] == 0
    _, text, _ = run("fleet", "ddl", "--out", lake)
    _, document, _ = run("fleet", "ddl", "--out", lake, "-o", "json")
    assert f"/{name.replace('`', '``')}/current`" in text
    assert json.loads(document) == {"engine": "spark", "sql": text}


def test_one_bad_snapshot_is_a_warning(fleet: Path, run) -> None:
    (fleet / "snapshots" / "west.json").write_text("{")
    (fleet / "snapshots" / "north.json").write_text("{}")
    code, out, err = run("fleet", "run", *where(fleet), *DAY, "--processes", 1)
    assert code == 4
    assert out.splitlines()[0] == "snapshot 2026-03-01: 1 of 2 clusters, 200 partitions"
    assert [line.partition(": ")[0] for line in err.splitlines()] == ["warning"] * 3
    assert "north.json: nothing is declared for cluster north" in err
    assert "plan west: it could not be read" in err


def test_sizes_that_no_float_holds_are_rounded_in_reports(fleet: Path, run) -> None:
    east = snapshots.read(fleet / "snapshots" / "east.json")
    topics = {
        name: replace(
            topic,
            partitions=tuple(
                p._replace(size_bytes=5_000_000_000_000_123) for p in topic.partitions
            ),
        )
        for name, topic in east.topics.items()
    }
    snapshots.write(fleet / "snapshots" / "east.json", replace(east, topics=topics))
    history = fleet / "history" / "cluster=west" / "a.parquet"
    history.parent.mkdir(parents=True)
    sample = {"topic": "x", "partition": 0, "metric": "bytes", "at_ms": cases.NOW_MS}
    pq.write_table(pa.Table.from_pylist([{**sample, "value": 2**53 + 1}]), history)
    code, out, err = run("fleet", "run", *where(fleet), *DAY, "--samples", fleet / "history")
    assert err == (
        "warning: budget east: the budget has no time for its plan, or for all of it:"
        " the budget has no time for it within 36500 d\n"
    )
    assert code == 4
    assert out.startswith("snapshot 2026-03-01: 2 of 2 clusters")


def test_when_nothing_can_be_read(fleet: Path, run) -> None:
    words = ("-f", fleet / "manifests", "--out", fleet / "out", "--timeout", 1, "--processes", 1)
    code, out, err = run("fleet", "snapshot", *words)
    assert code == 3
    assert out.endswith(": 0 of 2 clusters\n")
    assert err.splitlines()[-1] == "snapshot failed for every cluster"
    assert "warning: snapshot east: no ZooKeeper answers at 127.0.0.1:1" in err


@pytest.mark.parametrize("inside", ["", "lake"])
def test_tables_among_snapshots_are_no_snapshots(inside: str, fleet: Path, run) -> None:
    words = ("fleet", "run", *where(fleet)[:-1], fleet / "snapshots" / inside, *DAY)
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    code, again, err = run(*words)
    assert (code, err) == (0, "")
    assert "2 of 2 clusters, 400 partitions, 2 as they were" in again


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        pytest.param("pyarrow", ["fleet", "plan", "--out", "o"], id="fleet"),
        pytest.param("pyspark", ["fleet", "plan", "--out", "o", "--master", "local"], id="spark"),
        pytest.param(
            "pyarrow",
            ["snapshot", "--zookeeper", "127.0.0.1:1", "--out", "s.parquet"],
            id="parquet",
        ),
    ],
)
def test_without_the_extra_it_says_what_to_install(missing, words, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from poolkeeper.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(missing)
    assert "pip install 'poolkeeper[fleet]'" in ran.stderr


def test_other_commands_read_parquet(fleet: Path, run) -> None:
    east = snapshots.read(fleet / "snapshots" / "east.json")
    snapshot_file.write(fleet / "east.parquet", east)
    words = ("plan", "-f", fleet / "manifests", "--cluster", "east", "-o", "json", "--snapshot")
    of_parquet = run(*words, fleet / "east.parquet")
    assert of_parquet == run(*words, fleet / "snapshots" / "east.json")
    assert of_parquet[0] == 2


@pytest.mark.parametrize("output", ["text", "json"])
def test_plans_that_a_budget_has_no_time_for_are_told_once(output: str, fleet: Path, run) -> None:
    limits = ("--window", "0 22 * * * 1s", "-o", output)
    code, out, err = run("fleet", "run", *where(fleet), *DAY, *limits)
    assert code == 4
    why = (
        "the budget has no time for its plan, or for all of it: stage 1 needs 2 s, and has 1 s at"
        " most: lengthen the windows, raise the rate or lower spec.execution.maxBytes"
    )
    told = [f"warning: budget {name}: {why}" for name in NAMES]
    assert err.splitlines() == told
    lines = {"text": out.splitlines(), "json": json.loads(out)["steps"] if output == "json" else ()}
    if output == "text":
        no_time = "budget 2026-03-01: no time for 2.3 GiB of 2 clusters: nothing moves"
        assert lines[output][3] == no_time
    else:
        gaps = [{"reason": "NoTime", "cluster": name, "message": why} for name in NAMES]
        assert [step["missing"] for step in lines[output][3:]] == [gaps, gaps]
    for step in ("budget", "report"):
        words = limits if step == "budget" else limits[2:]
        code, _, err = run("fleet", step, "--out", fleet / "out", *words)
        assert code == 4
        assert err.splitlines() == [line.replace("budget", step, 1) for line in told]


def test_a_plan_that_a_budget_has_time_for_in_part_is_told_beside_the_others(
    fleet: Path, run
) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    # A minute in 90 days.
    limits = ("--rate", "20Mi", "--window", "0 0 2 3 * 1m", "--clusters-at-once", 1)
    code, out, err = run("fleet", "budget", "--out", fleet / "out", *limits)
    assert code == 4
    assert "; no time for " in out
    assert err.startswith("warning: budget west: ")


def test_of_very_many_clusters_the_first_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    failed = [Line(f"c{n:03d}", "failed", "it is away") for n in range(250)]
    outcome = FleetOutcome("snapshot", cases.DAY, (Line("well", "ok"), *failed))
    gaps = [{"reason": "NoTime", "cluster": f"d{n:03d}", "message": "x"} for n in range(201)]
    told = {"step": "budget", "missing": gaps}
    assert outcomes.print_outcomes("text", [outcome], [("budget", told)]) == 4
    lines = capsys.readouterr().err.splitlines()
    assert lines[199:201] == ["warning: snapshot c199: it is away", "warning: and 50 more"]
    assert lines[-2:] == ["warning: budget d199: x", "warning: and 1 more"]
    assert len(lines) == 402
