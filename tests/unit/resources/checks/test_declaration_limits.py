"""Who declares more than the KafkaCluster allows is refused, and nobody else notices."""

from typing import Any

import pytest

from poolkeeper.model.desired import Claim
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import assembly, kafka_cluster, pool, topic

FAST = pool("fast", 1, 2, 3)
EXISTS = {"topicName": "x", "partitions": 8, "pool": "fast"}


def limited(**limits: Any) -> CustomResource:
    return kafka_cluster(limits=limits)


def refused(cluster: CustomResource, *topics: CustomResource) -> dict[str, str]:
    """The refused Topics and why; that the others are declared is checked as well."""
    found = assembly(cluster, FAST, *topics)
    names = {key.name for key in found.verdicts}
    assert found.desired is not None
    assert {spec.name for spec in found.desired.topics} == {each.name for each in topics} - names
    assert found.desired.held == set()
    assert found.desired.astray == {Claim(name, f"shop/{name}") for name in names}
    assert {verdict.reason for verdict in found.verdicts.values()} <= {"LimitExceeded"}
    return {key.name: verdict.message for key, verdict in found.verdicts.items()}


PINNED = {"strategy": "Manual", "assignment": [[1, 2], [2, 3], [3, 1]]}


@pytest.mark.parametrize(
    ("limits", "wanted", "field"),
    [
        pytest.param({}, {"partitions": 10_000}, None, id="as-many-as-usual"),
        pytest.param({}, {"partitions": 10_001}, "partitions", id="one-more-than-usual"),
        pytest.param({"partitions": 4}, {"partitions": 5}, "partitions", id="partitions"),
        pytest.param(
            {"configBytes": 20},
            {"config": {"retention.ms": "123456789"}},
            "configBytes",
            id="config",
        ),
        pytest.param({"manualLists": 2}, {"placement": PINNED}, "manualLists", id="lists"),
        pytest.param(
            {"partitions": 4}, {"partitions": 8, "status": EXISTS}, None, id="what-there-is-already"
        ),
        pytest.param(
            {"partitions": 4},
            {"partitions": 9, "status": EXISTS},
            "partitions",
            id="more-than-there-is",
        ),
    ],
)
def test_one_topic_has_limits(
    limits: dict[str, int], wanted: dict[str, Any], field: str | None
) -> None:
    found = refused(limited(perTopic=limits), topic("big", "fast", **wanted), topic("a", "fast"))
    assert list(found) == ([] if field is None else ["big"])
    assert field is None or f"spec.limits.perTopic.{field}" in found["big"]


@pytest.mark.parametrize(
    ("limits", "wanted", "field"),
    [
        pytest.param({"topics": 2}, {}, "topics", id="topics"),
        pytest.param({"partitions": 9}, {"partitions": 4}, "partitions", id="partitions"),
        pytest.param(
            {"configBytes": 40}, {"config": {"retention.ms": "1234"}}, "configBytes", id="config"
        ),
        pytest.param({"manualLists": 6}, {"placement": PINNED}, "manualLists", id="lists"),
    ],
)
def test_a_namespace_has_limits_and_the_last_are_refused(
    limits: dict[str, int], wanted: dict[str, Any], field: str
) -> None:
    topics = [topic(name, "fast", **wanted) for name in ("c", "a", "b")]
    found = refused(limited(perNamespace=limits), *topics)
    assert list(found) == ["c"]
    assert f"spec.limits.perNamespace.{field}" in found["c"]


def test_those_that_exist_come_first_and_another_namespace_has_its_own() -> None:
    cluster = limited(perNamespace={"topics": 1})
    old = topic("z", "fast", status={**EXISTS, "topicName": "z"})
    found = assembly(cluster, FAST, old, topic("a", "fast"), topic("b", "fast", namespace="bank"))
    assert {str(key) for key in found.verdicts} == {"Topic shop/a"}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param({"partitions": 6, "replicationFactor": 2}, "", id="spread"),
        pytest.param(
            {"partitions": 7, "replicationFactor": 2}, "5 replicas on each broker", id="too-many"
        ),
        pytest.param(
            {"partitions": 7, "replicationFactor": 2, "status": {**EXISTS, "partitions": 7}},
            "",
            id="there-already",
        ),
        pytest.param(
            {"placement": {"strategy": "Manual", "assignment": [[2, 1]] * 4}}, "", id="pinned"
        ),
        pytest.param(
            {
                "placement": {"strategy": "Manual", "assignment": [[2]] * 5},
                "status": {**EXISTS, "partitions": 5},
            },
            "5 replicas on broker 2",
            id="pinned-to-one",
        ),
    ],
)
def test_no_topic_alone_is_too_much_for_a_broker(wanted: dict[str, Any], said: str) -> None:
    found = refused(limited(replicasPerBroker=4), topic("big", "fast", **wanted))
    assert list(found) == (["big"] if said else [])
    assert said in found.get("big", "")


@pytest.mark.parametrize(
    ("limits", "wanted", "names"),
    [
        pytest.param({"topics": 1}, {}, [], id="there-already"),
        pytest.param({"partitions": 9}, {"partitions": 8}, [], id="as-many-partitions"),
        pytest.param({"partitions": 9}, {"partitions": 9}, ["b"], id="more-partitions"),
        pytest.param({"configBytes": 20}, {"config": {"retention.ms": "1"}}, ["b"], id="config"),
        pytest.param({"manualLists": 5}, {"placement": PINNED}, ["b"], id="lists"),
    ],
)
def test_a_topic_that_exists_gets_no_more_than_the_namespace_has_left(
    limits: dict[str, int], wanted: dict[str, Any], names: list[str]
) -> None:
    topics = [
        topic(name, "fast", status={**EXISTS, "topicName": name}, **wanted) for name in ("a", "b")
    ]
    assert list(refused(limited(perNamespace=limits), *topics)) == names


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        pytest.param({"partitions": 17_066}, None, id="as-many-as-fit"),
        pytest.param({"partitions": 17_067}, "spec.partitions", id="too-many-partitions"),
        pytest.param(
            {"partitions": 2_000, "replicationFactor": 50}, "spec.partitions", id="many-replicas"
        ),
        pytest.param(
            {"config": {f"k{n}": "v" * 8_000 for n in range(9)}}, "spec.config", id="config"
        ),
    ],
)
def test_what_fits_into_no_znode_is_refused_before_anything_else(
    wanted: dict[str, Any], field: str | None
) -> None:
    problems = [str(each) for each in topic("big", "fast", **wanted).problems]
    assert len(problems) == (field is not None)
    assert field is None or field in problems[0]
