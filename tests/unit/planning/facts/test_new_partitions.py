"""Sentences about new partitions count in the singular where there is one."""

import pytest

from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import Headroom
from poolkeeper.planning.facts.capacity import HeadroomExceeded, Quantity
from poolkeeper.planning.facts.conflicts import Witness
from poolkeeper.planning.facts.new_partitions import AwaitsMoves, BeyondHeadroom, BrokersFull
from poolkeeper.planning.facts.pools import TooFewBrokers, UsableBrokers


@pytest.mark.parametrize(
    ("facts", "begins"),
    [
        (AwaitsMoves(1), "stays at 1 partition until"),
        (AwaitsMoves(2000), "stays at 2000 partitions until"),
        (BrokersFull((1,), 1, 0, ("f",)), "broker 1 would hold 1 replica and may hold 0"),
        (
            TooFewBrokers(1, 3, UsableBrokers((1,), Witness(3, ("1",)))),
            "1 partition stays at fewer than 3 replicas",
        ),
    ],
)
def test_one_is_told_in_the_singular(facts: Facts, begins: str) -> None:
    assert str(facts).startswith(begins)


def test_problems_write_numbers_without_separators() -> None:
    said = str(HeadroomExceeded(Quantity.REPLICAS, 12_000, 8_000, Headroom(failures=1)))
    assert said == "holds 12000 replicas; 8000 fit with the largest broker lost"


def test_a_headroom_without_failures_asks_for_capacity_anywhere() -> None:
    said = str(BeyondHeadroom("p", 9, 8, Headroom(failures=0), None))
    assert said == (
        "pool p would hold 9 replicas, 8 fit with nothing lost. Add capacity for 1 more replica"
    )
