"""An object store as Spark and as Arrow see it: the same tables, and errors that say what is wrong.

What the fleet does with it is in its own tests; here is that the server of these tests and the jars
for s3a hold what is built on them.
"""

import pyarrow.dataset as ds
import pytest
from py4j.protocol import Py4JError
from pyarrow import fs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from poolkeeper.fleet.engines.engines import Engine
from s3_server import Bucket

Reading = tuple[SparkSession, Bucket]


@pytest.fixture
def session(spark: Engine) -> SparkSession:
    assert spark.slots  # now it starts, perhaps in another thread: it is not this one's active one
    return SparkSession.builder.getOrCreate()


def use(session: SparkSession, bucket: Bucket) -> Bucket:
    """Give the session this bucket's settings, as `--conf` does before it starts."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    for name, value in bucket.hadoop().items():
        hadoop.set(name, value)
    return bucket


def days(table: ds.Dataset) -> dict[str, int]:
    counts = table.to_table().group_by("day").aggregate([("id", "count")])
    return {row["day"]: row["id_count"] for row in counts.to_pylist()}


def test_what_spark_writes_arrow_reads_and_the_other_way_round(
    session: SparkSession, s3: Bucket
) -> None:
    uri, path = use(session, s3).uri("tables", "numbers"), s3.path("tables", "numbers")
    numbers = session.range(1000).selectExpr("id", "concat('2026-03-0', 1 + id % 2) as day")
    numbers.write.partitionBy("day").parquet(uri)
    table = ds.dataset(path, filesystem=s3.files(), partitioning="hive")
    assert days(table) == {"2026-03-01": 500, "2026-03-02": 500}
    ds.write_dataset(
        table.to_table(columns=["id"]).slice(0, 7),
        f"{path}/day=2026-03-03",
        filesystem=s3.files(),
        format="parquet",
    )
    assert session.read.parquet(uri).where("day = '2026-03-03'").count() == 7
    found = s3.files().get_file_info(fs.FileSelector(path, recursive=True))
    assert not [each.path for each in found if ".spark-staging" in each.path]


def test_who_may_not_and_what_is_not_there_are_told(session: SparkSession, s3: Bucket) -> None:
    for bucket, by_spark, by_arrow in (
        (s3.wrong_secret(), "AccessDeniedException", "SIGNATURE_DOES_NOT_MATCH"),
        (s3.wrong_bucket(), "UnknownStoreException", "NO_SUCH_BUCKET"),
    ):
        use(session, bucket)
        for work in (
            lambda uri: session.read.parquet(uri).count(),
            lambda uri: session.range(3).write.parquet(uri),
        ):
            with pytest.raises((PySparkException, Py4JError), match=by_spark):
                work(bucket.uri("t"))
        with pytest.raises(OSError, match=by_arrow):
            bucket.files().get_file_info(fs.FileSelector(bucket.path()))
        with pytest.raises(OSError, match=by_arrow):
            bucket.files().open_output_stream(bucket.path("t")).close()


@pytest.mark.soak
def test_an_outage_is_an_error_and_nothing_is_lost(session: SparkSession, s3: Bucket) -> None:
    uri = use(session, s3).uri("t")
    session.range(10).write.parquet(uri)
    s3.server.stop()
    try:
        with pytest.raises(Py4JError, match="ConnectException"):
            session.read.parquet(uri).count()
        s3.server.start(read_only=True)
        assert session.read.parquet(uri).count() == 10
        with pytest.raises((PySparkException, Py4JError), match="AccessDenied"):
            session.range(10).write.mode("append").parquet(uri)
        s3.server.stop()
    finally:
        s3.server.start()
    session.range(10).write.mode("append").parquet(uri)
    assert session.read.parquet(uri).count() == 20
