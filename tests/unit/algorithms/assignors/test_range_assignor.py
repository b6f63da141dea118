"""RangeAssignor: the articles' examples, and those of Kafka's own tests."""

import pytest

from assignor_examples import group, reads
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor

EACH_ON_ONE = "t1:6{a|b|c|a|b|c} t2:7{a|b|c|a|b|c|a} t3:2{b|c}"
EACH_ON_TWO = "t1:6{ab|bc|ca|ab|bc|ca} t2:7{ab|bc|ca|ab|bc|ca|ab} t3:2{bc|ca}"
EACH_ON_ALL = "t1:6{abc|abc|abc|abc|abc|abc} t2:7{abc|abc|abc|abc|abc|abc|abc} t3:2{abc|abc}"
THREE_RACKS = "C0@a(t1,t2,t3) C1@b(t1,t2,t3) C2@c(t1,t2,t3)"


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        pytest.param("t:4", "C0(t) C1(t)", "C0 t[0,1]; C1 t[2,3]", id="four-among-two"),
        pytest.param("t:4", "C0(t) C1(t) C2(t)", "C0 t[0,1]; C1 t[2]; C2 t[3]", id="among-three"),
        pytest.param(
            "t:4",
            "C0(t) C1(t) C2(t) C3(t) C4(t)",
            "C0 t[0]; C1 t[1]; C2 t[2]; C3 t[3]; C4",
            id="four-among-five",
        ),
        pytest.param(
            "t:4 u:4",
            "C0(t,u) C1(t,u) C2(t,u)",
            "C0 t[0,1] u[0,1]; C1 t[2] u[2]; C2 t[3] u[3]",
            id="the-skew-grows-with-each-topic",
        ),
        pytest.param(
            "t:10",
            "C1-0(t) C2-0(t) C2-1(t)",
            "C1-0 t[0,1,2,3]; C2-0 t[4,5,6]; C2-1 t[7,8,9]",
            id="ten-among-three",
        ),
        pytest.param(
            "t1:3 t2:3",
            "C1(t1,t2) C2(t1,t2)",
            "C1 t1[0,1] t2[0,1]; C2 t1[2] t2[2]",
            id="two-topics",
        ),
        pytest.param(
            "t1:3 t2:2",
            "C1(t1) C2(t1,t2) C3(t1)",
            "C1 t1[0]; C2 t1[1] t2[0,1]; C3 t1[2]",
            id="unequal-subscriptions",
        ),
        pytest.param("t:1", "C1(t) C2(t)", "C1 t[0]; C2", id="fewer-partitions-than-members"),
        pytest.param(
            "t1:5 t2:4",
            "C1#i1(t1,t2) C2#i2(t1,t2) C3#i3(t1,t2) C4(t1,t2)",
            "C1 t1[0,1] t2[0]; C2 t1[2] t2[1]; C3 t1[3] t2[2]; C4 t1[4] t2[3]",
            id="static-members-and-a-dynamic-one",
        ),
        pytest.param(
            "t1:3 t2:3",
            "a(t1,t2) b#i1(t1,t2)",
            "a t1[2] t2[2]; b t1[0,1] t2[0,1]",
            id="static-members-first",
        ),
        pytest.param(
            EACH_ON_ONE,
            THREE_RACKS,
            "C0 t1[0,3] t2[0,3,6]; C1 t1[1,4] t2[1,4] t3[0]; C2 t1[2,5] t2[2,5] t3[1]",
            id="each-partition-on-one-rack",
        ),
        pytest.param(
            EACH_ON_TWO,
            THREE_RACKS,
            "C0 t1[0,2] t2[0,2,3] t3[1]; C1 t1[1,3] t2[1,4] t3[0]; C2 t1[4,5] t2[5,6]",
            id="each-partition-on-two-racks",
        ),
        pytest.param(
            EACH_ON_ALL,
            THREE_RACKS,
            "C0 t1[0,1] t2[0,1,2] t3[0]; C1 t1[2,3] t2[3,4] t3[1]; C2 t1[4,5] t2[5,6]",
            id="every-partition-on-all-racks",
        ),
        pytest.param(
            "t1:5{a|b|c|a|b} t2:5{b|c|a|b|c} t3:5{c|a|b|c|a}",
            THREE_RACKS,
            "C0 t1[0,1] t2[0,1] t3[0,1]; C1 t1[2,3] t2[2,3] t3[2,3]; C2 t1[4] t2[4] t3[4]",
            id="copartitioning-wins-over-racks",
        ),
        pytest.param(
            "t1:6{a|b|a|b|a|b} t2:6{a|b|a|b|a|b} t3:2{a|b} t4:2{a|b}",
            "C0@a(t1,t2) C1@b(t1,t2) C2@b(t3,t4) C3@a(t3,t4)",
            "C0 t1[0,2,4] t2[0,2,4]; C1 t1[1,3,5] t2[1,3,5]; C2 t3[1] t4[1]; C3 t3[0] t4[0]",
            id="copartitioned-within-racks",
        ),
    ],
)
def test_ranges(topics, members, expected):
    assert reads(assign(Assignor.RANGE, *group(topics, members))) == expected
