"""The columns after a plan hold what `after_plan` says, partition by partition."""

import pytest

from poolkeeper.model.columns.partition_columns import PartitionColumns, TopicPartitions
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.run_state.progress.after_plan import after_plan
from poolkeeper.planning.run_state.progress.load_after import load_after

A = (Partition(0, (1, 2), size_bytes=5), Partition(2, (2,)), Partition(3, (3, 1), size_bytes=0))
B = (Partition(0, (4,), size_bytes=7),)
PLAN = Plan(
    "c",
    "h",
    "f",
    (
        CreateTopic("new", "p", ((1,), (2, 3))),
        AddPartitions("a", 4, ((9,),)),
        DeleteTopic("gone"),
    ),
    (
        Move("a", None, 2, ((2,), (2, 4), (4,)), 1, ""),
        Move("a", None, 8, ((1,), (2,)), 1, ""),
        Move("gone", None, 0, ((4,), (5,)), 1, ""),
    ),
)


@pytest.mark.parametrize("by_column", [False, True], ids=["objects", "columns"])
def test_the_partitions_are_those_of_the_plan(by_column: bool) -> None:
    parts = {"a": A, "gone": B, "stays": B}
    if by_column:
        columns = PartitionColumns.of([*A, *B, *B])
        rows = {"a": (0, 3), "gone": (3, 4), "stays": (4, 5)}
        parts = {name: TopicPartitions(columns, *each) for name, each in rows.items()}
    cluster = Cluster("c", {}, {name: Topic(name, found) for name, found in parts.items()})
    found = load_after(PLAN, cluster)
    names = [found.topics[number] for number in found.topic.tolist()]
    sizes = zip(found.size.tolist(), found.unknown.tolist(), strict=True)
    known = [None if unknown else size for size, unknown in sizes]
    told = sorted(zip(names, found.replicas.tuples(), map(repr, known), strict=True))
    assert told == sorted(
        (name, replicas, repr(size))
        for name, placed in after_plan(PLAN, cluster)
        for replicas, size in placed
    )
