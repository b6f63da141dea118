"""Who writes in the background: the latest value, and not too often."""

import logging
import time
from threading import Event

import pytest

from conditions import until
from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.kube.client.references import Reference

A, B = Reference("KafkaCluster", "", "a"), Reference("KafkaCluster", "", "b")
EVERY_S = 0.3


class Log:
    """What was written, and when."""

    def __init__(self) -> None:
        self.entries: list[tuple[Reference, int, float]] = []
        self.open = Event()
        self.open.set()

    def write(self, reference: Reference, value: int) -> None:
        self.open.wait(10)
        self.entries.append((reference, value, time.monotonic()))
        if value < 0:
            raise Unavailable("away")

    def values(self) -> list[tuple[Reference, int]]:
        return [(reference, value) for reference, value, _ in self.entries]


@pytest.fixture
def log() -> Log:
    return Log()


def test_the_latest_value_is_written_and_a_failure_ends_nothing(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write)
    log.open.clear()
    writer.put(A, -1)
    until(lambda: not writer._values, "the first is being written")
    writer.put(B, 1)
    writer.put(B, 2)
    log.open.set()
    until(lambda: log.values() == [(A, -1), (B, 2)], "both are written, the latest of each")
    writer.close()


def test_a_namespace_that_fails_keeps_no_other_waiting(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write)
    log.open.clear()
    failing = [Reference("Topic", "away", f"t{number}") for number in range(9)]
    for each in failing:
        writer.put(each, -1)
    until(lambda: len(writer._values) == len(failing) - 1, "the first is being written")
    writer.put(A, 1)
    log.open.set()
    until(lambda: len(log.entries) == len(failing) + 1, "all are written")
    assert log.values()[:2] == [(failing[0], -1), (A, 1)]
    writer.close()


def test_an_object_is_written_at_once_and_then_not_too_often(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write, EVERY_S)
    began_s = time.monotonic()
    writer.put(A, 1)
    until(lambda: len(log.entries) == 1, "the first is written")
    writer.put(A, 2)
    writer.put(A, 3)
    writer.put(B, 1)
    until(lambda: len(log.entries) == 3, "the others are written")
    assert log.values() == [(A, 1), (B, 1), (A, 3)], "another object waits for nobody"
    assert log.entries[2][2] - began_s >= EVERY_S
    writer.close()


def test_what_is_forgotten_is_not_written(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write, 60)
    writer.put(A, 1)
    until(lambda: len(log.entries) == 1, "the first is written")
    writer.put(A, 2)
    writer.forget()
    writer.put(A, 3)
    until(lambda: len(log.entries) == 2, "the next leader's is written at once")
    assert log.values() == [(A, 1), (A, 3)]
    writer.close()


def test_that_a_write_is_not_allowed_is_a_warning_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    failures = [Unavailable("away"), Forbidden("RBAC"), Forbidden("RBAC")]

    def write(reference: Reference, value: int) -> None:
        raise failures[value]

    writer = BackgroundWriter("numbers", write)
    for value in range(3):
        writer.put(A, value)
        until(lambda value=value: len(caplog.records) == value + 1, "the failure is logged")
    writer.close()
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "INFO"]
