"""What moves do to replicas is counted in one place, for a plan's text and for its page."""

from poolkeeper.report.changes import ReplicaChanges


def test_each_partition_counts_once_as_the_most_that_is_done_to_it() -> None:
    found = ReplicaChanges.of([(1, 1), (2, 0), (0, 1), (0, 0), (0, 0)])
    assert found == ReplicaChanges(3, 2, 1, 1, 1, 2)
    assert list(found.without_copies()) == [
        "1 replica fewer of 1 partition",
        "another order of replicas in 2 partitions",
    ]
    assert list(ReplicaChanges.of([]).without_copies()) == []
