"""Clusters survive their tables and files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import builders
from bench import clusters
from fleet import cases
from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import cluster_rows, parquet, plan_rows, schemas, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.model.columns.move_columns import MoveColumns
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Broker, Cluster, LogDir, Topic
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.partitions import table_of
from unit.planning.instances import as_told, instances

ODD = cases.oddities(clusters.cluster(600, brokers=24))
ODD = replace(
    ODD,
    brokers={
        **ODD.brokers,
        1: Broker(1, "r01", ("PLAINTEXT://h:1",), {"b": "1"}, log_dirs={"/a": LogDir(9, None)}),
    },
)
EMPTY = builders.cluster((), id=None)


def back(cluster: Cluster) -> Cluster:
    return cluster_rows.cluster_of_rows(cluster.name, cluster_rows.rows_of_cluster(cluster))


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(ODD, id="oddities"),
        pytest.param(EMPTY, id="empty"),
        pytest.param(replace(EMPTY, reassignment=()), id="an-empty-request-is-a-request"),
        pytest.param(replace(EMPTY, topics={"t": Topic("t", ())}), id="a-topic-without-partitions"),
    ],
)
def test_a_cluster_comes_back_equal(cluster: Cluster, tmp_path: Path) -> None:
    assert back(cluster) == cluster
    file = tmp_path / "c.parquet"
    snapshot_file.write(file, cluster)
    assert snapshot_file.read(file) == cluster


@settings(max_examples=20)
@given(instances())
def test_random_clusters_come_back_equal(instance) -> None:
    assert back(instance[1]) == instance[1]


@given(
    st.lists(st.none() | st.lists(st.integers(0, 9), max_size=4), max_size=12), st.integers(0, 12)
)
def test_lists_of_any_lengths_are_read_whole(values: list[list[int] | None], first: int) -> None:
    array = pa.array(values, pa.list_(pa.int32()))
    column = pa.chunked_array([array.slice(first), array])
    numbers = pa.array(np.arange(len(column), dtype=np.int32))
    rows = pa.table({"partition": numbers, "replicas": column, "isr": column})
    columns = cluster_rows.columns_of_rows(rows)
    expected = [None if each is None else tuple(each) for each in [*values[first:], *values]]
    found = columns.partitions(0, len(columns))
    assert [p.isr for p in found] == expected
    assert [p.replicas for p in found] == [each or () for each in expected]


def test_absent_columns_read_as_unknown() -> None:
    rows = cluster_rows.rows_of_cluster(ODD).bodies
    some = rows[schemas.PARTITIONS.name].select(["partition", "replicas"])
    topics = cluster_rows.topics_of(rows[schemas.TOPICS.name], some)
    assert {p.leader for t in topics.values() for p in t.partitions} == {None}
    assert {p.adding for t in topics.values() for p in t.partitions} == {()}


def test_rows_of_several_batches_are_one_cluster(tmp_path: Path) -> None:
    rows = cluster_rows.rows_of_cluster(ODD).bodies
    parts = rows[schemas.PARTITIONS.name]
    halves = pa.concat_tables([parts.slice(0, 100), parts.slice(100)])
    assert cluster_rows.topics_of(rows[schemas.TOPICS.name], halves) == ODD.topics


@pytest.mark.parametrize("name", ["s.json", "s.json.gz", "s.parquet"])
def test_all_forms_of_a_snapshot_say_the_same(name: str, tmp_path: Path) -> None:
    write = snapshot_file.write if name.endswith(".parquet") else snapshots.write
    write(tmp_path / name, ODD)
    assert snapshot_file.read(tmp_path / name) == ODD


def test_any_tool_reads_the_partitions_of_a_snapshot(tmp_path: Path) -> None:
    snapshot_file.write(tmp_path / "s.parquet", ODD)
    assert pq.read_table(tmp_path / "s.parquet").num_rows == 600


def rows_of_plan(plan: Plan, case: cases.Case) -> dict:
    columns = MoveColumns.of(plan.moves)
    return plan_rows.rows_of_plan(plan, columns, *case, cases.Records(), table_of(case[1]))


@settings(max_examples=20)
@given(instances())
def test_a_plan_comes_back_equal(instance) -> None:
    desired, cluster, gone = instance
    plan = make_plan(desired, cluster, gone=gone)
    rows = rows_of_plan(plan, (desired, cluster))
    assert plan_rows.plan_of_rows(cluster.name, rows) == as_told(plan)


def test_balances_count_what_the_plan_does() -> None:
    case = cases.golden()["created"]
    plan = cases.planned(case)
    rows = rows_of_plan(plan, case)
    content = rows[schemas.BALANCES.name].to_pylist()
    added = [len(r) for step in plan.steps for r in getattr(step, "replicas", ())]
    before, after = (
        sum(row[f"replicas_{when}"] for row in content) for when in ("before", "after")
    )
    assert (len(added), after - before) == (12, sum(added))
    before, after = (sum(row[f"leaders_{when}"] for row in content) for when in ("before", "after"))
    assert after - before == 12
    assert [row["broker"] for row in content] == sorted(case[1].brokers)


class TestFilesOfTables:
    @pytest.fixture
    def requests(self) -> pa.Table:
        return parquet.from_rows(schemas.REQUESTS, [("t", 0, (1, 2))])

    def test_a_file_of_another_table_is_refused(self, requests: pa.Table, tmp_path: Path) -> None:
        parquet.write(tmp_path / "f", requests)
        with pytest.raises(Refused, match=r"f: is table requests \(expected moves\)"):
            parquet.read(tmp_path / "f", schemas.MOVES)

    def test_a_file_of_another_version_is_refused(self, requests: pa.Table, tmp_path: Path) -> None:
        metadata = {**requests.schema.metadata, b"poolkeeper.version": b"7"}
        parquet.write(tmp_path / "f", requests.replace_schema_metadata(metadata))
        with pytest.raises(Refused, match=r"version 7 \(expected version 1\)"):
            parquet.read(tmp_path / "f", schemas.REQUESTS)

    @pytest.mark.parametrize("body", [b"", b"PAR1nonsensePAR1"], ids=["empty", "nonsense"])
    def test_what_is_no_parquet_is_refused(self, body: bytes, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(body)
        with pytest.raises(Refused, match="cannot be read"):
            parquet.read(tmp_path / "f", schemas.REQUESTS)

    def test_a_nullable_column_that_an_older_file_lacks_is_null(self, tmp_path: Path) -> None:
        full = cluster_rows.rows_of_cluster(ODD).bodies[schemas.PARTITIONS.name]
        parquet.write(tmp_path / "f", full.drop_columns(["bytes"]))
        found = parquet.read(tmp_path / "f", schemas.PARTITIONS, ["partition", "bytes"])
        assert found.column("bytes").null_count == 600

    def test_a_required_column_that_is_missing_is_refused(
        self, requests: pa.Table, tmp_path: Path
    ) -> None:
        parquet.write(tmp_path / "f", requests.drop_columns(["partition"]))
        with pytest.raises(Refused, match="lacks its column partition"):
            parquet.read(tmp_path / "f", schemas.REQUESTS)

    def test_nothing_is_left_of_a_file_that_cannot_be_written(
        self, requests: pa.Table, tmp_path: Path
    ) -> None:
        (tmp_path / "f").mkdir()
        with pytest.raises(Refused, match="cannot be written"):
            parquet.write(tmp_path / "f", requests)
        assert [file.name for file in tmp_path.iterdir()] == ["f"]
