"""Shortages on thousands of random pools, other ones in every run."""

import pytest
from hypothesis import given, settings

from poolkeeper.planning.diagnosis.capacity_conflicts import CapacityDemand
from unit.planning.diagnosis.test_capacity_conflicts import demands, judge, sized_demands

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@settings(max_examples=20_000, derandomize=False)
@given(demands())
def test_a_shortage_conflicts_and_none_of_it_can_be_spared(demand: CapacityDemand) -> None:
    judge(demand)


@settings(max_examples=20_000, derandomize=False)
@given(sized_demands())
def test_what_conflicts_over_bytes_is_smallest_for_partitions_as_they_are(
    demand: CapacityDemand,
) -> None:
    judge(demand)
