"""RoundRobinAssignor: the articles' example, and those of Kafka's own tests."""

import pytest

from assignor_examples import group, reads
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        pytest.param(
            "T0:1 T1:2 T2:3",
            "C0(T0) C1(T0,T1) C2(T0,T1,T2)",
            "C0 T0[0]; C1 T1[0]; C2 T1[1] T2[0,1,2]",
            id="not-balanced-with-unequal-subscriptions",
        ),
        pytest.param(
            "T0:1 T1:2 T2:3",
            "C1(T0,T1) C2(T0,T1,T2)",
            "C1 T0[0] T1[1]; C2 T1[0] T2[0,1,2]",
            id="nor-once-the-first-has-left",
        ),
        pytest.param("t:3", "C(t)", "C t[0,1,2]", id="one-member"),
        pytest.param("t:1", "C1(t) C2(t)", "C1 t[0]; C2", id="fewer-partitions-than-members"),
        pytest.param(
            "t1:3 t2:3", "C1(t1,t2) C2(t1,t2)", "C1 t1[0,2] t2[1]; C2 t1[1] t2[0,2]", id="in-turn"
        ),
        pytest.param(
            "t1:3 t2:2",
            "C1(t1) C2(t1,t2) C3(t1)",
            "C1 t1[0]; C2 t1[1] t2[0,1]; C3 t1[2]",
            id="unequal-subscriptions",
        ),
        pytest.param(
            "t1:5 t2:5",
            "A#i1(t1,t2) B#i2(t1,t2) C#i3(t1,t2)",
            "A t1[0,3] t2[1,4]; B t1[1,4] t2[2]; C t1[2] t2[0,3]",
            id="static-members",
        ),
        pytest.param(
            "t1:3 t2:3",
            "C1#i1(t1,t2) C2#i2(t1,t2) C3#i3(t1,t2) C4(t1,t2)",
            "C1 t1[0] t2[1]; C2 t1[1] t2[2]; C3 t1[2]; C4 t2[0]",
            id="a-dynamic-member-comes-last",
        ),
        pytest.param(
            "t1:3 t2:3",
            "a#i2(t1,t2) b#i1(t1,t2)",
            "a t1[1] t2[0,2]; b t1[0,2] t2[1]",
            id="by-instance-id-and-not-by-member-id",
        ),
        pytest.param(
            "t1:0 t2:2", "C1(t2) C2(t1,t2)", "C1 t2[0]; C2 t2[1]", id="a-topic-without-partitions"
        ),
        pytest.param("other:3 t:3", "C(t)", "C t[0,1,2]", id="a-topic-nobody-reads"),
    ],
)
def test_dealt_in_turn(topics, members, expected):
    assert reads(assign(Assignor.ROUND_ROBIN, *group(topics, members))) == expected
