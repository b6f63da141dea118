"""A consumer group through events: the article's experiment in figures, and laws of any course."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic
from poolkeeper.errors import Refused
from poolkeeper.studies.consumer_study import AssignorCourse, StudyInput, study
from poolkeeper.studies.group_events import (
    GroupEvent,
    MemberLeaves,
    MemberReturns,
    PartitionsAdded,
    StudiedGroup,
    TopicMoves,
    after_event,
)
from poolkeeper.studies.group_rebalances import is_eager, owners_of
from poolkeeper.studies.study_names import (
    member_labels,
    named_partitions,
    own_assignor_note,
    shown_load,
    static_members_note,
)

ARTICLE = StudiedGroup(
    {"t0": GroupTopic(4), "t1": GroupTopic(4), "t2": GroupTopic(5)},
    (
        GroupMember("C0", topics=("t0",)),
        GroupMember("C1", topics=("t0", "t1")),
        GroupMember("C2", topics=("t0", "t1", "t2")),
    ),
)
GOES_AND_RETURNS = (MemberLeaves("C0"), MemberReturns("C0"))


def course(
    assignor: Assignor, *events: GroupEvent, group: StudiedGroup = ARTICLE
) -> AssignorCourse:
    (found,) = study(StudyInput(group, events, [assignor]), timer=lambda: 0.0).courses
    return found


def test_what_a_cooperative_group_gives_back_has_stopped_too() -> None:
    """What is read from another rack is given anew: `t0` comes back in the second round."""
    group = StudiedGroup(
        {"t0": GroupTopic(4, (("b",),) * 4), "t1": GroupTopic(3, (("a",),) * 3)},
        (
            GroupMember("m0", topics=("t1",)),
            GroupMember("m1", rack="a", topics=("t0", "t1")),
            GroupMember("m2", rack="a", topics=("t1", "t0")),
        ),
    )
    found = course(Assignor.COOPERATIVE_STICKY, PartitionsAdded("t1", 5), group=group)
    grown = found.outcomes[-1]
    t0 = {("t0", number) for number in range(4)}
    assert t0.isdisjoint(owners_of(grown.settled.rounds[0]))
    assert (grown.changed, grown.stopped) == (0, 4 / 7)
    assert grown.rates_meanwhile == {"m0": 2.0, "m1": 0.0, "m2": 1.0}


@pytest.mark.parametrize(
    ("assignor", "loads", "changed", "reshuffled", "stopped", "rounds"),
    [
        (Assignor.RANGE, ["2 3 8", "4 9", "2 3 8"], 3, 1, (1.0, 1.0), (1, 1)),
        (Assignor.ROUND_ROBIN, ["2 3 8", "4 9", "2 3 8"], 4, 2, (1.0, 1.0), (1, 1)),
        (Assignor.STICKY, ["4 4 5", "7 6", "4 4 5"], 4, 0, (1.0, 1.0), (1, 1)),
        (Assignor.COOPERATIVE_STICKY, ["4 4 5", "7 6", "4 4 5"], 4, 0, (4 / 13, 4 / 13), (1, 2)),
        (Assignor.STICKY_2_2, ["4 4 5", "7 6", "4 4 5"], 4, 0, (1.0, 1.0), (1, 1)),
    ],
)
def test_the_experiment_of_the_article(
    assignor: Assignor,
    loads: list[str],
    changed: int,
    reshuffled: int,
    stopped: tuple[float, float],
    rounds: tuple[int, int],
) -> None:
    start, left, returned = course(assignor, *GOES_AND_RETURNS).outcomes
    outcomes = (start, left, returned)
    assert [" ".join(f"{o.rates[m]:g}" for m in sorted(o.rates)) for o in outcomes] == loads
    assert [(o.changed, o.reshuffled) for o in (left, returned)] == [(changed, reshuffled)] * 2
    assert (left.stopped, returned.stopped) == pytest.approx(stopped)
    assert (len(left.settled.rounds), len(returned.settled.rounds)) == rounds
    assert (start.changed, start.stopped, start.rates_before) == (0, 0.0, {})


@pytest.mark.parametrize(
    ("assignor", "goes", "returns"),
    [
        (Assignor.RANGE, "-2 +1 +1", "+2 -1 -1"),
        (Assignor.ROUND_ROBIN, "-2 +1 +1", "+2 -1 -1"),
        (Assignor.STICKY, "-4 +3 +1", "+4 -3 -1"),
        (Assignor.COOPERATIVE_STICKY, "-4 +3 +1", "+4 -3 -1"),
        (Assignor.STICKY_2_2, "-4 +3 +1", "+4 -3 -1"),
    ],
)
def test_what_each_member_of_the_article_gains_or_loses(
    assignor: Assignor, goes: str, returns: str
) -> None:
    _, left, returned = course(assignor, *GOES_AND_RETURNS).outcomes
    for outcome, expected in ((left, goes), (returned, returns)):
        changes = outcome.rate_changes
        assert " ".join(f"{changes[member]:+g}" for member in ("C0", "C1", "C2")) == expected


@pytest.mark.parametrize(
    ("assignor", "loads"),
    [
        (Assignor.RANGE, ["1 1 4", "2 4"]),
        (Assignor.ROUND_ROBIN, ["1 1 4", "2 4"]),
        (Assignor.STICKY, ["1 2 3", "3 3"]),
        (Assignor.COOPERATIVE_STICKY, ["1 2 3", "3 3"]),
        (Assignor.STICKY_2_2, ["1 2 3", "3 3"]),
    ],
)
def test_the_unequal_subscriptions_of_the_article_once_the_first_leaves(
    assignor: Assignor, loads: list[str]
) -> None:
    members = zip(("C0", "C1", "C2"), (("T0",), ("T0", "T1"), ("T0", "T1", "T2")), strict=True)
    group = StudiedGroup(
        {"T0": GroupTopic(1), "T1": GroupTopic(2), "T2": GroupTopic(3)},
        tuple(GroupMember(id_, topics=topics) for id_, topics in members),
    )
    outcomes = course(assignor, MemberLeaves("C0"), group=group).outcomes
    assert [" ".join(f"{o.rates[m]:g}" for m in sorted(o.rates)) for o in outcomes] == loads


def test_a_load_that_is_the_same_but_for_the_order_of_its_sum_does_not_change() -> None:
    group = StudiedGroup(
        {"t": GroupTopic(3)}, (GroupMember("C0", topics=("t",)), GroupMember("C1", topics=()))
    )
    rates = {("t", 0): 0.1, ("t", 1): 0.2, ("t", 2): 0.3}
    now = {"C0": [("t", 2), ("t", 1), ("t", 0)], "C1": []}
    given = StudyInput(
        group, (MemberLeaves("C1"),), [Assignor.RANGE], rates, ((Assignor.RANGE,), now)
    )
    (found,) = study(given).courses
    assert found.outcomes[1].rates != found.outcomes[1].rates_before
    assert found.outcomes[1].rate_changes == {"C0": 0.0, "C1": 0.0}
    assert found.outcomes[1].largest_change == 0.0


def test_who_reads_on_while_a_cooperative_group_rebalances() -> None:
    _, left, returned = course(Assignor.COOPERATIVE_STICKY, *GOES_AND_RETURNS).outcomes
    assert left.rates_meanwhile == {"C1": 4.0, "C2": 5.0}
    assert returned.rates_meanwhile == {"C1": 4.0, "C2": 5.0}
    first, second = returned.settled.rounds
    assert first["C0"] == []
    assert sorted(second["C0"]) == [("t0", n) for n in range(4)]


def test_nobody_reads_on_while_an_eager_group_rebalances() -> None:
    _, left, _ = course(Assignor.STICKY, *GOES_AND_RETURNS).outcomes
    assert left.rates_meanwhile == {"C1": 0.0, "C2": 0.0}


def test_measured_rates_are_used_where_all_are_known() -> None:
    rates = {
        (topic, n): 10.0 for topic, size in (("t0", 4), ("t1", 4), ("t2", 5)) for n in range(size)
    }
    added = (PartitionsAdded("t0", 6),)
    found = study(StudyInput(ARTICLE, added, [Assignor.RANGE], rates))
    assert found.measured
    assert found.courses[0].outcomes[0].rates == {"C0": 20.0, "C1": 30.0, "C2": 80.0}
    assert found.courses[0].outcomes[1].rates_before == found.courses[0].outcomes[0].rates
    # A topic that grows is written to as before.
    assert found.courses[0].outcomes[1].rates == pytest.approx(
        {"C0": 40 / 3, "C1": 20 + 40 / 3, "C2": 70 + 40 / 3}
    )
    del rates["t2", 4]
    assert not study(StudyInput(ARTICLE, added, [Assignor.RANGE], rates)).measured


def test_a_topic_that_moves_to_other_racks() -> None:
    group = StudiedGroup(
        {"t": GroupTopic(4, (("a",), ("b",), ("a",), ("b",)))},
        (GroupMember("C0", rack="a", topics=("t",)), GroupMember("C1", rack="b", topics=("t",))),
    )
    swapped = TopicMoves("t", (("b",), ("a",)), "pool other")
    start, moved = course(Assignor.RANGE, swapped, group=group).outcomes
    assert (start.local, moved.local, moved.changed, moved.reshuffled) == (4, 4, 4, 4)
    assert moved.event == "t to pool other"
    start, moved = course(Assignor.ROUND_ROBIN, swapped, group=group).outcomes
    assert (start.local, moved.local, moved.changed) == (4, 0, 0)


RACKED = StudiedGroup(
    {"t": GroupTopic(2, (("a", "b"), ("b", "a"))), "other": GroupTopic(2)},
    (GroupMember("C0", rack="a", topics=("t",)), GroupMember("C1", rack="b", topics=("t",))),
)
RACKLESS = replace(RACKED, members=tuple(replace(m, rack=None) for m in RACKED.members))
ELSEWHERE = TopicMoves("t", (("b",), ("a",)), "pool other")


@pytest.mark.parametrize(
    ("group", "event", "assignor", "rounds"),
    [
        pytest.param(RACKED, ELSEWHERE, Assignor.ROUND_ROBIN, 1, id="members have racks"),
        pytest.param(RACKLESS, ELSEWHERE, Assignor.RANGE, 0, id="no member has a rack"),
        pytest.param(RACKED, ELSEWHERE, Assignor.STICKY_2_2, 0, id="clients know no racks"),
        pytest.param(
            RACKED,
            TopicMoves("t", (("b", "a"), ("a", "b")), "pool other"),
            Assignor.RANGE,
            0,
            id="the same racks in another order",
        ),
        pytest.param(
            RACKED, PartitionsAdded("other", 9), Assignor.STICKY, 0, id="nobody reads the topic"
        ),
        pytest.param(
            RACKLESS, PartitionsAdded("t", 3), Assignor.STICKY, 1, id="members read the topic"
        ),
    ],
)
def test_a_group_rebalances_for_what_its_members_see(
    group: StudiedGroup, event: GroupEvent, assignor: Assignor, rounds: int
) -> None:
    start, after = course(assignor, event, group=group).outcomes
    stopped = 1.0 if rounds else 0.0
    assert (len(after.settled.rounds), after.stopped) == (rounds, stopped)
    if not rounds:
        assert after.assignment == start.assignment
        assert after.rates_meanwhile == after.rates == start.rates


def test_topics_that_nobody_reads_need_no_rates() -> None:
    rates = {("t", 0): 10.0, ("t", 1): 30.0}
    found = study(StudyInput(RACKED, (PartitionsAdded("other", 3),), [Assignor.RANGE], rates))
    assert found.measured
    assert sorted(found.courses[0].outcomes[1].rates.values()) == [10.0, 30.0]


def test_a_live_group_starts_from_what_it_has() -> None:
    now = {"C0": [("t0", 3)], "C1": [("t1", n) for n in range(4)], "C2": []}
    observed = ((Assignor.STICKY,), now)
    given = StudyInput(ARTICLE, (), (Assignor.RANGE, Assignor.STICKY), observed=observed)
    other, own = study(given).courses
    assert own.outcomes[0].assignment == now
    assert other.outcomes[0].rates["C2"] == 8.0


def test_a_live_group_may_have_either_sticky_assignor() -> None:
    now = {"C0": [("t0", 3)], "C1": [("t1", n) for n in range(4)], "C2": []}
    both = (Assignor.STICKY, Assignor.STICKY_2_2)
    found = study(StudyInput(ARTICLE, (), both, observed=(both, now)))
    assert [course.outcomes[0].assignment for course in found.courses] == [now, now]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            (MemberLeaves("C9"),),
            "member C9 cannot leave: it is not there (expected one of C0, C1, C2)",
        ),
        ((MemberReturns("C0"),), "member C0 cannot return: it has not left (there is none)"),
        (
            (PartitionsAdded("t0", 4),),
            "topic t0 would have 4 partitions after 4 (expected more: partitions never shrink)",
        ),
        ((PartitionsAdded("x", 4),), "the group has no topic x (expected one of t0, t1, t2)"),
    ],
)
def test_events_that_cannot_happen(events: tuple[GroupEvent, ...], said: str) -> None:
    with pytest.raises(Refused) as refused:
        study(StudyInput(ARTICLE, events))
    assert str(refused.value) == said


@st.composite
def courses(draw: st.DrawFn) -> tuple[StudiedGroup, list[GroupEvent]]:
    topics = {f"t{n}": GroupTopic(draw(st.integers(1, 5))) for n in range(draw(st.integers(1, 3)))}
    names = st.lists(st.sampled_from(sorted(topics)), min_size=1, unique=True).map(tuple)
    members = tuple(
        GroupMember(f"C{n}", topics=draw(names)) for n in range(draw(st.integers(1, 4)))
    )
    group = after = StudiedGroup(topics, members)
    events: list[GroupEvent] = []
    for _ in range(draw(st.integers(1, 5))):
        possible: list[GroupEvent] = [MemberLeaves(each.id) for each in after.members]
        possible += [MemberReturns(id_) for id_ in after.away]
        possible += [PartitionsAdded(n, t.partitions + 2) for n, t in after.topics.items()]
        events.append(draw(st.sampled_from(possible)))
        after = after_event(after, events[-1])
    return group, events


@examples(60)
@given(courses(), st.sampled_from(Assignor))
def test_each_subscribed_partition_has_one_reader_who_subscribes(
    given_course: tuple[StudiedGroup, list[GroupEvent]], assignor: Assignor
) -> None:
    group, events = given_course
    for outcome in course(assignor, *events, group=group).outcomes:
        members = {each.id: each for each in outcome.group.members}
        read = [each for partitions in outcome.assignment.values() for each in partitions]
        wanted = {topic for member in members.values() for topic in member.topics}
        assert sorted(read) == sorted(
            (topic, n)
            for topic, each in outcome.group.topics.items()
            if topic in wanted
            for n in range(each.partitions)
        )
        assert outcome.assignment.keys() == members.keys()
        assert all(t in members[m].topics for m, ps in outcome.assignment.items() for t, _ in ps)
        assert outcome.reshuffled <= outcome.changed


@examples(60)
@given(courses())
def test_a_cooperative_group_never_takes_a_partition_that_is_still_read(
    given_course: tuple[StudiedGroup, list[GroupEvent]],
) -> None:
    group, events = given_course
    before: dict[tuple[str, int], str] = {}
    for outcome in course(Assignor.COOPERATIVE_STICKY, *events, group=group).outcomes:
        there = {each.id for each in outcome.group.members}
        for found in outcome.settled.rounds:
            owners = owners_of(found)
            taken = [p for p, owner in owners.items() if before.get(p, owner) != owner]
            assert all(before[each] not in there for each in taken)
            before = owners
        assert len(outcome.settled.rounds) <= 3


def test_names() -> None:
    assert not is_eager(Assignor.COOPERATIVE_STICKY)
    partitions = [("b", 1), ("a", 7), ("a", 0), ("a", 1), ("a", 2), ("a", 3), ("a", 5), ("a", 6)]
    assert named_partitions(partitions) == "a 0-3 5-7, b 1"
    assert named_partitions([("a", 1), ("a", 2), ("a", 9)]) == "a 1 2 9"
    assert (shown_load(3.0, measured=False), shown_load(1024.0, measured=True)) == ("3", "1 KiB/s")
    uuid = "-01234567-89ab-cdef-0123-456789abcdef"
    members = tuple(GroupMember(f"{name}{uuid}", topics=("t",)) for name in ("C1", "C2"))
    twice = (*members, GroupMember(f"C1{uuid[:-1]}0", topics=("t",)))
    short = study(StudyInput(StudiedGroup({"t": GroupTopic(1)}, members)))
    assert list(member_labels(short).values()) == ["C1", "C2"]
    long = study(StudyInput(StudiedGroup({"t": GroupTopic(1)}, twice)))
    assert list(member_labels(long).values()) == [f"C1{uuid}", "C2", f"C1{uuid[:-1]}0"]


def test_a_static_member_that_leaves_is_told() -> None:
    members = (
        GroupMember("i1-359e5b74-873f-47c9-abcd-cc762ee3256e", "i1", topics=("t0",)),
        GroupMember("c", topics=("t0",)),
    )
    group = StudiedGroup({"t0": GroupTopic(4)}, members)
    static, dynamic = MemberLeaves(members[0].id), MemberLeaves("c")
    told = static_members_note(study(StudyInput(group, [static, MemberReturns(static.member)])))
    assert "(i1): back by then, they read on what they had" in told
    assert static_members_note(study(StudyInput(group, [dynamic]))) == ""


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (None, ""),
        ((Assignor.RANGE,), "The group's own assignor is range."),
        (
            (Assignor.STICKY, Assignor.STICKY_2_2),
            "The group's own assignor is sticky or sticky of 2.2.",
        ),
        ((), "The group's own assignor is none of those studied: what it does is not known,"),
    ],
)
def test_the_assignor_of_a_live_group_is_named(own, told) -> None:
    note = own_assignor_note(study(StudyInput(ARTICLE, own=own)))
    assert note.startswith(told)
    assert bool(note) is bool(told)


def test_a_live_group_reads_partitions_that_are_gone() -> None:
    """Members hear minutes later that a topic was deleted, or made anew with fewer partitions."""
    group = StudiedGroup(
        {"t": GroupTopic(2, (("a",), ("b",)))}, (GroupMember("c", rack="a", topics=("t", "gone")),)
    )
    now = {"c": [("t", 0), ("t", 1), ("t", 2), ("gone", 0)]}
    rates = {("t", 0): 10.0, ("t", 1): 20.0}
    events = (PartitionsAdded("t", 3),)
    given = StudyInput(group, events, [Assignor.RANGE], rates, ((Assignor.RANGE,), now))
    (found,) = study(given).courses
    assert [each.rates["c"] for each in found.outcomes] == [30.0, 30.0]
    assert [each.local for each in found.outcomes] == [1, 2]
