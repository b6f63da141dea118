"""Sticky as it was in Kafka 2.2: the articles' examples."""

import pytest

from assignor_examples import group, reads
from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignor

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
            f"C0{ALL}=T0[0]+T1[1]+T3[0] C2{ALL}=T1[0]+T2[1]",
            "C0 T0[0] T1[1] T2[0] T3[0]; C2 T0[1] T1[0] T2[1] T3[1]",
            id="and-one-leaves",
        ),
        pytest.param(
            "T0:1 T1:2 T2:3",
            "C1(T0,T1)=T1[0,1] C2(T0,T1,T2)=T2[0,1,2]",
            "C1 T0[0] T1[0,1]; C2 T2[0,1,2]",
            id="unequal-subscriptions-and-the-first-leaves",
        ),
        pytest.param(
            "t:3",
            "C1(t)=t[0,1]/5 C2(t)=t[0,2]/5",
            "C1 t[0,1]; C2 t[0,2]",
            id="both-keep-what-both-claim",
        ),
        pytest.param("t:2", "C1(t,gone)", "C1 t[0,1]", id="a-topic-that-does-not-exist"),
    ],
)
def test_sticky_of_2_2(topics, members, expected):
    assert reads(assign(Assignor.STICKY_2_2, *group(topics, members))) == expected
