"""What is said where replication factors cannot be raised for want of room."""

from dataclasses import replace

import pytest

from builders import MIB, topic_spec
from poolkeeper.model.specs import Capacity, FailureDomain, Goal, GoalKind, Headroom, TopicSpec
from poolkeeper.model.topology import Cluster
from unit.planning.diagnosis.test_capacity_report import cluster, problems
from unit.planning.test_goals import cluster as sized_cluster
from unit.planning.test_goals import desired, lawful


def spec(name: str, factor: int) -> TopicSpec:
    return topic_spec(name, "p", replication_factor=factor)


def and_u(seen: Cluster) -> Cluster:
    """The same, with a topic u of one partition of one replica."""
    partition = seen.topics["t"].partitions[0]._replace(replicas=(1,), isr=(1,))
    u = replace(seen.topics["t"], name="u", partitions=(partition,))
    return replace(seen, topics={**seen.topics, "u": u})


PAIRS = cluster((1, 2), (3, 4), (5, 6), size_mib=10)


@pytest.mark.parametrize(
    ("seen", "specs", "pool", "said"),
    [
        pytest.param(
            PAIRS,
            [spec("t", 3)],
            {"capacity": Capacity(disk_bytes=14 * MIB)},
            {
                "t": "the replication factor is not raised from 2 to 3: 18 MiB do not fit: broker"
                " 1 lacks 6 MiB, broker 2 lacks 6 MiB, broker 4 lacks 6 MiB. Add capacity for at"
                " least 6 MiB more on all 6 usable brokers or on a new broker, or lower the"
                " replication factor"
            },
            id="one-topic",
        ),
        pytest.param(
            and_u(PAIRS),
            [spec("t", 3), spec("u", 4)],
            {"capacity": Capacity(replicas=1)},
            {
                "": "broker 1 holds 2 replicas, it may hold 1",
                **{
                    name: f"the replication factor is not raised from {before}: 2 topics of the"
                    " pool declare more replicas; with all of them 7 replicas do not fit: broker"
                    " 1 lacks 2 replicas, broker 2 lacks 2 replicas, broker 4 lacks 2 replicas,"
                    " broker 6 lacks 1 replica. Add capacity for 7 more replicas on all 6 usable"
                    " brokers, or lower the replication factor"
                    for name, before in (("t", "2 to 3"), ("u", "1 to 4"))
                },
            },
            id="two-topics",
        ),
        pytest.param(
            and_u(PAIRS),
            [spec("t", 3), spec("u", 4)],
            {"capacity": Capacity(replicas=2)},
            {
                "u": "the replication factor is not raised from 1 to 4: 1 replica does not fit:"
                " broker 6 lacks 1 replica. Add capacity for 1 more replica on all 6 usable"
                " brokers or on a new broker, or lower the replication factor"
            },
            id="the-other-has-room",
        ),
        pytest.param(
            PAIRS,
            [spec("t", 3)],
            {"capacity": Capacity(replicas=2), "headroom": Headroom(FailureDomain.RACK, 1)},
            {
                "t": "the replication factor is not raised from 2 to 3: 1 replica does not fit"
                " with the largest rack lost. Lower spec.headroom, or add capacity for 1 more"
                " replica in new or smaller racks, up to 4 replicas each, or lower the replication"
                " factor"
            },
            id="headroom",
        ),
        pytest.param(
            PAIRS,
            [spec("t", 3)],
            {"capacity": Capacity(replicas=2), "headroom": Headroom(FailureDomain.RACK, 3)},
            {
                "": "no broker is left with the 3 largest racks lost: of 3 usable racks the pool"
                " survives the loss of 2 at most. Lower spec.headroom to 2 failures, or add a"
                " broker in another rack",
                "t": "the replication factor is not raised from 2 to 3: 9 replicas do not fit with"
                " the 3 largest racks lost. Lower spec.headroom, or lower the replication factor",
            },
            id="headroom-that-leaves-no-broker",
        ),
        pytest.param(
            cluster((1, 2), (1, 2), size_mib=10),
            [spec("t", 6)],
            {"capacity": Capacity(disk_bytes=14 * MIB)},
            {
                "t": "the replication factor is not raised from 2 to 6: 36 MiB do not fit: broker"
                " 1 lacks 6 MiB, broker 2 lacks 6 MiB, broker 3 lacks 6 MiB, broker 4 lacks 6 MiB,"
                " broker 5 lacks 6 MiB, and 1 more broker lacks 6 MiB. Add capacity for at least"
                " 36 MiB more on all 6 usable brokers, or lower the replication factor"
            },
            id="many-brokers-lack-and-one-more-would-not-help",
        ),
    ],
)
def test_it_is_told_how_much_lacks_where(seen, specs, pool, said) -> None:
    assert dict(problems(seen, *specs, **pool)) == said


def test_what_mended_disks_leave_room_for_grows_in_the_same_plan() -> None:
    seen = sized_cluster(
        5, [((3, 1, 5), 20)], [((1, 3, 4), 5), ((5, 2, 1), 1), ((3, 1, 2), 5)], [((1,), 5)]
    )
    goals = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.TOPIC_REPLICAS, count=1))
    wanted = desired(seen, goals, capacity=Capacity(disk_bytes=22 * MIB))
    t2 = topic_spec("t2", "p", replication_factor=2)
    _, reached = lawful(replace(wanted, topics=(t2,)), seen)
    assert len(reached.topics["t2"].partitions[0].replicas) == 2


@pytest.mark.parametrize(
    ("sizes", "disk_mib", "raised"),
    [
        pytest.param([5, 1, 50, 3], 55, [3, 3, 2, 3], id="all-but-a-giant"),
        pytest.param([5, 1, 50, 3], 70, [3, 3, 3, 3], id="all"),
        pytest.param([5, 5, 5, 5, 5], 16, [3, 3, 2, 2, 2], id="two-of-a-kind"),
        pytest.param([5, 5, 5, 5], 14, [2, 2, 2, 2], id="none"),
    ],
)
def test_a_topic_without_room_keeps_no_other_waiting(sizes, disk_mib, raised) -> None:
    lists = [(1, 2), (3, 4), (2, 3), (4, 1)]
    seen = sized_cluster(4, *([(lists[n % 4], size)] for n, size in enumerate(sizes)))
    wanted = desired(seen, (), capacity=Capacity(disk_bytes=disk_mib * MIB))
    specs = tuple(topic_spec(name, "p", replication_factor=3) for name in seen.topics)
    _, reached = lawful(replace(wanted, topics=specs), seen)
    assert [len(topic.partitions[0].replicas) for topic in reached.topics.values()] == raised


def test_what_lacks_brokers_is_not_tried_for_ever_where_another_lacks_room() -> None:
    seen = sized_cluster(3, [((1, 2, 3), 0)], [((1, 2), 50)], [((3, 1), 10)])
    wanted = desired(seen, (), capacity=Capacity(disk_bytes=55 * MIB))
    factors = {"t0": 4, "t1": 3, "t2": 2}
    specs = tuple(topic_spec(n, "p", replication_factor=f) for n, f in factors.items())
    _, reached = lawful(replace(wanted, topics=specs), seen)
    assert [len(topic.partitions[0].replicas) for topic in reached.topics.values()] == [3, 2, 2]
