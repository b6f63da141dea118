"""Kafka's own classes, one JVM of a release for all tests of a worker."""

from collections.abc import Iterator

import pytest

from kafka_oracle import Oracle


@pytest.fixture(scope="session")
def kafka_3_9() -> Iterator[Oracle]:
    with Oracle("3.9.2") as kafka:
        yield kafka


@pytest.fixture(scope="session")
def kafka_2_2() -> Iterator[Oracle]:
    with Oracle("2.2.2") as kafka:
        yield kafka
