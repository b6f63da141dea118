"""A reporter of one test."""

from collections.abc import Iterator

import pytest

from unit.controller.reporting.reporting_room import Room


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    with made.reporter:
        yield made
