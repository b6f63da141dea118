"""`poolkeeper fleet`, and Parquet where other commands take snapshots."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import clusters
from fleet import cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.storage import parquet, schemas, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.planning.proposals import plan_json
from poolkeeper.resources.write import manifests

DAY = ("--day", cases.DAY)
NAMES = ("east", "west")


@pytest.fixture
def run(capsys, without_spark):
    def call(*words: object) -> tuple[int, str, str]:
        code = main.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Manifests of two clusters, and their snapshots."""
    bodies = []
    (tmp_path / "snapshots").mkdir()
    for seed, name in enumerate(NAMES):
        cluster = replace(clusters.cluster(200, brokers=24, joined=2, seed=seed), name=name)
        snapshots.write(tmp_path / "snapshots" / f"{name}.json", cluster)
        desired = clusters.desired(26)
        connect = replace(desired.cluster.zookeeper, connect=f"127.0.0.1:1/{name}")
        spec = replace(desired.cluster, name=name, zookeeper=connect, default_pool=f"{name}-all")
        bodies.append(manifests.cluster_body(spec))
        bodies.append(
            manifests.pool_body(replace(desired.pools[0], name=f"{name}-all", cluster=name))
        )
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(manifests.text_of(bodies))
    return tmp_path


def where(fleet: Path) -> tuple[object, ...]:
    return ("-f", fleet / "manifests", "--snapshots", fleet / "snapshots", "--out", fleet / "out")


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
    code, out, err = run("fleet", "report", "--out", fleet / "out", *limits[2:6])
    assert (code, err) == (0, "")
    assert "1 MiB/s at site a" in (fleet / "out" / f"report-{cases.DAY}.md").read_text()


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


@pytest.mark.parametrize(
    ("window", "message"),
    [
        pytest.param("0 22 * * *", "expected five fields of cron, a duration,", id="too-short"),
        pytest.param("0 25 * * * 8h", "its hour is wrong", id="no-hour"),
        pytest.param("0 22 * * * 8x", "'8x' is not a duration", id="no-duration"),
        pytest.param("0 22 * * * 8h Europe/Zuric", "is no time zone (did you", id="no-zone"),
        pytest.param("0 22 * * * 8h UTC 1Xi", "'1Xi' is not a size", id="no-rate"),
        pytest.param("0 22 * * * 8h 1Gi UTC", "UTC is too much", id="a-rate-before-the-zone"),
    ],
)
def test_wrong_windows_are_told_before_anything_is_done(window, message, fleet, run) -> None:
    code, out, err = run("fleet", "run", *where(fleet), *DAY, "--window", window)
    assert (code, out) == (1, "")
    assert message in err
    assert not (fleet / "out").exists()


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
    assert err.endswith("holds no features of east (poolkeeper fleet features makes them)\n")


def test_a_plan_of_the_fleet_is_what_apply_takes(fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    words = ("fleet", "show", "east", "--out", fleet / "out", "--plan", fleet / "plan.json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    told = json.loads((fleet / "plan.json").read_text())
    assert out.startswith(f"plan {told['hash']} of east: ")
    assert out.splitlines()[1].endswith(f"--plan {fleet / 'plan.json'}")
    snapshot = fleet / "snapshots" / "east.json"
    of_one = ("-f", fleet / "manifests", "--cluster", "east", "--snapshot", snapshot)
    alone = json.loads(run("plan", *of_one, "-o", "json")[1])
    assert [told[key] for key in ("hash", "fingerprint", "moves", "steps")] == [
        alone[key] for key in ("hash", "fingerprint", "moves", "steps")
    ]
    plan = plan_json.from_json(told)
    assert (plan.hash, len(plan.moves)) == (told["hash"], len(told["moves"]))
    code, out, err = run("fleet", "show", "north", "--out", fleet / "out")
    assert (code, out) == (1, "")
    assert err == "north has no plan of 2026-03-01 (poolkeeper fleet plan makes one)\n"


@pytest.mark.parametrize("engine", ["spark", "duckdb", "trino"])
def test_views_are_of_every_table_that_there_is(engine: str, fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    code, out, err = run("fleet", "ddl", "--out", fleet / "out", "--engine", engine)
    assert (code, err) == (0, "")
    views = [line for line in out.splitlines() if line.startswith("create or replace view")]
    names = {line.split()[4].removeprefix("fleet_") for line in views}
    assert {"current", "manifests", "clusters", "partitions", "plans", "moves", "turns"} <= names
    assert {"missing", "snapshot_states", "pool_forecasts", "differences"} <= names
    assert names <= schemas.TABLES.keys()
    assert run("fleet", "ddl", "--out", fleet / "empty")[0] == 1


@pytest.mark.parametrize("name", ["a[b]", "a{b,c}", "a*", "a?", "a\\b"])
def test_views_of_a_folder_that_would_be_a_pattern_are_refused(name, fleet: Path, run) -> None:
    out = fleet / name
    assert run("fleet", "run", *where(fleet)[:-1], out, *DAY)[0] == 0
    for engine in ("spark", "duckdb"):
        code, told, err = run("fleet", "ddl", "--out", out, "--engine", engine)
        assert (code, told) == (1, "")
        assert err.startswith(f"file://{out}: {engine} takes ")
        assert err.endswith(
            "for a pattern of paths (expected --out without any of [ ] { } * ? \\)\n"
        )
    assert run("fleet", "ddl", "--out", out, "--engine", "trino")[0] == 0


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
    assert err == ""
    assert code == 0
    assert out.startswith("snapshot 2026-03-01: 2 of 2 clusters")


def test_when_nothing_can_be_read(fleet: Path, run) -> None:
    words = ("-f", fleet / "manifests", "--out", fleet / "out", "--timeout", 1, "--processes", 1)
    code, out, err = run("fleet", "snapshot", *words)
    assert code == 3
    assert out.endswith(": 0 of 2 clusters\n")
    assert err.splitlines()[-1] == "snapshot failed for every cluster"
    assert "warning: snapshot east: no ZooKeeper answers at 127.0.0.1:1" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["plan", "--out", "nowhere"], "holds no snapshots (", id="no-store"),
        pytest.param(
            ["plan", "--out", ".", "--day", "2020-01-01"], "no snapshots of 2020-01-01", id="no-day"
        ),
        pytest.param(
            ["snapshot", "-f", "manifests", "--out", "o", "--day", "today"],
            "day 'today' cannot be a folder",
            id="no-date",
        ),
        pytest.param(
            ["snapshot", "-f", "manifests", "--out", "o", "--snapshots", "manifests"],
            "manifests: holds no snapshots (expected .json, .json.gz, .parquet)",
            id="no-snapshots",
        ),
        pytest.param(
            ["snapshot", "-f", "manifests", "--out", "o", "--day", "2026-03-01"],
            "--day 2026-03-01: a ZooKeeper tells of today alone, ",
            id="a-zookeeper-of-the-past",
        ),
        pytest.param(
            ["snapshot", "-f", "manifests", "--out", "o", "--snapshots", "manifests/all.yaml"],
            "manifests/all.yaml: is a file (expected a folder)",
            id="snapshots-of-a-file",
        ),
        pytest.param(
            ["plan", "--out", "manifests/all.yaml"],
            "manifests/all.yaml: is a file (expected a folder)",
            id="tables-in-a-file",
        ),
        pytest.param(
            ["plan", "--out", "http://host/lake"],
            "http://host/lake: tasks cannot open http: (expected one of file, s3a,",
            id="a-scheme-that-is-none",
        ),
        *(
            pytest.param(
                ["run", "-f", "manifests", "--out", "o", "--day", day],
                f"--day '{day}' cannot be a folder of tables (expected YYYY-MM-DD, a year from 1970"
                " to 9899)",
                id=day,
            )
            for day in ("9999-12-31", "9999-12-30", "0001-01-01", "2026-1-5")
        ),
        *(
            pytest.param(
                ["run", "-f", "manifests", "--out", "o", option, value],
                f"{value} is no finite number",
                id=f"{option}={value}",
            )
            for option in ("--coverage", "--timeout", "--deadline")
            for value in ("nan", "inf")
            if (option, value) != ("--coverage", "inf")
        ),
        pytest.param(
            ["run", "-f", "manifests", "--out", "o", "--site-rate", "A=1Mi", "--site", "a=east"],
            "--site-rate A=1Mi: no --site names A (expected a, or --site A=CLUSTER,… as well)",
            id="a-rate-of-no-site",
        ),
        pytest.param(
            ["run", "-f", "manifests", "--out", "o", "--site", "a=,"],
            "--site a=,: names no cluster (expected one or more)",
            id="a-site-of-no-cluster",
        ),
        pytest.param(
            ["run", "-f", "manifests", "--out", "o", "--rate", "1Xi"],
            "--rate: '1Xi' is not a size",
            id="no-rate",
        ),
        *(
            pytest.param(
                ["run", "-f", "manifests", "--out", "o", option, ""],
                f"{option} has an empty value (expected one; is a variable of the shell not set?)",
                id=f"an-empty{option}",
            )
            for option in ("--rate", "--samples", "--day", "--until", "--site", "--begin")
        ),
        pytest.param(
            ["features", "--out", "o", "--conf", "x"], "'x' (expected KEY=VALUE)", id="conf"
        ),
    ],
)
def test_wrong_requests(run, monkeypatch, words, message, fleet: Path) -> None:
    monkeypatch.chdir(fleet)
    code, out, err = run("fleet", *words, "--processes", "1")
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("window", ["0 22 * * * 8h", "0 22 * * * 8h Europe/Zurich"])
@pytest.mark.parametrize("begin", ["9999-12-31", "0001-01-01", "9899-12-31T23:59-12:00"])
def test_a_begin_that_no_calendar_goes_on_from_is_refused(begin, window, fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    words = ("fleet", "budget", "--out", fleet / "out", "--window", window, "--begin", begin)
    code, _, err = run(*words)
    if begin.startswith("9899"):
        assert (code, err) == (0, "")
    else:
        assert code == 1
        assert f"'{begin}' (expected a year from 1970 to 9899)" in err


def test_the_last_day_of_all_has_a_budget_and_a_report(fleet: Path, run) -> None:
    words = ("--day", "9899-12-31", "--until", "9999-12-31", "--window", "0 0 29 2 * 8h")
    code, _, err = run("fleet", "run", *where(fleet), *words)
    assert (code, err) == (0, "")


def test_a_cluster_of_a_site_that_is_not_known_is_told_once(fleet: Path, run) -> None:
    limits = ("--site", "a=east,nosuch", "--site-rate", "a=1Mi")
    code, _, err = run("fleet", "run", *where(fleet), *DAY, *limits)
    told = (
        "warning: --site a: cluster nosuch is not declared and has no snapshot of 2026-03-01"
        " (expected the name of its KafkaCluster)\n"
    )
    assert (code, err) == (0, told)
    assert run("fleet", "budget", "--out", fleet / "out", *limits)[2] == told
    assert run("fleet", "report", "--out", fleet / "out", *limits[:2])[2] == told


def test_a_folder_of_snapshots_of_no_day_is_named(fleet: Path, run) -> None:
    (fleet / "snapshots" / "day=2026-02-30").mkdir()
    file = fleet / "snapshots" / "east.json"
    file.rename(fleet / "snapshots" / "day=2026-02-30" / "east.json")
    code, _, err = run("fleet", "run", *where(fleet))
    assert code == 1
    assert err == (
        f"{fleet / 'snapshots'}/day=2026-02-30: day '2026-02-30' cannot be a folder of tables"
        " (expected YYYY-MM-DD)\n"
    )


def test_a_missing_snapshot_of_a_day_is_looked_for_in_its_folder(fleet: Path, run) -> None:
    place = fleet / "snapshots" / f"day={cases.DAY}"
    place.mkdir()
    (fleet / "snapshots" / "east.json").rename(place / "east.json")
    (fleet / "snapshots" / "west.json").unlink()
    code, _, err = run("fleet", "run", *where(fleet))
    assert code == 4
    assert (
        f"warning: snapshot west: {place}: no snapshot of west is there (expected west.json,"
        " west.json.gz or west.parquet)\n"
    ) in err


def test_samples_in_no_cluster_s_folder_are_told(fleet: Path, run) -> None:
    """A slip in the URI would otherwise look like clusters without a history."""
    run("fleet", "run", *where(fleet), *DAY)
    (fleet / "samples").mkdir()
    for name in ("samples", "smaples"):
        code, _, err = run("fleet", "features", *where(fleet)[4:], *DAY, "--samples", fleet / name)
        assert code == 1
        assert err == (
            f"file://{fleet / name}: holds no samples (expected .parquet files below"
            " cluster=NAME/)\n"
        )


def test_samples_that_are_a_file_are_told(fleet: Path, run) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    file = fleet / "manifests" / "all.yaml"
    code, _, err = run("fleet", "features", *where(fleet)[4:], *DAY, "--samples", file)
    assert (code, err) == (1, f"{file}: is a file (expected a folder)\n")


def test_a_budget_of_a_day_without_plans_is_none(fleet: Path, run) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    code, _, err = run("fleet", "budget", *where(fleet)[4:], "--day", "2020-01-01")
    assert code == 1
    assert err == (
        f"file://{fleet / 'out'}: holds no plans of 2020-01-01 (poolkeeper fleet plan makes them)\n"
    )
    assert lake_at(fleet / "out").days("budget") == (cases.DAY,)


@pytest.mark.parametrize("inside", ["", "lake"])
def test_tables_among_manifests_are_refused(inside: str, fleet: Path, run) -> None:
    """The next run would read pages of plans as manifests."""
    out = fleet / "manifests" / inside
    code, _, err = run("fleet", "run", *where(fleet)[:-1], out, *DAY)
    assert code == 1
    assert err == (
        f"{out}: lies in the manifests' folder {fleet / 'manifests'}, which the next run would read"
        " (expected --out outside of all -f)\n"
    )
    assert [each.name for each in (fleet / "manifests").iterdir()] == ["all.yaml"]


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
