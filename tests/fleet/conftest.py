"""Everything here needs the fleet extra: Arrow, and for `spark` Java as well.

One Spark session for all tests of a file; it takes about ten seconds to start, so that all tests
that take it are in one file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import archives
from fleet.in_process import InProcess
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from servers import chroot

__all__ = ["chroot"]

HERE = Path(__file__).parent
IMPORTED = (HERE.parent, HERE.parents[1] / "examples" / "demo")
SMALL = {
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, IMPORTED)),  # tasks of these tests
    "spark.driver.memory": "512m",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.fleet)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_at(tmp_path / "tables")


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do all in this process: what Spark does is tested in `test_spark`."""

    @contextmanager
    def here(*_: object) -> Iterator[InProcess]:
        yield InProcess()

    monkeypatch.setattr(engines, "open_engine", here)


def lake_at(folder: Path) -> Lake:
    return Lake(ArrowObjects(root_of(folder)))


@pytest.fixture
def java_options() -> str:
    """Of drivers that tests start as processes of their own."""
    return archives.spark_java()


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    java = {"spark.driver.extraJavaOptions": archives.spark_java(record=True)}
    with engines.open_engine("local[2]", conf={**SMALL, **java}) as engine:
        yield engine
    archives.publish_spark()
