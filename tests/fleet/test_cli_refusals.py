"""`poolkeeper fleet`: requests that are refused, each with one line that says what is wrong."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from fleet import cases
from fleet.conftest import DAY, lake_at, where

RUN = ("run", "-f", "manifests", "--snapshots", "snapshots", "--out", "o")


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["plan", "--out", "nowhere"], "holds no snapshots (", id="no-store"),
        pytest.param(
            ["plan", "--out", ".", "--day", "2020-01-01"], "no snapshots of 2020-01-01", id="no-day"
        ),
        pytest.param(
            ["snapshot", "-f", "manifests", "--out", "o", "--day", "today"],
            "day: 'today' cannot be a folder",
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
            ["snapshot", "-f", "manifests", "--out", "o", "--snapshots", "/dev/null"],
            "/dev/null: is a file (expected a folder)",
            id="snapshots-of-a-device",
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
                f"--day: '{day}' cannot be a folder of tables (expected YYYY-MM-DD, a year from"
                " 1970 to 9899)",
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
        *(
            pytest.param(
                [*RUN, option, "0h"],
                f"{option}: '0h' is no time at all",
                id=f"no-time-of{option}",
            )
            for option in ("--history", "--step")
        ),
        pytest.param(
            [*RUN, "--history", "1h", "--step", "2h"],
            "--step 2h: is longer than the history of 1h (expected a part of it)",
            id="a-step-longer-than-history",
        ),
        pytest.param(
            [*RUN, "--history", "99999999h"],
            "--history: '99999999h' is out of range (expected at most 999999h, 999999m and"
            " 99999999s)",
            id="history-of-ten-thousand-years",
        ),
        pytest.param(
            [*RUN, "--samples", "manifests/all.yaml"],
            "manifests/all.yaml: is a file (expected a folder)",
            id="samples-in-a-file",
        ),
        *(
            pytest.param(
                ["features", "--out", "o", "--conf", word],
                f"{word!r} (expected KEY=VALUE)",
                id=f"conf-{word}",
            )
            for word in ("x", "=x", " =x")
        ),
        *(
            pytest.param(
                ["features", "--out", "o", "--master", word],
                f"'--master': {word!r} (expected local[N], spark://HOST:PORT or k8s://",
                id=f"master-{word}",
            )
            for word in ("foo", "local[0]", "local[x]", "spark://", "local[2,0]", "127.0.0.1:7077")
        ),
    ],
)
def test_wrong_requests(run, monkeypatch, words, message, fleet: Path) -> None:
    monkeypatch.chdir(fleet)
    code, out, err = run("fleet", *words, "--processes", "1")
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (fleet / "o" / "clusters").exists()


@pytest.mark.parametrize("window", ["0 22 * * * 8h", "0 22 * * * 8h Europe/Zurich"])
@pytest.mark.parametrize("begin", ["9999-12-31", "0001-01-01", "9899-12-31T23:59-12:00"])
def test_a_begin_that_no_calendar_goes_on_from_is_refused(begin, window, fleet: Path, run) -> None:
    assert run("fleet", "run", *where(fleet), *DAY)[0] == 0
    words = ("fleet", "budget", "--out", fleet / "out", "--window", window, "--begin", begin)
    code, _, err = run(*words)
    if begin.startswith("9899"):
        assert code == 0 or "the budget has no time for its plan" in err
    else:
        assert code == 1
        assert f"'{begin}' (expected a year from 1970 to 9899)" in err


def test_the_last_begin_of_all_has_a_budget_and_a_report(fleet: Path, run) -> None:
    limits = ("--begin", "9899-12-31", "--window", "0 0 1 1 * 8h")
    code, _, err = run("fleet", "run", *where(fleet), *DAY, *limits, "--until", "9999-12-31")
    assert (code, err) == (0, "")


TO_COME = "that day has not begun anywhere (expected "


@pytest.mark.parametrize(
    "step", ["snapshot", "features", "plan", "budget", "report", "run", "show", "ddl"]
)
def test_a_day_to_come_is_refused(step: str, fleet: Path, run) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    reads = where(fleet)[:4] if step in ("snapshot", "run") else ()
    named = ("east",) if step == "show" else ()
    words = ("fleet", step, *named, *reads, "--out", fleet / "out", "--day", "2999-01-01")
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert err.startswith(f"--day 2999-01-01: {TO_COME}")
    assert len(err.splitlines()) == 1
    assert lake_at(fleet / "out").days("snapshot") == (cases.DAY,)


def test_a_folder_of_snapshots_of_a_day_to_come_is_refused(fleet: Path, run) -> None:
    place = fleet / "snapshots" / "day=2999-01-01"
    place.mkdir()
    (fleet / "snapshots" / "east.json").rename(place / "east.json")
    code, _, err = run("fleet", "run", *where(fleet))
    assert code == 1
    assert err.startswith(f"{place}: {TO_COME}")


def test_a_day_that_has_begun_in_the_first_time_zone_is_taken(fleet: Path, run) -> None:
    today = datetime.now(timezone(timedelta(hours=14))).date().isoformat()
    assert run("fleet", "snapshot", *where(fleet), "--day", today)[0] == 0


def test_rows_of_a_day_to_come_are_forgotten(fleet: Path, run) -> None:
    """As clocks that were wrong have left them."""
    cases.put(lake_at(fleet / "out"), cases.named(cases.separate(1, 1), "east"), "2999-01-01")
    words = ("fleet", "forget", "east", "--out", fleet / "out", "--day", "2999-01-01")
    code, _, err = run(*words)
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
        f"{fleet / 'snapshots'}/day=2026-02-30: '2026-02-30' cannot be a folder of tables"
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
    hidden = fleet / "samples" / "_raw" / "cluster=east" / "a.parquet"
    hidden.parent.mkdir(parents=True)
    hidden.touch()
    for name in ("samples", "smaples"):
        code, _, err = run("fleet", "features", *where(fleet)[4:], *DAY, "--samples", fleet / name)
        assert code == 1
        assert err == (
            f"file://{fleet / name}: holds no samples (expected .parquet files below"
            " cluster=NAME/; names that begin with . or _ are left out)\n"
        )


def test_samples_that_are_a_file_are_told(fleet: Path, run) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    file = fleet / "manifests" / "all.yaml"
    code, _, err = run("fleet", "features", *where(fleet)[4:], *DAY, "--samples", file)
    assert (code, err) == (1, f"{file}: is a file (expected a folder)\n")


def test_a_folder_without_tables_is_named_by_its_path(tmp_path: Path, run) -> None:
    code, _, err = run("fleet", "ddl", "--out", str(tmp_path / "nowhere"))
    assert code == 1
    assert err == f"{tmp_path / 'nowhere'}: holds no tables (`poolkeeper fleet run` makes them)\n"


def test_a_budget_of_a_day_without_plans_is_none(fleet: Path, run) -> None:
    run("fleet", "run", *where(fleet), *DAY)
    code, _, err = run("fleet", "budget", *where(fleet)[4:], "--day", "2020-01-01")
    assert code == 1
    assert err == (
        f"{fleet / 'out'}: holds no plans of 2020-01-01 (`poolkeeper fleet plan` makes them)\n"
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


def test_links_that_lead_in_a_circle_hold_no_tables(fleet: Path, run) -> None:
    (fleet / "circle").symlink_to("circle")
    out = fleet / "circle" / "lake"
    code, _, err = run("fleet", "run", *where(fleet)[:-1], out, *DAY)
    assert (code, err.count("\n")) == (3, 1)
    assert err.startswith(f"file://{out}/manifests")


def test_views_are_of_all_days(run, tmp_path):
    code, _, err = run("fleet", "ddl", "--out", tmp_path / "out", "--day", "2024-01-02")
    assert code == 1
    assert "--day: views have the rows of all days" in err


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2]", "local[2,3]", "spark://a:1,b:2", "k8s://https://a"]
)
def test_masters_that_spark_has(master: str, fleet: Path, run) -> None:
    code, _, err = run("fleet", "run", *where(fleet), *DAY, "--master", master)
    assert (code, err) == (0, "")
