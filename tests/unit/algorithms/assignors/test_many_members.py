"""Groups of thousands of members that mostly match nothing: nobody walks past them again."""

import pytest

from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic

MEMBERS = 5_000
PARTITIONS = 20_000


def test_round_robin_finds_the_only_subscriber_of_a_large_topic() -> None:
    topics = {"large": GroupTopic(PARTITIONS), "small": GroupTopic(1)}
    members = [GroupMember(f"m{number:05}", topics=("small",)) for number in range(MEMBERS)]
    members.append(GroupMember("one", topics=("large",)))
    assigned = assign(Assignor.ROUND_ROBIN, topics, members)
    assert assigned["one"] == [("large", number) for number in range(PARTITIONS)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3], ids=["a topic", "topics read together"])
def test_range_finds_the_only_member_on_a_rack(count: int) -> None:
    racks = tuple(("a", "b")[number % 2 :][:1] for number in range(PARTITIONS))
    topics = {f"t{number}": GroupTopic(PARTITIONS, racks=racks) for number in range(count)}
    members = [
        GroupMember(
            f"m{number:05}", rack="a" if number == MEMBERS // 2 else "far", topics=(*topics,)
        )
        for number in range(MEMBERS)
    ]
    assigned = assign(Assignor.RANGE, topics, members)
    mine = assigned[members[MEMBERS // 2].id]
    assert mine == [(topic, number) for topic in sorted(topics) for number in (0, 2, 4, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("assignor", [Assignor.STICKY, Assignor.STICKY_2_2])
def test_sticky_walks_past_no_member_that_does_not_subscribe(assignor: Assignor) -> None:
    topics = {f"t{number}": GroupTopic(1) for number in range(3_000)}
    members = [GroupMember(f"m{number:05}", topics=(f"t{number}",)) for number in range(3_000)]
    topics["large"] = GroupTopic(PARTITIONS)
    members.append(GroupMember("z", topics=("large",)))
    assigned = assign(assignor, topics, members)
    assert sorted(assigned["z"]) == [("large", number) for number in range(PARTITIONS)]
