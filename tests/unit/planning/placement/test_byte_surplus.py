"""How many replicas leave where a surplus in number cannot bring the bytes inside the band."""

import numpy as np
import pytest

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.placement.byte_surplus import replicas_to_leave
from poolkeeper.planning.placement.byte_targets import Aim

COUNTS = Band(np.array([3, 3, 3]), np.array([3, 3, 3]), np.array([3.0, 3.0, 3.0]))


def counts(*brokers: list[int]) -> tuple[int, ...]:
    """Replicas that leave, by broker of these sizes; all should end with 90 to 110."""
    sizes = np.array([size for own in brokers for size in own])
    lists = np.repeat(np.arange(3), [len(own) for own in brokers])[:, None]
    held = np.array([float(sum(own)) for own in brokers])
    low, high = np.full(3, 90.0), np.full(3, 110.0)
    give, get = np.maximum(held - 100, 0), np.maximum(100 - held, 0)
    most = np.where(give > 0, held - low, 0)
    aim = Aim(sizes, give, most, get, held, low, high)
    return tuple(
        replicas_to_leave(aim, lists, np.array([len(own) for own in brokers]), COUNTS).tolist()
    )


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [
        pytest.param(
            ([40, 40, 35, 35], [50, 50, 0], [40, 10]),
            (0, 0, 0),
            id="the largest of the surplus is enough to give, and who lacks a replica gets it",
        ),
        pytest.param(
            ([50, 40, 40], [50, 50, 0], [30, 0, 0]),
            (1, 0, 1),
            id="one broker is above with the right number, one below: each gives one",
        ),
        pytest.param(
            ([40, 40, 40, 40, 0], [50, 50, 0], [30, 0, 0]),
            (0, 0, 2),
            id="two too many are enough for the full one, the empty one is to be given both",
        ),
        pytest.param(
            ([70, 70, 0], [50, 50, 0], [0, 0, 0]),
            (0, 0, 0),
            id="what is too large to go does not, and what is too small is not worth a move",
        ),
    ],
)
def test_leaving(brokers: tuple[list[int], ...], expected: tuple[int, ...]) -> None:
    assert counts(*brokers) == expected
