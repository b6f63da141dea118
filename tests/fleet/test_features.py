"""Features of clusters: what they are made from, who takes them, when they are made anew."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet import cases
from fleet.histories import GIB, RISING, begun, case, made, put_samples, rows_of, sample
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.report_tables.cluster_tables import ClusterTables
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.model.topology import Topic
from unit.planning.instances import instances


def test_features_of_files(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    rates = [sample(hour, 100.0 * hour, -1, "bytes_in_per_s") for hour in range(1, 10)]
    put_samples(history, *RISING, *rates, sample(1, 5.0, metric="of somebody else"))
    told = "1 of 19 samples left out: 1 of metrics that are not used ('of somebody else')"
    size, rate = sorted(made(lake, history, told), key=lambda row: row["metric"])
    assert size == {
        "topic": "t",
        "partition": 0,
        "metric": "bytes",
        "window_s": 36_000,
        "buckets": 9,
        "coverage": 0.9,
        "p50": 5.0 * GIB,
        "p95": 9.0 * GIB,
        "max": 9.0 * GIB,
        "last": 9.0 * GIB,
        "growth_per_day": 24.0 * GIB,
    }
    assert (rate["partition"], rate["p95"], rate["growth_per_day"]) == (-1, 900.0, -2400.0)
    first, second = rows_of(lake, schemas.BROKER_FEATURES)
    assert first == {
        "broker": 1,
        "bytes": 9 * GIB,
        "capacity_bytes": 100 * GIB,
        "growth_bytes_per_day": 24.0 * GIB,
        "days_to_full": 91 / 24,
    }
    assert (second["broker"], second["bytes"]) == (2, 9 * GIB)


def test_growth_of_a_whole_topic_fills_the_brokers_of_its_partitions(
    lake: Lake, history: Path
) -> None:
    cases.put(lake, case())
    put_samples(history, *(sample(hour, (10 - hour) * GIB, -1) for hour in range(1, 10)))
    made(lake, history)
    brokers = rows_of(lake, schemas.BROKER_FEATURES)
    found = [(row["growth_bytes_per_day"], row["days_to_full"]) for row in brokers]
    assert found == [(24.0 * GIB, 98 / 24), (12.0 * GIB, 99 / 12)]


def test_what_is_planned_has_the_features(lake: Lake, history: Path) -> None:
    cases.put(lake, case(size=None))
    before = cases.plan_input(lake).cluster.topics["t"].partitions
    put_samples(history, *RISING, *(sample(h, 7.0, 1, "bytes_in_per_s") for h in range(1, 10)))
    made(lake, history)
    after = cases.plan_input(lake).cluster.topics["t"].partitions
    assert [(p.size_bytes, p.in_bytes_per_s) for p in before] == [(None, None)] * 2
    assert [(p.size_bytes, p.in_bytes_per_s) for p in after] == [(9 * GIB, None), (None, 7.0)]


def test_late_samples_make_new_features_and_the_same_ones_make_none(
    lake: Lake, history: Path
) -> None:
    cases.put(lake, case())
    put_samples(history, *RISING)
    made(lake, history)
    again = begun(lake, history)
    assert again.made == ()
    late = (sample(0.5, 20.0 * GIB), sample(0.5, 20.0 * GIB), sample(0.25, None))
    put_samples(history, *late, *RISING, name="b")
    told = (
        "1 of 21 samples left out: 1 with a value that is none, negative or above"
        " 9,007,199,254,740,992"
    )
    (found,) = (row for row in made(lake, history, told) if row["partition"] == 0)
    # The snapshot's own size is the latest of that hour.
    assert (found["buckets"], found["max"], found["last"]) == (10, 9.0 * GIB, 1.0 * GIB)


def test_topics_of_one_name_in_two_clusters_are_told_apart(lake: Lake, history: Path) -> None:
    for name, hours in (("main", 1), ("other", 3)):
        cases.put(lake, cases.named(case(size=None), name))
        rows = [(*row[:4], row[4] * hours) for row in RISING]
        file = history / f"cluster={name}" / "a.parquet"
        parquet.write(file, parquet.from_rows(schemas.SAMPLES, rows))
    assert begun(lake, history).failed == ()
    found = [cases.rows(lake, schemas.FEATURES, n).to_pylist() for n in ("main", "other")]
    assert [[row["last"] for row in rows] for rows in found] == [[9.0 * GIB], [27.0 * GIB]]


FIGURES = st.none() | st.floats(-1e12, 1e12)


@settings(max_examples=20)
@given(instances(), st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9), FIGURES)))
def test_brokers_hold_and_grow_as_their_replicas_do(instance, growths) -> None:
    desired, cluster, _ = instance
    topics = {
        name: replace(
            topic,
            partitions=tuple(p._replace(size_bytes=p.size_bytes or 7) for p in topic.partitions),
        )
        for name, topic in cluster.topics.items()
    }
    cluster, names = replace(cluster, topics=topics), [*sorted(topics), "gone"]
    known = {(names[n % len(names)], number): growth for n, number, growth in growths}
    rows = [
        (topic, number, "bytes", 1, 1, 1.0, None, None, None, 1.0, growth)
        for (topic, number), growth in sorted(known.items())
    ]
    features = parquet.from_rows(schemas.FEATURES, rows)
    bodies = cluster_rows.rows_of_cluster(cluster).bodies
    tables = ClusterTables(
        cluster.name, {}, desired, bodies["partitions"], bodies["brokers"], features
    )
    found = {row["broker"]: row for row in feature_rows.of_brokers(tables).to_pylist()}
    assert list(found) == sorted(cluster.brokers)
    for broker, row in found.items():
        held = [
            (p.size_bytes, growth_of(topic, p.partition, known))
            for topic in topics.values()
            for p in topic.partitions
            for replica in p.replicas
            if replica == broker
        ]
        grows = [max(growth, -size / 90) for size, growth in held if growth is not None]
        assert row["bytes"] == sum(size for size, _ in held)
        assert row["growth_bytes_per_day"] == (pytest.approx(sum(grows)) if grows else None)


def growth_of(topic: Topic, number: int, known: dict) -> float | None:
    """A partition's own growth, else its part of what its topic as a whole has besides."""
    own = {p.partition: known.get((topic.name, p.partition)) for p in topic.partitions}
    whole, without = known.get((topic.name, -1)), [n for n, each in own.items() if each is None]
    if own[number] is not None or whole is None:
        return own[number]
    rest = whole - sum(each for each in own.values() if each is not None)
    return (max(rest, 0.0) if whole >= 0 else rest) / len(without)


@pytest.mark.parametrize("hours", [1, 6, 23, 24])
def test_a_window_shorter_than_a_day_has_the_snapshot_itself(lake: Lake, hours: int) -> None:
    cases.put(lake, case())
    (line,) = begun(lake, options=HistoryOptions(window_s=hours * 3600)).lines
    assert (line.status, line.figures["samples"]) == ("ok", 2)
    assert [(row["last"], row["coverage"]) for row in rows_of(lake)] == [(GIB, 1.0)] * 2


def test_no_sample_at_all(lake: Lake) -> None:
    cases.put(lake, case(size=None))
    assert made(lake) == []
    assert feature_rows.loads_of(cases.rows(lake, schemas.FEATURES)).bytes == {}
