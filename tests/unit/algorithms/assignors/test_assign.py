"""What holds for every group, and what `assign` makes of groups with nothing to assign."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor_examples import group, reads
from consumer_groups import drawn_group, next_rebalance
from laws import examples
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor

SEEDS = st.integers(0, 2**32 - 1)
BATCH = 20
EVERY = pytest.mark.parametrize("assignor", Assignor)
ROUNDS_MAX = 10


def rebalances(assignor, seed):
    """Yield groups that claim what exists, each after a rebalance and before the next, twice."""
    random = Random(seed)
    for _ in range(BATCH):
        drawn = drawn_group(random, damaged=False)
        assignment = assign(assignor, drawn.topics, drawn.members)
        yield drawn, assignment
        drawn = next_rebalance(random, drawn, assignment, damaged=False)
        if all(member.topics for member in drawn.members):
            yield drawn, assign(assignor, drawn.topics, drawn.members)


def assigned_again(assignor, drawn, assignment):
    members = [
        replace(member, owned=tuple(assignment[member.id]), generation=9)
        for member in drawn.members
    ]
    return assign(assignor, drawn.topics, members)


def as_sets(assignment):
    return {member: set(some) for member, some in assignment.items()}


def read_by(assignment):
    return Counter(partition for some in assignment.values() for partition in some)


def subscribed(drawn):
    names = {name for member in drawn.members for name in member.topics}
    return Counter(
        (name, partition)
        for name, topic in drawn.topics.items()
        if name in names
        for partition in range(topic.partitions)
    )


@EVERY
@examples(18)
@given(seed=SEEDS)
def test_every_partition_is_read_once_and_by_a_subscriber(assignor, seed):
    for drawn, assignment in rebalances(assignor, seed):
        if assignor == Assignor.COOPERATIVE_STICKY:
            assert read_by(assignment) <= subscribed(drawn)
        else:
            assert read_by(assignment) == subscribed(drawn)
        assert [*assignment] == [member.id for member in drawn.members]
        for member in drawn.members:
            assert {name for name, _ in assignment[member.id]} <= set(member.topics)


@pytest.mark.parametrize("assignor", [Assignor.STICKY, Assignor.STICKY_2_2, Assignor.ROUND_ROBIN])
@examples(18)
@given(seed=SEEDS)
def test_members_with_the_same_subscription_have_as_many_partitions_within_one(assignor, seed):
    for drawn, assignment in rebalances(assignor, seed):
        if len({frozenset(member.topics) for member in drawn.members}) == 1:
            sizes = [len(some) for some in assignment.values()]
            assert max(sizes) - min(sizes) <= 1


@examples(18)
@given(seed=SEEDS)
def test_range_cuts_each_topic_evenly(seed):
    for drawn, assignment in rebalances(Assignor.RANGE, seed):
        for topic in drawn.topics:
            sizes = [
                sum(name == topic for name, _ in assignment[member.id])
                for member in drawn.members
                if topic in member.topics
            ]
            assert not sizes or max(sizes) - min(sizes) <= 1


@examples(18)
@given(seed=SEEDS)
def test_the_cooperative_assignor_gives_nobody_what_another_member_has(seed):
    for drawn, assignment in rebalances(Assignor.COOPERATIVE_STICKY, seed):
        owned = {member.id: set(member.owned or ()) for member in drawn.members}
        for member, some in assignment.items():
            others = set().union(*(owned[other] for other in owned if other != member))
            assert not others & (set(some) - owned[member])


@pytest.mark.parametrize("assignor", [Assignor.STICKY, Assignor.STICKY_2_2])
@examples(18)
@given(seed=SEEDS)
def test_a_group_in_which_nothing_changed_keeps_what_it_has(assignor, seed):
    for drawn, assignment in rebalances(assignor, seed):
        if any(member.rack for member in drawn.members):
            continue  # what is not on its rack is given away anew each time
        assert as_sets(assigned_again(assignor, drawn, assignment)) == as_sets(assignment)


@examples(18)
@given(seed=SEEDS)
def test_the_cooperative_assignor_withholds_nothing_after_some_rounds(seed):
    """The second round is the last one where all subscribe to the same topics."""
    for drawn, assignment in rebalances(Assignor.COOPERATIVE_STICKY, seed):
        if any(member.rack for member in drawn.members):
            continue
        equal = len({frozenset(member.topics) for member in drawn.members}) == 1
        for _ in range(1 if equal else ROUNDS_MAX):
            assignment = assigned_again(Assignor.COOPERATIVE_STICKY, drawn, assignment)
            if read_by(assignment) == subscribed(drawn):
                break
        assert read_by(assignment) == subscribed(drawn)


@EVERY
@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        pytest.param("t:2", "", "", id="no-members"),
        pytest.param("", "C1(t) C2()", "C1; C2", id="no-topics"),
        pytest.param("t:2", "C1() C2()", "C1; C2", id="nobody-subscribes"),
        pytest.param("t:0", "C1(t) C2(t)=t[0]/1", "C1; C2", id="no-partitions"),
        pytest.param("t:1 u:1", "C1(t)", "C1 t[0]", id="a-topic-that-nobody-reads"),
        pytest.param("t:1", "C1(gone,t)=gone[0]/1", "C1 t[0]", id="a-topic-that-is-gone"),
    ],
)
def test_groups_with_little_to_assign(assignor, topics, members, expected):
    assert reads(assign(assignor, *group(topics, members))) == expected
