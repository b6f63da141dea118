"""A Rebalance from look to look: what is kept, offered, told; what a new leader goes on from."""

from dataclasses import replace

import pytest

from poolkeeper.controller.rebalance_controller import STORE_AGAIN_MS
from poolkeeper.controller.reporting.reported_status import LOOK_AGAIN_S
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.rebalances import records
from poolkeeper.rebalances.planning.engines import LOCAL
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration
from poolkeeper.resources.kinds.custom_resource import key_of
from poolkeeper.resources.status.conditions import condition_of
from unit.controller.rebalance_ground import PLAN, RUNNING, Ground, errand, pool_of


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


def test_plans_that_cannot_be_kept_are_not_written_every_second(ground):
    """As where a quota has no room for a ConfigMap; there may be hundreds of them."""
    applied = []
    apply = ground.server.apply
    ground.server.apply = lambda *given: (applied.append(given), apply(*given))[1]
    ground.server.forbids = True
    for _ in range(3):
        assert ground.look() == "Waiting"
        ground.now_ms += 1000
    assert len(applied) == 1
    message = condition_of(ground.said.statuses["r"], "Ready")["message"]
    assert message == "reading a ConfigMap is not allowed"
    ground.server.forbids = False
    assert ground.look() == "Waiting"
    ground.now_ms += STORE_AGAIN_MS
    assert ground.look() == "WaitingForApproval"
    assert len(applied) == 2


def test_a_clock_that_is_set_back_does_not_put_off_the_next_try_to_keep_plans(ground):
    ground.server.forbids = True
    assert ground.look() == "Waiting"
    ground.server.forbids = False
    ground.now_ms -= 3_600_000
    assert ground.look() == "WaitingForApproval"


def test_nothing_but_its_state_is_kept_of_a_rebalance_that_has_ended(ground):
    ground.executing()
    (entry,) = ground.operator._entries.values()
    for name in ("a", "b"):
        ground.loops.outcomes[name] = errand(ExternalPlanState.DONE)
    ground.look()
    assert (entry.state.step.is_final, entry.record) == (True, None)
    assert not entry.planning._declarations._known


@pytest.mark.parametrize("ended", [False, True], ids=["under way", "ended"])
def test_a_status_that_was_refused_or_changed_is_written_again(ground, ended):
    """Right after a write a watch may show what was before it, and nothing is written for that."""
    ground.executing()
    if ended:
        ground.loops.outcomes = dict.fromkeys("ab", errand(ExternalPlanState.DONE))
    reason = ground.look()
    told = ground.said.statuses.pop("r")
    ground.bodies["r"]["status"] = {}
    ground.declared.put(ground.bodies["r"])
    ground.look()
    ground.said.statuses.pop("r", None)
    ground.look()
    assert "r" not in ground.said.statuses
    ground.clock_s += LOOK_AGAIN_S
    assert ground.look() == reason
    assert ground.said.statuses["r"] == told
    assert ground.said.events[-1] == ("r", reason)
    assert ground.said.events.count(("r", reason)) == 1


@pytest.mark.parametrize("deleting", [False, True], ids=["it stays", "it is being deleted"])
def test_the_finalizer_of_one_that_has_ended_is_taken_off_until_it_is_gone(ground, deleting):
    """A write that fails is not repeated by who makes it."""
    ground.executing()
    ground.loops.outcomes = dict.fromkeys("ab", errand(ExternalPlanState.DONE))
    assert ground.look() == "Succeeded"
    if deleting:
        ground.put("Rebalance", "r", {}, guarded=True, deleting=True)
        ground.look()
    for _ in range(2):
        assert ground.said.guarded.pop("r") is False
        ground.look()
    ground.put("Rebalance", "r", {}, deleting=deleting)
    ground.said.guarded.clear()
    ground.look()
    assert ground.said.guarded == {}


def test_what_is_being_planned_is_dropped_with_the_lease(ground):
    ground.planner.request_plans = lambda name, _: ground.planner.kept.add(name)
    assert ground.look() == "Planning"
    assert ground.planner.kept == {"r"}
    ground.role = LeaderRole.STANDBY
    ground.look()
    assert ground.planner.kept == set()


def test_one_that_is_made_anew_under_the_name_of_another_is_planned_and_told(ground):
    """As `kubectl replace --force` makes it, between two looks."""
    ground.planner.request_plans = lambda name, _: ground.planner.kept.add(name)
    assert ground.look() == "Planning"
    first = ground.bodies["r"]
    metadata = {**first["metadata"], "uid": "uid-of-the-second"}
    ground.declared.drop(key_of(first), first["metadata"]["uid"])
    ground.declared.put({**first, "metadata": metadata})
    assert ground.look() == "Planning"
    assert ground.planner.kept == {"r"}


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
