"""What columns say of an observed cluster."""

import pytest

import builders
from builders import desired
from poolkeeper.errors import Refused
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.problem.arrays import index_brokers
from poolkeeper.planning.problem.partitions import lists_of, refuse_long_lists, table_of

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


@pytest.mark.parametrize("what", ["replicas", "ISR"])
def test_a_list_as_no_cluster_has_is_refused(what: str) -> None:
    """All lists as wide as it would fill the memory of whoever plans."""
    ids = tuple(range(9_000))
    long = Partition(1, ids) if what == "replicas" else Partition(1, (1,), isr=ids)
    refuse_long_lists(table_of(builders.cluster((), Topic("a", (Partition(0, ids),)))))
    topics = [Topic(f"t{n}", SOUND) for n in range(2_000)]
    seen = builders.cluster((), *topics, Topic("long", (SOUND[0], long)))
    with pytest.raises(Refused) as refused:
        refuse_long_lists(table_of(seen))
    assert str(refused.value) == (
        f"partition long-1 is damaged: its {what} name 9,000 brokers (expected at most 4,192 in a"
        " cluster of 4,002 partitions)"
    )


def test_new_partitions_count_nothing_unless_that_would_be_unknown() -> None:
    known = Topic("known", (Partition(0, (1,), size_bytes=7, in_bytes_per_s=2048.0),))
    partly = Topic("partly", (Partition(0, (1,), size_bytes=5), Partition(1, (1,))))
    empty = desired(())
    seen = builders.cluster((1,), known, partly)
    dark = builders.cluster((1,), Topic("dark", SOUND))

    def fresh(cluster: Cluster, *topics: str) -> list[tuple[int, int]]:
        table = table_of(cluster)
        lists = lists_of(
            table, index_brokers(cluster, empty, Records(), frozenset(), table.replicas.ids)
        )
        return [lists.new_partition_load(topic) for topic in topics]

    assert fresh(seen, "known", "partly", "new") == [(0, 0), (5, 0), (0, 0)]
    assert fresh(dark, "dark", "new") == [(1024**2, 0), (1024**2, 0)]
