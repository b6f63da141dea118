"""Sticky and cooperative sticky of 3.9.2: the examples of articles and of Kafka's own tests."""

import pytest

from assignor_examples import group, reads
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor, AssignorFailed

CONTESTED = "C1(t)=t[0,1]/5 C2(t)=t[0,2]/5 C3(t)"
GROWN = (
    "C1(t1,t2)=t1[0,2]+t2[1,3]/1 C2(t1,t2)=t1[1]+t2[0,2]/1 C3(t1,t2) C4(t1,t2)",
    "C1 t1[0] t2[1]; C2 t1[1] t2[0]; C3 t1[2] t2[3]; C4 t2[2]",
)
ARTICLE = "T0:2 T1:2 T2:2 T3:2"
ALL = "(T0,T1,T2,T3)"


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        pytest.param(
            ARTICLE,
            f"C0{ALL} C1{ALL} C2{ALL}",
            "C0 T0[0] T1[1] T3[0]; C1 T0[1] T2[0] T3[1]; C2 T1[0] T2[1]",
            id="eight-among-three",
        ),
        pytest.param(
            ARTICLE,
            f"C0{ALL}=T0[0]+T1[1]+T3[0]/1 C2{ALL}=T1[0]+T2[1]/1",
            "C0 T0[0,1] T1[1] T3[0]; C2 T1[0] T2[0,1] T3[1]",
            id="and-one-leaves",
        ),
        pytest.param(
            "T0:1 T1:2 T2:3",
            "C0(T0) C1(T0,T1) C2(T0,T1,T2)",
            "C0 T0[0]; C1 T1[0,1]; C2 T2[0,1,2]",
            id="unequal-subscriptions",
        ),
        pytest.param(
            "T0:1 T1:2 T2:3",
            "C1(T0,T1)=T1[0,1]/1 C2(T0,T1,T2)=T2[0,1,2]/1",
            "C1 T0[0] T1[0,1]; C2 T2[0,1,2]",
            id="and-the-first-leaves",
        ),
        pytest.param("t:3", "C1(t)", "C1 t[0,1,2]", id="one-member"),
        pytest.param("t:3", "C1(t)=t[0,1,2]/1 C2(t)", "C1 t[0,1]; C2 t[2]", id="one-joins"),
        pytest.param("t:3", "C2(t)=t[2]/2", "C2 t[0,1,2]", id="one-leaves"),
        pytest.param(
            "t1:3 t2:3", "C1(t1,t2) C2(t1,t2)", "C1 t1[0,2] t2[1]; C2 t1[1] t2[0,2]", id="in-turn"
        ),
        pytest.param(
            "t1:3 t2:2",
            "C1(t1) C2(t1,t2) C3(t1)",
            "C1 t1[0,2]; C2 t2[0,1]; C3 t1[1]",
            id="the-only-subscriber",
        ),
        pytest.param(
            "t1:3 t2:4",
            "C1(t1,t2) C2(t1,t2)",
            "C1 t1[0,2] t2[1,3]; C2 t1[1] t2[0,2]",
            id="seven-among-two",
        ),
        pytest.param("t1:3 t2:4", *GROWN, id="and-two-join"),
        pytest.param(
            "t1:3 t2:4",
            "C3(t1,t2)=t1[2]+t2[3]/2 C4(t1,t2)=t2[2]/2",
            "C3 t1[0,2] t2[1,3]; C4 t1[1] t2[0,2]",
            id="and-the-first-two-leave",
        ),
        pytest.param(
            "t1:2 t2:3",
            "C1(t1,t2)=t1[0]/1 C2(t1,t2)=t1[1]/1 C3(t1,t2)",
            "C1 t1[0] t2[1]; C2 t1[1] t2[2]; C3 t2[0]",
            id="a-topic-and-a-member-are-new",
        ),
        pytest.param(
            "t1:2 t2:2",
            "consumer1(t1,t2)=t1[0]+t2[0]/1 consumer2(t1,t2)=t1[1]+t2[1]/1 consumer3(t1,t2)",
            "consumer1 t1[0]; consumer2 t1[1] t2[1]; consumer3 t2[0]",
            id="who-keeps-two-is-up-to-the-hash-map",
        ),
        pytest.param(
            "t1:2 t2:2",
            "C1(t1,t2)=t1[0]+t2[0]/1 C2(t1,t2)=t1[1]+t2[1]/1 C3(t1,t2)",
            "C1 t1[0] t2[0]; C2 t1[1]; C3 t2[1]",
            id="and-flips-with-the-names",
        ),
        pytest.param("t:3", CONTESTED, "C1 t[1]; C2 t[2]; C3 t[0]", id="a-claim-of-two"),
        pytest.param("t:4", CONTESTED, "C1 t[1,3]; C2 t[2]; C3 t[0]", id="a-claim-of-two-and-more"),
        pytest.param(
            "t:3 t2:3",
            "C1(t,t2)=t[0,2]+t2[1]/10 C2(t,t2)=t[0,2]+t2[1]/9",
            "C1 t[0,2] t2[1]; C2 t[1] t2[0,2]",
            id="the-later-generation-keeps",
        ),
        pytest.param(
            "t:3 t2:3 t3:3",
            "C1(t,t2,t3)=t[0]+t2[0]+t3[0]/10 C2(t,t2,t3)=t[1]+t2[1]+t3[1]/9 "
            "C3(t,t2,t3)=t2[1]+t3[0,2]/8",
            "C1 t[0] t2[0] t3[0]; C2 t[1] t2[1] t3[1]; C3 t[2] t2[2] t3[2]",
            id="three-generations",
        ),
        pytest.param(
            "t1:2 t2:1 t3:2 t4:1 t5:2",
            "C1(t1,t2,t3,t4,t5) C2(t1,t3,t5) C3(t1,t3,t5) C4(t1,t2,t3,t4,t5)",
            "C1 t2[0] t3[0]; C2 t1[0] t3[1]; C3 t1[1] t5[0]; C4 t4[0] t5[1]",
            id="few-subscribers-first",
        ),
        pytest.param(
            "t1:1 t2:1 t3:1 t4:1 t5:1 t6:1",
            "C1(t1,t2)=t1[0]/1 C2(t1,t2,t3,t4)=t2[0]+t3[0]/1 "
            "C3(t2,t3,t4,t5,t6)=t4[0]+t5[0]+t6[0]/1",
            "C1 t1[0]; C2 t2[0] t3[0]; C3 t4[0] t5[0] t6[0]",
            id="nothing-to-improve",
        ),
    ],
)
def test_sticky(topics, members, expected):
    assert reads(assign(Assignor.STICKY, *group(topics, members))) == expected


@pytest.mark.parametrize(
    ("topics", "members", "expected"),
    [
        pytest.param("t:3", "C1(t)=t[0,1,2]/1 C2(t)", "C1 t[0,1]; C2", id="one-joins"),
        pytest.param("t:3", "C1(t)=t[0,1]/2 C2(t)=/2", "C1 t[0,1]; C2 t[2]", id="the-next-round"),
        pytest.param("t:3", CONTESTED, "C1 t[1]; C2 t[2]; C3", id="a-claim-of-two"),
        pytest.param(
            "t:3",
            "C1(t)=t[1]/6 C2(t)=t[2]/6 C3(t)=/6",
            "C1 t[1]; C2 t[2]; C3 t[0]",
            id="the-next-round-of-it",
        ),
        pytest.param("t:4", CONTESTED, "C1 t[1,3]; C2 t[2]; C3", id="a-claim-of-two-and-more"),
        pytest.param(
            "t1:3 t2:4", GROWN[0], "C1 t1[0] t2[1]; C2 t1[1] t2[0]; C3; C4", id="two-join"
        ),
        pytest.param(
            "t1:3 t2:4",
            "C1(t1,t2)=t1[0]+t2[1]/2 C2(t1,t2)=t1[1]+t2[0]/2 C3(t1,t2)=/2 C4(t1,t2)=/2",
            GROWN[1],
            id="the-next-round-of-them",
        ),
        pytest.param(
            "t1:12 t2:12",
            "C1(t1,t2)=t1[0,1,2,3,4,5,6,7,8,9,10,11]+t2[0,1,2,3,4,5,6,7,8,9,10,11]/1 C2(t1,t2)",
            "C1 t1[0,1,2,3,4,5] t2[0,1,2,3,4,5]; C2",
            id="one-joins-one-that-had-all",
        ),
        pytest.param(
            "t1:2 t2:3",
            "C1(t1,t2)=t1[0]/1 C2(t1,t2)=t1[1]/1 C3(t1,t2)",
            "C1 t1[0] t2[1]; C2 t1[1] t2[2]; C3 t2[0]",
            id="what-nobody-has-is-given-at-once",
        ),
        pytest.param(
            "t:4",
            "C1(t)=t[0,1]/1 C2(t)=t[2]/1 C3(t)",
            "C1 t[0,1]; C2 t[2]; C3 t[3]",
            id="t3-is-free",
        ),
        pytest.param(
            "t1:4{a|b|a|b}",
            "c0@a(t1)=t1[0,1]/1 c1@b(t1)=t1[2,3]/1",
            "c0 t1[0]; c1 t1[3]",
            id="racks",
        ),
        pytest.param(
            "t:2 u:2",
            "C1(t,u)=t[0,1]+u[0,1]/1 C2(t)",
            "C1 u[0,1]; C2",
            id="unequal-subscriptions",
        ),
    ],
)
def test_cooperative_sticky_withholds_what_another_has(topics, members, expected):
    assert reads(assign(Assignor.COOPERATIVE_STICKY, *group(topics, members))) == expected


def test_a_member_that_subscribes_to_nothing_gets_partitions_if_the_map_begins_with_it():
    """Kafka takes its subscription for that of the next member."""
    assert reads(assign(Assignor.STICKY, *group("t:2", "C1() C2(t)"))) == "C1 t[0]; C2 t[1]"
    assert reads(assign(Assignor.STICKY, *group("t:2", "C1(t) C2()"))) == "C1 t[0,1]; C2"


@pytest.mark.parametrize(
    ("topics", "members"),
    [
        pytest.param("t:2", "C1(t)=t[0,1,2]/1 C2(t)=t[3]/1", id="partitions-that-do-not-exist"),
        pytest.param(
            "t:4",
            "C1(t)=t[0,1,2,3]/2 C2()=t[0,1]/1 C3(t)",
            id="an-earlier-owner-that-reads-nothing",
        ),
    ],
)
def test_where_kafka_throws_there_is_an_error(topics, members):
    with pytest.raises(AssignorFailed, match=r"^Kafka's sticky assignor fails on this group: "):
        assign(Assignor.STICKY, *group(topics, members))
