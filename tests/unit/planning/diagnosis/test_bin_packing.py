"""What is known to fit: by a proof where partitions are small, else by placing them."""

import pytest

from poolkeeper.planning.diagnosis.bin_packing import packs
from poolkeeper.planning.diagnosis.capacity_conflicts import CapacityDemand
from unit.planning.diagnosis.test_capacity_conflicts import brokers


@pytest.mark.parametrize(
    ("demand", "known"),
    [
        pytest.param(
            CapacityDemand({1: 20}, brokers("a1 a2"), sizes=((7, 1), (7, 1), (6, 1))),
            False,
            id="three-of-two-thirds-in-two",
        ),
        pytest.param(
            CapacityDemand({1: 20}, brokers("a1 a2"), sizes=((6, 1), (4, 1), (6, 1), (4, 1))),
            True,
            id="to-the-last-by-placing-them",
        ),
        pytest.param(
            CapacityDemand({2: 9_000}, brokers("a1 a2 a3 a4", 5_000), sizes=((1, 2),) * 9_000),
            True,
            id="very-many-small-ones-by-proof",
        ),
        pytest.param(
            CapacityDemand({1: 10}, brokers("a1 a2", 10, 9), sizes=((0, 1),)), True, id="empty-ones"
        ),
    ],
)
def test_what_is_known_to_fit(demand, known) -> None:
    assert packs(demand) is known
