from collections import Counter

import numpy as np
import pytest

from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import BoundedGroup, band, shares
from poolkeeper.planning.constraints.racks import Spread, even_spread


@pytest.mark.parametrize(
    ("replicas", "room", "pinned", "expected"),
    [
        pytest.param(3, (2, 2, 2), (0, 0, 0), Spread((1, 1, 1), (1, 1, 1)), id="as many as racks"),
        pytest.param(2, (2, 2, 2), (0, 0, 0), Spread((0, 0, 0), (1, 1, 1)), id="fewer than racks"),
        pytest.param(4, (2, 2, 2), (0, 0, 0), Spread((1, 1, 1), (2, 2, 2)), id="more than racks"),
        pytest.param(5, (1, 9), (0, 0), Spread((1, 4), (1, 4)), id="a small rack is full"),
        pytest.param(3, (9,), (0,), Spread((3,), (3,)), id="one rack takes all"),
        pytest.param(3, (2, 2, 0), (0, 0, 1), Spread((1, 1, 1), (1, 1, 1)), id="a dead rack"),
    ],
)
def test_an_even_spread(
    replicas: int, room: tuple[int, ...], pinned: tuple[int, ...], expected: Spread
) -> None:
    assert even_spread(replicas, room, pinned) == expected


@pytest.mark.parametrize(
    ("counts", "excess"), [((2, 1, 1), 0), ((2, 2, 0), 1), ((4, 0, 0), 2), ((3, 1, 0), 1)]
)
def test_the_excess_is_the_number_of_replicas_to_move(counts: tuple[int, ...], excess: int) -> None:
    assert even_spread(4, (5, 5, 5), (0, 0, 0)).excess(Counter(dict(enumerate(counts)))) == excess


def test_a_small_rack_carries_more_where_every_rack_must_hold_one() -> None:
    racks = (np.arange(10), np.arange(10, 20), np.arange(20, 25))
    domains = tuple(BoundedGroup(members, 100.0, 100.0) for members in racks)
    got = shares(300.0, np.ones(25), np.zeros(25), np.full(25, 100.0), domains)
    assert np.allclose(got, [10.0] * 20 + [20.0] * 5)


def test_load_that_cannot_move_and_weights() -> None:
    everyone = BoundedGroup(np.arange(3), 0.0, 99.0)
    got = shares(
        12.0, np.array([1.0, 1.0, 2.0]), np.array([6.0, 0, 0]), np.full(3, 99.0), (everyone,)
    )
    assert np.allclose(got, [6.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("share", "goal", "half", "low", "high"),
    [
        (10.4, Goal(GoalKind.REPLICAS, count=1), False, 10, 11),
        (10.0, Goal(GoalKind.REPLICAS, count=1), False, 10, 10),
        (10.0, Goal(GoalKind.REPLICAS, count=3), False, 8, 12),
        (10.0, Goal(GoalKind.REPLICAS, count=3), True, 9, 11),
        (10.4, Goal(GoalKind.REPLICAS, percent=20.0), False, 9, 12),
        (10.4, Goal(GoalKind.REPLICAS, percent=20.0), True, 10, 11),
        (2.5, Goal(GoalKind.REPLICAS, percent=5.0), True, 2, 3),
    ],
)
def test_bands(share: float, goal: Goal, half: bool, low: int, high: int) -> None:
    got = band(np.array([share]), goal, half=half)
    assert (got.low[0], got.high[0]) == (low, high)
