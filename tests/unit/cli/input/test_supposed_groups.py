"""Members of a live group, beside words of the command line."""

import pytest

from builders import cluster, topic
from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic
from poolkeeper.cli.input import supposed_groups
from poolkeeper.cli.input.supposed_groups import GroupWords
from poolkeeper.errors import InvalidInput

SEEN = cluster((1, 2), topic("t", (1,), (2,)))
LIVE = (GroupMember("a", topics=("t", "not.there.yet")),)


def test_a_live_member_may_subscribe_to_a_topic_that_is_not_there() -> None:
    group, events = supposed_groups.read(GroupWords(), SEEN, LIVE)
    assert group.topics == {"t": GroupTopic(2)}
    assert (group.members, events) == (LIVE, [])


def test_its_topic_may_be_supposed() -> None:
    group, _ = supposed_groups.read(GroupWords(("not.there.yet:3",)), SEEN, LIVE)
    assert group.topics == {"not.there.yet": GroupTopic(3), "t": GroupTopic(2)}


def test_a_supposed_member_may_not() -> None:
    with pytest.raises(InvalidInput, match="a member reads u: the cluster has no such topic"):
        supposed_groups.read(GroupWords(members=("b:u",)), SEEN, LIVE)


@pytest.mark.parametrize("racks", [",", "a,", "a,,b", "a+", "+", "a+,b"])
@pytest.mark.parametrize("is_event", [False, True], ids=["topic", "event"])
def test_racks_without_a_name_are_refused(racks, is_event) -> None:
    words = GroupWords(
        ("t:2" if is_event else f"t:2@{racks}",),
        ("m@a:t",),
        (("move_topic", f"t:{racks}"),) if is_event else (),
    )
    option = "--move-topic" if is_event else "--topic"
    with pytest.raises(InvalidInput) as refused:
        supposed_groups.read(words)
    assert str(refused.value) == f"{option}: '{racks}' has a rack without a name (expected a,b+c)"
