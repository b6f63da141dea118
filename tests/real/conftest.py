"""Everything here needs real servers; the fixtures are those of `servers`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import scheduling
from poolkeeper.sandbox import Sandbox
from real.bare import Bare, bare_cluster
from servers import fresh_kafka, kafka, kept_kafka

__all__ = ["fresh_kafka", "kafka", "kept_kafka"]


@pytest.fixture
def bare(zookeeper: Sandbox, chroot: str, tmp_path: Path) -> Iterator[Bare]:
    with bare_cluster(zookeeper, chroot, tmp_path / "manifests") as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in scheduling.of_room(items, "real"):
        item.add_marker(pytest.mark.real)
