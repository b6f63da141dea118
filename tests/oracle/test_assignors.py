"""Consumer groups drawn at random, and rebalanced again: who reads what is what Kafka says.

So is the order in which a member's partitions are listed, and on which groups Kafka throws.
"""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer_groups import RACKS, Group, drawn_group, next_rebalance, question
from kafka_oracle import Thrown
from laws import compared
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import (
    Assignor,
    AssignorFailed,
    GroupMember,
    GroupTopic,
)
from poolkeeper.algorithms.assignors.member_order import member_order
from poolkeeper.algorithms.assignors.racks import rack_aware_enabled

SEEDS = st.integers(0, 2**32 - 1)
BATCH = 160
THROWS = "throws"


def ours(assignor, group):
    try:
        assignment = assign(assignor, group.topics, group.members)
    except AssignorFailed:
        return THROWS
    return {member: [list(one) for one in some] for member, some in assignment.items()}


def assert_alike(kafka, kind, assignor, groups):
    """Return our assignments, which are Kafka's; fail with the smallest group where not."""
    found = [ours(assignor, group) for group in groups]
    told = kafka.ask(kind, map(question, groups))
    differing = [
        (group, here, there)
        for group, here, there in zip(groups, found, told, strict=True)
        if here != (THROWS if isinstance(there, Thrown) else there)
    ]
    assert min(differing, key=lambda one: len(str(one)), default=None) is None
    return found


def assert_twice_alike(kafka, kind, assignor, seed, prepare=lambda group: group):
    random = Random(seed)
    groups = [prepare(drawn_group(random)) for _ in range(BATCH)]
    groups = [group for group in groups if group.topics]
    found = assert_alike(kafka, kind, assignor, groups)
    again = [
        prepare(next_rebalance(random, group, _as_owned(assignment)))
        for group, assignment in zip(groups, found, strict=True)
        if assignment != THROWS
    ]
    assert_alike(kafka, kind, assignor, [group for group in again if group.topics])


def _as_owned(assignment):
    return {member: [tuple(one) for one in some] for member, some in assignment.items()}


@pytest.mark.parametrize("assignor", [each for each in Assignor if each != Assignor.STICKY_2_2])
@compared(6)
@given(seed=SEEDS)
def test_assignors(kafka_3_9, assignor, seed):
    assert_twice_alike(kafka_3_9, assignor.value, assignor, seed)


def as_2_2_takes_it(group):
    """It throws on topics without partitions: nobody subscribes to them."""
    topics = {name: topic for name, topic in group.topics.items() if topic.partitions}
    members = [
        replace(member, topics=tuple(name for name in member.topics if name in topics))
        for member in group.members
    ]
    read = {name for member in members for name in member.topics}
    return Group({name: topic for name, topic in topics.items() if name in read}, members)


@compared(6)
@given(seed=SEEDS)
def test_sticky_of_2_2(kafka_2_2, seed):
    assert_twice_alike(kafka_2_2, "sticky", Assignor.STICKY_2_2, seed, as_2_2_takes_it)


CLAIMS = {
    "a partition twice, and by two members": [(("t", 0), ("t", 0)), 3, (("t", 0),), -1],
    "partitions that are not there": [(("t", 5), ("x", 0), ("t", 0)), 3, (("t", 0),), -1],
    "the same by two members": [(("t", 0), ("t", 1)), 3, (("t", 1), ("t", 0)), 3],
    "by one without a generation": [(("t", 0),), None, (("t", 0),), 0],
}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
@pytest.mark.parametrize(
    "assignor", [Assignor.STICKY, Assignor.COOPERATIVE_STICKY, Assignor.STICKY_2_2]
)
def test_what_members_claim_to_own(kafka_3_9, kafka_2_2, assignor, claims):
    mine, generation, others, other_generation = claims
    members = [
        GroupMember("a", topics=("t",), owned=mine, generation=generation),
        GroupMember("b", topics=("t",), owned=others, generation=other_generation),
    ]
    groups = [Group({"t": GroupTopic(partitions)}, members) for partitions in (1, 2, 3)]
    old = assignor is Assignor.STICKY_2_2
    kind = "sticky" if old else assignor.value
    assert_alike(kafka_2_2 if old else kafka_3_9, kind, assignor, groups)


@compared(6)
@given(seed=SEEDS)
def test_member_order(kafka_3_9, seed):
    random = Random(seed)
    groups = [drawn_group(random).members for _ in range(BATCH)]
    told = kafka_3_9.ask("member_order", [question(Group({}, group)) for group in groups])
    assert [member_order(group) for group in groups] == told


@compared(6)
@given(seed=SEEDS)
def test_whether_racks_count(kafka_3_9, seed):
    random = Random(seed)

    def some():
        return random.sample(RACKS, random.randint(0, len(RACKS)))

    asked = [(some(), some(), [some() for _ in range(random.randint(0, 3))]) for _ in range(BATCH)]
    fields = ("consumer_racks", "partition_racks", "racks_per_partition")
    inputs = [dict(zip(fields, each, strict=True)) for each in asked]
    assert [rack_aware_enabled(*each) for each in asked] == kafka_3_9.ask(
        "rack_aware_enabled", inputs
    )


MANY = [GroupMember(f"consumer-{index}-{index * 7919 % 1000:x}") for index in range(300)]


@pytest.mark.parametrize("assignor", [Assignor.RANGE, Assignor.STICKY])
def test_a_large_group_whose_maps_have_grown(kafka_3_9, assignor):
    random = Random(1)
    topics = {f"topic-{index}": drawn_group(random).topics.popitem()[1] for index in range(60)}
    members = [replace(member, topics=tuple(topics), rack="a") for member in MANY]
    uneven = [replace(member, topics=tuple(random.sample(list(topics), 5))) for member in MANY[:60]]
    assert_alike(
        kafka_3_9, assignor.value, assignor, [Group(topics, members), Group(topics, uneven)]
    )
