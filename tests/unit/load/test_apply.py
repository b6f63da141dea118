import pytest

import builders
from poolkeeper.load.apply import MeasuredLoads, with_loads
from poolkeeper.model.topology import Cluster, Partition, Topic


def cluster(*partitions: Partition) -> Cluster:
    return builders.cluster((), Topic("t", partitions))


def figures_of(found: Cluster) -> list[tuple[int | None, float | None]]:
    return [(p.size_bytes, p.in_bytes_per_s) for p in found.topics["t"].partitions]


THREE = cluster(
    Partition(0, (1,), size_bytes=5), Partition(1, (1,)), Partition(2, (1,), in_bytes_per_s=7.0)
)


@pytest.mark.parametrize(
    ("sizes", "rates", "expected"),
    [
        pytest.param(
            {("t", 0): 9.0, ("t", 1): 9.0},
            {},
            [(5, None), (9, None), (None, 7.0)],
            id="an-observed-size-stays",
        ),
        pytest.param(
            {},
            {("t", 0): 1.0, ("t", 2): 2.0},
            [(5, 1.0), (None, None), (None, 2.0)],
            id="a-rate-of-history-counts-more",
        ),
        pytest.param(
            {},
            {("t", -1): 12.0},
            [(5, 4.0), (None, 4.0), (None, 4.0)],
            id="a-whole-topic-is-shared-evenly",
        ),
        pytest.param(
            {},
            {("t", -1): 12.0, ("t", 0): 10.0},
            [(5, 10.0), (None, 1.0), (None, 1.0)],
            id="those-with-their-own-take-it-from-the-topic",
        ),
        pytest.param(
            {},
            {("t", -1): 1.0, ("t", 0): 10.0},
            [(5, 10.0), (None, 0.0), (None, 0.0)],
            id="never-less-than-nothing",
        ),
        pytest.param(
            {("u", 0): 1.0},
            {("u", -1): 1.0},
            [(5, None), (None, None), (None, 7.0)],
            id="of-another-topic",
        ),
    ],
)
def test_loads_of_partitions(sizes, rates, expected):
    assert figures_of(with_loads(THREE, MeasuredLoads(sizes, rates))) == expected


def test_without_any_figure_nothing_changes():
    assert with_loads(THREE, MeasuredLoads({}, {})) is THREE


def test_nothing_but_figures_changes():
    found = with_loads(THREE, MeasuredLoads({("t", 1): 9.0}, {("t", 1): 1.0}))
    assert found.topics["t"].partitions[1] == Partition(1, (1,), size_bytes=9, in_bytes_per_s=1.0)
