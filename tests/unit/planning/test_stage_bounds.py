"""The bound of a plan's stages against the best of all sequences of stages, tried one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolkeeper.planning.stage_bounds import Load, level_bytes, shortest_bytes

Copy = tuple[int, int, int]
"""From, to, bytes."""

copies = st.lists(
    st.tuples(st.integers(1, 2), st.integers(3, 4), st.sampled_from([1, 2, 3, 7, 20])),
    min_size=1,
    max_size=5,
)


def sides_of(entries: list[Copy]) -> dict[tuple[int, bool], Load]:
    loads: dict[tuple[int, bool], list[int]] = {}
    for source, target, size in entries:
        loads.setdefault((source, True), []).append(size)
        loads.setdefault((target, False), []).append(size)
    ordered = {side: sorted(sizes, reverse=True) for side, sizes in loads.items()}
    return {side: Load(sizes, sizes) for side, sizes in ordered.items()}


def length(stage: list[Copy]) -> int:
    return max(sum(load.replicas) for load in sides_of(stage).values())


def lawful(stage: list[Copy], replicas_max: int, bytes_max: int) -> bool:
    counts = max(len(load.replicas) for load in sides_of(stage).values())
    within = counts <= replicas_max and sum(size for _, _, size in stage) <= bytes_max
    return within or len(stage) == 1


def shortest(entries: list[Copy], replicas_max: int, bytes_max: int) -> int:
    """The best over all ways to divide the entries among stages."""

    def best(left: list[Copy], stages: list[list[Copy]]) -> int:
        if not left:
            if not all(lawful(stage, replicas_max, bytes_max) for stage in stages):
                return 10**9
            return sum(length(stage) for stage in stages)
        first, rest = left[0], left[1:]
        opened = [best(rest, [*stages, [first]])]
        for i, stage in enumerate(stages):
            opened.append(best(rest, [*stages[:i], [*stage, first], *stages[i + 1 :]]))
        return min(opened)

    return best(entries, [])


@settings(max_examples=150)
@given(copies, st.integers(1, 3), st.sampled_from([5, 21, 1000]))
def test_no_sequence_of_stages_is_shorter(entries, replicas_max, bytes_max) -> None:
    largest = max(size for _, _, size in entries)
    bound = shortest_bytes(
        sides_of(entries), replicas_max=replicas_max, bytes_max=max(bytes_max, largest)
    )
    assert bound <= shortest(entries, replicas_max, bytes_max)


@pytest.mark.parametrize(
    ("entries", "replicas_max", "bytes_max", "bound"),
    [
        pytest.param([(1, 3, 5), (2, 3, 4)], 9, 99, 9, id="the-busiest-broker"),
        pytest.param(
            [(1, 3, 20), (2, 4, 7), (2, 4, 7), (2, 4, 7)], 1, 99, 34, id="counts-make-others-wait"
        ),
        pytest.param([(1, 3, 20), (2, 4, 7), (2, 4, 7)], 9, 24, 30, id="bytes-of-a-stage-do-too"),
        pytest.param([(1, 3, 20), (2, 4, 7), (2, 4, 7)], 9, 99, 20, id="without-limits-none-waits"),
    ],
)
def test_what_makes_a_plan_last(entries, replicas_max, bytes_max, bound) -> None:
    found = shortest_bytes(sides_of(entries), replicas_max=replicas_max, bytes_max=bytes_max)
    assert found == bound


def test_the_level_that_all_loads_can_be_brought_down_to() -> None:
    assert [level_bytes([10, 6, 1], taken) for taken in (0, 4, 6, 8, 16, 99)] == [10, 6, 5, 4, 1, 0]
