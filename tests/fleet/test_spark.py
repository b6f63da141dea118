"""Spark gives what this process gives, whatever dies on the way. Needs Java."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fleet import asking, cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import results
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult
from poolkeeper.fleet.lake import manifests, views
from poolkeeper.fleet.lake.attempts import AttemptFiles
from poolkeeper.fleet.lake.filesystems import Storage, local_path, root_of
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.stages import day_clusters, day_report, pipeline
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import TABLES_OF, FleetOutcome, Step, make_and_publish
from poolkeeper.fleet.stages.snapshot import SnapshotTask, files_by_day, input_of_snapshot
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.model import snapshots
from poolkeeper.rebalances.planning import response, task_runner

GOLDEN = {**cases.golden(), "giant": cases.separate(700, 3)}
NAMES = ("created", "giant", "oddities", "separate")
HERE = InProcess(2)
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Ask:
    number: int
    text: str = ""


def answer(ask: Ask) -> tuple[int, int, str]:
    return ask.number * 2, os.getpid(), ask.text


def die_once(ask: Ask) -> tuple[int, int, str]:
    """Die like a process that is out of memory, the first time that a task is tried."""
    mark = Path(ask.text)
    if ask.number == 3 and not mark.exists():
        mark.touch()
        os._exit(137)
    return answer(ask)


def test_answers_come_in_the_order_of_the_tasks_even_if_a_worker_dies(
    spark: Engine, tmp_path: Path
) -> None:
    asks = [Ask(n, str(tmp_path / "é")) for n in range(40)]
    weights = [(n * 37) % 101 for n in range(40)]
    found = spark.do(asks, die_once, tuple, weights)
    assert [number for number, *_ in found] == [n * 2 for n in range(40)]
    assert os.getpid() not in {process for _, process, _ in found}
    assert (tmp_path / "é").exists()
    assert spark.do([], answer, tuple, []) == []


@pytest.mark.parametrize("scheme", ["gs", "nothing"])
def test_a_store_of_which_spark_has_no_client_is_told_as_that(spark: Engine, scheme: str) -> None:
    with pytest.raises(Unavailable, match=f"Spark has no client of {scheme} .* docs/fleet.md"):
        spark.objects(f"{scheme}://bucket/fleet").children("manifests")


def test_a_question_has_the_answer_of_this_process(
    spark: Engine, zookeeper, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        question = asking.question(stack, zookeeper, tmp_path)
        theirs = task_runner.write_response(question, HERE).text
        assert task_runner.write_response(question, spark).text == theirs
    said = response.RebalanceResponse.from_json(theirs).clusters
    assert [each.cluster for each in said if each.plan] == ["one", "two"]


def prepared(lake: Lake, folder: Path) -> tuple[list[SnapshotTask], Path]:
    """What is declared of clusters, their snapshots in files (one is none), and samples."""
    files, samples = folder / "snapshots", folder / "samples"
    files.mkdir(exist_ok=True)
    for name in NAMES:
        desired, cluster = cases.named(GOLDEN[name], name)
        manifests.write(lake, [desired])
        snapshots.write(files / f"{name}.json.gz", cluster)
        own = samples / f"cluster={name}"
        own.mkdir(parents=True, exist_ok=True)
        topic = sorted(cluster.topics)[0]
        rows = [
            (topic, 0, "bytes_in_per_s", cases.NOW_MS - hour * HOUR_MS, float(len(name) * hour))
            for hour in range(1, 10)
        ]
        parquet.write(own / "a.parquet", parquet.from_rows(schemas.SAMPLES, rows))
    manifests.write(lake, [cases.named(GOLDEN["separate"], "bad")[0]])
    (files / "bad.json").write_text("{")
    root = root_of(files)
    declared = manifests.read(lake)
    tasks = [
        SnapshotTask(
            name,
            declared[name].text,
            cases.NOW_MS,
            folder=root,
            file=file.name,
            bytes=file.bytes,
            input=input_of_snapshot(declared[name].digest, root, file),
        )
        for name, (file,) in files_by_day(ArrowObjects(root), root)[""].items()
    ]
    return tasks, samples


def all_steps(
    engine: Engine, lake: Lake, tasks: list[SnapshotTask], samples: Path
) -> list[FleetOutcome]:
    options = HistoryOptions(window_s=10 * 3600)
    names = [*sorted(task.cluster for task in tasks), "lost"]
    return [
        pipeline.snapshot(engine, lake, cases.DAY, tasks),
        pipeline.features(engine, lake, cases.DAY, options, str(samples)),
        pipeline.plan(engine, lake, cases.DAY, names, split_from=100),
    ]


def test_the_whole_way_as_in_this_process_and_nothing_of_it_twice(
    spark: Engine, lake: Lake, tmp_path: Path
) -> None:
    tasks, samples = prepared(lake, tmp_path)
    other = lake_at(tmp_path / "other")
    prepared(other, tmp_path)
    ours = all_steps(spark, lake, tasks, samples)
    assert ours == all_steps(HERE, other, tasks, samples)
    assert cases.rows_of_all(lake) == cases.rows_of_all(other)
    assert [[line.cluster for line in step.failed] for step in ours] == [
        ["bad"],
        [],
        ["bad", "lost"],
    ]
    assert_views(spark, lake)
    before = cases.files(local_path(lake.root))
    again = all_steps(spark, lake, [t for t in tasks if t.cluster != "bad"], samples)
    assert [step.made for step in again] == [(), (), ()]
    assert cases.files(local_path(lake.root)) == before
    assert not [name for name in before if "_temporary" in name or "_SUCCESS" in name]
    assert_nothing_counts_in_views(spark, lake)


def assert_views(spark: Engine, lake: Lake) -> None:
    """The views hold the rows that count, and no others."""
    shown = day_report.ReportInputs({}, cases.NOW_MS, date(2026, 5, 30))
    report = day_report.day_report(spark, day_clusters.day_of(lake, HERE.storage, cases.DAY), shown)
    assert report.missing
    for _ in range(2):  # of which the second one counts
        day_report.publish(lake, cases.DAY, report)
    (last, *_) = reversed(lake.objects.children(f"current/step=plan/day={cases.DAY}"))
    copied = lake.objects.read(last.path)
    assert copied is not None
    lake.objects.put(f"{last.path.rpartition('/')[0]}/copy.parquet", copied)  # by somebody
    swept = local_path(lake.root) / "turns" / f"day={cases.DAY}"  # and no file in it
    swept.mkdir(parents=True)
    make_views(spark, lake)
    expected: dict[str, int] = {}
    for (table, _), rows in cases.rows_of_all(lake).items():
        expected[table] = expected.get(table, 0) + len(rows)
    expected["missing"] = len(report.missing)
    named = ("plans", "moves", "partitions", "features", "missing")
    wanted = [name for name in named if expected[name]]
    counts = " union all ".join(
        f"select '{name}' as name, count(*) as rows from fleet_{name}" for name in wanted
    )
    found = {row["name"]: row["rows"] for row in spark._session.sql(counts).collect()}
    assert found == {name: expected[name] for name in wanted}


def make_views(spark: Engine, lake: Lake) -> str:
    there = views.tables_there(lake.objects, Storage(), TABLES_OF)
    made = views.views(lake.root, views.SqlDialect.SPARK, TABLES_OF, there)
    for statement in made.split(";\n"):
        if statement.strip():
            spark._session.sql(statement)
    return made


def test_views_have_the_columns_that_tables_got_since_their_first_files(
    spark: Engine, lake: Lake
) -> None:
    desired, cluster = cases.golden()["separate"]
    brokers = {id_: replace(b, min_insync=2) for id_, b in cluster.brokers.items()}
    case = cases.named((desired, replace(cluster, brokers=brokers)), "main")
    cases.put(lake, case, "2026-02-28")
    cases.put(lake, case)
    assert "mergeSchema" not in make_views(spark, lake)  # it would open all files
    (file,) = cases.entry(lake, "snapshot", day="2026-02-28").of_table(schemas.BROKERS)
    path = local_path(lake.root) / file.path
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["min_insync"]), path)
    assert make_views(spark, lake).count("mergeSchema") == 1
    by_day = "select day, count(*), sum(min_insync) from fleet_brokers group by day order by day"
    count = len(brokers)
    assert [(str(day), *figures) for day, *figures in spark._session.sql(by_day).collect()] == [
        ("2026-02-28", count, None),
        (cases.DAY, count, 2 * count),
    ]


def assert_nothing_counts_in_views(spark: Engine, lake: Lake) -> None:
    """Where all clusters are forgotten, no view has them of that day."""
    manifests.remove(lake, set(manifests.read(lake)))
    for step in ("snapshot", "features", "plan"):
        lake.drop(step, cases.DAY, set(lake.current(step, cases.DAY)), TABLES_OF[step])
    for name in ("plans", "partitions", "features", "manifests"):
        assert spark._session.sql(f"select * from fleet_{name}").collect() == []


def die_in_the_first_attempt(result: StepResult, mark: Path) -> StepResult:
    """Of two clusters in a task, the second one's takes the process with it."""
    if result.outcome.cluster == "b" and not mark.exists():
        mark.touch()
        os._exit(137)
    return result


def test_a_task_whose_first_attempt_dies_leaves_its_rows_once(
    spark: Engine, lake: Lake, tmp_path: Path
) -> None:
    rows = parquet.from_rows(schemas.REQUESTS, [("t", n, (1,)) for n in range(3)])
    made = [StepResult(ClusterOutcome(name), {"requests": rows}) for name in "abc"]
    die = partial(die_in_the_first_attempt, mark=tmp_path / "died")
    step = Step(spark, lake, "snapshot", cases.DAY, dict.fromkeys("abc", "i"))

    def make(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        return spark.make(Job("put", made, [0, 0, 1], die, step.destination(run)))

    assert len(make_and_publish(step, make).made) == 3
    assert (tmp_path / "died").exists()
    for name in "abc":
        assert cases.rows(lake, schemas.REQUESTS, name).num_rows == 3


def die_when_its_files_are_whole(result: StepResult, mark: Path) -> StepResult:
    """Rows of this attempt, and its end when all of them are written but nothing is said of it."""
    close = AttemptFiles.close

    def closed(files: AttemptFiles) -> str:
        found = close(files)
        if not mark.exists():
            mark.touch()
            os._exit(137)
        return found

    setattr(AttemptFiles, "close", closed)  # noqa: B010 - in a worker of Spark's, until it ends
    rows = parquet.from_rows(schemas.REQUESTS, [(secrets.token_hex(4), 0, (1,))])
    return replace(result, tables={"requests": rows})


def test_rows_of_an_attempt_that_said_nothing_never_come_into_a_table(
    spark: Engine, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "died"
    perform = partial(die_when_its_files_are_whole, mark=mark)
    step = Step(spark, lake, "snapshot", cases.DAY, {"a": "i"})
    left = []
    writes = results.table_writes

    def looked_at(outcomes: Sequence[ClusterOutcome]) -> list[results.TableWrite]:
        left.extend(lake.objects.files("attempts"))
        return writes(outcomes)

    def make(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        return spark.make(
            Job("put", [StepResult(ClusterOutcome("a"))], [0], perform, step.destination(run))
        )

    monkeypatch.setattr(results, "table_writes", looked_at)
    assert len(make_and_publish(step, make).made) == 1
    assert mark.exists()
    assert len(left) == 2
    assert cases.rows(lake, schemas.REQUESTS, "a").num_rows == 1
    names = [file.name for file in lake.objects.files("requests")]
    assert len([name for name in names if not name.startswith(".")]) == 1
    assert not lake.objects.files("attempts")


KILLED = """
import os, signal, sys
from poolkeeper.fleet.lake.lake import Lake
def die(*_):
    os.killpg(0, signal.SIGKILL)
Lake.publish = die
from poolkeeper.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.soak
def test_a_driver_that_is_killed_before_it_publishes_leaves_nothing_that_counts(
    spark: Engine, lake: Lake, tmp_path: Path, java_options: str
) -> None:
    tasks, samples = prepared(lake, tmp_path)
    all_steps(HERE, lake, tasks, samples)
    before = cases.rows_of_all(lake)
    words = ["fleet", "plan", "--out", str(local_path(lake.root)), "--day", cases.DAY, "--again"]
    words += ["--processes", "1", "--conf", f"spark.driver.extraJavaOptions={java_options}"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *words], start_new_session=True, timeout=500, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert cases.rows_of_all(lake) == before
    (left,) = lake.objects.children("runs")
    run = left.name.removesuffix(".json")
    folders = [f.path for f in lake.objects.files("") if run in f.path and f.path != left.path]
    assert any("plans/" in path for path in folders), "its rows were written"
    late = replace(lake, now_ms=lambda: Lake(lake.objects).now_ms() + 25 * HOUR_MS)
    names = sorted(task.cluster for task in tasks)
    pipeline.plan(spark, late, cases.DAY, [*names, "lost"], again=True)
    assert cases.rows_of_all(lake) == before
    assert not [f.path for f in lake.objects.files("") if run in f.path]
