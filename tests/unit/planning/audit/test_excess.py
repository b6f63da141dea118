import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import MIB, pool_spec, topic, topic_spec
from poolkeeper.model import specs, topology
from poolkeeper.model.desired import Desired
from poolkeeper.planning.audit.excess import Excesses, excesses, live_state, rack_excess
from poolkeeper.planning.rules import AuditHome, Rules


def partition(number: int, *replicas: int, mib: int | None = None) -> topology.Partition:
    size = None if mib is None else mib * MIB
    return builders.partition(number, *replicas, size_bytes=size)


def cluster(racks: dict[int, str | None], **topics: list[topology.Partition]) -> topology.Cluster:
    return builders.cluster(racks, *(topic(name, *lists) for name, lists in topics.items()))


POOL = pool_spec("fast", 1, 2, 3, 4)
RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 9: "b"}


def desired(pool: specs.ResourcePoolSpec = POOL, **details: object) -> Desired:
    return builders.desired(pool, topic_spec("t", "fast"), topic_spec("u", "fast"), **details)


@pytest.mark.parametrize(
    ("pool", "topics", "gone", "vector"),
    [
        pytest.param(POOL, {"t": [partition(0, 1, 2, 3)]}, (), Excesses(), id="lawful"),
        pytest.param(
            POOL, {"t": [partition(0, 2, 2, 3)]}, (), Excesses(distinct=1), id="a-broker-twice"
        ),
        pytest.param(
            POOL, {"t": [partition(0, 1, 3, 9)]}, (), Excesses(pool=1), id="outside-its-pool"
        ),
        pytest.param(
            replace(POOL, drain=frozenset({1})),
            {"t": [partition(0, 1, 2, 3)]},
            (),
            Excesses(drained=1),
            id="on-a-drained-broker",
        ),
        pytest.param(
            POOL,
            {"t": [partition(0, 1, 2, 7)]},
            (7,),
            Excesses(pool=1, drained=1),
            id="on-a-gone-one",
        ),
        pytest.param(
            POOL, {"t": [partition(0, 1, 2, 4)]}, (), Excesses(racks=1), id="a-rack-twice"
        ),
        pytest.param(
            POOL, {"t": [partition(0, 1, 2, 3, 4)]}, (), Excesses(), id="more-replicas-than-racks"
        ),
        pytest.param(
            replace(POOL, capacity=specs.Capacity(replicas=1)),
            {"t": [partition(0, 1, 2), partition(1, 1, 3)]},
            (),
            Excesses(capacity=1),
            id="above-a-cap",
        ),
        pytest.param(
            replace(POOL, capacity_of={1: specs.Capacity(disk_bytes=5 * MIB)}),
            {"t": [partition(0, 1, mib=3), partition(1, 1, mib=4), partition(2, 1)]},
            (),
            Excesses(capacity=5),
            id="above-a-disk-with-a-size-unknown",
        ),
        pytest.param(
            replace(POOL, capacity=specs.Capacity(replicas=2), headroom=specs.Headroom(failures=1)),
            {"t": [partition(n, 1 + n % 4, 1 + (n + 1) % 4) for n in range(4)]},
            (),
            Excesses(capacity=2, racks=1),
            id="no-room-for-a-lost-broker",
        ),
        pytest.param(
            replace(
                POOL,
                capacity=specs.Capacity(disk_bytes=10 * MIB),
                headroom=specs.Headroom(specs.FailureDomain.RACK, 1),
            ),
            {"t": [partition(0, 1, 2, 3, mib=7)]},
            (),
            Excesses(capacity=1),
            id="no-room-for-a-lost-rack",
        ),
        pytest.param(
            replace(
                POOL,
                quotas=specs.Quotas(
                    topics=1, partitions=3, per_namespace={"shop": specs.Quotas(partitions=2)}
                ),
            ),
            {"t": [partition(0, 1), partition(1, 2)], "u": [partition(0, 3), partition(1, 4)]},
            (),
            Excesses(quotas=1 + 1 + 2),
            id="above-quotas",
        ),
        pytest.param(
            POOL, {"other": [partition(0, 9, 9)]}, (9,), Excesses(), id="unmanaged-obeys-no-law"
        ),
    ],
)
def test_each_law_counts_its_excess(pool, topics, gone, vector) -> None:
    observed = cluster(RACKS, **topics)
    assert excesses(live_state(observed), desired(pool), observed, gone) == vector


def test_an_evacuated_topic_obeys_the_law_of_drains_alone() -> None:
    observed = cluster(RACKS, other=[partition(0, 1, 4, 9)])
    policy = specs.UnmanagedTopics.EVACUATE_ONLY
    drained = desired(replace(POOL, drain=frozenset({1})), unmanaged_topics=policy)
    assert excesses(live_state(observed), drained, observed) == Excesses(drained=1)


def test_enforced_limits_count_for_the_cluster() -> None:
    observed = cluster(RACKS, other=[partition(0, 1, 2), partition(1, 1, 3)])
    limits = specs.ClusterLimits(1, 1, specs.LimitPolicy.ENFORCE)
    assert excesses(live_state(observed), desired(limits=limits), observed).quotas == 2
    warned = desired(limits=replace(limits, policy=specs.LimitPolicy.WARN))
    assert excesses(live_state(observed), warned, observed).quotas == 0


def test_racks_are_those_registered_else_those_of_the_pool() -> None:
    pool = replace(POOL, racks={1: "x", 2: "y", 4: "y"})
    rules = Rules(desired(pool), cluster({1: "a", 2: None, 3: None}), frozenset())
    assert rules.racks == {1: "a", 2: "y", 3: "", 4: "y"}
    assert rules.usable_racks == {"fast": {"a": 1, "y": 1, "": 1}}


def test_a_topic_lives_where_its_spec_a_claim_or_the_default_says() -> None:
    pools = (replace(POOL, claims=("log.*",)), pool_spec("slow", 9))
    settings = {"unmanaged_topics": specs.UnmanagedTopics.MANAGE, "default_pool": "slow"}
    declared = replace(desired(**settings), pools=pools)
    rules = Rules(declared, cluster(RACKS), frozenset())
    assert [rules.home(topic) for topic in ("t", "logs", "blog", "x")] == [
        AuditHome("fast"),
        AuditHome("fast"),
        AuditHome("slow"),
        AuditHome("slow"),
    ]


def fewest_moves(held: Counter[int], sizes: list[int], replicas: int) -> int:
    """Brute force: the nearest of the most even distributions that the racks can hold."""
    spreads = [
        spread
        for spread in itertools.product(*(range(size + 1) for size in sizes))
        if sum(spread) == min(replicas, sum(sizes))
    ]
    flattest = min(sorted(spread, reverse=True) for spread in spreads)
    return min(
        sum(max(0, held[rack] - wanted) for rack, wanted in enumerate(spread))
        for spread in spreads
        if sorted(spread, reverse=True) == flattest
    )


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_rack_excess_is_what_brute_force_finds(sizes, data) -> None:
    brokers = [rack for rack, size in enumerate(sizes) for _ in range(size)]
    chosen = data.draw(
        st.lists(st.sampled_from(range(len(brokers))), unique=True, min_size=1, max_size=6)
    )
    racks = [str(brokers[index]) for index in chosen]
    by_name = {str(rack): size for rack, size in enumerate(sizes)}
    held = Counter(brokers[index] for index in chosen)
    assert rack_excess(racks, by_name) == fewest_moves(held, sizes, len(chosen))
