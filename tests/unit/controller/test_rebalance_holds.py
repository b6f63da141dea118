"""What holds a Rebalance, or ends it: windows, others, edits, its deletion, silent clusters."""

from dataclasses import replace

import pytest

from poolkeeper.errors import HolderActive, Unavailable
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    Outcome,
    State,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.resources.status.conditions import condition_of
from unit.controller.rebalance_ground import (
    HOUR_MS,
    PLAN,
    RUNNING,
    SEEN_NOTHING,
    STALE,
    Ground,
    errand,
)


@pytest.fixture
def ground():
    return Ground()


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
    ground.look()
    ground.loops.outcomes = {"a": replace(outcome), "b": replace(SEEN_NOTHING)}
    assert ground.look() == "Deleting"
    assert ground.loops.offers == left
    assert ground.said.guarded.get("r", True) is bool(left)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("late", ["Executing", "WaitingForApproval"])
def test_deleted_before_its_status_told_of_its_runs_it_stays_until_all_loops_have_reported(
    ground, late, restarted
):
    ground.executing()
    if restarted:
        ground.said.statuses["r"] = {**ground.said.statuses["r"], "step": late}
        ground.loops.outcomes = dict.fromkeys("ab", HELD)
        ground.restart()
    ground.put("Rebalance", "r", {}, deleting=True, guarded=True)
    assert ground.look() == "Deleting"
    assert ground.loops.offers.keys() == {"a", "b"}
    assert {offer.withdrawn for offer in ground.loops.offers.values()} == {True}
    ground.loops.outcomes = {"a": RUNNING, "b": replace(SEEN_NOTHING)}
    ground.look()
    assert ground.loops.offers.keys() == {"a"}
    assert ground.said.guarded.get("r", True)
    ground.loops.outcomes["a"] = errand(ExternalPlanState.DONE, "withdrawn")
    ground.look()
    assert (ground.loops.offers, ground.said.guarded["r"]) == ({}, False)


def stage_of(rate):
    return replace(RUNNING, progress=replace(RUNNING.progress, throttle_highest_bytes_per_s=rate))


HELD = Outcome(State.WAITING, error=HolderActive("the executor before"))
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


def test_a_topic_that_cannot_be_read_in_mid_run_is_named_and_holds_up_no_other(ground):
    ground.executing()
    name, why = TopicPartition("t", 0), "/config/topics/t: its ACL does not let us read it"
    unseen = Wait(WaitReason.TOPIC_UNREADABLE, topic="t", partitions=(name,), detail=why)
    ground.loops.outcomes["a"] = replace(RUNNING, waits=(unseen,))
    ground.loops.outcomes["b"] = errand(ExternalPlanState.DONE)
    assert ground.look() == "Moving"
    assert ground.states() == {"a": "Moving", "b": "Done"}
    status = ground.said.statuses["r"]
    assert why in condition_of(status, "Ready")["message"]
    (told,) = (each for each in status["clusters"] if each["name"] == "a")
    assert why in told["message"]
    ground.loops.outcomes["a"] = errand(ExternalPlanState.DONE)
    assert ground.look() == "Succeeded"
    assert "message" not in ground.said.statuses["r"]["clusters"][0]


@pytest.mark.parametrize("restarted", [False, True])
def test_an_edit_that_makes_it_invalid_holds_what_runs_and_lets_nothing_begin(ground, restarted):
    windows = {"windows": [{"cron": "0 * * * *", "duration": "1h", "timeZone": "Europe/Zurich"}]}
    ground.put("Rebalance", "r", {"budget": {"rate": "100", **windows}})
    ground.executing()
    ground.loops.outcomes["a"] = stage_of(50)
    ground.look()
    offer = ground.loops.offers["a"]
    windows = {"windows": [{"cron": "0 * * * *", "duration": "1h", "timeZone": "Europe/Zurch"}]}
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


def test_without_the_right_to_add_its_finalizer_it_says_so_and_goes_on_by_itself(ground):
    ground.said.may_guard = False
    ground.put("Rebalance", "r", {"approval": {"policy": "Auto"}})
    for _ in range(3):
        ground.look()
    conditions = ground.said.statuses["r"]["conditions"]
    assert {c["type"]: c["reason"] for c in conditions} == dict.fromkeys(
        ("Ready", "Stalled"), "FinalizerForbidden"
    )
    assert condition_of(ground.said.statuses["r"], "Ready")["message"] == (
        "the operator may not add its finalizer: nothing is moved, as its runs would be left behind"
        " if it were deleted (RBAC); 0 of 2 clusters done, 0 of 2 moves, 200 B left"
    )
    assert ground.loops.offers == {}
    ground.said.may_guard = True
    assert ground.look() == "Moving"
    ground.put("Rebalance", "r", {}, guarded=True)
    ground.look()
    assert set(ground.loops.offers) == {"a", "b"}


def test_plans_that_may_not_be_read_are_said_to_be_that_and_logged_once(ground, caplog):
    ground.executing()
    ground.restart()
    ground.server.forbids = True
    for _ in range(3):
        assert ground.look() == "Moving"
    said = "its plans cannot be read: reading a ConfigMap is not allowed"
    assert condition_of(ground.said.statuses["r"], "Ready")["message"].endswith(f"; {said}")
    logged = [each for each in caplog.messages if "cannot be read" in each]
    assert logged == ["the plans of Rebalance r cannot be read: reading a ConfigMap is not allowed"]
    ground.server.forbids = False
    ground.look()
    assert said not in condition_of(ground.said.statuses["r"], "Ready")["message"]


def test_who_needs_no_approval_is_not_said_to_wait_for_it(ground):
    """GitOps tools take what waits for a person for settled, before anything has moved."""
    ground.put("Rebalance", "r", {"approval": {"policy": "Auto"}})
    assert ground.look() == "Planning"
    assert "approve" not in condition_of(ground.said.statuses["r"], "Ready")["message"]
    assert ground.look() == "Moving"
    assert ground.said.events == [("r", "Planning"), ("r", "Moving")]


def test_who_needs_no_approval_and_is_paused_is_said_to_be_that(ground):
    ground.look()
    ground.put("Rebalance", "r", {"approval": {"policy": "Auto"}, "paused": True})
    assert ground.look() == "Paused"
    message = condition_of(ground.said.statuses["r"], "Ready")["message"]
    assert message.startswith(
        "nothing begins while spec.paused is true; waits to move 2 partitions"
    )
    assert "approve" not in message
    ground.put("Rebalance", "r", {"paused": False})
    assert ground.look() == "Moving"
