"""When racks count."""

import pytest

from poolkeeper.algorithms.assignors.group import GroupTopic
from poolkeeper.algorithms.assignors.racks import rack_aware_enabled, replica_racks


@pytest.mark.parametrize(
    ("consumers", "partitions", "each", "expected"),
    [
        pytest.param([], ["a"], [["a"]], False, id="members-have-no-racks"),
        pytest.param(["b"], ["a"], [["a"]], False, id="no-rack-in-common"),
        pytest.param(["a"], ["a", "b"], [["a", "b"], ["b", "a"]], False, id="all-are-on-all"),
        pytest.param(["a"], ["a", "b"], [["a", "b"], ["a"]], True, id="one-is-not-on-all"),
        pytest.param(["a"], ["a", "b"], [["a", "b"], []], True, id="one-is-nowhere"),
        pytest.param(["a"], ["a"], [], False, id="no-partitions"),
    ],
)
def test_racks_count_where_they_can_help(consumers, partitions, each, expected):
    assert rack_aware_enabled(consumers, partitions, each) is expected


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        pytest.param(GroupTopic(2, (("a", "b"), ())), [{"a", "b"}, set()], id="known"),
        pytest.param(GroupTopic(2), [set(), set()], id="unknown"),
        pytest.param(GroupTopic(2, (("a",),)), [{"a"}, set()], id="fewer-than-partitions"),
        pytest.param(GroupTopic(1, (("a",), ("b",))), [{"a"}], id="more-than-partitions"),
    ],
)
def test_the_racks_of_each_partition(topic, expected):
    assert replica_racks(topic) == expected
