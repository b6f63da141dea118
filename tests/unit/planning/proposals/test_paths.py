from collections import Counter
from collections.abc import Iterable

import pytest

from poolkeeper.planning.proposals.paths import path


def crowding(brokers: Iterable[int]) -> int:
    """Brokers 10 to 19 are one rack, 20 to 29 the next: replicas that share a rack."""
    return sum(count - 1 for count in Counter(broker // 10 for broker in brokers).values())


@pytest.mark.parametrize(
    ("source", "target", "one", "expected"),
    [
        pytest.param((1, 2), (1, 2), False, ((1, 2),), id="nothing"),
        pytest.param((1, 2), (3, 4), False, ((1, 2), (3, 4)), id="all at once"),
        pytest.param((1, 2), (2, 1), True, ((1, 2), (2, 1)), id="order"),
        pytest.param((1, 2), (3, 4, 5), False, ((1, 2), (3, 4), (3, 4, 5)), id="move, then grow"),
        pytest.param((1, 2, 3), (1, 4), False, ((1, 2, 3), (1, 4)), id="shrink in the same step"),
        pytest.param(
            (11, 21, 31), (22, 32, 12), True,
            ((11, 21, 31), (11, 21, 32), (11, 22, 32), (22, 32, 12)),
            id="one at a time, always spread over racks",
        ),
        pytest.param(
            (11,), (11, 12, 21), False, ((11,), (11, 21), (11, 12, 21)), id="grow to the other rack"
        ),
        pytest.param(
            (11, 12, 13), (21, 11, 14, 12), False,
            ((11, 12, 13), (11, 14, 12), (21, 11, 14, 12)),
            id="what stays uneven goes first",
        ),
        pytest.param(
            (11, 21, 22), (31, 23, 22), True,
            ((11, 21, 22), (11, 23, 22), (31, 23, 22)),
            id="what stays uneven goes first, one at a time",
        ),
        pytest.param((1, 1), (1,), False, ((1, 1), (1,)), id="a broker named twice"),
    ],
)  # fmt: skip
def test_paths(
    source: tuple[int, ...], target: tuple[int, ...], one: bool, expected: tuple[object, ...]
) -> None:
    live = range(100)
    assert path(source, target, crowding, one_at_a_time=one, live=live) == expected


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param((11, 21, 31), ((11, 21), (11, 31), (31, 41)), id="the leader goes last"),
        pytest.param((21, 31, 41), ((11, 21), (31, 21), (31, 41)), id="unless it is dead"),
        pytest.param((31, 41), ((11, 21), (11, 31), (31, 41)), id="all are dead"),
    ],
)
def test_who_is_dead_leaves_first(live: tuple[int, ...], expected: tuple[object, ...]) -> None:
    assert path((11, 21), (31, 41), crowding, one_at_a_time=True, live=live) == expected
