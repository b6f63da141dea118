"""The timelines of a consumer group: what nobody reads has a gap."""

import re

import pytest

from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic
from poolkeeper.report.html.group_timelines import group_picture
from poolkeeper.studies.consumer_study import StudyInput, study
from poolkeeper.studies.group_events import (
    MemberLeaves,
    MemberReturns,
    PartitionsAdded,
    StudiedGroup,
)

GROUP = StudiedGroup(
    {"read": GroupTopic(1), "unread": GroupTopic(1)}, (GroupMember("C0", topics=("read",)),)
)


@pytest.mark.parametrize(
    ("assignor", "topic", "stretches"),
    [
        pytest.param(Assignor.RANGE, "read", 2, id="all stops"),
        pytest.param(Assignor.COOPERATIVE_STICKY, "read", 1, id="what stays is read on"),
        pytest.param(Assignor.RANGE, "unread", 1, id="members see nothing of it"),
    ],
)
def test_a_partition_has_a_gap_where_nobody_reads_it(assignor, topic, stretches) -> None:
    found = study(StudyInput(GROUP, (PartitionsAdded(topic, 2),), [assignor]), lambda: 0.0)
    picture = group_picture(found, found.courses[0])
    assert picture.svg.count("<title>read-0: C0</title>") == stretches


def test_labels_fit_their_places_and_are_told_apart() -> None:
    members = tuple(GroupMember(f"the-consumers-of-{n}-main", topics=("t" * 249,)) for n in (7, 8))
    group = StudiedGroup({"t" * 249: GroupTopic(12)}, members)
    left = MemberLeaves(members[0].id), MemberReturns(members[0].id)
    found = study(StudyInput(group, left * 3, [Assignor.RANGE]), lambda: 0.0)
    drawn = re.sub("<title>[^<]*</title>", "", group_picture(found, found.courses[0]).svg)
    texts = re.findall("<text[^>]*>([^<]*)<", drawn)
    assert max(map(len, texts)) <= 20
    assert {"…7…", "…8…"} <= set(texts)
    assert any(each.endswith("tt-11") for each in texts)
    assert any(each.endswith("leaves") for each in texts)
