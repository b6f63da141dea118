"""Whole statuses of clusters in every situation."""

from dataclasses import replace

import pytest

from builders import plan
from poolkeeper.errors import (
    DamagedNode,
    HolderActive,
    NodeDamage,
    OtherCluster,
    PoolkeeperError,
    Refused,
    SecretForbidden,
    Unavailable,
)
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.records import BrokerRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir, Part
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.all_resources import statuses
from unit.resources.bodies import GIB, kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.situations import (
    AUTO,
    CLUSTER_FACTS,
    FACTS,
    FAST,
    IN_FAST,
    IN_SLOW,
    MAIN,
    MANUAL,
    ORDERS,
    POOLS,
    SLOW,
    WANTED,
    hash_of,
    of,
    topic_status,
)
from unit.resources.stages import (
    LATER_MS,
    NOW_MS,
    at_rest,
    conditions,
    seen,
    told,
    with_statuses,
)

CLOSED = Wait(WaitReason.OUTSIDE_WINDOW, until="tomorrow")


def test_brokers_that_were_taken_out_of_service_are_not_missed() -> None:
    """Broker 8 is recorded and has a replica; 9 was declared once, or mistyped."""
    recorded = {8: BrokerRecord(), 9: BrokerRecord(missing_since_s=1)}
    objects = (AUTO, *POOLS)
    what = seen(kafka([kafka_topic("other", (1, 8))]))
    what = replace(what, records=replace(what.records, brokers=recorded))
    found = told(objects, what, at_rest(assemble(objects)["main"], what))[MAIN]
    assert found["brokersUp"] == "6/7"


def test_a_cluster_in_place() -> None:
    assert of(MAIN, (AUTO, *POOLS, WANTED), IN_FAST) == topic_status(
        "True", "InPlace", "in place", **CLUSTER_FACTS
    )


def test_a_cluster_in_place_names_the_pools_that_a_person_must_see_to() -> None:
    pools = (pool("fast", 1, 2, 3, drain=[1, 2, 3]), *POOLS[1:])
    found = of(MAIN, (AUTO, *pools, WANTED), IN_FAST)
    ready = next(each for each in found["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["message"].split(";")[0]) == (
        "True",
        "in place, but for ResourcePool fast: see there",
    )


def test_a_cluster_in_place_with_throttles_that_nobody_accounts_for() -> None:
    objects = (AUTO, *POOLS, WANTED)
    throttled = (Wait(WaitReason.THROTTLES_UNACCOUNTED, brokers=(3,)),)
    what = replace(seen(kafka([IN_FAST])), unaccounted=throttled)
    outcome = at_rest(assemble(objects)["main"], what)
    assert told(objects, what, outcome)[MAIN]["conditions"] == conditions(
        "True",
        "InPlace",
        "in place; no run accounts for the throttles on broker 3: if nobody needs them, remove them"
        " with kafka-configs or `poolkeeper repair --remove-unaccounted-throttles`",
    )


@pytest.mark.parametrize(
    ("cluster", "approval", "says"),
    [
        pytest.param(
            kafka_cluster(),
            "Waiting",
            (
                "Busy",
                "PlanOnly",
                "would move 4 partitions (8 GiB); the mode is PlanOnly: kubectl patch kafkacluster"
                ' main --type=merge -p \'{"spec":{"mode":"Apply"}}\'',
            ),
            id="plan-only",
        ),
        pytest.param(
            MANUAL,
            "Waiting",
            (
                "Busy",
                "WaitingForApproval",
                "waits to move 4 partitions (8 GiB); approve HASH: kubectl patch kafkacluster main"
                ' --type=json -p \'[{"op":"add","path":"/spec/approval/plans/-","value":"HASH"}]\'',
            ),
            id="manual",
        ),
        pytest.param(
            AUTO, "NotNeeded", ("Busy", "Moving", "about to move 4 partitions (8 GiB)"), id="auto"
        ),
    ],
)
def test_a_cluster_with_a_plan_tells_the_next_step(
    cluster: CustomResource, approval: str, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, WANTED)
    name = hash_of(objects, IN_SLOW)
    assert of(MAIN, objects, IN_SLOW) == topic_status(
        *says[:2],
        says[2].replace("HASH", name),
        **CLUSTER_FACTS,
        plan={"hash": name, "moves": 4, "bytes": 8 * GIB, "approval": approval},
        **({"waits": "ApprovalRequired"} if says[1] == "WaitingForApproval" else {}),
    )


def test_what_needs_no_approval_is_not_said_to_wait_for_one() -> None:
    new = topic("new", "fast", partitions=4, replicationFactor=1)
    objects = (MANUAL, *POOLS, WANTED, new)
    message = of(MAIN, objects, IN_SLOW)["conditions"][0]["message"]
    assert message.startswith("waits to move 4 partitions (8 GiB); approve sha256:")


def test_a_plan_that_only_moves_between_log_directories_waits_for_approval() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    outcome = at_rest(assemble(objects)["main"], what)
    copy = MoveLogDir("orders", 0, 1, "/d1", "/d2", 1)
    copies = plan(steps=(copy,))
    waits = (Wait(WaitReason.APPROVAL_REQUIRED, hash=copies.hash),)
    found = told(objects, what, replace(outcome, plan=copies, fresh=copies, waits=waits))[MAIN]
    assert found["plan"]["approval"] == "Waiting"
    ready = found["conditions"][0]
    assert ready["reason"] == "WaitingForApproval"
    assert ready["message"].startswith("waits to move between log directories 1 replica; approve")


def test_an_approved_plan_waits_for_what_the_loop_says() -> None:
    name = hash_of((MANUAL, *POOLS, WANTED), IN_SLOW)
    approved = kafka_cluster(mode="Apply", approval={"plans": [name]})
    objects = (approved, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = at_rest(assemble(objects)["main"], what, CLOSED)
    found = told(objects, what, outcome)
    outside = "outside spec.execution.windows: the next window opens tomorrow"
    assert found[MAIN]["plan"]["approval"] == "Approved"
    assert found[MAIN]["conditions"] == conditions(
        "Busy",
        "Waiting",
        f"waits to move 4 partitions (8 GiB): {outside}",
    )
    assert found[ORDERS]["conditions"] == conditions(
        "Busy",
        "Waiting",
        f"waits to move 4 partitions into pool fast: {outside}",
    )


SOME = "sha256:" + "7" * 64
PARTS = (
    Part("drain", SOME, "f", moves=(0, 1)),
    Part("balance", SOME, "f", ("drain",), (2, 3)),
    Part("topic/old", SOME, "f", steps=(0,)),
)


def test_the_parts_of_a_plan_are_listed_with_what_is_approved_of_them() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    asked = plan(fingerprint="f", parts=PARTS)
    resting = at_rest(assemble(objects)["main"], what, Wait(WaitReason.APPROVAL_REQUIRED))
    outcome = replace(resting, asked=asked, approved_parts=frozenset({"drain"}))
    found = told(objects, what, replace(outcome, approved_by="part drain approved by jane"))
    assert found[MAIN]["plan"]["approvedBy"] == "part drain approved by jane"
    assert found[MAIN]["plan"]["approval"] == "Approved"
    assert found[MAIN]["plan"]["parts"] == [
        {"name": "drain", "hash": SOME, "moves": 2, "approval": "Approved"},
        {"name": "balance", "hash": SOME, "moves": 2, "approval": "Waiting", "after": ["drain"]},
        {"name": "topic/old", "hash": SOME, "moves": 0, "approval": "Waiting"},
    ]
    assert "approvedBy" not in told(objects, what, outcome)[MAIN]["plan"]


def test_approvals_without_effect_are_told_before_the_line_that_approves() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    name = hash_of(objects, IN_SLOW)
    what = seen(kafka([IN_SLOW]))
    waits = (
        Wait(WaitReason.PREDECESSORS_NOT_APPROVED, name="balance", names=("heal", "drain")),
        Wait(
            WaitReason.APPROVAL_UNMATCHED,
            hash=SOME,
            cause=Wait(WaitReason.APPROVAL_REQUIRED, hash=name),
        ),
    )
    outcome = at_rest(assemble(objects)["main"], what, *waits)
    (ready, *_) = told(objects, what, replace(outcome, approvers_verified=True))[MAIN]["conditions"]
    assert ready["message"] == (
        "waits to move 4 partitions (8 GiB); part balance is approved and comes after heal, drain:"
        f" approve that, too; the approval of {SOME} fits no plan that waits: that plan was carried"
        " out, or another one took its place; now the cluster waits for approval of"
        f" {name}; approve {name}: kubectl patch kafkacluster main --type=json -p"
        f""" '[{{"op":"add","path":"/spec/approval/plans/-","value":"{name}"}},"""
        f"""{{"op":"add","path":"/spec/approval/by/{name}","value":"'"$(kubectl auth whoami"""
        """ -o jsonpath={.status.userInfo.username})"'"}]'"""
    )


def test_balance_that_waits_says_until_when_and_the_cluster_is_in_place() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    resting = at_rest(assemble(objects)["main"], what)
    outcome = replace(resting, balance_waits_until_ms=LATER_MS)
    assert told(objects, what, outcome)[MAIN] == topic_status(
        "True",
        "InPlace",
        "in place; balance waits until 2023-11-14T23:13:20Z",
        **CLUSTER_FACTS,
        balanceWaitsUntil="2023-11-14T23:13:20Z",
    )


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(
            Unavailable("zk:2181 refused"),
            ("Unsure", "Unreachable", "zk:2181 refused"),
            id="zookeeper-away",
        ),
        pytest.param(
            SecretForbidden("Secret ops/zk may not be read"),
            ("Stalled", "SecretForbidden", "Secret ops/zk may not be read"),
            id="a-secret-that-the-chart-does-not-list",
        ),
        pytest.param(
            OtherCluster("this is another cluster"),
            ("Stalled", "OtherCluster", "this is another cluster"),
            id="another-cluster",
        ),
        pytest.param(
            DamagedNode(NodeDamage("/poolkeeper/run", "it is empty")),
            (
                "Stalled",
                "DamagedNode",
                "/poolkeeper/run is damaged: it is empty; see `poolkeeper repair`",
            ),
            id="a-node-of-ours-is-damaged",
        ),
        pytest.param(
            HolderActive("poolkeeper run on a"),
            (
                "Unsure",
                "Waiting",
                "another executor is active on this cluster: poolkeeper run on a",
            ),
            id="somebody-else-holds-it",
        ),
        pytest.param(
            Refused("the throttle is too low for a move to catch up"),
            ("Stalled", "Impossible", "the throttle is too low for a move to catch up"),
            id="refused",
        ),
    ],
)
def test_trouble_is_told_and_the_rest_stays_as_it_was(
    error: PoolkeeperError, says: tuple[str, str, str]
) -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    before = told(objects, what, at_rest(assemble(objects)["main"], what))
    written = with_statuses(objects, before)
    away = told(written, None, Outcome(State.WAITING, error=error))
    assert away[MAIN] == topic_status(*says, **CLUSTER_FACTS)
    assert away[ORDERS] == topic_status(
        "Unsure",
        "Unreachable",
        "KafkaCluster main cannot be read; see its status",
        **{key: value for key, value in before[ORDERS].items() if key in FACTS},
        pool="fast",
        foreignConfig=["cleanup.policy"],
    )
    assert {k: v for k, v in away[FAST].items() if k != "conditions"} == {
        k: v for k, v in before[FAST].items() if k != "conditions"
    }


def test_before_the_first_pass_nothing_is_known() -> None:
    objects = (AUTO, *POOLS, WANTED)
    found = dict(statuses(assemble(objects)["main"], None, now_ms=NOW_MS))
    assert found[MAIN] == topic_status("Unsure", "Waiting", "the cluster has not been observed yet")


def test_what_holds_a_cluster_is_said_of_all_of_it() -> None:
    broken = pool("slow", 4, drain=[9])
    objects = (AUTO, POOLS[0], broken, WANTED)
    found = told(objects, None, Outcome(State.WAITING))
    hold = "nothing is done: ResourcePool slow is invalid"
    assert found[MAIN]["conditions"] == conditions("Unsure", "Waiting", hold)
    assert found[ORDERS]["conditions"] == conditions("Unsure", "Waiting", hold)
    assert found[FAST]["conditions"] == conditions("Unsure", "Waiting", hold)
    assert found[SLOW]["conditions"] == conditions(
        "Stalled",
        "Invalid",
        "spec.drain[0]: broker 9 is not in the pool (expected one of spec.brokers)",
    )


def test_torn_topics_are_left_as_they_were_told() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    before = told(objects, what, at_rest(assemble(objects)["main"], what))
    torn = replace(what, cluster=replace(kafka(), torn=frozenset({"orders"})))
    outcome = at_rest(assemble(objects)["main"], torn)
    after = told(with_statuses(objects, before), torn, outcome, LATER_MS)
    assert after[ORDERS] == before[ORDERS]
