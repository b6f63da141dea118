"""A Rebalance from look to look: what is kept, offered, told; what a new leader goes on from."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

import builders
from poolkeeper.controller.rebalance_controller import RebalanceController
from poolkeeper.controller.reporting.rebalance_reporter import RebalanceReporter
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.errors import RefusalReason, Unavailable
from poolkeeper.fleet.schedule.budget import ClusterWork, ScheduledStage
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    LastObservation,
    Outcome,
    Progress,
    State,
)
from poolkeeper.model.execution.records import NOTHING_RECORDED
from poolkeeper.model.execution.refusals import Refusal
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rebalances import records
from poolkeeper.rebalances.planning.engines import LOCAL
from poolkeeper.rebalances.planning.response import ClusterPlan, ClusterResponse, assemble_response
from poolkeeper.rebalances.record_store import RecordStore
from poolkeeper.rebalances.text_store import TextStore
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.telemetry.metrics import Metrics
from unit.resources.bodies import body

HOUR_MS = 3_600_000
MOVES = (Move("t", None, 0, ((1, 2), (2, 3)), 100, "balance"),)
PLAN = Plan("", plan_json.plan_hash(MOVES, ()), "f", moves=MOVES)
STALE = Refusal(RefusalReason.STALE_PLAN, "the plan is outdated")
SEEN_NOTHING = Outcome(
    State.CONVERGED, last_observation=LastObservation(builders.cluster((1,)), NOTHING_RECORDED)
)


@dataclass
class Server:
    """ConfigMaps by path; it may be away."""

    objects: dict[str, Any] = field(default_factory=dict)
    away: bool = False

    def _here(self):
        if self.away:
            raise Unavailable("the API server is away")

    def get(self, path):
        self._here()
        return self.objects.get(path)

    def apply(self, path, body, manager):
        self._here()
        self.objects[path] = body
        return body

    def delete(self, path, uid=None):
        self._here()
        return self.objects.pop(path, None) is not None


@dataclass
class Loops:
    """The part of ClusterLoops that is asked; outcomes are what the test says."""

    assemblies: Any = None
    offers: dict[str, ExternalPlan] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    let_go: int = 0

    def set_external_plans(self, offers):
        self.offers = dict(offers)

    def outcome(self, name):
        return self.outcomes.get(name)

    def names(self):
        return frozenset(self.outcomes)

    def settling(self):
        return frozenset()

    def forget_external_plans(self):
        self.offers, self.let_go = {}, self.let_go + 1


class Planner:
    """Answers at once: the same plan for every cluster."""

    def request_plans(self, name, question):
        return assemble_response(
            question,
            (
                ClusterResponse(
                    ClusterPlan(each.cluster, replace(PLAN, cluster=each.cluster)),
                    ClusterWork(each.cluster, (ScheduledStage(100, 1000),)),
                )
                for each in question.asked
            ),
        )

    def pending_reason(self, name, question):
        return ""

    def forget(self, name):
        pass


class Said:
    """Writer, recorder and guards in one."""

    def __init__(self):
        self.statuses, self.events, self.guarded = {}, [], {}

    def put(self, reference, said, known=None):
        if isinstance(said, bool):
            self.guarded[reference.name] = said
        else:
            self.statuses[reference.name] = said

    def forget(self, reference):
        self.statuses.pop(reference.name, None)

    def record(self, reference, reason, note, *, warning):
        self.events.append((reference.name, reason))
        return True


class Ground:
    """Clusters `a` and `b` with a Rebalance `r` over both, and one operator after the other."""

    def __init__(self):
        self.server, self.said, self.loops = Server(), Said(), Loops()
        self.declared, self.role, self.now_ms = ResourceCache(), LeaderRole.HELD, 9 * HOUR_MS
        self.bodies = {}
        for name in ("a", "b"):
            spec = {"zookeeper": {"connect": f"{name}:2181"}, "mode": "Apply"}
            self.put("KafkaCluster", name, spec)
            self.put("ResourcePool", f"{name}-p", pool_of(name, 1, 2, 3))
            self.loops.outcomes[name] = SEEN_NOTHING
        self.put("Rebalance", "r", {})
        self.restart()

    def put(self, kind, name, spec, **more):
        """Declare, or declare otherwise; the live status stays."""
        before = self.bodies.get(name, {"metadata": {"generation": 0}})
        status = self.said.statuses.get(name, before.get("status"))
        generation = before["metadata"]["generation"] + 1
        told = {"status": status, "generation": generation, **more}
        self.bodies[name] = body(kind, name, {**before.get("spec", {}), **spec}, **told)
        self.declared.put(self.bodies[name])

    def restart(self):
        """Another process begins, from what the API server has."""
        for name, status in self.said.statuses.items():
            self.bodies[name] = {**self.bodies[name], "status": status}
            self.declared.put(self.bodies[name])
        self.registry = CollectorRegistry()
        self.operator = RebalanceController(
            cache=self.declared,
            cluster_loops=self.loops,
            engines={LOCAL: Planner()},
            records=RecordStore(self.server, "ours", TextStore(self.server, "ours")),
            reporter=RebalanceReporter(self.said, self.said, self.said),
            metrics=Metrics(self.registry),
            role=lambda: self.role,
            now_ms=lambda: self.now_ms,
        )

    def look(self, name="r"):
        """Look once; return the reason that is told."""
        objects = (each for each in self.declared.contents()[0] if each.kind != "Rebalance")
        self.loops.assemblies = assemble(objects)
        self.operator.reconcile()
        return condition_of(self.said.statuses.get(name), "Ready").get("reason")

    def approve(self, name="r", **more):
        """Approve what it waits for; it has the finalizer by then."""
        plan = self.said.statuses[name]["plan"]["hash"]
        self.put("Rebalance", name, {"approval": {"plans": [plan]}}, guarded=True, **more)

    def executing(self):
        """Go to where the plans are offered."""
        assert self.look() == "WaitingForApproval"
        self.approve()
        assert self.look() == "Moving"
        return self

    def states(self, name="r"):
        return {e["name"]: e["state"] for e in self.said.statuses[name]["clusters"]}

    def metric(self, name, **labels):
        return self.registry.get_sample_value(f"poolkeeper_{name}", labels)

    def desired(self, name):
        return self.loops.assemblies[name].desired


def pool_of(cluster, *ids):
    return {"clusterRef": {"name": cluster}, "brokers": {"ids": list(ids)}}


def errand(state, *why):
    return Outcome(State.WAITING, external=ExternalPlanStatus(PLAN.hash, state, why))


RUNNING = Outcome(State.WAITING, progress=Progress(PLAN.hash, Phase.MOVING, 1, 0, 1, 1, 0, 100))


@pytest.fixture
def ground():
    return Ground()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"step": "Dreaming"}, id="step"),
        pytest.param({"clusters": [{"name": "a", "state": "Dreaming"}]}, id="state-of-a-cluster"),
        pytest.param({"clusters": [{"novel": 1}]}, id="cluster-of-another-shape"),
    ],
)
def test_a_state_of_a_later_release_is_left_to_it_and_can_be_deleted(ground, changes, caplog):
    ground.executing()
    ground.put("Rebalance", "other", {})
    later = {**ground.said.statuses["r"], **changes}
    ground.said.statuses["r"] = later
    ground.restart()
    for _ in range(3):
        ground.look()
    assert ground.said.statuses["r"] == later
    assert ground.said.events.count(("r", "UnreadableStatus")) == 1
    assert "Traceback" not in caplog.text
    assert condition_of(ground.said.statuses["other"], "Ready")["reason"] == "WaitingForApproval"
    ground.put("Rebalance", "r", {}, guarded=True, deleting=True)
    ground.look()
    assert ground.said.guarded["r"] is False


def test_from_planning_to_the_end(ground):
    assert ground.look() == "WaitingForApproval"
    assert ground.loops.offers == {}
    assert len(ground.server.objects) == 1
    ground.approve()
    assert ground.look() == "Moving"
    assert ground.loops.offers == {
        name: ExternalPlan(
            PLAN.hash, replace(PLAN, cluster=name), declaration(ground.desired(name), PLAN), offer=1
        )
        for name in ("a", "b")
    }
    ground.loops.outcomes = {"a": RUNNING, "b": errand(ExternalPlanState.DONE)}
    ground.look()
    assert ground.states() == {"a": "Moving", "b": "Done"}
    assert ground.loops.offers.keys() == {"a"}
    ground.loops.outcomes["a"] = errand(ExternalPlanState.DONE)
    assert ground.look() == "Succeeded"
    assert ground.loops.offers == {}
    assert ground.said.guarded["r"] is False
    told = ["WaitingForApproval", "Moving", "Succeeded"]
    assert ground.said.events == [("r", reason) for reason in told]


def test_metrics_tell_from_planning_to_the_end(ground):
    ground.executing()
    assert ground.metric("rebalances", reason="WaitingForApproval") == 0
    assert ground.metric("rebalances", reason="Moving") == 1
    assert ground.metric("rebalance_planning_seconds_count", engine=LOCAL) == 1
    assert ground.metric("rebalance_planned_bytes_total") == 200
    ground.loops.outcomes = {
        "a": errand(ExternalPlanState.REFUSED),
        "b": errand(ExternalPlanState.DONE),
    }
    for _ in range(2):
        ground.look()
    assert ground.metric("rebalances", reason="Failed") == 1
    assert ground.metric("rebalance_clusters_total", outcome="Done") == 1
    assert ground.metric("rebalance_clusters_total", outcome="Failed") == 1
    assert ground.metric("rebalance_moved_bytes_total") == 100
    ground.role = LeaderRole.STANDBY
    ground.look()
    assert ground.metric("rebalances", reason="Failed") == 0


def test_a_new_leader_does_not_count_again(ground):
    ground.executing()
    ground.loops.outcomes["b"] = errand(ExternalPlanState.DONE)
    ground.look()
    ground.restart()
    ground.look()
    assert ground.metric("rebalances", reason="Moving") == 1
    assert ground.metric("rebalance_clusters_total", outcome="Done") is None
    assert ground.metric("rebalance_planning_seconds_count", engine=LOCAL) is None
    assert ground.metric("rebalance_moved_bytes_total") == 0


def test_nothing_is_offered_before_it_has_the_finalizer(ground):
    ground.look()
    plan = ground.said.statuses["r"]["plan"]["hash"]
    ground.put("Rebalance", "r", {"approval": {"plans": [plan]}})
    ground.look()
    assert (ground.loops.offers, ground.said.guarded["r"]) == ({}, True)


def test_a_new_leader_goes_on_from_the_status_and_the_record(ground):
    ground.executing()
    offers = ground.loops.offers
    ground.loops.offers = {}
    ground.restart()
    assert ground.look() == "Moving"
    assert ground.loops.offers == offers
    assert ground.said.events == [("r", "WaitingForApproval"), ("r", "Moving")]


def test_while_the_record_cannot_be_read_what_runs_is_held_all_the_same(ground):
    ground.executing()
    ground.put("Rebalance", "r", {"paused": True}, guarded=True)
    ground.restart()
    ground.server.away = True
    assert ground.look() == "Paused"
    assert ground.loops.offers["a"] == ExternalPlan(
        PLAN.hash, wait=Wait(WaitReason.REBALANCE_PAUSED), offer=1
    )


def test_a_record_of_another_release_is_left_to_it(ground, monkeypatch):
    monkeypatch.setattr(records, "VERSION", 3)
    ground.executing()
    offers = ground.loops.offers
    monkeypatch.undo()
    ground.restart()
    assert ground.look() == "Waiting"
    assert "use that" in condition_of(ground.said.statuses["r"], "Ready")["message"]
    assert [offer.plan for offer in ground.loops.offers.values()] == [None] * len(offers)
    assert len(ground.server.objects) == 1
    monkeypatch.setattr(records, "VERSION", 3)
    ground.restart()
    assert ground.look() == "Moving"
    assert ground.loops.offers == offers


def test_without_its_record_it_has_failed(ground):
    ground.executing()
    ground.server.objects.clear()
    ground.restart()
    assert ground.look() == "Failed"
    assert ground.loops.offers == {}


def test_a_record_that_was_changed_is_none(ground):
    ground.executing()
    (found,) = ground.server.objects.values()
    found["binaryData"] = {key: "H4sIAAAA" for key in found["binaryData"]}
    ground.restart()
    assert ground.look() == "Failed"


def test_other_pools_are_planned_anew_and_the_old_record_goes(ground):
    ground.look()
    before = set(ground.server.objects)
    ground.put("ResourcePool", "a-p", pool_of("a", 1, 2, 3, 4))
    ground.now_ms += 1000
    assert ground.look() == "WaitingForApproval"
    assert len(ground.server.objects) == 1
    assert set(ground.server.objects) != before


def test_outside_its_windows_stages_are_held(ground):
    ground.put(
        "Rebalance", "r", {"budget": {"windows": [{"cron": "0 22 * * *", "duration": "8h"}]}}
    )
    ground.executing()
    held = Wait(WaitReason.OUTSIDE_REBALANCE_WINDOW, until="1970-01-01 22:00 UTC")
    assert {offer.wait for offer in ground.loops.offers.values()} == {held}
    ground.now_ms = 23 * HOUR_MS
    ground.look()
    assert {offer.wait for offer in ground.loops.offers.values()} == {None}


def test_who_does_not_lead_offers_nothing_and_remembers_nothing(ground):
    ground.executing()
    ground.role = LeaderRole.STANDBY
    ground.look()
    assert (ground.loops.offers, ground.loops.let_go) == ({}, 1)
    ground.role = LeaderRole.UNSURE
    ground.loops.offers = {"a": ExternalPlan("x")}
    ground.look()
    assert ground.loops.offers == {"a": ExternalPlan("x")}


def test_two_of_them_go_one_after_the_other_in_a_cluster(ground):
    ground.executing()
    ground.now_ms += 1000
    ground.put("Rebalance", "q", {"clusters": {"names": ["a"]}, "approval": {"policy": "Auto"}})
    ground.put("Rebalance", "q", {}, guarded=True)
    ground.look()
    assert ground.look("q") == "Waiting"
    message = condition_of(ground.said.statuses["q"], "Ready")["message"]
    assert message.endswith("waits: a: Rebalance r goes first")
    ground.loops.outcomes["a"] = errand(ExternalPlanState.REFUSED, STALE)
    ground.look()
    assert ground.states()["a"] == "Failed"
    assert ground.states("q")["a"] == "Failed", "of the same plan the same is said"


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        pytest.param(
            RUNNING,
            {"a": ExternalPlan(PLAN.hash, withdrawn=True, offer=1)},
            id="its-run-ends-first",
        ),
        pytest.param(SEEN_NOTHING, {}, id="nothing-runs"),
        pytest.param(errand(ExternalPlanState.DONE, "withdrawn"), {}, id="its-run-has-ended"),
        pytest.param(
            replace(RUNNING, progress=replace(RUNNING.progress, plan="sha256:own")),
            {},
            id="another-run-is-none-of-its",
        ),
    ],
)
def test_deleted_it_stays_until_what_runs_has_ended(ground, outcome, left):
    ground.executing()
    ground.loops.outcomes["a"] = RUNNING
    ground.look()
    ground.put("Rebalance", "r", {}, deleting=True, guarded=True)
    ground.loops.outcomes["a"] = outcome
    assert ground.look() == "Deleting"
    assert ground.loops.offers == left
    assert ground.said.guarded.get("r", True) is bool(left)


def stage_of(rate):
    return replace(RUNNING, progress=replace(RUNNING.progress, throttle_highest_bytes_per_s=rate))


UNREACHABLE = Outcome(State.WAITING, error=Unavailable("no answer from zk"))


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        pytest.param({}, UNREACHABLE, id="unreachable"),
        pytest.param({"mode": "Paused"}, stage_of(50), id="paused"),
        pytest.param({"mode": "PlanOnly"}, stage_of(50), id="plan-only"),
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_cluster_that_stands_still_in_its_first_stage_keeps_its_share(
    ground, changes, outcome, restarted
):
    ground.put("Rebalance", "r", {"budget": {"rate": "100"}})
    ground.executing()
    ground.loops.outcomes = dict.fromkeys("ab", stage_of(50))
    ground.look()
    ground.put("KafkaCluster", "a", changes)
    ground.loops.outcomes["a"] = outcome
    for _ in range(3):
        ground.look()
        if restarted:
            ground.restart()
    assert ground.states() == {"a": "Waiting", "b": "Moving"}
    assert {name: offer.bytes_per_s for name, offer in ground.loops.offers.items()} == {
        "a": 50,
        "b": 50,
    }
    assert ground.loops.offers["a"].has_begun


@pytest.mark.parametrize("restarted", [False, True])
def test_an_edit_that_makes_it_invalid_holds_what_runs_and_lets_nothing_begin(ground, restarted):
    windows = {"windows": [{"cron": "* * * * *", "duration": "1h", "timeZone": "Europe/Zurich"}]}
    ground.put("Rebalance", "r", {"budget": {"rate": "100", **windows}})
    ground.executing()
    ground.loops.outcomes["a"] = stage_of(50)
    ground.look()
    offer = ground.loops.offers["a"]
    windows = {"windows": [{"cron": "* * * * *", "duration": "1h", "timeZone": "Europe/Zurch"}]}
    ground.put("Rebalance", "r", {"budget": {"rate": "100", **windows}}, guarded=True)
    if restarted:
        ground.restart()
    ground.loops.outcomes["a"] = replace(
        stage_of(50), progress=replace(RUNNING.progress, moves_done=1)
    )
    assert ground.look() == "Invalid"
    held = Wait(WaitReason.REBALANCE_INVALID)
    offers = ground.loops.offers
    assert offers.keys() == {"a"}
    assert (offers["a"].wait, offers["a"].rate_known) == (held, False)
    assert restarted or offers["a"] == replace(offer, wait=held, rate_known=False)
    assert ground.said.statuses["r"]["plan"]["movesDone"] == 1
    ground.put("Rebalance", "r", {"budget": {"rate": "100"}}, guarded=True)
    assert ground.look() == "Moving"
    assert ground.loops.offers["a"].wait is None


@pytest.mark.parametrize("restarted", [False, True])
def test_deleted_what_runs_keeps_its_rate(ground, restarted):
    ground.put("Rebalance", "r", {"budget": {"rate": "100"}})
    ground.executing()
    ground.loops.outcomes = dict.fromkeys("ab", stage_of(50))
    ground.look()
    if restarted:
        ground.restart()
    ground.put("Rebalance", "r", {}, deleting=True, guarded=True)
    assert ground.look() == "Deleting"
    assert {offer.bytes_per_s for offer in ground.loops.offers.values()} == {50}


def test_what_cannot_be_read_holds_up_no_other(ground):
    ground.said.statuses["r"] = {"step": "Dreaming"}
    ground.put("Rebalance", "q", {})
    ground.restart()
    ground.said.statuses.pop("r")
    assert ground.look("q") == "WaitingForApproval"
    assert "r" not in ground.said.statuses


def test_an_invalid_one_says_why(ground):
    ground.put("Rebalance", "r", {"clusters": {}})
    assert ground.look() == "Invalid"
    message = condition_of(ground.said.statuses["r"], "Stalled")["message"]
    assert message.startswith("spec.clusters: has neither names nor a selector")


def test_what_has_ended_is_told_once_and_again_for_another_generation(ground):
    ground.executing()
    ground.loops.outcomes = dict.fromkeys("ab", errand(ExternalPlanState.DONE))
    assert ground.look() == "Succeeded"
    ground.look()
    ground.said.statuses["r"] = told = dict(ground.said.statuses["r"])
    ground.look()
    assert ground.said.statuses["r"] is told
    ground.put("Rebalance", "r", {"paused": True})
    ground.look()
    assert ground.said.statuses["r"]["observedGeneration"] == 3
    assert [reason for _, reason in ground.said.events].count("Succeeded") == 1
