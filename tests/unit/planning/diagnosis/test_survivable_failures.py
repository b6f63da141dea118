"""Failures that a pool survives, against every loss tried one by one."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given

from laws import examples
from poolkeeper.model.specs import FailureDomain
from poolkeeper.planning.diagnosis.capacity_conflicts import CapacityDemand
from poolkeeper.planning.diagnosis.survivable_failures import Survival, survivals
from poolkeeper.planning.facts.conflicts import Obstacle
from unit.planning.diagnosis.test_capacity_conflicts import brokers, demands, fits


def survived(demand: CapacityDemand, lost: tuple[str, ...], domain: FailureDomain) -> bool:
    """Whether what is left of the brokers holds everything, replica by replica."""

    def is_lost(broker) -> bool:
        return (
            broker.member.rack if domain is FailureDomain.RACK else str(broker.member.id)
        ) in lost

    left = tuple(
        replace(broker, member=replace(broker.member, obstacle=Obstacle.GONE))
        if is_lost(broker)
        else broker
        for broker in demand.brokers
    )
    usable = sum(not broker.member.obstacle for broker in left)
    enough = usable >= max(demand.amounts)
    return enough and fits(replace(demand, brokers=left, headroom=None))


@examples(40)
@given(demands())
def test_the_worst_of_all_losses_is_found(demand) -> None:
    for found in survivals(demand):
        live = [broker.member for broker in demand.brokers if not broker.member.obstacle]
        by_rack = found.domain is FailureDomain.RACK
        names = sorted({m.rack if by_rack else str(m.id) for m in live})
        every = [
            survived(demand, lost, found.domain)
            for lost in itertools.combinations(names, found.failures)
        ]
        assert found.exact
        assert (found.spare >= 0) == all(every)
        assert survived(demand, found.worst, found.domain) == all(every)


@pytest.mark.parametrize(
    ("demand", "found"),
    [
        pytest.param(
            CapacityDemand({2: 9}, brokers("a1 b2 c3 a4")),
            (
                Survival(FailureDomain.BROKER, 1, ("1",), 12),
                Survival(FailureDomain.BROKER, 2, ("1", "4"), 2),
                Survival(FailureDomain.BROKER, 3, ("1", "4", "2"), -9),
                Survival(FailureDomain.RACK, 1, ("a",), 2),
                Survival(FailureDomain.RACK, 2, ("a", "b"), -9),
            ),
            id="four-brokers-in-three-racks",
        ),
        pytest.param(
            CapacityDemand({2: 1}, (replace(brokers("a1")[0], bound=None),)),
            (),
            id="one-says-nothing",
        ),
    ],
)
def test_tables(demand, found) -> None:
    assert survivals(demand) == found


def test_many_kinds_of_brokers_are_judged_by_the_largest() -> None:
    many = tuple(
        replace(broker, bound=10 + broker.member.id) for broker in brokers("a1 b2 c3 a4 b5 c6")
    )
    found = survivals(CapacityDemand({2: 6}, many), losses_max=5)
    assert found[0] == Survival(FailureDomain.BROKER, 1, ("6",), 65 - 12, exact=False)
