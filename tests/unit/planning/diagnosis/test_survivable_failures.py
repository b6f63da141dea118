"""Failures that a pool survives, against every loss tried one by one."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings

from poolkeeper.model.specs import FailureDomain
from poolkeeper.planning.diagnosis.capacity_conflicts import CapacityDemand
from poolkeeper.planning.diagnosis.survivable_failures import Survival, survivals
from poolkeeper.planning.facts.conflicts import Obstacle
from unit.planning.diagnosis.test_capacity_conflicts import demands, fits, seats


def survived(demand: CapacityDemand, lost: tuple[str, ...], domain: FailureDomain) -> bool:
    """Whether what is left of the brokers holds everything, replica by replica."""

    def is_lost(seat) -> bool:
        return (seat.member.rack if domain is FailureDomain.RACK else str(seat.member.id)) in lost

    left = tuple(
        replace(seat, member=replace(seat.member, obstacle=Obstacle.GONE))
        if is_lost(seat)
        else seat
        for seat in demand.seats
    )
    usable = sum(not seat.member.obstacle for seat in left)
    enough = usable >= max(demand.amounts)
    return enough and fits(replace(demand, seats=left, headroom=None))


@settings(max_examples=60)
@given(demands())
def test_the_worst_of_all_losses_is_found(demand) -> None:
    for found in survivals(demand):
        live = [seat.member for seat in demand.seats if not seat.member.obstacle]
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
            CapacityDemand({2: 9}, seats("a1 b2 c3 a4")),
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
            CapacityDemand({2: 1}, (replace(seats("a1")[0], bound=None),)),
            (),
            id="one-says-nothing",
        ),
    ],
)
def test_tables(demand, found) -> None:
    assert survivals(demand) == found


def test_many_kinds_of_brokers_are_judged_by_the_largest() -> None:
    many = tuple(replace(seat, bound=10 + seat.member.id) for seat in seats("a1 b2 c3 a4 b5 c6"))
    found = survivals(CapacityDemand({2: 6}, many), losses_max=5)
    assert found[0] == Survival(FailureDomain.BROKER, 1, ("6",), 65 - 12, exact=False)
