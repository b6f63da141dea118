"""What rows and fixed load make of lists that name a broker twice."""

from dataclasses import replace

import pytest

from poolkeeper.model.plans import CreateTopic, Plan
from poolkeeper.model.records import Records
from poolkeeper.model.specs import (
    Balancing,
    Capacity,
    Desired,
    KafkaClusterSpec,
    ResourcePoolSpec,
    TopicSpec,
    ZooKeeperSpec,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Replicas, Topic
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after

MIB = 1024**2


def seen(ids: tuple[int, ...], *lists: Replicas) -> Cluster:
    """A topic `t` with these lists, every partition of 10 MiB."""
    partitions = (
        Partition(n, r, leader=r[0], isr=r, size_bytes=10 * MIB) for n, r in enumerate(lists)
    )
    return Cluster("main", {b: Broker(b) for b in ids}, {"t": Topic("t", tuple(partitions))})


def desired(pool: ResourcePoolSpec, *topics: TopicSpec, balanced: bool = True) -> Desired:
    spec = KafkaClusterSpec("main", ZooKeeperSpec("zk:2181"), balancing=Balancing(balanced))
    return Desired(spec, (pool,), topics)


def lawful(wanted: Desired, found: Cluster) -> Plan:
    """The plan, after it was audited and found to be final."""
    plan = make_plan(wanted, found)
    assert check_plan(plan, wanted, found, Records()) == ()
    assert make_plan(wanted, after(plan, found)).moves == ()
    return plan


def test_a_list_of_an_unmanaged_topic_takes_room_for_every_name_in_it() -> None:
    pool = ResourcePoolSpec("p", "main", (1, 2), capacity=Capacity(replicas=2))
    new = TopicSpec("new", "shop", "new", "p", partitions=1, replication_factor=1)
    plan = lawful(desired(pool, new), seen((1, 2), (1, 1), (2,)))
    assert [step.replicas for step in plan.steps if isinstance(step, CreateTopic)] == [((2,),)]


@pytest.mark.parametrize(
    ("disk_mib", "target"),
    [
        pytest.param(20, (3,), id="a full disk takes no more"),
        pytest.param(30, (1,), id="with room for one more, the emptier broker takes it"),
    ],
)
def test_such_a_list_fills_the_disk_with_every_name(disk_mib: int, target: Replicas) -> None:
    disk = {1: Capacity(disk_bytes=disk_mib * MIB)}
    pool = ResourcePoolSpec(
        "p", "main", (1, 2, 3), drain=frozenset({2}), capacity_of=disk, goals=()
    )
    found = seen((1, 2, 3), (1, 1), (3,), (3,), (3,))
    leaving = Topic("own", (Partition(0, (2,), leader=2, isr=(2,), size_bytes=10 * MIB),))
    found = replace(found, topics={**found.topics, "own": leaving})
    own = TopicSpec("own", "shop", "own", "p")
    (move,) = lawful(desired(pool, own, balanced=False), found).moves
    assert (move.topic, move.target) == ("own", target)


def test_a_topic_of_the_pool_names_every_broker_once_whatever_else_is_to_do() -> None:
    pool = ResourcePoolSpec("p", "main", (1, 2, 3))
    managed = TopicSpec("t", "shop", "t", "p")
    plan = lawful(desired(pool, managed), seen((1, 2, 3), (1, 1, 2), (3,)))
    assert [(move.path, move.bytes, move.reason) for move in plan.moves] == [
        (((1, 1, 2), (1, 2)), 0, "the list names a broker twice")
    ]


def test_what_nothing_can_be_copied_from_keeps_its_list_and_its_room() -> None:
    pool = ResourcePoolSpec("p", "main", (1, 2), capacity=Capacity(replicas=2))
    managed = TopicSpec("t", "shop", "t", "p")
    new = TopicSpec("new", "shop", "new", "p", partitions=1, replication_factor=1)
    found = seen((1, 2), (1, 1, 9), (2,))
    lost = found.topics["t"].partitions[0]._replace(leader=-1, isr=(9,))
    topic = replace(found.topics["t"], partitions=(lost, found.topics["t"].partitions[1]))
    wanted = desired(pool, managed, new)
    plan = make_plan(wanted, replace(found, topics={"t": topic}))
    assert plan.moves == ()
    assert [step.replicas for step in plan.steps if isinstance(step, CreateTopic)] == [((2,),)]
