"""New topics that find no room now, and what moves of the same plan change about that."""

import pytest

import builders
from builders import cluster, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import CreateTopic, Plan
from poolkeeper.model.specs import Balancing, Capacity, TopicDefaults
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after

DELAYED = "not created until moves of this plan have freed capacity for it"
FULL = (
    "not created: broker 1 would hold {} replicas and may hold 4. Add a broker, or raise"
    " spec.capacity.replicas"
)


def crowded() -> Cluster:
    """Two brokers, and three partitions of one replica, all of them on broker 1."""
    return cluster((1, 2), topic("t", (1,), (1,), (1,), size_bytes=5))


def desired(*partitions: int, balanced: bool = True) -> Desired:
    """Brokers hold four replicas at most; `new.0`, `new.1`, … shall have two of each partition."""
    pool = pool_spec("p", 1, 2, capacity=Capacity(replicas=4))
    new = (
        topic_spec(f"new.{n}", "p", partitions=count, replication_factor=2)
        for n, count in enumerate(partitions)
    )
    return builders.desired(pool, topic_spec("t", "p"), *new, balancing=Balancing(balanced))


def created(plan: Plan) -> list[str]:
    return [step.topic for step in plan.steps if isinstance(step, CreateTopic)]


@pytest.mark.parametrize(
    ("wanted", "moves", "said"),
    [
        pytest.param(desired(2), 1, {"new.0": DELAYED}, id="moves make room"),
        pytest.param(desired(2, balanced=False), 0, {"new.0": FULL.format(5)}, id="nothing moves"),
        pytest.param(desired(3), 1, {"new.0": FULL.format(6)}, id="moves do not make room enough"),
        pytest.param(
            desired(2, 2),
            1,
            {"new.0": DELAYED, "new.1": FULL.format(5)},
            id="moves make room for one of two",
        ),
        pytest.param(desired(1), 1, {}, id="there is room for it now"),
    ],
)
def test_a_topic_that_moves_make_room_for_is_told_to_wait(
    wanted: Desired, moves: int, said: dict[str, str]
) -> None:
    plan = make_plan(wanted, crowded())
    assert check_plan(plan, wanted, crowded(), Records()) == ()
    assert {problem.topic: problem.message for problem in plan.problems} == said
    assert len(plan.moves) == moves


def test_the_next_plan_creates_it() -> None:
    wanted = desired(2, 2)
    first = make_plan(wanted, crowded())
    second = make_plan(wanted, after(first, crowded()))
    assert (created(first), created(second)) == ([], ["new.0"])


def test_a_topic_gets_the_partitions_that_moves_make_room_for_from_the_next_plan() -> None:
    """`u` has a partition on broker 1, which is full; three partitions of `t` leave it."""
    pools = [
        pool_spec("p", 1, capacity=Capacity(replicas=4)),
        pool_spec("q", 2, capacity=Capacity(replicas=4)),
    ]
    wanted = builders.desired(pools, topic_spec("t", "q"), topic_spec("u", "p", partitions=4))
    seen = cluster((1, 2), topic("t", (1,), (1,), (1,)), topic("u", (1,)))
    first = make_plan(wanted, seen)
    assert check_plan(first, wanted, seen, Records()) == ()
    said = "stays at 1 partition until moves of this plan have freed capacity for more"
    assert [problem.message for problem in first.problems if problem.topic == "u"] == [said]
    second = make_plan(wanted, after(first, seen))
    assert ([step.topic for step in second.steps], second.problems) == (["u"], ())


@pytest.mark.parametrize(
    ("factor", "added", "said"),
    [
        pytest.param(2, [(2, 2)], [], id="the-pools"),
        pytest.param(None, [], ["replicationFactor"], id="nobodys"),
    ],
)
def test_a_topic_without_any_partition_gets_them_with_the_factor_of_its_pool(
    factor: int | None, added: list[tuple[int, int]], said: list[str]
) -> None:
    pool = pool_spec("p", 1, 2, defaults=TopicDefaults(replication_factor=factor))
    wanted = builders.desired(pool, topic_spec("t", "p", partitions=2))
    seen = cluster((1, 2), topic("t"))
    plan = make_plan(wanted, seen)
    assert check_plan(plan, wanted, seen, Records()) == ()
    assert [tuple(map(len, step.replicas)) for step in plan.steps if step.topic == "t"] == added
    assert [word in problem.message for problem in plan.problems for word in said] == [True] * len(
        said
    )
