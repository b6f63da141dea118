"""Whatever is wrong with a snapshot file, the fleet has its reason; what is read fits into tables.

`unit/model/test_damaged_snapshots.py` has the texts; here are Parquet's forms, and the tables.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import damaged_snapshots
from builders import cluster_spec, pool_spec, topic_spec
from damaged_snapshots import GOOD
from poolkeeper.errors import InvalidInput, PoolkeeperError, Refused
from poolkeeper.fleet.storage import cluster_rows, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Broker, Cluster, LogDir
from poolkeeper.planning.planner import make_plan

CLUSTER = snapshots.from_json(GOOD)
DESIRED = Desired(
    cluster_spec("main", default_pool="p"),
    (pool_spec("p", 1, 2, 3, cluster="main", drain=frozenset({2})),),
    (topic_spec("t", "p", partitions=2), topic_spec("u", "p", partitions=3)),
)
REST = b"poolkeeper.snapshot"
COUNTS = b"poolkeeper.partitions"
Change = Callable[[pa.Table], pa.Table]
TELLING = (
    *("53 bits", "32 bits", "the largest id", "a character of two halves", "a zero character"),
    *("an empty text", "an empty list", "an empty object", "a name of a thousand"),
)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "main.parquet"
    snapshot_file.write(file, CLUSTER)
    return file


def column(name: str, *values: object, kind: pa.DataType | None = None) -> Change:
    """Put these values into a column."""

    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        old = table.schema.field(name)
        array = pa.array(values, kind or old.type)
        changed = table.set_column(place, old.with_nullable(True).with_type(array.type), array)
        return changed.replace_schema_metadata(table.schema.metadata)

    return change


def said(key: bytes, value: bytes | None) -> Change:
    """Put this into the metadata."""

    def change(table: pa.Table) -> pa.Table:
        kept = {k: v for k, v in table.schema.metadata.items() if k != key}
        return table.replace_schema_metadata({**kept, **({} if value is None else {key: value})})

    return change


def rows(*places: int) -> Change:
    return lambda table: table.take(pa.array(places, pa.int64()))


def rest(**fields: object) -> Change:
    body = snapshots.to_json(replace(CLUSTER, topics={}))
    return said(REST, json.dumps({**body, **fields}).encode())


BAD_UTF8 = pa.StringArray.from_buffers(
    4, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xfett")
)
WRONG: dict[str, tuple[Change, str]] = {
    "a topic that is null": (column("topic", None, "t", "u", "u"), "column topic has nulls"),
    "a topic that is unknown": (
        column("topic", "t", "t", "x", "x"),
        "topic: names topics that the snapshot does not have: x",
    ),
    "a topic that is no UTF-8": (
        lambda table: table.set_column(0, "topic", BAD_UTF8),
        "is damaged: .*Invalid UTF8",
    ),
    "a topic of numbers": (column("topic", 1, 2, 3, 4, kind=pa.int64()), "topic: names topics"),
    "topics in another order": (rows(2, 3, 0, 1), "topic: is not in the order of names"),
    "topics that are mixed": (rows(0, 2, 1, 3), "topic: is not in the order of names"),
    "partitions in another order": (rows(1, 0, 2, 3), "partition: is not in ascending order"),
    "a partition twice": (rows(0, 0, 1, 2), "partition: is not in ascending order"),
    "no rows": (rows(), "topic: has 0 rows, and 4 were written: not all of t, u"),
    "a topic without its rows": (rows(0, 1), "topic: has 2 rows, and 4 were written: not all of u"),
    "a partition too few": (rows(0, 2, 3), "topic: has 3 rows, and 4 were written: not all of t"),
    "no rows in a file of an earlier release": (
        lambda table: said(COUNTS, None)(rows()(table)),
        "topic: has no rows, of 2 topics",
    ),
    "counts that are none": (said(COUNTS, b"[1]"), "poolkeeper.partitions: counts no partitions"),
    "a partition below zero": (column("partition", -1, 0, 0, 1), "partition: has values"),
    "a partition that is null": (column("partition", None, 1, 0, 1), "partition has nulls"),
    "partitions of 65 bits": (
        column("partition", 1e20, 1, 0, 1, kind=pa.float64()),
        "column partition is double",
    ),
    "no replicas": (column("replicas", [1], [], [1], [1]), "replicas: has empty lists"),
    "replicas that are null": (column("replicas", None, [1], [1], [1]), "replicas has nulls"),
    "a replica that is null": (column("replicas", [1, None], [1], [1], [1]), "lists with nulls"),
    "a replica below zero": (column("replicas", [-1], [1], [1], [1]), "replicas: has values"),
    "an isr below zero": (column("isr", [1], None, [-5], [1]), "isr: has values"),
    "replicas that are true": (
        column("replicas", [True], [True], [True], [True], kind=pa.list_(pa.bool_())),
        "column replicas is list<.*bool>",
    ),
    "adding that is null": (column("adding", None, [], [], []), "adding has nulls"),
    "bytes below zero": (column("bytes", -1, None, 1, 1), "bytes: has values"),
    "bytes of 60 bits": (column("bytes", 1 << 60, None, 1, 1), "bytes: has values"),
    "a rate that is no number": (
        column("bytes_in_per_s", float("nan"), None, 1.0, 1.0),
        "bytes_in_per_s: has values",
    ),
    "a log directory that is null": (
        column("log_dirs", [(1, None)], None, None, None),
        "log_dirs: has nulls",
    ),
    "a column too few": (lambda table: table.drop(["replicas"]), "lacks its column replicas"),
    "no metadata": (lambda table: table.replace_schema_metadata(None), "has no version"),
    "another version": (said(b"poolkeeper.version", b"2"), "has version 2"),
    "a version that is no UTF-8": (said(b"poolkeeper.version", b"\xff"), "is damaged"),
    "another table": (said(b"poolkeeper.table", b"moves"), "is table moves"),
    "nothing but rows": (said(REST, None), "is no snapshot of a cluster"),
    "a rest that is cut off": (said(REST, b"{"), "is not JSON"),
    "a rest that is deep": (said(REST, b"[" * 100_000), "is nested too deeply"),
    "a rest that is no UTF-8": (said(REST, b'{"a": "\xff"}'), "is not UTF-8"),
    "a rest with half a character": (
        rest(deleting=["\ud800"]),
        r"deleting\[0\]: has a text with half a character",
    ),
    "a rest without topics": (rest(), "topic: names topics that the snapshot does not have: t, u"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_parquet_that_is_no_snapshot(good: Path, change: Change, message: str) -> None:
    pq.write_table(change(pq.read_table(good)), good)
    with pytest.raises(Refused, match=message) as refused:
        snapshot_file.read(good)
    assert str(refused.value).startswith(f"{good}:")


def test_parquet_that_is_cut_off_or_altered_at_any_byte(good: Path) -> None:
    whole = good.read_bytes()
    for place in range(0, len(whole), 37):
        for body in (whole[:place], whole[:place] + b"\xaa" + whole[place + 1 :]):
            good.write_bytes(body)
            try:
                snapshot_file.read(good)
            except PoolkeeperError as refused:
                assert str(good) in str(refused)  # noqa: PT017  a byte may also mean nothing


def test_a_folder_that_is_named_like_a_snapshot(tmp_path: Path) -> None:
    for suffix in snapshot_file.SUFFIXES:
        folder = tmp_path / f"main{suffix}"
        folder.mkdir()
        with pytest.raises(Refused, match=f"{folder}: .*directory"):
            snapshot_file.read(folder)


def settled(cluster: Cluster) -> Cluster:
    """The cluster with nothing in flight, so that it is planned."""
    topics = {
        name: replace(
            topic,
            partitions=tuple(p._replace(adding=(), removing=()) for p in topic.partitions),
        )
        for name, topic in cluster.topics.items()
    }
    return replace(cluster, name="main", topics=topics, reassignment=None, electing=False)


def test_what_is_read_fits_into_tables_comes_back_and_can_be_planned() -> None:
    made = []
    for damage in damaged_snapshots.changed(*TELLING):
        try:
            cluster = snapshots.decode(damage.text, "main.json")
        except InvalidInput:
            continue
        rows = cluster_rows.rows_of_cluster(cluster)
        assert cluster_rows.cluster_of_rows(cluster.name, rows) == cluster, damage.id
        made.append(len(make_plan(DESIRED, settled(cluster), Records()).moves))
    assert max(made) > 0


@pytest.mark.parametrize(
    "broker",
    [
        pytest.param(Broker(1, "\ud800"), id="half-a-character"),
        pytest.param(Broker(1 << 31, None), id="an-id-of-32-bits"),
        pytest.param(Broker(1, None, log_dirs={"/d": LogDir(1 << 64, 0)}), id="65-bits"),
        pytest.param(Broker(1, 5), id="a-rack-that-is-a-number"),  # type: ignore[arg-type]
    ],
)
def test_what_tables_cannot_hold_is_refused(broker: Broker) -> None:
    with pytest.raises(Refused, match="cluster main does not fit into tables: "):
        cluster_rows.rows_of_cluster(replace(CLUSTER, brokers={1: broker}))
