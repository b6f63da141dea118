"""Bodies of custom resources, as they are kept."""

import pytest

from builders import topic_spec
from poolkeeper.errors import Problem
from poolkeeper.resources.kinds.custom_resource import (
    FINALIZER,
    CustomResource,
    ObjectKey,
    read_object,
)
from unit.resources.bodies import body


def test_what_is_kept_of_a_topic() -> None:
    found = read_object(
        body(
            "Topic",
            "orders",
            {"poolRef": {"name": "fast"}, "partitions": 3},
            namespace="shop",
            deleting=True,
            guarded=True,
            generation=7,
            status={"observedGeneration": 6},
        )
    )
    assert found == CustomResource(
        kind="Topic",
        namespace="shop",
        name="orders",
        uid="uid-orders",
        generation=7,
        deleting=True,
        finalizers=(FINALIZER,),
        spec=topic_spec("orders", "fast", partitions=3),
        refers="fast",
        status={"observedGeneration": 6},
    )
    assert (found.has_finalizer, found.sound) == (True, True)
    assert str(found.key) == "Topic shop/orders"


def test_a_cluster_scoped_resource_has_no_namespace_and_may_have_no_status() -> None:
    spec = {"clusterRef": {"name": "main"}, "brokers": {"ids": [1]}}
    found = read_object(body("ResourcePool", "fast", spec))
    assert found.key == ObjectKey("ResourcePool", "", "fast")
    assert (found.refers, found.status, found.has_finalizer) == ("main", None, False)


@pytest.mark.parametrize(
    ("spec", "sound", "refers", "readable"),
    [
        pytest.param(
            {"poolRef": {"name": "fast"}, "partitions": "many"}, False, "fast", True, id="a-field"
        ),
        pytest.param({"poolRef": {"name": 5}}, False, "", False, id="what-it-refers-to"),
        pytest.param({}, False, "", False, id="everything"),
    ],
)
def test_what_is_wrong_is_kept_with_what_can_be_read(
    spec: dict[str, object], sound: bool, refers: str, readable: bool
) -> None:
    found = read_object(body("Topic", "orders", spec, namespace="shop"))
    assert (found.sound, found.refers, found.spec is not None) == (sound, refers, readable)
    assert all(isinstance(problem, Problem) for problem in found.problems)
    assert found.problems


def test_other_kinds_are_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        read_object(body("Secret", "all", {}))


def test_what_the_definitions_of_a_later_release_add_is_left_out() -> None:
    spec = {"clusterRef": {"name": "main"}, "brokers": {"ids": [1]}}
    known = read_object(body("ResourcePool", "fast", spec))
    brokers = {"ids": [1], "spare": {"ids": [2]}}
    later = body("ResourcePool", "fast", {**spec, "tier": "gold", "brokers": brokers})
    later["metadata"]["shard"] = 3
    later["status"] = {"health": "new"}
    found = read_object(later)
    assert (found.sound, found.spec) == (True, known.spec)
    assert sorted(found.unknown) == ["metadata.shard", "spec.brokers.spare", "spec.tier"]
    assert found.status == {"health": "new"}
    assert (known.unknown, known.sound) == ((), True)


def test_what_is_left_out_of_lists_is_named_once() -> None:
    windows = [{"cron": "0 22 * * *", "duration": "8h", "zone": n} for n in range(2)]
    spec = {"zookeeper": {"connect": "zk:2181"}, "execution": {"windows": windows}}
    found = read_object(body("KafkaCluster", "main", spec))
    assert (found.sound, found.unknown) == (True, ("spec.execution.windows[].zone",))


def test_what_anybody_may_name_is_no_field_of_a_later_release() -> None:
    spec = {"poolRef": {"name": "fast"}, "config": {"some.key": "1"}}
    found = read_object(body("Topic", "orders", spec, namespace="shop"))
    assert found.unknown == ()
