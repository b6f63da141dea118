"""The bound of a plan's stages against the best of all sequences of stages, tried one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import ReplicaLists, whole_numbers
from poolkeeper.planning.staging.barrier_cost import Barrier, LargeEntry, barrier
from poolkeeper.planning.staging.makespan_bound import (
    Copies,
    Copy,
    busiest_bytes,
    level_bytes,
    shortest_bytes,
)

copies = st.lists(
    st.builds(
        Copy,
        st.integers(1, 2),
        st.sampled_from([(3,), (4,), (3, 4), (4, 5)]),
        st.sampled_from([1, 2, 3, 7, 20]),
    ),
    min_size=1,
    max_size=5,
)


def copy(leader: int, target: int, size: int) -> Copy:
    return Copy(leader, (target,), size)


def by_column(entries: list[Copy]) -> Copies:
    leaders, added, sizes = zip(*entries, strict=True)
    return Copies(whole_numbers(leaders), ReplicaLists.of(added), whole_numbers(sizes))


def sides_of(entries: list[Copy]) -> dict[tuple[int, bool], list[int]]:
    """The sizes of all replicas, by broker and direction."""
    loads: dict[tuple[int, bool], list[int]] = {}
    for leader, added, size in entries:
        loads.setdefault((leader, True), []).extend([size] * len(added))
        for target in added:
            loads.setdefault((target, False), []).append(size)
    return loads


def length(stage: list[Copy]) -> int:
    return max(sum(sizes) for sizes in sides_of(stage).values())


@frozen
class Limits:
    """Of a stage: replicas in all, replicas of a side, and bytes."""

    in_flight: int
    replicas: int
    bytes: int

    def allow(self, stage: list[Copy]) -> bool:
        """Whether the entries may go together; each may go alone, and have a side to itself."""
        if len(stage) == 1:
            return True
        crowded = sum(len(entry.added) for entry in stage) > self.in_flight
        if crowded or sum(entry.bytes for entry in stage) > self.bytes:
            return False
        touching = Counter(side for entry in stage for side in sides_of([entry]))
        return all(
            len(sizes) <= self.replicas or touching[side] == 1
            for side, sizes in sides_of(stage).items()
        )

    def bound(self, columns: Copies) -> int:
        return shortest_bytes(
            columns,
            in_flight_max=self.in_flight,
            replicas_max=self.replicas,
            bytes_max=self.bytes,
        )


def shortest(entries: list[Copy], limits: Limits) -> int:
    """The best over all ways to divide the entries among stages."""

    def best(left: list[Copy], stages: list[list[Copy]]) -> int:
        if not left:
            if not all(map(limits.allow, stages)):
                return 10**9
            return sum(length(stage) for stage in stages)
        first, rest = left[0], left[1:]
        opened = [best(rest, [*stages, [first]])]
        for i, stage in enumerate(stages):
            opened.append(best(rest, [*stages[:i], [*stage, first], *stages[i + 1 :]]))
        return min(opened)

    return best(entries, [])


@examples(120)
@given(
    copies,
    st.builds(
        Limits,
        st.sampled_from([1, 2, 3, 99]),
        st.integers(1, 3),
        st.sampled_from([5, 9, 14, 21, 1000]),
    ),
)
def test_no_sequence_of_stages_is_shorter(entries, limits) -> None:
    columns = by_column(entries)
    assert columns.first(9) == entries
    assert busiest_bytes(columns) <= limits.bound(columns) <= shortest(entries, limits)


@pytest.mark.parametrize(
    ("entries", "replicas_max", "bytes_max", "bound"),
    [
        pytest.param([(1, 3, 5), (2, 3, 4)], 9, 99, 9, id="the-busiest-broker"),
        pytest.param(
            [(1, 3, 20), (2, 4, 7), (2, 4, 7), (2, 4, 7)], 1, 99, 34, id="counts-make-others-wait"
        ),
        pytest.param([(1, 3, 20), (2, 4, 7), (2, 4, 7)], 9, 24, 30, id="bytes-of-a-stage-do-too"),
        pytest.param([(1, 3, 20), (2, 4, 7), (2, 4, 7)], 9, 99, 20, id="without-limits-none-waits"),
        pytest.param(
            [(1, 3, 20), (2, 4, 15), (2, 5, 1)], 9, 30, 35, id="two-of-more-than-half-a-stage-part"
        ),
        pytest.param([(1, 3, 20), (2, 4, 7), (2, 4, 7)], 9, 15, 34, id="above-the-limit-alone"),
    ],
)
def test_what_makes_a_plan_last(entries, replicas_max, bytes_max, bound) -> None:
    columns = by_column([copy(*entry) for entry in entries])
    assert Limits(99, replicas_max, bytes_max).bound(columns) == bound


@pytest.mark.parametrize(
    ("in_flight", "bound"),
    [
        pytest.param(1, 20 + 7 + 7 + 5, id="one-by-one"),
        pytest.param(2, 20 + 7, id="by-twos"),
        pytest.param(9, 20, id="all-at-once"),
    ],
)
def test_few_replicas_in_flight_make_a_plan_last(in_flight, bound) -> None:
    columns = by_column([copy(1, 5, 20), copy(2, 6, 7), copy(3, 7, 7), copy(4, 8, 5)])
    assert Limits(in_flight, 9, 99).bound(columns) == bound


def test_the_level_that_all_loads_can_be_brought_down_to() -> None:
    assert [level_bytes([10, 6, 1], taken) for taken in (0, 4, 6, 8, 16, 99)] == [10, 6, 5, 4, 1, 0]


def test_the_entries_that_a_plan_should_bring_together() -> None:
    entries = [LargeEntry(50, 50), LargeEntry(40, 0), LargeEntry(4, 4)]
    carried = [0, 20, 30, 36].__getitem__
    assert barrier(entries, 60, 1, 100, carried) == Barrier(50 + 60 - 20, 50)
    assert barrier(entries, 60, 1, 60, carried) == Barrier(50 + 40 + 60 - 30, 40)
    assert barrier([], 61, 2, 100, carried) == Barrier(31, 100)
