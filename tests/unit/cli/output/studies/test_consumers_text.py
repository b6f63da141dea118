"""What is told of a consumer group, on terminals of any width."""

import re
from dataclasses import replace

import pytest

from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.cli.output.studies import consumers_text
from poolkeeper.report.consumer_page import consumer_page
from poolkeeper.studies.consumer_study import StudyInput, study
from poolkeeper.studies.group_events import MemberLeaves, PartitionsAdded, StudiedGroup

MEMBERS = tuple(GroupMember(f"payments-{n}", topics=("orders", "clicks")) for n in range(3))
GROUP = StudiedGroup({"orders": GroupTopic(4), "clicks": GroupTopic(3)}, MEMBERS)
ROW = re.compile(r"payments-(\d) +[\d.]+ MiB/s +(?:-|[\d.]+ MiB/s)$")
RATES = {(t, n): 3e6 + n for t, each in GROUP.topics.items() for n in range(each.partitions)}


def shown(ink: Ink, rates=RATES) -> list[str]:
    given = StudyInput(GROUP, (MemberLeaves("payments-0"),), [*Assignor][:2], rates)
    return list(consumers_text.lines(study(given, lambda: 0.0), ink))


@pytest.mark.parametrize("width", [80, 140])
def test_what_members_read_is_in_one_line_each(width) -> None:
    lines = shown(Ink(width=width, terminal=True))
    assert max(map(len, lines)) <= width
    begin = lines.index("What each member reads, in bytes per second")
    rows = [ROW.search(line) for line in lines[begin + 2 : begin + 8]]
    assert [row and row[1] for row in rows] == ["0", "1", "2"] * 2


def test_loads_that_are_not_measured_are_partitions() -> None:
    lines = shown(PLAIN, {})
    begin = lines.index("What each member reads, in partitions")
    assert lines[begin + 1 : begin + 5] == [
        "  ASSIGNOR     MEMBER      START  payments-0 leaves",
        "  range        payments-0      3                  -",
        "               payments-1      2                  4",
        "               payments-2      2                  3",
    ]


def test_what_each_member_gains_or_loses_is_told() -> None:
    lines = shown(PLAIN, {})
    begin = lines.index("What each member gains or loses, in partitions")
    assert lines[begin + 1 : begin + 5] == [
        "  ASSIGNOR     MEMBER      payments-0 leaves",
        "  range        payments-0                 -3",
        "               payments-1                 +2",
        "               payments-2                 +1",
    ]
    lines = shown(Ink(width=80, terminal=True))
    begin = lines.index("What each member gains or loses, in bytes per second")
    gained = [re.split(r"  +", line.strip())[-1] for line in lines[begin + 2 : begin + 5]]
    assert gained == ["-8.58 MiB/s", "+5.72 MiB/s", "+2.86 MiB/s"]


def test_what_each_member_gains_or_loses_is_data_and_on_the_page() -> None:
    leaves_and_grows = (MemberLeaves("payments-0"), PartitionsAdded("orders", 5))
    found = study(StudyInput(GROUP, leaves_and_grows, [Assignor.RANGE]), lambda: 0.0)
    (course,) = consumers_text.as_data(found)["assignors"]
    assert [event["loadChanges"] for event in course["events"]] == [
        {"payments-0": 3.0, "payments-1": 2.0, "payments-2": 2.0},
        {"payments-0": -3.0, "payments-1": 2.0, "payments-2": 1.0},
        {"payments-1": 1.0, "payments-2": 0.0},
    ]
    page = consumer_page(found)
    assert "Gains or loses" in page
    assert all(f">{change}<" in page for change in ("-3", "+2", "+1", "0"))


def test_a_topic_that_nobody_reads_is_none_of_the_groups() -> None:
    more = replace(GROUP, topics={**GROUP.topics, "unread": GroupTopic(9)})
    given = StudyInput(more, (PartitionsAdded("unread", 10),), [Assignor.RANGE])
    found = study(given, lambda: 0.0)
    lines = list(consumers_text.lines(found, Ink(width=200, terminal=True)))
    assert "read 7 partitions: clicks (3), orders (4)." in lines[0]
    assert lines[-1].split()[-6:] == ["0", "0", "%", "0", "0.00", "ms"]
    assert "3 members read 7 partitions of 2 topics." in consumer_page(found)
