"""What is said where a pool cannot hold what it should: conflicts, and what ends them."""

from dataclasses import replace

import pytest

import builders
from builders import MIB, desired, pool_spec, topic, topic_spec
from poolkeeper.model.specs import (
    Capacity,
    ClusterLimits,
    FailureDomain,
    Headroom,
    LimitPolicy,
    TopicSpec,
    UnmanagedTopics,
)
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan

RACKS = {1: "a", 2: "b", 3: "b", 4: "c", 5: "c", 6: "a"}
POOL = pool_spec("p", *RACKS, claims=(".*",), goals=())


def cluster(*lists: tuple[int, ...], size_mib: int = 1) -> Cluster:
    return builders.cluster(RACKS, topic("t", *lists, size_bytes=size_mib * MIB))


def problems(seen: Cluster, *specs: TopicSpec, **pool: object) -> list[tuple[str, str]]:
    """(topic, message) of what is said about capacity."""
    policy = UnmanagedTopics.EVACUATE_ONLY
    wanted = desired(replace(POOL, **pool), *specs, unmanaged_topics=policy)
    plan = make_plan(wanted, seen)
    return [(p.topic, p.message) for p in plan.problems if p.law == "capacity"]


def messages(seen: Cluster, **pool: object) -> list[str]:
    return [message for _, message in problems(seen, **pool)]


@pytest.mark.parametrize(
    ("seen", "pool", "said"),
    [
        pytest.param(
            cluster((1, 2, 4), (1, 3, 5), (1, 2, 4)),
            {"capacity": Capacity(replicas=2), "drain": frozenset({6})},
            "broker 1 of rack a must hold 3 replicas and may hold 2; replicas of a partition are"
            " spread over all racks; 6 is drained. Take broker 6 out of spec.drain, or add"
            " capacity for 1 more replica on broker 1 of rack a or on a new broker",
            id="a-rack-of-which-one-broker-is-drained",
        ),
        pytest.param(
            cluster(*[(1, 2, 4)] * 5),
            {"capacity": Capacity(replicas=2)},
            "all 6 usable brokers must hold 15 replicas and may hold 12. Add capacity for 3 more"
            " replicas on all 6 usable brokers or on a new broker",
            id="the-pool-is-too-small",
        ),
        pytest.param(
            cluster(*[(1, 2, 4), (6, 3, 5)] * 2),
            {"capacity": Capacity(replicas=2), "headroom": Headroom(FailureDomain.RACK, 1)},
            "holds 12 replicas; 8 fit with the largest rack lost. Lower spec.headroom, or add"
            " capacity for 4 more replicas in new or smaller racks, up to 4 replicas each",
            id="a-rack-may-be-lost",
        ),
        pytest.param(
            cluster((1, 2, 4), (6, 3, 5), size_mib=10),
            {
                "capacity": Capacity(disk_bytes=100 * MIB),
                "capacity_of": {n: Capacity(disk_bytes=15 * MIB) for n in (1, 6)},
                "drain": frozenset({6}),
            },
            "broker 1 of rack a must hold 20 MiB and may hold 15 MiB; replicas of a partition are"
            " spread over all racks; 6 is drained. Take broker 6 out of spec.drain, or add"
            " capacity for at least 5 MiB more on broker 1 of rack a or on a new broker",
            id="bytes-of-a-rack",
        ),
        pytest.param(
            cluster((1, 2, 4), size_mib=24_630),
            {
                "capacity": Capacity(disk_bytes=100_000 * MIB),
                "capacity_of": {1: Capacity(disk_bytes=1 * MIB), 6: Capacity(disk_bytes=1 * MIB)},
            },
            "brokers 1, 6 of rack a must hold 24.1 GiB and may hold 2 MiB; replicas of a partition"
            " are spread over all racks. Add capacity for at least 24.1 GiB more on brokers 1, 6 of"
            " rack a or on a new broker",
            id="large-sizes-are-written-as-people-read-them",
        ),
        pytest.param(
            cluster(*[(1, 2, 4)] * 4, size_mib=1000),
            {
                "capacity": Capacity(disk_bytes=2000 * MIB),
                "headroom": Headroom(FailureDomain.RACK, 1),
            },
            "holds 11.7 GiB; 7.81 GiB fit with the largest rack lost. Lower spec.headroom, or add"
            " capacity for at least 3.91 GiB more in new or smaller racks, up to 3.91 GiB each",
            id="sizes-of-a-headroom",
        ),
    ],
)
def test_conflicts_and_what_helps(seen, pool, said) -> None:
    assert said in messages(seen, **pool)


@pytest.mark.parametrize(
    ("capacities", "failures", "said"),
    [
        pytest.param(
            (6, 4, 4), 1, "6 replicas each", id="the-largest-may-grow-and-is-no-help-to-others"
        ),
        pytest.param((6, 6, 4), 1, "", id="two-are-as-large-as-the-largest"),
        pytest.param((4, 4, 4, 2), 1, "", id="a-new-broker"),
        pytest.param((4, 4, 4, 4), 2, "4 replicas each", id="two-failures"),
        pytest.param((4, 4, 4, 9), 2, "4 replicas each", id="a-new-one-that-counts-as-lost"),
        pytest.param((4, 4, 4, 4, 2), 2, "", id="two-new-brokers"),
        pytest.param((4, 4), 0, "", id="nothing-is-lost"),
    ],
)
def test_capacity_helps_a_headroom_where_it_is_left_after_the_failures(
    capacities: tuple[int, ...], failures: int, said: str
) -> None:
    """Of ten replicas, and of eight where no failure is asked for."""
    each = {number: Capacity(replicas=most) for number, most in enumerate(capacities, 1)}
    held = topic("t", *[(1 + number % len(each),) for number in range(10 if failures else 8)])
    headroom = Headroom(failures=failures)
    pool = pool_spec("p", *each, capacity_of=each, headroom=headroom, goals=())
    plan = make_plan(desired(pool, topic_spec("t")), builders.cluster(list(each), held))
    found = [p.message for p in plan.problems if p.law == "capacity"]
    assert (f"on new or smaller brokers, up to {said}" in " ".join(found)) if said else not found


@pytest.mark.parametrize(
    ("held", "said"),
    [
        pytest.param(8, "2 more replicas on all 3 usable brokers, or add a broker", id="one-helps"),
        pytest.param(9, "3 more replicas on all 3 usable brokers", id="one-is-too-few"),
    ],
)
def test_where_the_limit_of_the_cluster_bounds_brokers_it_is_the_limit_to_raise(
    held: int, said: str
) -> None:
    limits = ClusterLimits(replicas_per_broker=2, policy=LimitPolicy.ENFORCE)
    pool = pool_spec("p", 1, 2, 3, capacity=Capacity(replicas=9), goals=())
    seen = builders.cluster((1, 2, 3), topic("t", *[(1 + n % 3,) for n in range(held)]))
    plan = make_plan(desired(pool, topic_spec("t"), limits=limits), seen)
    found = [p.message for p in plan.problems if p.law == "capacity"]
    assert any(each.endswith(f"Raise spec.limits.replicasPerBroker for {said}") for each in found)


def test_capacity_is_asked_for_where_drained_brokers_stay_drained() -> None:
    """With broker 2 back four replicas would be missing, and seven are, as it is drained."""
    each = {number: Capacity(replicas=most) for number, most in enumerate((3, 3, 4, 1), 1)}
    pool = pool_spec("p", *each, capacity_of=each, drain=frozenset({2}), goals=())
    held = topic("t", *[(1, 3, 4)] * 5)
    plan = make_plan(desired(pool, topic_spec("t")), builders.cluster(list(each), held))
    found = " ".join(p.message for p in plan.problems if p.law == "capacity")
    assert "add capacity for 7 more replicas on all 3 usable brokers" in found.lower()


def test_what_fits_is_not_spoken_of() -> None:
    assert messages(cluster((1, 2, 4)), capacity=Capacity(replicas=1)) == []


def test_disks_that_evacuated_topics_overfill_are_reported() -> None:
    full = {n: Capacity(disk_bytes=(15 if n == 2 else 1) * MIB) for n in RACKS}
    seen = cluster((1,), (2,), size_mib=10)
    assert messages(seen, claims=(), brokers=(1, 2), drain=frozenset({1}), capacity_of=full) == [
        "broker 2 holds 20 MiB, it may hold 15 MiB; 10 MiB of that come with unmanaged topics that"
        " leave broker 1"
    ]


def test_what_evacuated_topics_bring_is_in_no_conflict_as_it_could_go_elsewhere() -> None:
    full = {1: Capacity(disk_bytes=15 * MIB), 2: Capacity(disk_bytes=15 * MIB)}
    unmanaged = cluster((1,), size_mib=10).topics["t"]
    seen = cluster((2,), size_mib=10)
    seen = replace(seen, topics={**seen.topics, "u": replace(unmanaged, name="u")})
    assert messages(
        seen, claims=("t",), brokers=(1, 2), drain=frozenset({1}), capacity_of=full
    ) == [
        "broker 2 holds 20 MiB, it may hold 15 MiB; 10 MiB of that come with unmanaged topics that"
        " leave broker 1",
    ]


@pytest.mark.parametrize(
    ("headroom", "lists", "fields", "said"),
    [
        pytest.param(
            Headroom(FailureDomain.RACK, 9),
            [(1,)],
            {},
            "no broker is left with the 9 largest racks lost: of 3 usable racks the pool survives"
            " the loss of 2 at most. Lower spec.headroom to 2 failures, or 7 more racks are needed:"
            " add a broker in another rack",
            id="racks",
        ),
        pytest.param(
            Headroom(FailureDomain.RACK, 3),
            [(1, 2, 4)],
            {"drain": frozenset({4, 5})},
            "no broker is left with the 3 largest racks lost: of 2 usable racks the pool survives"
            " no loss, as 3 replicas need 3 brokers. Take out spec.headroom, or 2 more racks are"
            " needed: take broker 4 out of spec.drain (rack c), add a broker in another rack",
            id="racks-of-which-one-is-drained",
        ),
        pytest.param(
            Headroom(FailureDomain.BROKER, 6),
            [(1, 2, 4)],
            {},
            "no broker is left with the 6 largest brokers lost: of 6 usable brokers the pool"
            " survives the loss of 3 at most, as 3 replicas need 3 brokers. Lower spec.headroom to"
            " 3 failures, or add a broker",
            id="brokers",
        ),
    ],
)
def test_headroom_that_leaves_no_broker(headroom, lists, fields, said) -> None:
    for capacity in (Capacity(), Capacity(replicas=2, disk_bytes=MIB)):
        found = messages(cluster(*lists), capacity=capacity, headroom=headroom, **fields)
        assert found == [said]
