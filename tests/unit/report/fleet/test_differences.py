"""What changed from one day to another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.report.fleet import gaps
from poolkeeper.report.fleet.differences import differences
from poolkeeper.report.values import (
    ClusterDay,
    ClusterDifference,
    Differences,
    Gap,
    Missing,
    Presence,
    ProblemKey,
)

RACK, DISK = ProblemKey("fast", "rack", "orders"), ProblemKey("fast", "capacity", "")
KEYS = st.frozensets(st.sampled_from([RACK, DISK, ProblemKey("", "", "")]))
DAYS = st.lists(
    st.builds(
        ClusterDay,
        st.sampled_from("abcde"),
        st.integers(0, 9) | st.none(),
        st.integers(0, 9) | st.none(),
        st.booleans(),
        st.integers(0, 9),
        problems=KEYS,
    ),
    unique_by=lambda day: day.cluster,
)


def day(name: str, planned: bool = True, *problems: ProblemKey) -> ClusterDay:
    return ClusterDay(name, 10, 100, planned, 1, 5, 0.1, frozenset(problems))


CHANGES = [
    pytest.param([], [day("a")], Presence.CAME, (), (), id="it came"),
    pytest.param([day("a")], [], Presence.WENT, (), (), id="it went"),
    pytest.param(
        [day("a", True, DISK)],
        [day("a", True, RACK)],
        Presence.STAYED,
        (RACK,),
        (DISK,),
        id="a problem for another",
    ),
    pytest.param(
        [day("a", True, DISK)],
        [day("a", False)],
        Presence.STAYED,
        (),
        (),
        id="without a plan no problem is known to be solved",
    ),
]


@pytest.mark.parametrize(("before", "now", "presence", "new", "solved"), CHANGES)
def test_a_cluster_that_changed(before, now, presence, new, solved):
    nothing = ClusterDay("a", 0, 0)
    expected = ClusterDifference(
        "a", presence, *(before or [nothing]), *(now or [nothing]), new, solved
    )
    assert differences("d", before, now) == Differences("d", (expected,))


def test_what_was_not_read_has_neither_come_nor_gone():
    unread = ClusterDay("a")
    assert differences("d", [], [unread]) == differences("d", [unread], []) == Differences("d")


@examples(30)
@given(DAYS)
def test_a_day_does_not_differ_from_itself(days):
    assert differences("d", days, days[::-1]) == Differences("d")


@examples(30)
@given(DAYS, DAYS)
def test_the_way_back_is_the_difference_turned_around(before, now):
    there, back = differences("d", before, now), differences("d", now, before)
    turned = {Presence.CAME: Presence.WENT, Presence.WENT: Presence.CAME}
    assert back.clusters == tuple(
        ClusterDifference(
            each.cluster,
            turned.get(each.presence, each.presence),
            each.now,
            each.before,
            each.problems_solved,
            each.problems_new,
        )
        for each in there.clusters
    )


@pytest.mark.parametrize("gap", Gap)
def test_every_gap_has_a_sentence(gap):
    assert gaps.sentence(Missing(gap, "main"))
    assert gaps.sentence(Missing(gap, "main", "why")).endswith(": why")
