"""Flows through small networks."""

import numpy as np
import pytest

from poolkeeper.planning.placement.network import CostsTooLarge, Network


def chain(cost: int) -> Network:
    """Three nodes, two ways from the first to the last: direct, or over the one between."""
    network = Network()
    first, middle, last = (np.array([node]) for node in network.add_nodes(3))
    network.add_arcs(first, last, 1, 3 * cost)
    network.add_arcs(first, middle, 5, cost)
    network.add_arcs(middle, last, 5, cost)
    return network


@pytest.mark.parametrize("cost", [1, 2**50])
def test_the_cheaper_way_is_taken(cost: int) -> None:
    assert chain(cost).solve(np.array([5, 0, -5])).tolist() == [0, 5, 5]
    assert chain(cost).solve(np.array([6, 0, -6])).tolist() == [1, 5, 5]


def test_costs_that_cannot_be_added_up_are_told() -> None:
    with pytest.raises(CostsTooLarge):
        chain(2**61).solve(np.array([5, 0, -5]))
