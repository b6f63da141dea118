"""A lake with one cluster of two partitions, and samples of it for features."""

from pathlib import Path

from builders import cluster_spec, pool_spec
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages import pipeline
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import FleetOutcome
from poolkeeper.fleet.storage import parquet, schemas, table_schema
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Capacity, LoadSource
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic

ALONE = InProcess()
HOUR_MS = 3_600_000
GIB = 1024**3
NO_LOAD = LoadSource()


def case(load: LoadSource = NO_LOAD, size: int | None = GIB) -> cases.Case:
    """Two brokers, of 100 GiB each; topic `t` with two partitions."""
    pool = pool_spec("p", 1, 2, capacity=Capacity(disk_bytes=100 * GIB))
    spec = cluster_spec(load=load)
    partitions = tuple(Partition(n, (1, 2)[: 2 - n], size_bytes=size) for n in (0, 1))
    live = {1: Broker(1), 2: Broker(2)}
    return Desired(spec, (pool,)), Cluster("main", live, {"t": Topic("t", partitions)})


OPTIONS = HistoryOptions(window_s=10 * 3600)


def begun(
    lake: Lake, samples: object = "", options: HistoryOptions = OPTIONS, day: str = cases.DAY
) -> FleetOutcome:
    return pipeline.features(ALONE, lake, day, options, str(samples))


def sample(hour: float, value: float | None, partition: int = 0, metric: str = "bytes") -> tuple:
    """A sample so many hours before the snapshot."""
    return ("t", partition, metric, cases.NOW_MS - int(hour * HOUR_MS), value)


def put_samples(folder: Path, *rows: tuple, name: str = "a") -> None:
    file = folder / "day=2026-03-01" / "cluster=main" / f"{name}.parquet"
    parquet.write(file, parquet.from_rows(schemas.SAMPLES, rows))


def rows_of(
    lake: Lake, table: table_schema.TableSchema = schemas.FEATURES, day: str = cases.DAY
) -> list[dict]:
    return cases.rows(lake, table, day=day).to_pylist()


def made(lake: Lake, samples: object = "", told: str = "") -> list[dict]:
    (line,) = begun(lake, samples).lines
    assert (line.status, line.reason) == ("ok", told)
    return rows_of(lake)


RISING = [sample(hour, (10 - hour) * GIB) for hour in range(1, 10)]
