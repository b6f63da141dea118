"""A run that stays in another Kafka cluster, as the KafkaCluster's address leads elsewhere now."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.errors import OtherCluster
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.events import status_events
from poolkeeper.resources.status.left_run import TOLD_MS
from unit.resources.bodies import kafka, kafka_cluster
from unit.resources.situations import IN_FAST, IN_SLOW, MAIN, POOLS, WANTED
from unit.resources.stages import NOW_MS, at_rest, running, seen, told, with_statuses

AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}
BEFORE = (kafka_cluster(**AUTO), *POOLS, WANTED)
MEANT = kafka_cluster(connect="other:2181", clusterId="other-id", **AUTO)
TOLD = (
    "with its throttles in Kafka cluster kafka-id at zk:2181/kafka: `poolkeeper status --zookeeper"
    " zk:2181/kafka` tells of it; declare that cluster again, and it is taken up, or `poolkeeper"
    " stop --zookeeper zk:2181/kafka` and `poolkeeper apply` end it"
)

Objects = tuple[CustomResource, ...]


def in_mid_run() -> Objects:
    what = seen(kafka([IN_SLOW]))
    return with_statuses(BEFORE, told(BEFORE, what, running(assemble(BEFORE)["main"], what, 1)))


def led_to(objects: Objects, cluster: CustomResource) -> Objects:
    """The same resources, and the KafkaCluster with another spec."""
    return (replace(cluster, status=objects[0].status), *objects[1:])


def at(objects: Objects, cluster_id: str, now_ms: int = NOW_MS) -> Objects:
    """The resources after a pass over a cluster with that id that is in place."""
    what = seen(replace(kafka([IN_FAST]), id=cluster_id))
    found = told(objects, what, at_rest(assemble(objects)["main"], what), now_ms)
    return with_statuses(objects, found)


def status_of(objects: Objects) -> Any:
    return objects[0].status


def message_of(objects: Objects) -> str:
    return str(status_of(objects)["conditions"][0]["message"])


def events_of(before: Objects, after: Objects) -> list[tuple[str, str]]:
    found = status_events(MAIN, status_of(before), status_of(after))
    return [(each.type, each.reason) for each in found]


def test_a_run_that_is_left_is_told_and_not_said_to_have_ended() -> None:
    before = in_mid_run()
    plan = status_of(before)["plan"]["hash"]
    after = at(led_to(before, MEANT), "other-id")
    assert status_of(after)["leftRun"] == {
        "clusterId": "kafka-id",
        "connect": "zk:2181/kafka",
        "plan": plan,
        "time": "2023-11-14T22:13:20Z",
    }
    assert status_of(after)["connect"] == "other:2181"
    assert message_of(after) == f"in place; a run (plan {plan}) was left {TOLD}"
    assert ("Warning", "RunLeftBehind") in events_of(before, after)
    assert "RunEnded" not in dict.fromkeys(reason for _, reason in events_of(before, after))


def test_it_is_told_once_and_for_a_week() -> None:
    left = at(led_to(in_mid_run(), MEANT), "other-id")
    later = at(left, "other-id", NOW_MS + TOLD_MS - 1000)
    assert status_of(later)["leftRun"] == status_of(left)["leftRun"]
    assert events_of(left, later) == []
    assert "leftRun" not in status_of(at(later, "other-id", NOW_MS + TOLD_MS))


@pytest.mark.parametrize(
    "written", ["0000-01-01T00:00:00Z", "2023-11-14T22:13:20+99:99", "9999-12-31T23:59:59Z"]
)
def test_a_time_that_somebody_else_wrote_is_told_for_a_week_from_then(written: str) -> None:
    left = at(led_to(in_mid_run(), MEANT), "other-id")
    status_of(left)["leftRun"]["time"] = written
    after = at(left, "other-id")
    assert status_of(after)["leftRun"]["time"] == "2023-11-14T22:13:20Z"
    assert "leftRun" not in status_of(at(after, "other-id", NOW_MS + TOLD_MS))


def test_it_is_told_no_more_where_the_address_leads_there_again() -> None:
    left = at(led_to(in_mid_run(), MEANT), "other-id")
    assert "leftRun" not in status_of(at(led_to(left, BEFORE[0]), "kafka-id"))


def test_the_same_cluster_at_another_address_leaves_nothing() -> None:
    before = in_mid_run()
    after = at(led_to(before, kafka_cluster(connect="zk-2:2181/kafka", **AUTO)), "kafka-id")
    assert "leftRun" not in status_of(after)
    assert ("Normal", "RunEnded") in events_of(before, after)


def test_a_cluster_without_a_run_leaves_nothing() -> None:
    before = at(BEFORE, "kafka-id")
    assert "leftRun" not in status_of(at(led_to(before, MEANT), "other-id"))


def test_a_status_of_an_earlier_release_has_no_address() -> None:
    before = in_mid_run()
    del status_of(before)["connect"]
    after = at(led_to(before, MEANT), "other-id")
    assert message_of(after).endswith(
        "in Kafka cluster kafka-id: declare that cluster again, and it is taken up"
    )


@pytest.mark.parametrize(
    ("error", "adds"),
    [
        pytest.param(
            OtherCluster("this is another cluster", "other-id"),
            "; the run under way (plan HASH) stays meanwhile with its throttles in cluster kafka-id"
            " at zk:2181/kafka",
            id="another-cluster",
        ),
        pytest.param(OtherCluster("the node is missing"), "", id="a-cluster-without-an-id"),
        pytest.param(OtherCluster("a twin", "kafka-id"), "", id="the-same-cluster"),
    ],
)
def test_what_stays_is_told_while_the_other_cluster_is_not_meant(
    error: OtherCluster, adds: str
) -> None:
    before = in_mid_run()
    objects = led_to(before, kafka_cluster(connect="other:2181", **AUTO))
    after = with_statuses(objects, told(objects, None, Outcome(State.WAITING, error=error)))
    plan = status_of(before)["plan"]
    assert message_of(after) == f"{error}{adds.replace('HASH', plan['hash'])}"
    assert status_of(after)["plan"] == plan
