"""Events: transitions only, and thousands of Topics do not speak for their cluster."""

from typing import Any

import pytest

from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.resources.status.events import NOTE_MAX, StatusEvent, status_events
from unit.resources.stages import conditions

TOPIC = ObjectKey("Topic", "shop", "orders")
POOL = ObjectKey("ResourcePool", "", "fast")
CLUSTER = ObjectKey("KafkaCluster", "", "main")


def status(ready: str, reason: str, message: str = "so it is", **fields: Any) -> dict[str, Any]:
    return {**fields, "conditions": conditions(ready, reason, message)}


IN_PLACE = status("True", "InPlace")
RUN = {"hash": "sha256:aa", "approval": "Approved", "stage": 3}
ASKED = [{"namespace": "shop", "hash": "sha256:aa", "topics": 3000}]
MORE = [{**ASKED[0], "hash": "sha256:bb", "topics": 3001}]
WAITS = {"hash": "sha256:aa", "approval": "Waiting"}


@pytest.mark.parametrize(
    ("key", "before", "after", "expected"),
    [
        pytest.param(TOPIC, None, IN_PLACE, [], id="found-in-place"),
        pytest.param(TOPIC, IN_PLACE, IN_PLACE, [], id="nothing-changes"),
        pytest.param(
            TOPIC,
            status("Busy", "Creating"),
            status("True", "InPlace", partitions=3),
            [("Normal", "Created")],
            id="created",
        ),
        pytest.param(
            TOPIC,
            status("Busy", "Creating"),
            status("Busy", "Creating", partitions=3),
            [("Normal", "Created")],
            id="created-and-not-led-yet",
        ),
        pytest.param(
            TOPIC,
            status("Busy", "Creating", partitions=3),
            status("True", "InPlace", partitions=3),
            [],
            id="led-at-last",
        ),
        pytest.param(
            TOPIC,
            status("Busy", "Creating", partitions=3),
            status("True", "InPlace", partitions=5),
            [("Normal", "PartitionsAdded")],
            id="grown",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "Creating", partitions=3),
            IN_PLACE,
            [("Normal", "Created")],
            id="a-topic-created",
        ),
        pytest.param(TOPIC, status("Busy", "Moving"), IN_PLACE, [("Normal", "Moved")], id="moved"),
        pytest.param(TOPIC, status("Busy", "AdoptionRequired"), IN_PLACE, [], id="taken-over"),
        pytest.param(
            CLUSTER,
            IN_PLACE,
            {**IN_PLACE, "adoptions": ASKED},
            [("Normal", "AdoptionRequired")],
            id="a-namespace-asks",
        ),
        pytest.param(
            CLUSTER,
            {**IN_PLACE, "adoptions": ASKED},
            {**IN_PLACE, "adoptions": MORE},
            [],
            id="a-namespace-that-asks-asks-for-more",
        ),
        pytest.param(
            TOPIC,
            status("Busy", "Configuring"),
            IN_PLACE,
            [("Normal", "Configured")],
            id="configured",
        ),
        pytest.param(
            TOPIC, status("Busy", "PlanOnly"), IN_PLACE, [("Normal", "InPlace")], id="by-others"
        ),
        pytest.param(
            TOPIC,
            IN_PLACE,
            status("Stalled", "Impossible", "3 replicas need 3 brokers"),
            [("Warning", "Impossible")],
            id="stalled",
        ),
        pytest.param(
            TOPIC,
            None,
            status("Stalled", "Invalid"),
            [("Warning", "Invalid")],
            id="wrong-from-the-start",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "Impossible", "one reason"),
            status("Stalled", "Impossible", "the same in other words"),
            [],
            id="still-stalled",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "Impossible"),
            status("Stalled", "QuotaExceeded"),
            [("Warning", "QuotaExceeded")],
            id="stalled-for-another-reason",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "Impossible"),
            IN_PLACE,
            [("Normal", "Recovered")],
            id="recovered",
        ),
        pytest.param(TOPIC, IN_PLACE, status("Busy", "ElectionPending"), [], id="leaderless"),
        pytest.param(TOPIC, status("Busy", "ElectionPending"), IN_PLACE, [], id="led-again"),
        pytest.param(
            TOPIC,
            status("Stalled", "PartitionsOffline"),
            status("Busy", "ElectionPending"),
            [("Normal", "ElectionPending")],
            id="about-to-be-led-again",
        ),
        pytest.param(
            POOL,
            status("Busy", "BrokersMissing"),
            IN_PLACE,
            [("Normal", "Recovered")],
            id="brokers-are-back",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "NoController"),
            IN_PLACE,
            [("Normal", "Recovered")],
            id="a-controller-is-elected",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "Invalid"),
            status("Busy", "Queued"),
            [("Normal", "Recovered")],
            id="mended-and-queued",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "TopicConflict"),
            status("Busy", "AdoptionRequired"),
            [("Normal", "AdoptionRequired")],
            id="a-person-has-to-act-again",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "TopicConflict"),
            status("Busy", "TopicConflict"),
            [("Normal", "TopicConflict")],
            id="its-rival-is-being-deleted-with-the-topic",
        ),
        pytest.param(
            TOPIC,
            status("Stalled", "NoSuchPool"),
            status("Unsure", "Unreachable"),
            [("Warning", "Unreachable")],
            id="nobody-knows-whether-it-is-mended",
        ),
        pytest.param(
            TOPIC,
            IN_PLACE,
            status("Busy", "WaitingForApproval"),
            [],
            id="its-cluster-asks-for-approval",
        ),
        pytest.param(
            TOPIC, IN_PLACE, status("Unsure", "Unreachable"), [], id="its-cluster-is-away"
        ),
        pytest.param(
            TOPIC, status("Unsure", "Unreachable"), IN_PLACE, [], id="its-cluster-is-back"
        ),
        pytest.param(
            TOPIC, IN_PLACE, status("Busy", "Deleting"), [("Normal", "Deleting")], id="deleted"
        ),
        pytest.param(
            CLUSTER,
            IN_PLACE,
            status("Busy", "WaitingForApproval", plan=WAITS),
            [("Normal", "WaitingForApproval")],
            id="approval-needed",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "WaitingForApproval", plan=WAITS),
            status("Busy", "WaitingForApproval", plan={**WAITS, "hash": "sha256:bb"}),
            [("Normal", "PlanChanged")],
            id="another-plan-to-approve",
        ),
        pytest.param(
            CLUSTER,
            IN_PLACE,
            status("True", "InPlace", plan=WAITS),
            [("Normal", "PlanChanged")],
            id="a-plan-of-balance-alone",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "WaitingForApproval", plan=WAITS),
            status("Busy", "Moving", plan=RUN),
            [("Normal", "Moving")],
            id="run-begun",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "Moving", plan=RUN),
            IN_PLACE,
            [("Normal", "Moved"), ("Normal", "RunEnded")],
            id="run-ended",
        ),
        pytest.param(
            CLUSTER,
            status("Busy", "Moving", plan={"stage": 3}),
            IN_PLACE,
            [("Normal", "Moved"), ("Normal", "RunEnded")],
            id="the-plan-was-written-by-somebody-else-without-a-hash",
        ),
        pytest.param(
            CLUSTER,
            IN_PLACE,
            status("Unsure", "Unreachable"),
            [("Warning", "Unreachable")],
            id="away",
        ),
        pytest.param(
            CLUSTER,
            status("Unsure", "Unreachable"),
            IN_PLACE,
            [("Normal", "Recovered")],
            id="back",
        ),
        pytest.param(
            POOL,
            status("Busy", "Moving", draining=[{"broker": 3, "replicas": 1}], drained=[2]),
            status("True", "InPlace", drained=[2, 3]),
            [("Normal", "Moved"), ("Normal", "Drained")],
            id="a-broker-is-empty",
        ),
        pytest.param(
            POOL, IN_PLACE, status("True", "InPlace", drained=[2]), [], id="it-was-empty-before"
        ),
    ],
)
def test_events_of_a_transition(
    key: ObjectKey,
    before: dict[str, Any] | None,
    after: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    found = status_events(key, before, after)
    assert [(each.type, each.reason) for each in found] == expected
    assert status_events(key, after, after) == ()


def test_the_note_of_an_event_says_what_the_condition_says() -> None:
    after = status("Stalled", "Impossible", "x" * 2000)
    assert status_events(TOPIC, None, after) == (
        StatusEvent("Warning", "Impossible", "x" * NOTE_MAX),
    )


def test_the_line_that_lets_a_namespace_adopt_topics_names_the_cluster() -> None:
    (asked,) = status_events(CLUSTER, IN_PLACE, {**IN_PLACE, "adoptions": ASKED})
    assert asked.note == (
        "namespace shop asks to take over topics that exist: to let it, `kubectl poolkeeper"
        " approve adoption/shop -c main`"
    )


def test_an_empty_broker_is_named() -> None:
    before = status("Busy", "Moving", draining=[{"broker": 3, "replicas": 1}])
    after = status("Busy", "Moving", drained=[3])
    assert status_events(POOL, before, after) == (
        StatusEvent("Normal", "Drained", "broker 3 is empty"),
    )


def test_what_is_over_is_named_where_something_else_keeps_it_from_being_ready() -> None:
    before = status("Stalled", "NoSuchPool")
    waiting = status("Busy", "Waiting", "brokers 1, 2 are in two pools")
    (told,) = status_events(TOPIC, before, waiting)
    assert told.note == "no longer NoSuchPool; brokers 1, 2 are in two pools"
