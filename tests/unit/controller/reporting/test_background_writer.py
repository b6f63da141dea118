"""Who writes in the background: the latest value, and not too often."""

import logging
import time
from dataclasses import replace
from itertools import pairwise
from threading import Event

import pytest

from conditions import until
from poolkeeper.controller.reporting.background_writer import (
    LASTING_S,
    BackgroundWriter,
    _Failing,
)
from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale, Unavailable
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


def test_a_namespace_of_many_keeps_no_other_waiting(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write)
    log.open.clear()
    many = [Reference("Topic", "many", f"t{number}") for number in range(5)]
    for each in many:
        writer.put(each, 1)
    until(lambda: len(writer._values) == len(many) - 1, "the first is being written")
    few = [Reference("Topic", "few", f"t{number}") for number in range(2)]
    for each in few:
        writer.put(each, 1)
    log.open.set()
    until(lambda: len(log.entries) == len(many) + len(few), "all are written")
    written = [reference for reference, _ in log.values()]
    assert written == [*many[:2], few[0], many[2], few[1], *many[3:]]
    writer.close()


def test_writes_that_hang_leave_a_thread_to_others() -> None:
    hangs, written = Event(), []
    failing = [Reference("Topic", "away", f"t{number}") for number in range(9)]
    begun: list[Reference] = []

    def write(reference: Reference, value: int) -> None:
        begun.append(reference)
        if reference.namespace == "away":
            if value:
                hangs.wait(30)
            raise Unavailable("away")
        written.append(reference)

    writer = BackgroundWriter("numbers", write, threads=2)
    try:
        writer.put(failing[0], 0)
        until(lambda: writer._failing_groups, "the namespace fails")
        for each in failing[1:]:
            writer.put(each, 1)
        until(lambda: len(begun) == 2, "one of it hangs")
        for number in range(3):
            other = Reference("Topic", "other", f"t{number}")
            writer.put(other, 1)
            until(lambda other=other: other in written, "others are written", 10)
        assert len([each for each in begun if each.namespace == "away"]) == 2
    finally:
        hangs.set()
        writer.close()


def test_an_object_is_in_one_hand_at_a_time(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write, threads=2)
    log.open.clear()
    writer.put(A, 1)
    until(lambda: not writer._values, "the first is being written")
    writer.put(A, 2)
    writer.put(B, 1)
    until(lambda: writer._writing == {A, B}, "the other is, too")
    assert writer._values == {A: 2}
    log.open.set()
    until(lambda: len(log.entries) == 3, "all are written")
    assert [value for reference, value in log.values() if reference == A] == [1, 2]
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


@pytest.mark.slow
def test_what_fails_is_written_again_after_a_pause_that_doubles(log: Log) -> None:
    writer = BackgroundWriter("numbers", log.write)

    def failed(times: int) -> bool:
        writer.put(A, -1)
        return len(log.entries) >= times

    until(lambda: failed(4), "it was tried four times")
    at_s = [at_s for _, _, at_s in log.entries]
    pauses_s = [later - before for before, later in pairwise(at_s)]
    assert all(pause_s >= least_s for pause_s, least_s in zip(pauses_s, (0.5, 1, 2), strict=True))
    writer.put(A, 1)
    writer.put(B, 1)
    until(lambda: (B, 1) in log.values(), "others wait for nobody")
    assert (A, 1) not in log.values()
    until(lambda: (A, 1) in log.values(), "it is written in the end")
    writer.put(A, 2)
    until(lambda: (A, 2) in log.values(), "the next one is written at once", 2)
    writer.close()


@pytest.mark.parametrize(
    ("error", "lasts_s", "told"),
    [
        pytest.param(Forbidden("RBAC"), 0, "RBAC", id="not-allowed"),
        pytest.param(Refused("a webhook"), 0, "a webhook", id="refused"),
        pytest.param(Unavailable("away"), 0, "", id="away-for-a-moment"),
        pytest.param(Unavailable("away"), LASTING_S, "away", id="away-for-long"),
        pytest.param(Stale("overtaken"), 0, "", id="overtaken"),
    ],
)
def test_what_a_person_must_see_to_is_told(
    error: PoolkeeperError, lasts_s: float, told: str
) -> None:
    failing = _Failing(error, 100.0)
    assert failing.is_lasting(100.0 + lasts_s) is bool(told)
    tried = Event()

    def write(reference: Reference, value: int) -> None:
        tried.set()
        raise error

    writer = BackgroundWriter("numbers", write)
    writer.put(A, 1)
    assert tried.wait(10)
    until(lambda: writer._failing, "the failure is noted")
    if lasts_s:
        writer._failing[A] = replace(writer._failing[A], since_s=time.monotonic() - lasts_s)
    assert (writer.hindrance(A), writer.hindrance(B)) == (told, "")
    writer.close()


def test_the_first_error_of_its_kind_is_told() -> None:
    """Later ones name other ports, and each would be news."""
    failing = _Failing(Unavailable("from port 1"), 100.0).after(Unavailable("from port 2"))
    assert (str(failing.error), failing.times) == ("from port 1", 2)
    assert str(failing.after(Refused("no")).error) == "no"


def test_that_a_write_is_not_allowed_is_a_warning_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    failures = [Unavailable("away"), Forbidden("RBAC"), Forbidden("RBAC")]

    def write(reference: Reference, value: int) -> None:
        raise failures[value]

    writer = BackgroundWriter("numbers", write)
    for value, each in enumerate((A, B, Reference("KafkaCluster", "", "c"))):
        writer.put(each, value)
        until(lambda value=value: len(caplog.records) == value + 1, "the failure is logged")
    writer.close()
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "INFO"]
