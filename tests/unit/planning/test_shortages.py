"""Shortages: what they name conflicts, and without any one of it everything fits."""

import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolkeeper.model.specs import Domain, Headroom
from poolkeeper.planning.laws import spread
from poolkeeper.planning.shortages import (
    HEADROOM,
    RACK_LAW,
    Demand,
    Overflow,
    Seat,
    Shortage,
    overflow,
    shortage,
)
from poolkeeper.planning.witnesses import DOWN, DRAINED, Member


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    seats = tuple(
        Seat(
            Member(
                n, draw(st.sampled_from("aabc")), draw(st.sampled_from(["", "", DRAINED, DOWN]))
            ),
            draw(st.sampled_from([None, 0, 1, 2, 3, 4])),
        )
        for n in range(1, draw(st.integers(1, 5)) + 1)
    )
    amounts = draw(st.dictionaries(st.integers(1, 3), st.integers(1, 2), min_size=1, max_size=2))
    headroom = st.builds(Headroom, st.sampled_from(Domain), st.integers(1, 2))
    return Demand(amounts, seats, draw(st.none() | headroom), draw(st.booleans()))


def fits(demand: Demand) -> bool:
    """Whether some layout obeys: all lists of all partitions are tried, one after the other."""
    usable = [seat for seat in demand.seats if not seat.member.obstacle]
    if not usable:
        return True
    factors = [
        min(factor, len(usable)) for factor, count in demand.amounts.items() for _ in range(count)
    ]
    if demand.headroom is not None and all(seat.bound is not None for seat in usable):
        by_rack = demand.headroom.domain is Domain.RACK
        domains: Counter[str] = Counter()
        for seat in usable:
            domains[seat.member.rack if by_rack else str(seat.member.id)] += seat.bound or 0
        if sum(sorted(domains.values(), reverse=True)[demand.headroom.failures :]) < sum(factors):
            return False
    racks = [seat.member.rack if demand.by_racks else "" for seat in usable]
    names = sorted(set(racks))
    room = tuple(racks.count(name) for name in names)

    def even(chosen: tuple[int, ...]) -> bool:
        held = [sum(racks[i] == name for i in chosen) for name in names]
        return spread(len(chosen), room, (0,) * len(room)).excess(held) == 0

    @cache
    def placeable(place: int, left: tuple[int | None, ...]) -> bool:
        if place == len(factors):
            return True
        for chosen in itertools.combinations(range(len(usable)), factors[place]):
            after = [n if n is None or i not in chosen else n - 1 for i, n in enumerate(left)]
            held = all(n is None or n >= 0 for n in after) and even(chosen)
            if held and placeable(place + 1, tuple(after)):
                return True
        return False

    return placeable(0, tuple(seat.bound for seat in usable))


def judge(demand: Demand) -> None:
    """What is named conflicts; without any one of it all fits; each remedy is enough."""
    assert (overflow(demand) is None) == fits(demand)
    found = shortage(demand)
    assert (found is None) == fits(demand)
    if found is None:
        return
    named = demand
    for constraint in demand.constraints:
        if constraint not in found.constraints:
            named = named.without(constraint)
    assert set(named.constraints) == set(found.constraints)
    assert not fits(named)
    for constraint in found.constraints:
        assert fits(named.without(constraint)), constraint
    for constraint in found.remedies:
        assert fits(demand.without(constraint)), constraint


@settings(max_examples=300)
@given(demands())
def test_a_shortage_conflicts_and_none_of_it_can_be_spared(demand) -> None:
    judge(demand)


def seats(text: str, bound: int = 10, fixed: int = 0) -> tuple[Seat, ...]:
    """`a1 b2 c3-`: racks and ids, drained ones marked."""
    words = (word for word in text.split())
    return tuple(
        Seat(Member(int(w[1]), w[0], DRAINED if w.endswith("-") else ""), bound, fixed)
        for w in words
    )


@pytest.mark.parametrize(
    ("demand", "found"),
    [
        pytest.param(Demand({3: 10}, seats("a1 b2 c3")), None, id="it-fits-to-the-last"),
        pytest.param(
            Demand({3: 11}, seats("a1 b2 c3")),
            Shortage(Overflow((1, 2, 3), 33, 30), (), ()),
            id="more-than-all-brokers-may-hold",
        ),
        pytest.param(
            Demand({2: 16}, seats("a1 b2 c3 c4-")),
            Shortage(Overflow((1, 2, 3), 32, 30), (4,), (4,)),
            id="a-drained-broker-would-be-enough",
        ),
        pytest.param(
            Demand({3: 15}, seats("a1 b2 b3 c4 c5 a6-")),
            Shortage(Overflow((1,), 15, 10), (RACK_LAW, 6), (RACK_LAW, 6)),
            id="one-rack-is-too-small",
        ),
        pytest.param(
            Demand({2: 11}, seats("a1 b2 c3"), Headroom(Domain.BROKER, 1)),
            Shortage(Overflow((1, 2, 3), 22, 20), (HEADROOM,), (HEADROOM,)),
            id="with-a-broker-lost-it-would-not-fit",
        ),
        pytest.param(
            Demand({1: 5}, seats("a1 b2", 10, 8)),
            Shortage(Overflow((1, 2), 21, 20), (), ()),
            id="what-cannot-leave-takes-room",
        ),
    ],
)
def test_shortages(demand, found) -> None:
    assert shortage(demand) == found


def test_numbers_are_pythons_own_whatever_was_asked_before() -> None:
    spread.cache_clear()
    spread(3, tuple(np.array([1, 1, 2])), (0, 0, 0))
    found = overflow(Demand({3: 11}, seats("a1 b2 c3 c4")))
    assert found is not None
    assert type(found.wanted) is int


def test_large_pools_are_judged_by_whole_racks() -> None:
    many = tuple(Seat(Member(n, "abcdef"[n % 6]), 9 if n % 6 else 5) for n in range(1, 61))
    found = shortage(Demand({6: 60}, many))
    assert found is not None
    assert found.overflow == Overflow(tuple(range(6, 61, 6)), 60, 50)
