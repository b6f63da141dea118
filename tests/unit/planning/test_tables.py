"""What columns say of an observed cluster."""

import pytest

from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.tables import table_of

SOUND = (Partition(0, (1, 2)), Partition(1, (2, 3, 1)))


def cluster(*partitions: Partition) -> Cluster:
    return Cluster("main", {}, {"a": Topic("a", SOUND), "b": Topic("b", partitions)}, id="c1")


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
    assert table.held.tolist() == [2, 3, 2, 3]
    assert table.ids.tolist() == [1, 2, 2, 3, 1] * 2
