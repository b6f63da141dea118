"""Where a topic is once it is declared in another pool."""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.errors import Refused
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.studies.pool_moves import racks_in_pool

POOLS = (pool_spec("fast", 1, 2), pool_spec("slow", 3, 4))
CLUSTER = builders.cluster({1: "a", 2: "b", 3: "c", 4: "d"}, topic("orders", (1, 2)))


@pytest.mark.parametrize("policy", list(AdoptionPolicy))
def test_a_declared_topic_gets_to_the_pool_whoever_may_take_topics_over(
    policy: AdoptionPolicy,
) -> None:
    declared = builders.desired(POOLS, topic_spec("orders", "fast"))
    declared = replace(declared, cluster=replace(declared.cluster, adoption=Adoption(policy)))
    ((*racks,),) = racks_in_pool(declared, CLUSTER, "orders", "slow")
    assert sorted(racks) == ["c", "d"]


def test_what_is_not_declared_is_refused() -> None:
    declared = builders.desired(POOLS, topic_spec("orders", "fast"))
    with pytest.raises(Refused, match="no Topic declares other"):
        racks_in_pool(declared, CLUSTER, "other", "slow")
    with pytest.raises(Refused, match="there is no pool quick"):
        racks_in_pool(declared, CLUSTER, "orders", "quick")
