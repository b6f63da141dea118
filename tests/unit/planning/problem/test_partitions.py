"""What columns say of an observed cluster."""

import pytest

import builders
from builders import desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.problem.arrays import brokers_of
from poolkeeper.planning.problem.partitions import lists_of, table_of

SOUND = (Partition(0, (1, 2)), Partition(1, (2, 3, 1)))


def cluster(*partitions: Partition) -> Cluster:
    return builders.cluster((), Topic("a", SOUND), Topic("b", partitions))


@pytest.mark.parametrize(
    ("partitions", "odd"),
    [
        pytest.param(SOUND, (), id="all as it should be"),
        pytest.param((), (), id="a topic without partitions"),
        pytest.param((SOUND[0], Partition(2, (1,))), ("b",), id="ids with gaps"),
        pytest.param((Partition(0, ()),), ("b",), id="no replicas"),
        pytest.param((Partition(0, (1, 2), adding=(2,)),), ("b",), id="a replica is being added"),
        pytest.param((Partition(0, (1,), removing=(1,)),), ("b",), id="a replica is being removed"),
    ],
)
def test_odd_topics_are_found(partitions: tuple[Partition, ...], odd: tuple[str, ...]) -> None:
    assert table_of(cluster(*partitions)).odd == odd


def test_lists_are_there_in_a_row() -> None:
    table = table_of(cluster(*SOUND))
    assert table.lengths.tolist() == [2, 3, 2, 3]
    assert table.replicas.ids.tolist() == [1, 2, 2, 3, 1] * 2


def test_new_partitions_count_nothing_unless_that_would_be_unknown() -> None:
    known = Topic("known", (Partition(0, (1,), size_bytes=7, in_bytes_per_s=2048.0),))
    partly = Topic("partly", (Partition(0, (1,), size_bytes=5), Partition(1, (1,))))
    empty = desired(())
    seen = builders.cluster((1,), known, partly)
    dark = builders.cluster((1,), Topic("dark", SOUND))

    def fresh(cluster: Cluster, *topics: str) -> list[tuple[int, int]]:
        table = table_of(cluster)
        lists = lists_of(
            table, brokers_of(cluster, empty, Records(), frozenset(), table.replicas.ids)
        )
        return [lists.new_partition_load(topic) for topic in topics]

    assert fresh(seen, "known", "partly", "new") == [(0, 0), (5, 0), (0, 0)]
    assert fresh(dark, "dark", "new") == [(1024**2, 0), (1024**2, 0)]
