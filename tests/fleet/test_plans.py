"""Plans from tables: the same as those of `poolkeeper plan`, to the byte, and made once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import clusters
from fleet import cases
from poolkeeper.fleet.engines.engines import Local
from poolkeeper.fleet.stages import pipeline
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.fleet.storage.store import Store
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import Recorded
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json

HASHES = Path(__file__).parents[1] / "golden" / "fleet" / "hashes.json"
GOLDEN = cases.golden()
ALONE = Local(1)


def as_in_tables(plan: Plan) -> Plan:
    """The plan as its tables tell it: of problems they have the sentence, and no reason."""
    told = (replace(each, facts=Recorded(each.message)) for each in plan.problems)
    return replace(plan, problems=tuple(told))


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_the_plan_of_a_golden_cluster(name: str, store: Store, update_golden: bool) -> None:
    case = cases.named(GOLDEN[name], name)
    cases.put(store, case)
    outcome = pipeline.plan(ALONE, store, cases.DAY, [name])
    plan = cases.planned(case)
    assert plan_json.to_json(cases.kept(store, name)) == plan_json.to_json(as_in_tables(plan))
    figures = {"partitions": sum(len(t.partitions) for t in case[1].topics.values())}
    figures |= {"moves": len(plan.moves), "hash": plan.hash}
    assert outcome.lines == (pipeline.Line(name, "ok", figures=figures),)
    known = json.loads(HASHES.read_text())
    if update_golden:
        known[name] = plan.hash
        HASHES.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    assert known[name] == plan.hash


def test_the_golden_hashes_are_of_these_clusters() -> None:
    assert sorted(json.loads(HASHES.read_text())) == sorted(GOLDEN)


def test_a_giant_that_is_taken_apart_has_the_same_plan(store: Store, tmp_path: Path) -> None:
    case = cases.named(cases.separate(60, 4), "giant")
    small = cases.named(cases.separate(1, 2), "small")
    for each in (case, small):
        cases.put(store, each)
    outcome = pipeline.plan(_TwoAtATime(), store, cases.DAY, ["giant", "small"], split_from=100)
    plan = cases.planned(case)
    assert plan_json.to_json(cases.kept(store, "giant")) == plan_json.to_json(plan)
    assert [(line.cluster, line.status, line.figures["hash"]) for line in outcome.lines] == [
        ("giant", "ok", plan.hash),
        ("small", "ok", cases.planned(small).hash),
    ]
    whole = Store(tmp_path / "whole")
    cases.put(whole, case)
    pipeline.plan(ALONE, whole, cases.DAY, ["giant"])
    for table in (schemas.PLANS, *stages_plan.plan_rows.BODIES):
        assert store.read(table, cases.DAY, "giant").equals(whole.read(table, cases.DAY, "giant"))


class _TwoAtATime(Local):
    """As if there were two processes: it plans as for two, and does it here."""

    def __init__(self) -> None:
        super().__init__(1)

    @property
    def slots(self) -> int:
        return 2


def test_tasks_the_heaviest_first_and_only_a_giant_is_taken_apart(store: Store) -> None:
    for name, topics in (("a", 5), ("b", 100), ("c", 10)):
        cases.put(store, cases.named(cases.separate(topics, 2), name))
    tasks, merges = stages_plan.tasks_of(store, cases.DAY, ["a", "b", "c"], 2, 100)
    assert [(t.cluster, t.pool) for t in tasks] == [
        ("b", "pool-0"),
        ("b", "pool-1"),
        ("c", ""),
        ("a", ""),
    ]
    assert [(t.cluster, t.merge) for t in merges] == [("b", True)]
    for slots, least in ((1, 100), (2, 1000)):
        tasks, merges = stages_plan.tasks_of(store, cases.DAY, ["a", "b", "c"], slots, least)
        assert [(t.cluster, t.pool) for t in tasks] == [("b", ""), ("c", ""), ("a", "")]
        assert merges == ()


class TestAgain:
    CASE = cases.named(GOLDEN["separate"], "main")

    def test_the_same_input_is_not_planned_again(self, store: Store) -> None:
        cases.put(store, self.CASE)
        first = pipeline.plan(ALONE, store, cases.DAY, ["main"])
        before = cases.files(store.root)
        second = pipeline.plan(ALONE, store, cases.DAY, ["main"])
        assert cases.files(store.root) == before
        assert second.made == ()
        assert second.lines == (replace(first.lines[0], made=False),)

    def test_what_is_made_again_is_the_same_to_the_byte(self, store: Store) -> None:
        cases.put(store, self.CASE)
        pipeline.plan(ALONE, store, cases.DAY, ["main"])
        before = cases.files(store.root)
        assert len(pipeline.plan(ALONE, store, cases.DAY, ["main"], again=True).made) == 1
        assert cases.files(store.root) == before

    @pytest.mark.parametrize("what", ["snapshot", "declaration", "features", "half"])
    def test_another_input_is_planned_again(self, what: str, store: Store) -> None:
        cases.put(store, self.CASE)
        pipeline.plan(ALONE, store, cases.DAY, ["main"])
        desired, cluster = self.CASE
        if what == "snapshot":
            cases.put(store, (desired, replace(cluster, id="other")))
        elif what == "declaration":
            pools = (replace(desired.pools[0], goals=()), *desired.pools[1:])
            pipeline.write_manifests(store, [replace(desired, pools=pools)])
        elif what == "features":
            store.write(
                schemas.FEATURES, cases.DAY, "main", parquet.from_rows(schemas.FEATURES, ())
            )
        else:  # an executor was killed between the tables and their head
            store.begin(schemas.PLANS, cases.DAY, "main")
        assert len(pipeline.plan(ALONE, store, cases.DAY, ["main"]).made) == 1


class TestWhatCannotBePlanned:
    def reason(self, store: Store) -> str:
        outcome = pipeline.plan(ALONE, store, cases.DAY, ["main"])
        (line,) = outcome.failed
        head = store.head(schemas.PLANS, cases.DAY, "main")
        assert head is not None
        assert (head["status"], head["reason"], head["hash"]) == ("failed", line.reason, None)
        assert store.read(schemas.MOVES, cases.DAY, "main").num_rows == 0
        return line.reason

    def test_nothing_declared(self, store: Store) -> None:
        cases.put(store, cases.named(GOLDEN["separate"], "main"))
        store.file(schemas.MANIFESTS, "", "main").unlink()
        assert self.reason(store) == "nothing is declared for it"

    def test_no_snapshot(self, store: Store) -> None:
        assert self.reason(store) == "it has no snapshot"

    def test_a_snapshot_that_failed(self, store: Store) -> None:
        cases.put(store, cases.named(GOLDEN["separate"], "main"))
        row = {"status": ["failed"], "reason": ["no ZooKeeper answers"], "read_ms": [1]}
        head = parquet.table_of(schemas.CLUSTERS, row)
        store.write(schemas.CLUSTERS, cases.DAY, "main", head)
        assert self.reason(store) == "it could not be read: no ZooKeeper answers"

    def test_another_cluster_than_the_one_pinned(self, store: Store) -> None:
        desired, cluster = cases.named(GOLDEN["separate"], "main")
        spec = replace(desired.cluster, cluster_id="mine")
        cases.put(store, (replace(desired, cluster=spec), cluster))
        assert self.reason(store) == "it is another cluster: its id is bench, not mine"

    def test_a_broker_that_nobody_has_seen(self, store: Store) -> None:
        desired, cluster = clusters.desired(25), clusters.cluster(100, brokers=24)
        cases.put(store, cases.named((desired, cluster), "main"))
        assert "broker 25 is not live and holds nothing" in self.reason(store)

    def test_a_table_that_is_cut_off(self, store: Store) -> None:
        cases.put(store, cases.named(GOLDEN["separate"], "main"))
        file = store.file(schemas.PARTITIONS, cases.DAY, "main")
        file.write_bytes(file.read_bytes()[:-100])
        assert "cannot be read" in self.reason(store)

    def test_a_plan_that_the_audit_refuses(self, store: Store) -> None:
        def wrong(*seen, **more):
            plan = make_plan(*seen, **more)
            first, *rest = plan.moves
            return replace(plan, moves=(first._replace(path=(first.source, (99,))), *rest))

        cases.put(store, cases.named(GOLDEN["separate"], "main"))
        done = stages_plan.perform(stages_plan.PlanTask(str(store.root), cases.DAY, "main"), wrong)
        assert done.status == "failed"
        assert done.reason.startswith("the plan is unlawful: target: pool-0.")
        assert "broker 99 is not live" in done.reason
        head = store.head(schemas.PLANS, cases.DAY, "main")
        assert head is not None
        assert (head["status"], head["reason"]) == (done.status, done.reason)

    def test_others_are_planned_all_the_same(self, store: Store) -> None:
        cases.put(store, cases.named(GOLDEN["separate"], "main"))
        outcome = pipeline.plan(ALONE, store, cases.DAY, ["lost", "main"])
        assert [(line.cluster, line.status) for line in outcome.lines] == [
            ("lost", "failed"),
            ("main", "ok"),
        ]


def test_processes_give_what_one_process_gives(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    for each in (store, other):
        for name in ("created", "weights"):
            cases.put(each, cases.named(GOLDEN[name], name))
    names = ["created", "weights"]
    assert pipeline.plan(Local(2), store, cases.DAY, names) == pipeline.plan(
        ALONE, other, cases.DAY, names
    )
    assert cases.files(store.root) == cases.files(other.root)


def test_columns_that_are_not_read_do_not_change_a_plan(store: Store) -> None:
    case = cases.named(GOLDEN["oddities"], "main")
    cases.put(store, case)
    seen = stages_plan.plan_input_of(store, cases.DAY, "main")
    whole = cluster_rows.cluster_of_rows("main", cluster_rows.rows_of_cluster(case[1]))
    assert stages_plan.plan_cluster(seen) == stages_plan.plan_cluster(replace(seen, cluster=whole))
