"""Spark does what the local engine does, task by task. Needs Java."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet import asking, cases
from poolkeeper.fleet.engines.engines import Local, TaskEngine
from poolkeeper.fleet.stages import load_features, pipeline, snapshot
from poolkeeper.fleet.storage.store import Store
from poolkeeper.model import snapshots
from poolkeeper.rebalances.planning import response, task_runner

GOLDEN = cases.golden()
NAMES = sorted(GOLDEN)


@dataclass(frozen=True, slots=True)
class Ask:
    number: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    number: int
    process: int
    text: str


def answer(ask: Ask) -> Answer:
    return Answer(ask.number * 2, os.getpid(), ask.text)


def die_once(ask: Ask) -> Answer:
    """Die like a process that is out of memory, the first time that a task is tried."""
    mark = Path(ask.text)
    if ask.number == 3 and not mark.exists():
        mark.touch()
        os._exit(137)
    return answer(ask)


def test_answers_come_in_the_order_of_the_tasks(spark: TaskEngine) -> None:
    asks = [Ask(n, f"é{n}") for n in range(100)]
    weights = [(n * 37) % 101 for n in range(100)]
    found = spark.do(asks, answer, Answer, weights)
    assert [(a.number, a.text) for a in found] == [(n * 2, f"é{n}") for n in range(100)]
    assert os.getpid() not in {a.process for a in found}
    assert spark.do([], answer, Answer, []) == []


def test_a_worker_that_dies_costs_no_task(spark: TaskEngine, tmp_path: Path) -> None:
    mark = str(tmp_path / "died")
    found = spark.do([Ask(n, mark) for n in range(8)], die_once, Answer, [1] * 8)
    assert [a.number for a in found] == [n * 2 for n in range(8)]
    assert Path(mark).exists()


def test_golden_clusters_have_the_plans_of_the_local_engine(
    spark: TaskEngine, store: Store, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    for each in (store, other):
        for name in NAMES:
            cases.put(each, cases.named(GOLDEN[name], name))
    ours = pipeline.plan(spark, store, cases.DAY, [*NAMES, "lost"], split_from=2500)
    theirs = pipeline.plan(Local(1), other, cases.DAY, [*NAMES, "lost"])
    assert ours == theirs
    assert [line.cluster for line in ours.failed] == ["lost"]
    parts = {name: body for name, body in cases.files(store.root).items() if "parts/" not in name}
    assert parts == cases.files(other.root)


def test_a_question_has_the_answer_of_the_local_engine(
    spark: TaskEngine, zookeeper, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        question = asking.question(stack, zookeeper, tmp_path)
        theirs = task_runner.write_response(question, Local(1)).text
        assert task_runner.write_response(question, spark).text == theirs
    said = response.RebalanceResponse.from_json(theirs).clusters
    assert [each.cluster for each in said if each.plan] == ["one", "two"]


@pytest.mark.parametrize("again", [False, True])
def test_the_whole_way_on_spark(spark: TaskEngine, tmp_path: Path, again: bool) -> None:
    store = Store(tmp_path / "tables")
    tasks = []
    for name in ("separate", "created"):
        desired, cluster = cases.named(GOLDEN[name], name)
        pipeline.write_manifests(store, [desired])
        file = tmp_path / f"{name}.json.gz"
        snapshots.write(file, cluster)
        tasks.append(
            snapshot.SnapshotTask(str(store.root), cases.DAY, name, cases.NOW_MS, str(file))
        )
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    tasks.append(snapshot.SnapshotTask(str(store.root), cases.DAY, "bad", cases.NOW_MS, str(bad)))
    read = pipeline.snapshot(spark, store, tasks)
    assert [(line.cluster, line.status) for line in read.lines] == [
        ("bad", "failed"),
        ("created", "ok"),
        ("separate", "ok"),
    ]
    names = [line.cluster for line in read.lines]
    loads = [load_features.FeaturesTask(str(store.root), cases.DAY, name) for name in names]
    assert [line.status for line in pipeline.features(spark, store, loads).lines] == ["ok", "ok"]
    planned = pipeline.plan(spark, store, cases.DAY, names)
    assert {
        line.cluster: line.figures["hash"] for line in planned.lines if line.status == "ok"
    } == {
        name: cases.planned(cases.named(GOLDEN[name], name)).hash
        for name in ("created", "separate")
    }
    before = cases.files(store.root)
    assert [line.made for line in pipeline.snapshot(spark, store, tasks, again=again).lines] == [
        True,
        again,
        again,
    ]
    pipeline.features(spark, store, loads, again=again)
    pipeline.plan(spark, store, cases.DAY, names, again=again)
    assert cases.files(store.root) == before
