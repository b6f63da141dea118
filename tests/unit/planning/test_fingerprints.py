"""The fingerprint: what of the declared shapes plans, and what does not."""

import dataclasses

import pytest

from poolkeeper.model import specs
from poolkeeper.model.desired import Desired
from poolkeeper.planning.proposals import plan_json

POOL = specs.ResourcePoolSpec("fast", "main", (1, 2, 3))
TOPIC = specs.TopicSpec("orders", "shop", "shop.orders", "fast")
CLUSTER = specs.KafkaClusterSpec("main", specs.ZooKeeperSpec("zk:2181"))
UNCOUNTED = {
    "source",
    "zookeeper",
    "brokers",
    "cluster_id",
    "mode",
    "approval",
    "execution",
    "heal",
    "load",
    "limits",
    "topic_limits",
    "namespace_limits",
    "adoption",
    "system_topics",
    "topic_prefix",
}


def fingerprint(cluster=CLUSTER, pool=POOL, topic=TOPIC, cluster_id="c", gone=()) -> str:
    desired = Desired(cluster, (pool,), (topic,))
    return plan_json.fingerprint(desired, cluster_id, gone)


def changed(value):
    """The same spec once per field, each time with another value there."""
    for field in dataclasses.fields(value):
        yield field.name, dataclasses.replace(value, **{field.name: ("something", "else")})


@pytest.mark.parametrize(("field", "other"), list(changed(POOL)))
def test_every_field_of_a_pool_counts_but_its_place(field, other) -> None:
    assert (fingerprint(pool=other) != fingerprint()) == (field != "source")


@pytest.mark.parametrize(("field", "other"), list(changed(TOPIC)))
def test_every_field_of_a_topic_counts_but_its_place(field, other) -> None:
    assert (fingerprint(topic=other) != fingerprint()) == (field != "source")


@pytest.mark.parametrize(
    ("field", "other"),
    [
        pytest.param("zookeeper", specs.ZooKeeperSpec("other:2181"), id="zookeeper"),
        pytest.param("brokers", specs.BrokersSpec(("b:9092",)), id="brokers"),
        pytest.param("cluster_id", "pinned", id="the-pin-of-the-id"),
        pytest.param("mode", specs.Mode.APPLY, id="mode"),
        pytest.param("approval", specs.Approval(plans=("sha256:1",)), id="approval"),
        pytest.param("execution", specs.Execution(max_moves=1), id="pace"),
        pytest.param("heal", specs.Heal(enabled=True), id="heal"),
        pytest.param("balancing", specs.Balancing(cool_down_s=1), id="cool-down"),
        pytest.param("load", specs.LoadSource("LogDirs"), id="load"),
        pytest.param("limits", specs.ClusterLimits(partitions=1), id="limits-that-warn"),
        pytest.param("source", specs.SourceLocation("x.yaml", 3), id="place"),
    ],
)
def test_what_shapes_no_plan_does_not_count(field, other) -> None:
    assert fingerprint(dataclasses.replace(CLUSTER, **{field: other})) == fingerprint()


@pytest.mark.parametrize(
    ("field", "other"),
    [
        pytest.param("name", "other", id="name"),
        pytest.param("kafka_version", "2.8", id="version"),
        pytest.param(
            "execution",
            specs.Execution(replicas_at_a_time=specs.ReplicasAtATime.ONE),
            id="replicas-at-a-time",
        ),
        pytest.param("balancing", specs.Balancing(enabled=False), id="balancing"),
        pytest.param("unmanaged_topics", specs.UnmanagedTopics.MANAGE, id="unmanaged-topics"),
        pytest.param("default_pool", "fast", id="default-pool"),
        pytest.param(
            "limits", specs.ClusterLimits(policy=specs.LimitPolicy.ENFORCE), id="enforced-limits"
        ),
    ],
)
def test_what_shapes_a_plan_counts(field, other) -> None:
    assert fingerprint(dataclasses.replace(CLUSTER, **{field: other})) != fingerprint()


def test_every_field_of_a_cluster_is_in_one_of_the_two_tables() -> None:
    counted = {"name", "kafka_version", "balancing", "unmanaged_topics", "default_pool"}
    assert {field.name for field in dataclasses.fields(CLUSTER)} == UNCOUNTED | counted


def test_the_cluster_and_the_gone_brokers_count_in_any_order() -> None:
    assert len({fingerprint(cluster_id="d"), fingerprint(gone=(1,)), fingerprint()}) == 3
    assert fingerprint(gone={2, 1}) == fingerprint(gone=(1, 2))


def test_the_order_of_specs_and_the_way_numbers_are_written_do_not_count() -> None:
    other = specs.ResourcePoolSpec("slow", "main", (4,), capacity=specs.Capacity(weight=2))
    same = dataclasses.replace(other, capacity=specs.Capacity(weight=2.0))
    one = plan_json.fingerprint(Desired(CLUSTER, (POOL, other)), "c", ())
    assert plan_json.fingerprint(Desired(CLUSTER, (same, POOL)), "c", ()) == one


def test_the_order_of_sets_in_a_pool_does_not_count() -> None:
    ways = (("t.*", "u.*"), ("a", "b")), (("u.*", "t.*"), ("b", "a"))
    pools = [
        dataclasses.replace(
            POOL, claims=claims, allowed_namespaces=specs.AllowedNamespaces(names, {"a": "b"})
        )
        for claims, names in ways
    ]
    one, other = [
        plan_json.fingerprint(Desired(CLUSTER, (pool,), (TOPIC,)), "c1", frozenset())
        for pool in pools
    ]
    assert one == other
