"""What rows and fixed load make of lists that name a broker twice."""

from dataclasses import replace

import pytest

import builders
from builders import MIB, cluster, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import CreateTopic
from poolkeeper.model.specs import Balancing, Capacity, ResourcePoolSpec, TopicSpec
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.planner import make_plan
from unit.planning.byhand import lawful


def seen(ids: tuple[int, ...], *lists: Replicas) -> Cluster:
    """A topic `t` with these lists, every partition of 10 MiB."""
    return cluster(ids, topic("t", *lists))


def desired(pool: ResourcePoolSpec, *topics: TopicSpec, balanced: bool = True) -> Desired:
    return builders.desired(pool, *topics, balancing=Balancing(balanced))


def test_a_list_of_an_unmanaged_topic_takes_room_for_every_name_in_it() -> None:
    pool = pool_spec("p", 1, 2, capacity=Capacity(replicas=2))
    new = topic_spec("new", "p", partitions=1, replication_factor=1)
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
    pool = pool_spec("p", 1, 2, 3, drain=frozenset({2}), capacity_of=disk, goals=())
    found = seen((1, 2, 3), (1, 1), (3,), (3,), (3,))
    found = replace(found, topics={**found.topics, "own": topic("own", (2,))})
    own = topic_spec("own", "p")
    (move,) = lawful(desired(pool, own, balanced=False), found).moves
    assert (move.topic, move.target) == ("own", target)


def test_a_topic_of_the_pool_names_every_broker_once_whatever_else_is_to_do() -> None:
    pool = pool_spec("p", 1, 2, 3)
    managed = topic_spec("t", "p")
    plan = lawful(desired(pool, managed), seen((1, 2, 3), (1, 1, 2), (3,)))
    assert [(move.path, move.bytes, move.reason) for move in plan.moves] == [
        (((1, 1, 2), (1, 2)), 0, "the list names a broker twice")
    ]


def test_what_nothing_can_be_copied_from_keeps_its_list_and_its_room() -> None:
    pool = pool_spec("p", 1, 2, capacity=Capacity(replicas=2))
    managed = topic_spec("t", "p")
    new = topic_spec("new", "p", partitions=1, replication_factor=1)
    found = seen((1, 2), (1, 1, 9), (2,))
    lost = found.topics["t"].partitions[0]._replace(leader=-1, isr=(9,))
    topic = replace(found.topics["t"], partitions=(lost, found.topics["t"].partitions[1]))
    wanted = desired(pool, managed, new)
    plan = make_plan(wanted, replace(found, topics={"t": topic}))
    assert plan.moves == ()
    assert [step.replicas for step in plan.steps if isinstance(step, CreateTopic)] == [((2,),)]
