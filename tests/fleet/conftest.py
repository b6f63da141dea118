"""Everything here needs the fleet extra: Arrow, and for `spark` Java as well.

One Spark session for all tests of a worker process; it takes about ten seconds to start, so that
all tests that take it are in one worker (`scheduling.TOGETHER`). It has the jars for s3a.

`s3` is a bucket of a real S3 server (`s3_server`), which is built in the background by `make test`:
that wait is none of a test's own time.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import archives
import scheduling
from bench import clusters
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.model import snapshots
from poolkeeper.resources.write import manifests
from s3_server import jars, s3, s3_server
from servers import chroot

__all__ = ["chroot", "s3", "s3_server"]

HERE = Path(__file__).parent
IMPORTED = (HERE.parent, HERE.parents[1] / "examples" / "demo")
TEST_S = 600
DAY = ("--day", cases.DAY)
NAMES = ("east", "west")
"""The clusters of `fleet`."""
SMALL = {
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, IMPORTED)),  # tasks of these tests
    "spark.driver.memory": "512m",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in scheduling.of_room(items, "fleet"):
        item.add_marker(pytest.mark.fleet)
        if "s3_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(TEST_S, func_only=True))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_at(tmp_path / "tables")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Where files of samples are put."""
    return tmp_path / "history"


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do all in this process: what Spark does is tested in `test_spark`."""

    monkeypatch.setattr(engines, "open_engine", InProcess.opened)


def lake_at(folder: Path) -> Lake:
    return Lake(ArrowObjects(root_of(folder)))


@pytest.fixture
def java_options() -> str:
    """Of drivers that tests start as processes of their own."""
    return archives.spark_java()


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    java = {"spark.driver.extraJavaOptions": archives.spark_java(record=True)}
    # Views of tests are in Spark's catalog, which makes this folder where the tests are run.
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    conf = {**SMALL, **java, **warehouse, "spark.jars": jars()}
    with engines.open_engine("local[2]", conf=conf) as engine:
        yield engine
    archives.publish_spark()


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], without_spark: None
) -> Callable[..., tuple[int, str, str]]:
    """Call `poolkeeper` in this process; returns its code, output and errors."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Manifests of two clusters, and their snapshots."""
    bodies = []
    (tmp_path / "snapshots").mkdir()
    for seed, name in enumerate(NAMES):
        cluster = replace(clusters.cluster(200, brokers=24, joined=2, seed=seed), name=name)
        snapshots.write(tmp_path / "snapshots" / f"{name}.json", cluster)
        desired = clusters.desired(26)
        connect = replace(desired.cluster.zookeeper, connect=f"127.0.0.1:1/{name}")
        spec = replace(desired.cluster, name=name, zookeeper=connect, default_pool=f"{name}-all")
        bodies.append(manifests.cluster_body(spec))
        bodies.append(
            manifests.pool_body(replace(desired.pools[0], name=f"{name}-all", cluster=name))
        )
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(manifests.text_of(bodies))
    return tmp_path


def where(fleet: Path) -> tuple[object, ...]:
    """The options that name what `fleet` has, and the tables beside it."""
    return ("-f", fleet / "manifests", "--snapshots", fleet / "snapshots", "--out", fleet / "out")
