"""A store that fails for some requests: nothing wrong counts, and the next run mends it."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fleet import cases
from fleet.conftest import DAY
from fleet.test_s3 import session, use
from matrices import soak
from poolkeeper.cli import main
from poolkeeper.fleet.lake.filesystems import Storage, open_filesystem
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from s3_faults import Fault, FaultyS3
from s3_server import Bucket

__all__ = ["session"]


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[FaultyS3]:
    with FaultyS3(s3.server.address) as found:
        yield found


@pytest.fixture
def bucket(session: SparkSession, s3: Bucket, proxy: FaultyS3) -> Bucket:
    return use(session, replace(s3, proxy=proxy.address))


@pytest.fixture
def run(capsys, bucket: Bucket):
    """A command of `poolkeeper fleet`, in the session of these tests."""

    def call(step: str, *words: object) -> tuple[int, dict, str]:
        given = ("fleet", step, *words, "--out", bucket.uri("lake"), *DAY, "-o", "json")
        code = main.main(list(map(str, given)))
        captured = capsys.readouterr()
        said = json.loads(captured.out) if captured.out else {}
        return code, said, captured.err

    return call


def lake_in(bucket: Bucket) -> Lake:
    return Lake(ArrowObjects(bucket.uri("lake"), Storage.of(bucket.hadoop())))


def by_status(said: dict) -> dict[str, str]:
    (step,) = said["steps"]
    return {each["cluster"]: each["status"] for each in step["clusters"]}


def of_table(method: str, table: str) -> Callable[[str], bool]:
    pattern = re.compile(rf"{method} .*/lake/{table}/.*[.]parquet$")
    return lambda request: bool(pattern.match(request))


@pytest.mark.parametrize(
    ("method", "fault"),
    [("GET", Fault.FORBIDDEN), *soak(("HEAD", Fault.CLOSED), ("GET", Fault.SLOW_DOWN))],
    ids=["that-forbids", "that-stops", "with-too-much-to-do"],
)
def test_a_store_that_gives_no_rows_fails_the_cluster_until_the_next_run(
    fleet: Path, run, bucket: Bucket, proxy: FaultyS3, method: str, fault: Fault
) -> None:
    snapshots = ("-f", fleet / "manifests", "--snapshots", fleet / "snapshots")
    code, _, err = run("snapshot", *snapshots)
    assert code == 0, err
    before = lake_in(bucket).current("snapshot", cases.DAY)
    open_filesystem.cache_clear()
    proxy.fail(fault, concerns=of_table(method, "partitions"))
    code, said, err = run("plan")
    assert proxy.failed
    proxy.clear()
    assert by_status(said) == {"east": "failed", "west": "failed"}, err
    assert code == 1
    assert "damaged" not in err
    assert err.count("cannot be read: ") == 2
    assert lake_in(bucket).current("snapshot", cases.DAY) == before
    code, said, err = run("plan")
    assert (code, by_status(said)) == (0, {"east": "ok", "west": "ok"}), err


def test_what_counts_is_asked_for_again_where_an_answer_is_cut_off(
    fleet: Path, run, bucket: Bucket, proxy: FaultyS3
) -> None:
    proxy.fail(
        Fault.CUT_OFF,
        count=2,
        concerns=lambda each: each.startswith("GET ") and "/lake/current/" in each,
    )
    snapshots = ("-f", fleet / "manifests", "--snapshots", fleet / "snapshots")
    code, said, err = run("snapshot", *snapshots)
    assert len(proxy.failed) == 2
    assert (code, by_status(said)) == (0, {"east": "ok", "west": "ok"}), err
