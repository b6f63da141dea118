"""Quotas: every bound that refuses is named, and with those raised as told nothing refuses."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.problems import is_left_undone
from poolkeeper.model.specs import ClusterLimits, LimitPolicy, Quotas
from poolkeeper.planning.constraints.quotas import QuotaUsage, quota_problems

Bounds = dict[str, int]
"""By the field that holds it."""

FIELDS = (
    "quotas.topics",
    "quotas.partitions",
    "quotas.perNamespace.shop.topics",
    "quotas.perNamespace.shop.partitions",
    "limits.partitions",
)
TOPIC = topic_spec("new", "p")


def tally(bounds: Bounds, held: int) -> QuotaUsage:
    """A pool whose topics have two partitions each, all in the namespace of the next topic."""
    pool_bounds = (bounds.get(field) for field in FIELDS[:2])
    own_bounds = (bounds.get(field) for field in FIELDS[2:4])
    quotas = Quotas(*pool_bounds, per_namespace={"shop": Quotas(*own_bounds)})
    limits = ClusterLimits(partitions=bounds.get(FIELDS[4], 10**6), policy=LimitPolicy.ENFORCE)
    pool = pool_spec("p", 1, 2, 3, quotas=quotas)
    counted = QuotaUsage(desired(pool, limits=limits), {})
    for number in range(held):
        counted.add(replace(TOPIC, name=f"t{number}"), topics=1, partitions=2)
    return counted


def named(said: str) -> Bounds:
    """The fields that a refusal names, and what it says to raise them to."""
    return {field: int(n) for field, n in re.findall(r"\(raise spec\.(\S+) to (\d+)\)", said)}


@given(
    st.dictionaries(st.sampled_from(FIELDS), st.integers(0, 8)),
    st.integers(0, 4),
    st.integers(1, 3),
)
def test_each_bound_that_is_named_refuses_alone_and_all_raised_refuse_nothing(
    bounds, held, partitions
) -> None:
    def refusal(these: Bounds) -> str:
        return str(tally(these, held).refusal(TOPIC, topics=1, partitions=partitions) or "")

    found = named(refusal(bounds))
    assert {field for field in bounds if refusal({field: bounds[field]})} == set(found)
    assert refusal(bounds | found) == ""
    for field, enough in found.items():
        assert set(named(refusal(bounds | found | {field: enough - 1}))) == {field}


def test_a_refusal() -> None:
    said = tally({"quotas.topics": 2, "quotas.perNamespace.shop.partitions": 5}, 2).refusal(
        TOPIC, topics=1, partitions=3
    )
    assert str(said) == (
        "pool p has 2 of 2 topics and would get 1 more (raise spec.quotas.topics to 3);"
        " namespace shop in pool p has 4 of 5 partitions and would get 3 more"
        " (raise spec.quotas.perNamespace.shop.partitions to 7)"
    )


@pytest.mark.parametrize(
    ("partitions", "held", "said"),
    [
        pytest.param(200_000, 4_000, [], id="as many as may be"),
        pytest.param(
            200_001, 4_000, ["the cluster has 200001 partitions, the limit is 200000"], id="cluster"
        ),
        pytest.param(
            200_000,
            4_001,
            ["1 broker holds more replicas than the limit of 4000 (broker 1 most, 4001)"],
            id="broker",
        ),
    ],
)
@pytest.mark.parametrize("policy", LimitPolicy)
def test_the_rule_of_thumb_is_told_and_leaves_something_undone_only_where_it_is_enforced(
    partitions, held, said, policy
) -> None:
    usage = QuotaUsage(desired(pool_spec("p", 1), limits=ClusterLimits(policy=policy)), {})
    usage.add(TOPIC, topics=1, partitions=partitions)
    found = quota_problems(usage, {1: held, 2: 4_000})
    assert [each.message for each in found] == said
    undone = {is_left_undone(each.reason) for each in found}
    assert undone == ({policy is LimitPolicy.ENFORCE} if said else set())
