"""Plans from tables: the same as those of `poolkeeper plan`, to the byte, and made once."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bench import clusters
from builders import cluster, desired, pool_spec, topic, topic_spec
from fleet import cases
from fleet.conftest import lake_at
from fleet.in_process import InProcess
from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.stages import pipeline, waves
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.stages.plan import PlanTask
from poolkeeper.fleet.stages.publishing import Line
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import cluster_rows, codecs, parquet, plan_rows, schemas
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import Recorded
from poolkeeper.model.specs import Approval, ApprovalPolicy
from poolkeeper.planning.parts.platform_first import platform_first
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json

HASHES = Path(__file__).parents[1] / "golden" / "fleet" / "hashes.json"
GOLDEN = cases.golden()
ALONE = InProcess()


def as_in_tables(plan: Plan) -> Plan:
    """The plan as its tables tell it: of problems they have the sentence and the reason."""
    told = (replace(each, facts=Recorded(each.message, each.reason)) for each in plan.problems)
    return replace(plan, problems=tuple(told))


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_the_plan_of_a_golden_cluster(name: str, lake: Lake, update_golden: bool) -> None:
    case = cases.named(GOLDEN[name], name)
    cases.put(lake, case)
    outcome = pipeline.plan(ALONE, lake, cases.DAY, [name])
    plan = cases.planned(case)
    assert plan_json.to_json(cases.kept(lake, name)) == plan_json.to_json(as_in_tables(plan))
    figures = {"partitions": sum(len(t.partitions) for t in case[1].topics.values())}
    figures |= {"moves": len(plan.moves), "hash": plan.hash}
    assert outcome.lines == (Line(name, "ok", figures=figures),)
    known = json.loads(HASHES.read_text())
    if update_golden:
        known[name] = plan.hash
        HASHES.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    assert known[name] == plan.hash


def test_the_golden_hashes_are_of_these_clusters() -> None:
    assert sorted(json.loads(HASHES.read_text())) == sorted(GOLDEN)


def test_a_giant_that_is_taken_apart_has_the_same_plan(lake: Lake, tmp_path: Path) -> None:
    case = cases.named(cases.separate(60, 4), "giant")
    small = cases.named(cases.separate(1, 2), "small")
    for each in (case, small):
        cases.put(lake, each)
    outcome = pipeline.plan(InProcess(2), lake, cases.DAY, ["giant", "small"], split_from=100)
    plan = cases.planned(case)
    assert plan_json.to_json(cases.kept(lake, "giant")) == plan_json.to_json(plan)
    assert [(line.cluster, line.status, line.figures["hash"]) for line in outcome.lines] == [
        ("giant", "ok", plan.hash),
        ("small", "ok", cases.planned(small).hash),
    ]
    whole = lake_at(tmp_path / "whole")
    cases.put(whole, case)
    pipeline.plan(ALONE, whole, cases.DAY, ["giant"])
    for table in (schemas.PLANS, *plan_rows.BODIES, schemas.STAGES):
        assert cases.rows(lake, table, "giant").equals(cases.rows(whole, table, "giant"))


def weighed(name: str, topics: int) -> PlanTask:
    desired, cluster = cases.named(cases.separate(topics, 2), name)
    return PlanTask(name, codecs.to_text(desired), weight=len(cluster.topics))


def test_tasks_the_heaviest_first_and_only_a_giant_is_taken_apart() -> None:
    wanted = [weighed(name, topics) for name, topics in (("a", 5), ("b", 100), ("c", 10))]
    tasks, merges = stages_plan.tasks_of(wanted, 2, 100)
    assert [(t.cluster, t.pool) for t in tasks] == [
        ("b", "pool-0"),
        ("b", "pool-1"),
        ("c", ""),
        ("a", ""),
    ]
    assert list(merges) == ["b"]
    for slots, least in ((1, 100), (2, 1000)):
        tasks, merges = stages_plan.tasks_of(wanted, slots, least)
        assert [(t.cluster, t.pool) for t in tasks] == [("b", ""), ("c", ""), ("a", "")]
        assert merges == {}


def in_file(name: str, weight: int, file: str) -> PlanTask:
    files = (TableFile("partitions", file, 1),)
    return PlanTask(name, snapshot=ClusterEntry(name, "r", "i", files=files), weight=weight)


@pytest.mark.parametrize(
    ("at_most", "units"),
    [
        pytest.param(1, [["a", "c"], ["b", "d"]], id="those-that-share-a-file-are-together"),
        pytest.param(2, [["a"], ["c"], ["b", "d"]], id="but-no-more-than-an-even-share"),
    ],
)
def test_clusters_whose_rows_share_a_file_are_planned_together(at_most, units) -> None:
    tasks = [in_file("a", 9, "f"), in_file("b", 1, "g"), in_file("c", 8, "f"), in_file("d", 1, "g")]
    found = stages_plan.units_of(tasks, at_most)
    assert [[tasks[place].cluster for place in unit] for unit in found] == units


class TestAgain:
    CASE = cases.named(GOLDEN["separate"], "main")

    def test_the_same_input_is_not_planned_again(self, lake: Lake) -> None:
        cases.put(lake, self.CASE)
        first = pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        before = cases.files(local_path(lake.root))
        second = pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        assert cases.files(local_path(lake.root)) == before
        assert second.made == ()
        assert second.lines == (replace(first.lines[0], made=False),)

    def test_what_is_made_again_is_the_same(self, lake: Lake) -> None:
        cases.put(lake, self.CASE)
        pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        before = cases.rows_of_all(lake)
        assert len(pipeline.plan(ALONE, lake, cases.DAY, ["main"], again=True).made) == 1
        assert cases.rows_of_all(lake) == before

    def test_only_clusters_of_another_input_are_made_again(self, lake: Lake) -> None:
        other = cases.named(GOLDEN["created"], "other")
        for each in (self.CASE, other):
            cases.put(lake, each)
        pipeline.plan(ALONE, lake, cases.DAY, ["main", "other"])
        before = {name: cases.entry(lake, "plan", name) for name in ("main", "other")}
        desired, cluster = other
        cases.put(lake, (desired, replace(cluster, id="changed")))
        (made,) = pipeline.plan(ALONE, lake, cases.DAY, ["main", "other"]).made
        assert made.cluster == "other"
        assert cases.entry(lake, "plan", "main") == before["main"]
        assert cases.entry(lake, "plan", "other").run != before["other"].run

    def test_tables_of_another_version_are_made_again(self, lake: Lake) -> None:
        """They cannot be read, which the report of the day says, and to make them again."""
        cases.put(lake, self.CASE)
        pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        ours = cases.entry(lake, "plan")
        newer = replace(ours, versions={**ours.versions, "moves": "99"})
        run = StepRun(ours.run, "plan", cases.DAY, tuple(ours.versions))
        lake.publish(run, [newer])
        with pytest.raises(Refused, match="table moves has version 99"):
            cases.kept(lake, "main")
        assert len(pipeline.plan(ALONE, lake, cases.DAY, ["main"]).made) == 1
        assert cases.kept(lake, "main").hash

    @pytest.mark.parametrize("what", ["snapshot", "declaration", "features", "file", "length"])
    def test_another_input_is_planned_again(self, what: str, lake: Lake) -> None:
        cases.put(lake, self.CASE)
        pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        desired, cluster = self.CASE
        file = local_path(lake.root) / cases.entry(lake, "plan").files[-1].path
        if what == "snapshot":
            cases.put(lake, (desired, replace(cluster, id="other")))
        elif what == "declaration":
            pools = (replace(desired.pools[0], goals=()), *desired.pools[1:])
            manifests.write(lake, [replace(desired, pools=pools)])
        elif what == "features":
            rows = parquet.from_rows(schemas.FEATURES, ())
            cases.put_rows(lake, "features", StepResult(ClusterOutcome("main"), {"features": rows}))
        elif what == "file":  # of the plan, somebody deleted
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-9])
        assert len(pipeline.plan(ALONE, lake, cases.DAY, ["main"]).made) == 1
        assert cases.kept(lake, "main").hash


class TestWhatCannotBePlanned:
    def reason(self, lake: Lake) -> str:
        outcome = pipeline.plan(ALONE, lake, cases.DAY, ["main"])
        (line,) = outcome.failed
        (head,) = cases.rows(lake, schemas.PLANS).to_pylist()
        assert (head["status"], head["reason"], head["hash"]) == ("failed", line.reason, None)
        assert cases.rows(lake, schemas.MOVES).num_rows == 0
        return line.reason

    def test_nothing_declared(self, lake: Lake) -> None:
        cases.put(lake, cases.named(GOLDEN["separate"], "main"))
        lake.objects.delete("manifests")
        assert self.reason(lake) == "nothing is declared for it"

    def test_no_snapshot(self, lake: Lake) -> None:
        assert self.reason(lake) == "it has no snapshot"

    def test_a_snapshot_that_failed(self, lake: Lake) -> None:
        cases.put(lake, cases.named(GOLDEN["separate"], "main"))
        row = {"status": ["failed"], "reason": ["no ZooKeeper answers"], "read_ms": [1]}
        head = parquet.table_of(schemas.CLUSTERS, row)
        outcome = ClusterOutcome("main", "failed", "no ZooKeeper answers")
        cases.put_rows(lake, "snapshot", StepResult(outcome, {"clusters": head}))
        assert self.reason(lake) == "it could not be read: no ZooKeeper answers"

    def test_another_cluster_than_the_one_pinned(self, lake: Lake) -> None:
        desired, cluster = cases.named(GOLDEN["separate"], "main")
        spec = replace(desired.cluster, cluster_id="mine")
        cases.put(lake, (replace(desired, cluster=spec), cluster))
        assert self.reason(lake) == "it is another cluster: its id is bench, not mine"

    def test_a_broker_that_nobody_has_seen(self, lake: Lake) -> None:
        desired, cluster = clusters.desired(25), clusters.cluster(100, brokers=24)
        cases.put(lake, cases.named((desired, cluster), "main"))
        assert pipeline.plan(ALONE, lake, cases.DAY, ["main"]).failed == ()
        told = [p["message"] for p in cases.rows(lake, schemas.PROBLEMS).to_pylist()]
        assert any(message.startswith("broker 25 is not live and holds") for message in told)

    def test_fewer_partitions_are_the_problem_of_their_topic_alone(self, lake: Lake) -> None:
        wanted = desired(pool_spec("p", 1, 2, claims=("t",)), topic_spec("u", partitions=1))
        seen = cluster((1, 2), topic("t", *[(1,)] * 4), topic("u", (1,), (2,)))
        cases.put(lake, (wanted, seen))
        assert pipeline.plan(ALONE, lake, cases.DAY, ["main"]).failed == ()
        (told,) = cases.rows(lake, schemas.PROBLEMS).to_pylist()
        assert told["message"] == "stays at 2 partitions instead of 1: partitions never shrink"
        assert {each["topic"] for each in cases.rows(lake, schemas.MOVES).to_pylist()} == {"t"}

    @pytest.mark.parametrize("damage", ["cut off", "overwritten", "gone"])
    def test_a_damaged_file_is_named_and_its_clusters_are_read_again(
        self, damage: str, lake: Lake
    ) -> None:
        cases.put(lake, cases.named(GOLDEN["separate"], "main"))
        cases.put(lake, cases.named(GOLDEN["created"], "other"))
        (path,) = (f.path for f in cases.entry(lake, "snapshot").files if f.table == "partitions")
        file = local_path(lake.root) / path
        body = file.read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(body[:-100] if damage == "cut off" else b"\0" * len(body))
        assert self.reason(lake).startswith(f"{path} is damaged (")
        assert cases.entry(lake, "snapshot", "main").input == ""  # made again without --again
        assert cases.entry(lake, "snapshot", "other").input == "put by a test"

    def test_an_error_of_no_kind_that_we_know(self, lake: Lake) -> None:
        def wrong(*seen, **more):
            raise OverflowError("\ud800 is beyond")

        done = self.plan_by(lake, wrong)
        assert done.outcome.status == "failed"
        assert "OverflowError" in done.outcome.reason
        assert done.outcome.reason.encode()

    def test_a_topic_that_the_audit_refuses_stays_and_holds_up_no_other(self, lake: Lake) -> None:
        case = GOLDEN["separate"]
        first = cases.planned(cases.named(case, "main")).moves[0].topic

        def wrong(*seen: Any) -> Plan:
            plan = make_plan(*seen)
            moves = (
                move._replace(path=(move.source, (99,))) if move.topic == first else move
                for move in plan.moves
            )
            return replace(plan, moves=tuple(moves))

        done = self.plan_by(lake, wrong)
        assert (done.outcome.status, done.outcome.reason) == ("ok", "")
        moving = set(done.tables["moves"].column("topic").to_pylist())
        assert moving
        assert first not in moving
        (told,) = done.tables["problems"].to_pylist()
        assert (told["topic"], told["reason"]) == (first, "Unlawful")

    def test_a_plan_that_the_audit_refuses(self, lake: Lake) -> None:
        plan = cases.planned(cases.named(GOLDEN["separate"], "main"))
        first, *rest = plan.moves
        unlawful = replace(plan, moves=(first._replace(path=(first.source, (99,))), *rest))

        def wrong(*seen: Any, **more: Any) -> Plan:
            return unlawful

        done = self.plan_by(lake, wrong)
        assert done.outcome.status == "failed"
        assert done.outcome.reason.startswith("the plan is unlawful: target: pool-0.")
        assert "broker 99 is not live" in done.outcome.reason
        (head,) = done.tables["plans"].to_pylist()
        assert (head["status"], head["reason"]) == (done.outcome.status, done.outcome.reason)

    def plan_by(self, lake: Lake, planner: Callable[..., Plan]) -> StepResult:
        case = cases.named(GOLDEN["separate"], "main")
        cases.put(lake, case)
        entry = cases.entry(lake, "snapshot")
        task = PlanTask("main", codecs.to_text(case[0]), entry)
        return stages_plan.perform(task, Tables(lake.root, InProcess.storage, "x"), planner)

    def test_others_are_planned_all_the_same(self, lake: Lake) -> None:
        cases.put(lake, cases.named(GOLDEN["separate"], "main"))
        outcome = pipeline.plan(ALONE, lake, cases.DAY, ["lost", "main"])
        assert [(line.cluster, line.status) for line in outcome.lines] == [
            ("lost", "failed"),
            ("main", "ok"),
        ]


def test_columns_that_are_not_read_do_not_change_a_plan(lake: Lake) -> None:
    case = cases.named(GOLDEN["oddities"], "main")
    cases.put(lake, case)
    seen = cases.plan_input(lake)
    whole = cluster_rows.cluster_of_rows("main", cluster_rows.rows_of_cluster(case[1]))
    assert stages_plan.plan_cluster(seen) == stages_plan.plan_cluster(replace(seen, cluster=whole))


def test_rows_of_moves_in_any_order_are_the_plan_and_their_paths_lead_somewhere(
    lake: Lake,
) -> None:
    cases.put(lake, cases.named(GOLDEN["separate"], "c"))
    pipeline.plan(ALONE, lake, cases.DAY, ["c"])
    plan = cases.kept(lake, "c")
    tables = (schemas.PLANS, *plan_rows.BODIES)
    rows = {table.name: cases.rows(lake, table, "c") for table in tables}
    moves = rows["moves"]
    assert moves.num_rows > 1
    turned = moves.take(list(reversed(range(moves.num_rows))))
    assert plan_rows.plan_of_rows("c", rows | {"moves": turned}) == plan
    short = pa.array([[[1]]] * moves.num_rows, moves.schema.field("path").type)
    place = moves.schema.get_field_index("path")
    wrong = moves.set_column(place, moves.schema.field("path"), short)
    with pytest.raises(InvalidInput, match=r"moves\[0\].path: has 1 replica lists \(expected at"):
        plan_rows.plan_of_rows("c", rows | {"moves": wrong})


@pytest.mark.parametrize("split_from", [1_000_000, 10], ids=["whole", "taken-apart"])
def test_what_a_person_is_asked_about_is_what_poolkeeper_plan_asks(
    lake: Lake, split_from: int
) -> None:
    """A drain beside what tenants declare: whoever plans for approval plans the drain first."""
    desired, cluster = cases.named(cases.separate(20, 2), "main")
    first, *others = desired.pools
    new = topic_spec("pool-0.new", "pool-0", partitions=7, replication_factor=2)
    drained = replace(first, drain=frozenset({1}))
    desired = replace(desired, pools=(drained, *others), topics=(new,))
    asks = replace(desired.cluster, approval=Approval(ApprovalPolicy.MANUAL))
    case = replace(desired, cluster=asks), cluster
    cases.put(lake, case)
    pipeline.plan(InProcess(2), lake, cases.DAY, ["main"], split_from=split_from)
    at = Circumstances(case[0], cluster, Records(), frozenset())
    asked = platform_first(cases.planned(case), at, make_plan)
    assert asked.hash != cases.planned(case).hash
    assert cases.kept(lake, "main").hash == asked.hash
    shown = waves.plan_of(lake, InProcess.storage, cases.DAY, "main").plan
    assert shown.parts == asked.parts
