"""The order of members: static members by instance id, then the others by member id."""

import pytest

from poolkeeper.algorithms.assignors.group import GroupMember
from poolkeeper.algorithms.assignors.member_order import member_order


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param([("b", None), ("a", None)], ["a", "b"], id="by-member-id"),
        pytest.param([("a", "i2"), ("b", "i1")], ["b", "a"], id="by-instance-id"),
        pytest.param([("a", None), ("b", "i1")], ["b", "a"], id="static-members-first"),
        pytest.param([("b", "i"), ("a", "i")], ["b", "a"], id="the-same-instance-id"),
        pytest.param([("C2", None), ("C10", None)], ["C10", "C2"], id="as-text"),
        pytest.param([], [], id="nobody"),
    ],
)
def test_member_order(members, expected):
    assert member_order(GroupMember(*member) for member in members) == expected
