"""Everything here needs the fleet extra: Arrow, and for `spark` Java as well.

One Spark session for all tests of a file; it takes about ten seconds to start, so that all tests
that take it are in one file.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import archives
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.engines.engines import TaskEngine
from poolkeeper.fleet.storage.store import Store
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
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "tables")


@pytest.fixture(scope="module")
def spark() -> Iterator[TaskEngine]:
    java = {"spark.driver.extraJavaOptions": archives.spark_java(record=True)}
    with engines.open_engine("local[2]", conf={**SMALL, **java}) as engine:
        yield engine
    archives.publish_spark()
