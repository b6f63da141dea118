"""Features joined by column give what `load.apply` gives one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from laws import examples
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.stages.features.feature_join import with_features
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.load.apply import with_loads
from poolkeeper.load.prometheus import BYTES, RATE
from poolkeeper.model.topology import Partition, Topic

FIGURE = st.none() | st.floats(0, 1e12)
NAMES = ("a", "b", "c")


@st.composite
def joins(draw):
    """A cluster, and figures of some of its partitions, of whole topics, and of what is not there.

    Partitions may have gaps, and sizes and rates already.
    """
    topics = {}
    for name in NAMES[: draw(st.integers(1, 3))]:
        numbers = sorted(draw(st.sets(st.integers(0, 4), max_size=4)))
        partitions = tuple(
            Partition(
                number,
                (1,),
                size_bytes=draw(st.none() | st.integers(0, 2**50)),
                in_bytes_per_s=draw(FIGURE),
            )
            for number in numbers
        )
        topics[name] = Topic(name, partitions)
    keys = draw(
        st.sets(
            st.tuples(
                st.sampled_from((*NAMES, "gone")),
                st.integers(-1, 5),
                st.sampled_from((BYTES, RATE)),
            ),
            max_size=12,
        )
    )
    rows = [
        (*key, 3600, 1, 1.0, None, draw(FIGURE), None, draw(st.floats(0, 1e12)), None)
        for key in sorted(keys)
    ]
    return builders.cluster((), topics=topics), parquet.from_rows(schemas.FEATURES, rows)


@pytest.mark.slow
@examples(100)
@given(joins())
def test_the_join_is_that_of_one_by_one(given_join):
    cluster, rows = given_join
    expected = with_loads(cluster, feature_rows.loads_of(rows))
    assert with_features(cluster, rows) == expected
    tables = cluster_rows.rows_of_cluster(cluster)
    stored = cluster_rows.cluster_of_rows(cluster.name, tables)
    assert with_features(stored, rows).topics == expected.topics


def test_without_a_figure_the_cluster_is_as_it_was():
    cluster = builders.cluster(())
    assert with_features(cluster, parquet.from_rows(schemas.FEATURES, ())) is cluster
