"""Which partition of the offsets topic coordinates a group."""

import pytest

from poolkeeper.algorithms.groups import OFFSETS_PARTITIONS, offsets_partition


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("a", 47),
        ("", 0),
        ("console-consumer-1", 24),
        pytest.param("polygenelubricants", 0, id="the-hash-without-a-positive"),
        pytest.param("\U0001f600", 49, id="hashed-by-utf-16-units"),
    ],
)
def test_the_partition_of_a_group(group, partition):
    assert OFFSETS_PARTITIONS == 50
    assert offsets_partition(group) == partition
