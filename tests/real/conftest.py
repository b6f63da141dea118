"""Everything here needs real servers; the fixtures are those of `servers`."""

from pathlib import Path

import pytest

from servers import fresh_kafka, kafka, kept_kafka

__all__ = ["fresh_kafka", "kafka", "kept_kafka"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)
