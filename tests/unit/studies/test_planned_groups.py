"""What members of a consumer group read before a plan and after it."""

import pytest

from builders import cluster, desired, move, plan, pool_spec, topic
from poolkeeper.algorithms.assignors.group import Assignor, GroupMember, GroupTopic
from poolkeeper.cli.output.ink import PLAIN
from poolkeeper.cli.output.plans import groups_table
from poolkeeper.model.plans import AddPartitions, DeleteTopic, Plan
from poolkeeper.report.plan_report import plan_page
from poolkeeper.studies.group_events import StudiedGroup
from poolkeeper.studies.planned_groups import GroupBefore, PlannedGroup, planned_groups

RACKS = {1: "a", 2: "b"}
TWO_MORE = AddPartitions("t", 2, ((1, 2), (2, 1)), "")
GONE = DeleteTopic("u", "")
MEMBERS = (GroupMember("x", topics=("t", "u", "absent")), GroupMember("y", topics=("t",)))
NOW = {"x": [("t", 0), ("u", 0)], "y": [("t", 1)]}


def of_plan(
    made: Plan, assignor: Assignor | None = Assignor.RANGE, now=NOW, rate=100.0, members=MEMBERS
) -> PlannedGroup:
    rated = {} if rate is None else {"in_bytes_per_s": rate}
    observed = cluster(RACKS, topic("t", (1, 2), (2, 1), **rated), topic("u", (1,), **rated))
    racks = {"t": (("a", "b"), ("b", "a")), "u": (("a",),)}
    group = StudiedGroup({n: GroupTopic(len(r), r) for n, r in racks.items()}, members)
    before = GroupBefore(group, () if assignor is None else (assignor,), now)
    (found,) = planned_groups(made, observed, {"g": before})
    return found


def cells(found: PlannedGroup) -> list[tuple[object, ...]]:
    return [tuple(member)[1:] for member in found.members]


@pytest.mark.parametrize(
    ("made", "expected", "changed", "stopped"),
    [
        pytest.param(
            plan(), [("x", 2, 2, 200.0, 200.0), ("y", 1, 1, 100.0, 100.0)], 0, 0.0, id="no change"
        ),
        pytest.param(
            plan(move("t", 0, (1, 2), (2, 1))),
            [("x", 2, 2, 200.0, 200.0), ("y", 1, 1, 100.0, 100.0)],
            0,
            0.0,
            id="replicas move, and no member has a rack",
        ),
        pytest.param(
            plan(steps=(TWO_MORE,)),
            [("x", 2, 3, 200.0, 200.0), ("y", 1, 2, 100.0, 100.0)],
            1,
            1.0,
            id="partitions are added: the load is spread over all",
        ),
        pytest.param(
            plan(steps=(GONE,)),
            [("x", 2, 1, 200.0, 100.0), ("y", 1, 1, 100.0, 100.0)],
            1,
            1.0,
            id="a topic is deleted",
        ),
    ],
)
def test_what_members_read(made, expected, changed, stopped) -> None:
    found = of_plan(made)
    assert (cells(found), found.changed, found.stopped) == (expected, changed, stopped)
    assert (found.assignor, found.measured) == (Assignor.RANGE, True)


def test_loads_are_partitions_where_rates_are_not_known() -> None:
    found = of_plan(plan(steps=(TWO_MORE,)), rate=None)
    assert not found.measured
    assert cells(found) == [("x", 2, 3, 2.0, 3.0), ("y", 1, 2, 1.0, 2.0)]


def test_members_with_racks_rebalance_when_replicas_move() -> None:
    members = tuple(GroupMember(id_, rack=rack, topics=("t",)) for id_, rack in ("xa", "yb"))
    now = {"x": [("t", 0)], "y": [("t", 1)]}
    swapped = plan(move("t", 0, (1, 2), (2,)), move("t", 1, (2, 1), (1,)))
    found = of_plan(swapped, now=now, members=members)
    assert (found.changed, found.stopped) == (2, 1.0)


def test_members_with_racks_do_not_see_another_order_of_replicas() -> None:
    members = tuple(GroupMember(id_, rack=rack, topics=("t",)) for id_, rack in ("xa", "yb"))
    now = {"x": [("t", 1)], "y": [("t", 0)]}
    found = of_plan(plan(move("t", 0, (1, 2), (2, 1))), now=now, members=members)
    assert (found.changed, found.stopped) == (0, 0.0)


def test_what_another_assignor_does_is_not_known() -> None:
    found = of_plan(plan(steps=(TWO_MORE,)), None)
    assert cells(found) == [("x", 2, None, 200.0, None), ("y", 1, None, 100.0, None)]
    assert (found.changed, found.stopped) == (None, None)
    assert of_plan(plan(steps=(TWO_MORE,)), None, {}).members == ()
    unchanged = of_plan(plan(), None)
    assert cells(unchanged)[0] == ("x", 2, 2, 200.0, 200.0)


def test_a_group_that_rebalances_now_starts_from_what_it_will_get() -> None:
    assert cells(of_plan(plan(), now={})) == [
        ("x", 2, 2, 200.0, 200.0),
        ("y", 1, 1, 100.0, 100.0),
    ]


def test_the_table_and_the_page() -> None:
    made = plan(steps=(TWO_MORE,))
    groups = (of_plan(made), of_plan(made, None))
    assert list(groups_table.lines(groups, PLAIN)) == [
        "Consumer groups",
        "  GROUP  MEMBER     PARTITIONS  THEN    READS     THEN  CHANGE HANDS   STOP",
        "  g      (range)                                                   1  100 %",
        "         x                   2     3  200 B/s  200 B/s",
        "         y                   1     2  100 B/s  100 B/s",
        "  g      (unknown)                                                 ?      ?",
        "         x                   2     ?  200 B/s        -",
        "         y                   1     ?  100 B/s        -",
    ]
    seen = cluster(RACKS, topic("t", (1, 2), (2, 1)))
    page = plan_page(made, desired(pool_spec("p", 1, 2)), seen, groups=groups)
    assert "Members of consumer groups" in page
    assert "1 partition of group g changes hands, and 100 % of what it reads stops" in page
    assert "Group g has an assignor that is not known here." in page
    first, second = groups_table.as_data(groups)
    assert first["members"][0] == {
        "member": "x",
        "partitions": 2,
        "partitionsThen": 3,
        "load": 200.0,
        "loadThen": 200.0,
    }
    assert (second["assignor"], second["changed"]) == (None, None)
