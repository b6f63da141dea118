"""How long topics last of which few partitions may move at a time, and what goes first for them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from laws import examples
from poolkeeper.model.columns.replica_lists import whole_numbers
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.capped_topics import CappedTopics
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.filling.filler import USUAL, Style
from unit.planning.staging.first_stages import first_stage

EXECUTION = Execution(max_moves=100, max_moves_per_broker=10, max_bytes=10_000)


def table(copies: list[tuple[str, int, tuple[int, ...], int]]) -> EntryTable:
    """Steps by topic, leader, new brokers and the size of one copy."""
    moves = [
        builders.move(topic, number, (leader,), added, bytes=size * len(added))
        for number, (topic, leader, added, size) in enumerate(copies)
    ]
    return EntryTable(moves, builders.cluster({}))


def lasting(sizes: list[int], most: int) -> int:
    """The best of all divisions of one topic's entries among stages of at most `most` of them."""

    def best(left: list[int], stages: list[list[int]]) -> int:
        if not left:
            return sum(max(stage) for stage in stages)
        first, rest = left[0], left[1:]
        found = [best(rest, [*stages, [first]])]
        for i, stage in enumerate(stages):
            if len(stage) < most:
                found.append(best(rest, [*stages[:i], [*stage, first], *stages[i + 1 :]]))
        return min(found)

    return best(sizes, [])


@examples(60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.integers(0, 9), max_size=4),
    st.integers(1, 4),
    st.integers(0, 12),
    st.data(),
)
def test_a_topic_lasts_as_long_as_its_shortest_stages(large, small, most, least, data) -> None:
    """Whatever was taken before, and whatever came later."""
    sizes = {"large": large, "small": small}
    entries = table([(name, 1, (2,), size) for name in sizes for size in sizes[name]])
    topics, gone = CappedTopics(entries), bytearray(len(entries))
    caps = whole_numbers([most] * len(entries.topics))
    topics.longest_bytes(caps, gone, 0)
    taken = data.draw(st.lists(st.sampled_from(range(len(entries))), unique=True))
    for row in taken:
        gone[row] = 1
    topics.take(taken)
    topics.compact(gone)
    returned = taken[:1]
    for row in returned:
        gone.append(0)
        topics.add(entries.append(entries.entry(row)))
    left: dict[int, list[int]] = {}
    for row, is_gone in enumerate(gone):
        if not is_gone:
            left.setdefault(entries.topic[row], []).append(entries.bytes[row])
    longest = max((lasting(each, most) for each in left.values() if len(each) > most), default=0)
    assert topics.longest_bytes(caps, gone, least) == max(least, longest)


def test_the_largest_entries_of_a_slow_topic_go_first() -> None:
    """Topic a lasts 9 + 7, whoever carries it; b fits into one stage."""
    copies = [("a", leader, (9 - leader,), 10 - leader) for leader in (1, 2, 3, 4)]
    entries = table([*copies, ("b", 8, (7,), 30)])
    topics, gone = CappedTopics(entries), bytearray(len(entries))
    by_topic = {"a": 2, "b": 9}
    caps = whole_numbers([by_topic[name] for name in entries.topics])
    assert [entries.bytes[row] for row in topics.first(caps, gone, 20)] == [9, 8, 7, 6]
    assert topics.first(caps, gone, 22) == []
    assert topics.longest_bytes(caps, gone, 0) == 16


def test_a_clone_leaves_the_first_as_it_is() -> None:
    entries = table([("a", 1, (2,), 5), ("a", 3, (4,), 3)])
    topics = CappedTopics(entries)
    clone = topics.clone()
    clone.take([0])
    caps = whole_numbers([1])
    assert clone.longest_bytes(caps, bytearray([1, 0]), 0) == 0
    assert topics.longest_bytes(caps, bytearray(2), 0) == 8


def stage(
    copies: list[tuple[str, int, tuple[int, ...], int]],
    execution: Execution,
    style: Style,
    cap: int,
) -> list[tuple[int, int]]:
    """Leader and bytes of the steps of the first stage."""
    entries = table(copies)
    rows = first_stage(entries, execution, style, cap)
    return sorted((entries.brokers[entries.out[row] >> 1], entries.bytes[row]) for row in rows)


def test_what_few_partitions_may_do_at_a_time_comes_before_the_busiest_broker() -> None:
    """Broker 9 needs 18; topic a needs 16 if its partitions go one at a time, and else 4."""
    topic = [("a", leader, (10 + leader,), 4) for leader in range(1, 5)]
    busiest = [("b", 9, (20,), 9), ("c", 9, (21,), 9)]
    one_slot = replace(EXECUTION, max_moves=1)
    assert stage([*topic, *busiest], one_slot, USUAL, cap=4) == [(9, 9)]
    assert stage([*topic, *busiest], one_slot, USUAL, cap=1) == [(1, 4)]


@pytest.mark.parametrize(
    ("style", "steps"),
    [
        pytest.param(USUAL, [(1, 9), (2, 9), (3, 12)], id="queues-in-turn"),
        pytest.param(Style(100, by_gain=True), [(3, 12), (4, 12)], id="most-for-all-sides"),
    ],
)
def test_a_step_into_several_busy_brokers_saves_slots(style, steps) -> None:
    into_one = [("a", 1, (11,), 9), ("b", 2, (12,), 9)]
    into_all = [("c", 3, (11, 12), 6), ("d", 4, (11, 12), 6)]
    assert stage([*into_one, *into_all], replace(EXECUTION, max_moves=4), style, cap=9) == steps


def test_a_side_that_fell_short_goes_before_larger_steps() -> None:
    copies = [("a", 1, (11,), 9), ("b", 2, (12,), 7), ("c", 2, (13,), 2)]
    one_slot = replace(EXECUTION, max_moves=1)
    assert stage(copies, one_slot, USUAL, cap=9) == [(1, 9)]
    sides = table(copies)
    out_of_2 = 2 * sides.brokers.index(2) + 1
    assert stage(copies, one_slot, Style(first_sides=frozenset({out_of_2})), cap=9) == [(2, 7)]
