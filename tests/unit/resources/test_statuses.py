"""Whole statuses of resources in every situation, and what becomes of them when time goes on."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.errors import HolderActive, OtherCluster, PoolkeeperError, Refused, Unavailable
from poolkeeper.model.outcomes import Outcome, Phase, State
from poolkeeper.resources.assemblies import assemble
from poolkeeper.resources.objects import Object, ObjectKey
from poolkeeper.resources.statuses import changed, statuses
from unit.resources.bodies import GIB, kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.stages import (
    LATER_MS,
    NOW_MS,
    at_rest,
    conditions,
    planned,
    running,
    seen,
    told,
    with_statuses,
)

MAIN = ObjectKey("KafkaCluster", "", "main")
FAST = ObjectKey("ResourcePool", "", "fast")
SLOW = ObjectKey("ResourcePool", "", "slow")
ORDERS = ObjectKey("Topic", "shop", "orders")

AUTO = kafka_cluster(mode="Apply", approval={"policy": "Auto"})
MANUAL = kafka_cluster(mode="Apply")
POOLS = (pool("fast", 1, 2, 3), pool("slow", 4, 5, 6))
WANTED = topic("orders", "fast", partitions=4, replicationFactor=2)
IN_FAST = kafka_topic("orders", (1, 2), (2, 3), (3, 1), (2, 1), config={"cleanup.policy": "x"})
IN_SLOW = kafka_topic("orders", (4, 5), (5, 6), (6, 4), (5, 4))
FACTS = {"topicName": "orders", "topicId": "id-orders", "partitions": 4, "replicationFactor": 2}


def topic_status(*says: str, generation: int = 1, **fields: Any) -> dict[str, Any]:
    told_of = {"observedGeneration": generation, **fields}
    return told_of | {"conditions": conditions(*says, generation=generation)}


def of(key: ObjectKey, objects: tuple[Object, ...], *topics: Any, **owners: str) -> dict[str, Any]:
    """The status after a pass that planned and waits for nothing special."""
    what = seen(kafka(topics), **owners)
    return told(objects, what, at_rest(assemble(objects)["main"], what))[key]


def hash_of(objects: tuple[Object, ...], *topics: Any) -> str:
    return planned(assemble(objects)["main"], seen(kafka(topics))).hash


def test_a_topic_in_place_is_ready_and_tells_what_others_set() -> None:
    assert of(ORDERS, (AUTO, *POOLS, WANTED), IN_FAST) == topic_status(
        "True",
        "InPlace",
        "in place in pool fast: 4 partitions of 2 replicas",
        **FACTS,
        pool="fast",
        foreignConfig=["cleanup.policy"],
    )


MOVE = "move 4 partitions into pool fast"


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        pytest.param(
            kafka_cluster(),
            (
                "Busy",
                "PlanOnly",
                f"KafkaCluster main is in mode PlanOnly; would {MOVE}; spec.mode: Apply goes on",
            ),
            id="plan-only",
        ),
        pytest.param(
            MANUAL,
            (
                "Busy",
                "WaitingForApproval",
                f"approve plan {{hash}} in KafkaCluster main to {MOVE}",
            ),
            id="manual",
        ),
        pytest.param(
            kafka_cluster(mode="Paused"),
            (
                "Busy",
                "Paused",
                f"KafkaCluster main is in mode Paused; left to do: {MOVE};"
                " spec.mode: Apply goes on",
            ),
            id="paused",
        ),
        pytest.param(AUTO, ("Busy", "Queued", f"about to {MOVE}"), id="auto"),
    ],
)
def test_a_topic_elsewhere_tells_what_lies_between(
    cluster: Object, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, WANTED)
    expected = (*says[:2], says[2].format(hash=hash_of(objects, IN_SLOW)))
    assert of(ORDERS, objects, IN_SLOW) == topic_status(*expected, **FACTS, pool="slow")


@pytest.mark.parametrize(
    ("cluster", "wanted", "found", "says"),
    [
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=4, replicationFactor=2),
            None,
            ("Busy", "Creating", "creating 4 partitions in pool fast"),
            id="created",
        ),
        pytest.param(
            kafka_cluster(),
            topic("orders", "fast", partitions=4, replicationFactor=2),
            None,
            (
                "Busy",
                "PlanOnly",
                "KafkaCluster main is in mode PlanOnly; would create topic orders in pool fast"
                " with 4 partitions; spec.mode: Apply goes on",
            ),
            id="would-be-created",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=4),
            None,
            (
                "Stalled",
                "Impossible",
                "not created: neither the Topic nor pool fast says how many replicas",
            ),
            id="cannot-be-created",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=6),
            IN_FAST,
            ("Busy", "Creating", "adding 2 partitions"),
            id="grows",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=3),
            IN_FAST,
            (
                "Stalled",
                "Impossible",
                "stays at 4 partitions instead of 3: partitions never shrink",
            ),
            id="never-shrinks",
        ),
        pytest.param(
            MANUAL,
            topic("orders", "fast", config={"segment.ms": "60000"}),
            IN_FAST,
            ("Busy", "Configuring", "setting segment.ms"),
            id="configured",
        ),
        pytest.param(
            MANUAL,
            topic("orders", "fast", config={"retention.ms": "5"}),
            kafka_topic("orders", (1, 2), config={"retention.ms": "6"}),
            (
                "Busy",
                "WaitingForApproval",
                "approve plan {hash} in KafkaCluster main to set config retention.ms",
            ),
            id="configured-with-loss",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", paused=True),
            IN_SLOW,
            (
                "Busy",
                "Paused",
                "paused, and not as declared: move 4 partitions into pool fast;"
                " spec.paused: false goes on",
            ),
            id="paused-elsewhere",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", paused=True),
            IN_FAST,
            ("True", "InPlace", "in place in pool fast: 4 partitions of 2 replicas; paused"),
            id="paused-in-place",
        ),
        pytest.param(
            AUTO,
            topic("orders", "nowhere"),
            None,
            ("Stalled", "NoSuchPool", "spec.poolRef: ResourcePool nowhere does not exist"),
            id="no-pool",
        ),
    ],
)
def test_a_topic_says(
    cluster: Object, wanted: Object, found: Any, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, wanted)
    what = seen(kafka(() if found is None else (found,)))
    every = assemble(objects)
    place = next(each for each in every.values() if ORDERS in each.objects)
    main = every["main"]
    status = statuses(place, what, at_rest(main, what), NOW_MS)[ORDERS]
    expected = (*says[:2], says[2].format(hash=planned(main, what).hash))
    assert status["conditions"] == conditions(*expected)


def test_a_topic_over_the_quota_of_its_pool_is_stalled() -> None:
    fast = pool("fast", 1, 2, 3, quotas={"partitions": 6})
    new = topic("new", "fast", partitions=4, replicationFactor=1)
    found = of(new.key, (AUTO, fast, WANTED, new), IN_FAST)
    assert found["conditions"] == conditions(
        "Stalled",
        "QuotaExceeded",
        "not created: pool fast has 4 of 6 partitions and would get 4 more"
        " (spec.quotas.partitions of 8 would do)",
    )


def test_the_loser_of_a_conflict_is_stalled_and_the_owner_is_not() -> None:
    loser = topic("orders", "slow", namespace="bank")
    objects = (AUTO, *POOLS, WANTED, loser)
    assert of(loser.key, objects, IN_FAST, orders="shop/orders") == topic_status(
        "Stalled",
        "TopicConflict",
        "Kafka topic orders belongs to shop/orders, which declared it first; delete one of the"
        " Topics",
        topicName="orders",
    )
    ready = of(ORDERS, objects, IN_FAST, orders="shop/orders")["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("True", "InPlace")


def test_nobody_wins_without_a_record() -> None:
    rival = topic("orders", "slow", namespace="bank")
    objects = (AUTO, *POOLS, WANTED, rival)
    reasons = {of(key, objects, IN_FAST)["conditions"][0]["reason"] for key in (ORDERS, rival.key)}
    assert reasons == {"TopicConflict"}


def test_a_name_that_metrics_cannot_tell_from_another_is_a_conflict() -> None:
    dotted = topic("dotted", "fast", topicName="a.b", partitions=1, replicationFactor=1)
    found = of(dotted.key, (AUTO, *POOLS, dotted), kafka_topic("a_b", (1,)))
    assert found["conditions"] == conditions(
        "Stalled",
        "TopicConflict",
        "Kafka cannot tell a.b from topic a_b in its metrics: choose another name",
    )


def test_a_topic_that_moves_tells_how_far() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    found = told(objects, what, running(assemble(objects)["main"], what, 1))
    assert found[ORDERS] == topic_status(
        "Busy",
        "Moving",
        "moving into pool fast: 1 of 4 partitions, 6 GiB left, about 15 min",
        **FACTS,
        pool="slow",
        moving={"partitions": 4, "done": 1, "bytes": 8 * GIB, "bytesDone": 2 * GIB},
    )
    assert found[FAST]["conditions"] == conditions("Busy", "Moving", "moving: 1 of 4 partitions")


def test_balance_alone_makes_no_topic_unready() -> None:
    crowded = kafka_topic("orders", *[(1, 2)] * 12)
    objects = (MANUAL, *POOLS, topic("orders", "fast"))
    found = of(ORDERS, objects, crowded)["conditions"]
    assert found == conditions(
        "True",
        "InPlace",
        "in place in pool fast: 12 partitions of 2 replicas; 12 partitions could move for balance",
    )
    ready = of(MAIN, objects, crowded)["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("True", "InPlace")
    assert "kubectl patch kafkacluster main" in ready["message"]


CLUSTER_FACTS = {
    "clusterId": "kafka-id",
    "kafkaVersion": "2.8.2",
    "brokers": 6,
    "topics": 1,
    "partitions": 4,
}


def test_a_cluster_in_place() -> None:
    assert of(MAIN, (AUTO, *POOLS, WANTED), IN_FAST) == topic_status(
        "True", "InPlace", "in place", **CLUSTER_FACTS
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
                ' --type=merge -p \'{"spec":{"approval":{"plans":["HASH"]}}}\'',
            ),
            id="manual",
        ),
        pytest.param(
            AUTO, "NotNeeded", ("Busy", "Moving", "about to move 4 partitions (8 GiB)"), id="auto"
        ),
    ],
)
def test_a_cluster_with_a_plan_tells_the_next_step(
    cluster: Object, approval: str, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, WANTED)
    name = hash_of(objects, IN_SLOW)
    assert of(MAIN, objects, IN_SLOW) == topic_status(
        *says[:2],
        says[2].replace("HASH", name),
        **CLUSTER_FACTS,
        plan={"hash": name, "moves": 4, "bytes": 8 * GIB, "approval": approval},
    )


def test_an_approved_plan_waits_for_what_the_loop_says() -> None:
    name = hash_of((MANUAL, *POOLS, WANTED), IN_SLOW)
    approved = kafka_cluster(mode="Apply", approval={"plans": [name]})
    objects = (approved, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = at_rest(assemble(objects)["main"], what, "outside the windows for stages")
    found = told(objects, what, outcome)
    assert found[MAIN]["plan"]["approval"] == "Approved"
    assert found[MAIN]["conditions"] == conditions(
        "Busy", "Waiting", "waits to move 4 partitions (8 GiB): outside the windows for stages"
    )
    assert found[ORDERS]["conditions"] == conditions(
        "Busy",
        "Waiting",
        "waits to move 4 partitions into pool fast: outside the windows for stages",
    )


def test_a_cluster_that_moves_tells_how_far() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1)
    assert told(objects, what, outcome)[MAIN] == topic_status(
        "Busy",
        "Moving",
        "stage 2: 1 of 4 moves done, 6 GiB left, about 15 min",
        **CLUSTER_FACTS,
        plan={
            "hash": hash_of(objects, IN_SLOW),
            "moves": 4,
            "bytes": 8 * GIB,
            "movesDone": 1,
            "bytesDone": 2 * GIB,
            "stage": 2,
            "secondsLeft": 900,
            "approval": "Approved",
        },
    )


def test_what_a_run_waits_for_is_said_and_its_other_phases_too() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1, phase=Phase.RESTORING)
    outcome = replace(outcome, waits=("stage 2: 1 of 4 arrived", "broker 2 is not live"))
    assert told(objects, what, outcome)[MAIN]["conditions"] == conditions(
        "Busy", "Moving", "restoring throttles; waits: broker 2 is not live"
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
            OtherCluster("this is another cluster"),
            ("Stalled", "OtherCluster", "this is another cluster"),
            id="another-cluster",
        ),
        pytest.param(
            HolderActive("host-2 works on it"),
            ("Unsure", "Waiting", "host-2 works on it"),
            id="somebody-else-holds-it",
        ),
        pytest.param(
            Refused("the throttle can never catch up"),
            ("Stalled", "Impossible", "the throttle can never catch up"),
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
        "KafkaCluster main cannot be looked at; its status says why",
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
    assert found[MAIN] == topic_status("Unsure", "Waiting", "it has not been looked at yet")


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


def test_a_pool_in_place_tells_what_lives_in_it() -> None:
    fast = pool("fast", 1, 2, 3, quotas={"topics": 5, "perNamespace": {"shop": {"topics": 2}}})
    found = of(FAST, (AUTO, fast, POOLS[1], WANTED), IN_FAST)
    assert found == topic_status(
        "True",
        "InPlace",
        "in place",
        brokers=3,
        topics=1,
        partitions=4,
        replicas=8,
        quota={"topics": 1, "partitions": 4, "topicsMax": 5},
    )


def test_a_pool_that_is_drained_tells_what_is_left() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    objects = (MANUAL, fast, POOLS[1], topic("orders", "fast"))
    found = of(FAST, objects, IN_FAST)
    assert found == topic_status(
        "Busy",
        "WaitingForApproval",
        f"approve plan {hash_of(objects, IN_FAST)} in KafkaCluster main; broker 1 holds 3 replicas",
        brokers=3,
        topics=1,
        partitions=4,
        replicas=8,
        draining=[{"broker": 1, "replicas": 3}],
    )


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        pytest.param(
            topic("orders", "fast"),
            "orders: 3 replicas cannot leave broker 1: 3 replicas need 3 brokers; usable: 2, 3;"
            " 1 is drained. What helps: undrain 1, or add a broker",
            id="too-few-brokers-are-left",
        ),
        pytest.param(
            None,
            "no Topic, claim or default pool lets them be moved",
            id="nobody-declares-the-topic",
        ),
    ],
)
def test_what_cannot_leave_a_drained_broker_is_named(wanted: Object | None, why: str) -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    full = kafka_topic("orders", (2, 1, 3), (2, 3, 1), (3, 2, 1))
    objects = (AUTO, fast, *([wanted] if wanted else []))
    assert of(FAST, objects, full)["conditions"] == conditions(
        "Stalled", "Impossible", f"broker 1 keeps 3 replicas (orders): {why}"
    )


def test_a_drained_broker_is_listed_once_it_is_empty() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    found = of(FAST, (AUTO, fast, topic("orders", "fast")), kafka_topic("orders", (2, 3), (3, 2)))
    assert (found["drained"], found.get("draining")) == ([1], None)
    assert found["conditions"][0]["status"] == "True"


def test_a_pool_is_kept_while_topics_name_it() -> None:
    fast = pool("fast", 1, 2, 3, deleting=True, guarded=True)
    assert of(FAST, (AUTO, fast, WANTED), IN_FAST)["conditions"] == conditions(
        "Busy", "Deleting", "kept while Topics name it: shop/orders"
    )


GOING = topic("orders", "fast", deleting=True, guarded=True, deletionPolicy="Delete")
KEEP = "spec.deletionPolicy: Retain lets this Topic go and keeps the data"


@pytest.mark.parametrize(
    ("cluster", "owner", "message"),
    [
        pytest.param(AUTO, "shop/orders", "Kafka topic orders is being deleted", id="auto"),
        pytest.param(
            MANUAL,
            "shop/orders",
            f"approve plan HASH in KafkaCluster main to delete Kafka topic orders; {KEEP}",
            id="manual",
        ),
        pytest.param(
            kafka_cluster(),
            "shop/orders",
            f"KafkaCluster main is in mode PlanOnly: nothing is deleted; {KEEP}",
            id="plan-only",
        ),
        pytest.param(AUTO, "bank/orders", "its Kafka topic is kept", id="not-its-own"),
    ],
)
def test_a_topic_that_is_being_deleted(cluster: Object, owner: str, message: str) -> None:
    objects = (cluster, *POOLS, GOING)
    what = seen(kafka([IN_FAST]), orders=owner)
    place = assemble(objects)["main"]
    found = told(objects, what, at_rest(place, what))[ORDERS]["conditions"]
    expected = message.replace("HASH", planned(place, what).hash)
    assert found == conditions("Busy", "Deleting", expected)


def test_a_topic_that_is_being_deleted_says_who_else_names_its_kafka_topic() -> None:
    homeless = topic("mine", "absent", namespace="bank", topicName="orders")
    objects = (AUTO, *POOLS, GOING, homeless)
    what = seen(kafka([IN_FAST]), orders="shop/orders")
    place = assemble(objects)["main"]
    found = told(objects, what, at_rest(place, what))[ORDERS]["conditions"]
    expected = "its Kafka topic is kept, which is named by bank/mine, too"
    assert found == conditions("Busy", "Deleting", expected)


def test_torn_topics_are_left_as_they_were_told() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    before = told(objects, what, at_rest(assemble(objects)["main"], what))
    torn = replace(what, cluster=replace(kafka(), torn=frozenset({"orders"})))
    outcome = at_rest(assemble(objects)["main"], torn)
    after = told(with_statuses(objects, before), torn, outcome, LATER_MS)
    assert after[ORDERS] == before[ORDERS]


def test_times_are_those_of_transitions() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    outcome = at_rest(assemble(objects)["main"], what)
    before = told(objects, what, outcome)
    written = with_statuses(objects, before)
    assert told(written, what, outcome, LATER_MS) == before
    assert changed(assemble(written)["main"], told(written, what, outcome, LATER_MS)) == {}
    away = told(written, None, Outcome(State.WAITING, error=Unavailable("gone")), LATER_MS)
    times = {each["type"]: each["lastTransitionTime"] for each in away[ORDERS]["conditions"]}
    assert times == {
        "Ready": "2023-11-14T23:13:20Z",
        "Reconciling": "2023-11-14T23:13:20Z",
    }


def test_a_waiting_cluster_is_not_written_because_its_topics_grow() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = at_rest(assemble(objects)["main"], what)
    written = with_statuses(objects, told(objects, what, outcome))
    place = assemble(written)["main"]
    grown = seen(kafka([kafka_topic("orders", (4, 5), (5, 6), (6, 4), (5, 4), size=3 * GIB)]))
    assert changed(place, told(written, grown, at_rest(place, grown), LATER_MS)) == {}


def test_a_run_is_written_in_steps_and_not_whenever_its_rate_changes() -> None:
    lists = [(4, 5)] * 400
    objects: tuple[Object, ...] = (MANUAL, *POOLS, topic("orders", "fast"))
    what = seen(kafka([kafka_topic("orders", *lists)]))
    outcome = running(assemble(objects)["main"], what, 0)
    assert outcome.progress is not None
    writes: dict[ObjectKey, int] = {}
    for tick in range(601):
        arrived = tick * 400 // 600
        progress = replace(
            outcome.progress,
            moves_done=arrived,
            bytes_done=outcome.progress.bytes_total * tick // 600,
            seconds_left=600.0 - tick + (tick * 7919) % 400,
            arrived=frozenset(range(arrived)),
        )
        place = assemble(objects)["main"]
        now = NOW_MS + 1000 * tick
        new = changed(place, statuses(place, what, replace(outcome, progress=progress), now))
        for key in new:
            writes[key] = writes.get(key, 0) + 1
        objects = with_statuses(objects, dict(new))
    assert 40 <= writes[MAIN] <= 85
    assert 20 <= writes[ORDERS] <= 45
    assert 20 <= writes[FAST] <= 25


def test_the_order_of_lists_and_the_conditions_of_others_are_no_change() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    found = told(objects, what, at_rest(assemble(objects)["main"], what))
    live = {
        key: {**status, "conditions": [*reversed(status["conditions"]), {"type": "Audited"}]}
        for key, status in found.items()
    }
    place = assemble(with_statuses(objects, live))["main"]
    assert changed(place, found) == {}
    ready = {**found[ORDERS], "partitions": 5}
    assert changed(place, {**found, ORDERS: ready}) == {ORDERS: ready}
