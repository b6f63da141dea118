"""What the report of a fleet counts from the tables of a cluster, against a recount."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fleet import cases
from poolkeeper.fleet.report_tables import broker_loads as loads_of_brokers
from poolkeeper.fleet.report_tables import hottest as hottest_of
from poolkeeper.fleet.report_tables.broker_loads import broker_loads
from poolkeeper.fleet.report_tables.cluster_tables import ClusterTables
from poolkeeper.fleet.report_tables.hottest import hottest
from poolkeeper.fleet.report_tables.partition_loads import partition_loads
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.load.apply import MeasuredLoads, with_loads
from poolkeeper.model.topology import LogDir, Partition, Topic
from poolkeeper.report.values import Hot, Measured

CASES = ("disks", "oddities", "weights", "separate")


@pytest.fixture(scope="module")
def clusters():
    return cases.golden()


def tables_of(case: cases.Case, features=()) -> ClusterTables:
    desired, cluster = case
    rows = cluster_rows.rows_of_cluster(cluster)
    bodies = rows.bodies
    listed = parquet.table_of(
        schemas.FEATURES,
        {
            column.name: [row.get(column.name, 0) for row in features]
            for column in schemas.FEATURES.columns
        },
    )
    head = {**rows.head, "read_ms": cases.NOW_MS, "reason": None}
    return ClusterTables(
        cluster.name,
        head,
        desired,
        bodies[schemas.PARTITIONS.name],
        bodies[schemas.BROKERS.name],
        listed,
    )


def feature(topic: str, partition: int, metric: str, **figures: float | None) -> dict:
    return {"topic": topic, "partition": partition, "metric": metric, "p95": None} | {
        "growth_per_day": None,
        "last": 0.0,
        **figures,
    }


@pytest.mark.parametrize("name", CASES)
def test_broker_loads_are_those_of_a_recount(clusters, name):
    desired, cluster = clusters[name]
    found = tables_of((desired, cluster))
    loads = broker_loads(found, partition_loads(found))
    replicas, leaders, held, sized, rates = (Counter() for _ in range(5))
    for topic in cluster.topics.values():
        for p in topic.partitions:
            leaders.update(p.replicas[:1])
            for broker in p.replicas:
                replicas[broker] += 1
                sized[broker] += p.size_bytes is not None
                held[broker] += p.size_bytes or 0
                rates[broker] += p.in_bytes_per_s or 0.0
    pool_of = {broker: pool for pool in desired.pools for broker in pool.brokers}
    assert [each.broker for each in loads] == sorted({*replicas, *pool_of, *cluster.brokers})
    for each in loads:
        broker, pool = each.broker, pool_of.get(each.broker)
        assert (each.replicas, each.leaders) == (replicas[broker], leaders[broker])
        assert (each.bytes, each.sized) == (held[broker], sized[broker])
        assert (each.bytes_in_per_s or 0.0) == pytest.approx(rates[broker])
        assert (each.pool, each.growth) == (pool.name if pool else "", None)
        usable = pool is not None and broker in cluster.brokers and broker not in pool.drain
        assert each.weight == (pool.capacity_for(broker).weight if usable else 0)
        assert each.capacity == (pool.capacity_for(broker).disk_bytes if pool else None)


@pytest.mark.parametrize(
    ("log_dirs", "left"),
    [
        pytest.param({"/a": LogDir(1000, 300)}, 300, id="others-have-some-of-it"),
        pytest.param({"/a": LogDir(1000, 300), "/b": LogDir(500, 0)}, 300, id="one-is-full"),
        pytest.param({"/a": LogDir(1000, 0)}, 0, id="full"),
        pytest.param({"/a": LogDir(1000, None)}, 900, id="what-is-free-is-unknown"),
        pytest.param({"/a": LogDir(1000, 950)}, 900, id="some-of-it-is-not-written-yet"),
        pytest.param({"/a": LogDir(1000, 10), "/b": LogDir(None, None)}, None, id="one-is-offline"),
        pytest.param({}, None, id="nobody-was-asked"),
    ],
)
def test_what_is_left_of_a_disk_that_is_not_declared_is_what_is_free(
    log_dirs: dict[str, LogDir], left: int | None, clusters
) -> None:
    desired, cluster = clusters["separate"]
    name = "pool-0.000"
    topic = Topic(name, (Partition(0, (1,), leader=1, isr=(1,), size_bytes=100),))
    live = {**cluster.brokers, 1: replace(cluster.brokers[1], log_dirs=log_dirs)}
    tables = tables_of((desired, replace(cluster, topics={name: topic}, brokers=live)))
    first = broker_loads(tables, partition_loads(tables))[0]
    assert first.broker == 1
    assert (None if first.capacity is None else first.capacity - first.bytes) == left


def test_the_load_history_counts_as_it_does_for_plans(clusters):
    desired, cluster = clusters["separate"]
    name = "pool-0.000"
    unknown = Partition(0, (1, 2), leader=1, isr=(1, 2))
    topic = Topic(name, (unknown, *(unknown._replace(partition=n) for n in (1, 2))))
    case = desired, replace(cluster, topics={name: topic})
    history = [
        feature(name, 1, "bytes", last=100.0, growth_per_day=10.0),
        feature(name, -1, "bytes", last=700.0, growth_per_day=-50.0),
        feature(name, 0, "bytes_in_per_s", p95=3.0),
        feature("gone", 0, "bytes", last=9e9, growth_per_day=9e9),
        feature(name, 9, "bytes", last=9e9, growth_per_day=9e9),
    ]
    found = partition_loads(tables_of(case, history))
    planned = with_loads(
        case[1],
        MeasuredLoads({(name, 1): 100.0, (name, -1): 700.0}, {(name, 0): 3.0}),
    ).topics[name]
    assert found.size.tolist() == [p.size_bytes for p in planned.partitions] == [300, 100, 300]
    lost = 300 / 90  # more than that would be more than there is
    assert found.growth.tolist() == [-lost, 10.0, -lost]
    assert found.rate[0] == 3.0
    brokers = broker_loads(tables_of(case, history), found)
    assert [(b.bytes, b.growth, b.grown_bytes) for b in brokers[:2]] == [
        (700, pytest.approx(10.0 - 2 * lost), 700)
    ] * 2
    assert brokers[2].growth is None


def test_a_topic_that_was_emptied_makes_not_up_for_one_that_grows(clusters) -> None:
    """No replica loses more than it has until the horizon, as long as its size is known."""
    desired, cluster = clusters["separate"]
    sizes = {"emptied": 900, "grows": 10_000, "unknown": None}
    topics = {
        name: Topic(name, (Partition(0, (1,), leader=1, isr=(1,), size_bytes=size),))
        for name, size in sizes.items()
    }
    case = desired, replace(cluster, topics=topics)
    history = [
        feature("emptied", 0, "bytes", last=None, growth_per_day=-5000.0),
        feature("grows", 0, "bytes", last=None, growth_per_day=1000.0),
        feature("unknown", 0, "bytes", last=None, growth_per_day=-4.0),
    ]
    tables = tables_of(case, history)
    assert partition_loads(tables).growth.tolist() == [-10.0, 1000.0, -4.0]
    first = broker_loads(tables, partition_loads(tables))[0]
    assert (first.broker, first.bytes, first.growth) == (1, 10_900, 986.0)


def test_the_hottest_are_the_first_by_rate_and_by_size(clusters):
    desired, cluster = clusters["separate"]
    topics = {
        name: Topic(
            name,
            tuple(
                Partition(n, (1, 2), leader=1, isr=(1,), size_bytes=size, in_bytes_per_s=rate)
                for n, (size, rate) in enumerate(loads)
            ),
        )
        for name, loads in (("a", [(5, 1.0), (6, None)]), ("b", [(9, 0.5), (None, 0.75)]))
    }
    tables = tables_of((desired, replace(cluster, topics=topics)))
    loads = partition_loads(tables)
    found = hottest("bench", loads, broker_loads(tables, loads), most=2)
    rate, size = Measured.BYTES_IN, Measured.BYTES
    assert found == tuple(
        Hot("bench", "pool-0", *each)
        for each in (
            (rate, "a", 0, 1.0),
            (rate, "b", 1, 0.75),
            (rate, "b", -1, 1.25),
            (rate, "a", -1, 1.0),
            (size, "b", 0, 9.0),
            (size, "a", 1, 6.0),
            (size, "a", -1, 11.0),
            (size, "b", -1, 9.0),
        )
    )


def test_a_cluster_without_topics_has_figures(clusters):
    desired, cluster = clusters["separate"]
    tables = tables_of((desired, replace(cluster, topics={})))
    loads = partition_loads(tables)
    brokers = broker_loads(tables, loads)
    assert {(each.replicas, each.bytes, each.growth) for each in brokers} == {(0, 0, None)}
    assert hottest("bench", loads, brokers) == ()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [1, 3, 20])
def test_the_first_are_those_of_a_stable_sort(seed: int, most: int) -> None:
    dice = np.random.default_rng(seed)
    values = dice.integers(0, 6, int(dice.integers(0, 40))).astype(np.float64)
    values[dice.random(len(values)) < 0.2] = np.nan
    known = np.nan_to_num(values)
    order = np.argsort(-known, kind="stable")[:most]
    assert hottest_of._first(values, most) == [int(place) for place in order if known[place] > 0]


@pytest.mark.parametrize("far", [7, loads_of_brokers.DENSE + 1])
def test_places_of_brokers_are_alike_whether_their_ids_are_dense_or_not(far: int) -> None:
    known, replica = np.array([5, 1]), np.array([1, far, 3, 1])
    ids, places = loads_of_brokers._ids_and_places(known, replica)
    assert ids.tolist() == [1, 3, 5, far]
    assert places.tolist() == [0, 3, 1, 0]
