"""Two threads that meet a message of Kafka's for the first time at once."""

import struct
from threading import Event, Thread
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.schemas.fields.struct import StructField

from poolkeeper.brokers import connections  # noqa: F401 - it has messages compiled in one thread

VERSION = 8
NO_BROKERS = struct.pack(">iiHiii", 0, 0, 0xFFFF, 1, 0, -(2**31))


class TwoCompilers:
    """Lets the second thread begin in the midst of the first, and go on after its end."""

    def __init__(self) -> None:
        self.emit = StructField.emit_decode_from
        self.first_began, self.second_began, self.first_ended = Event(), Event(), Event()

    def emit_decode_from(
        self, field: Any, context: Any, name: str, *more: Any, **named: Any
    ) -> Any:
        if name == "obj" and not self.first_began.is_set():
            self.first_began.set()
            self.second_began.wait(1)
        elif name == "obj":
            self.second_began.set()
            self.first_ended.wait(1)
        return self.emit(field, context, name, *more, **named)


def read() -> Any:
    return MetadataResponse[VERSION].decode(memoryview(NO_BROKERS))


@pytest.mark.slow
def test_a_message_that_two_threads_meet_at_once_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = TwoCompilers()
    monkeypatch.setattr(MetadataResponse._struct, "_compiled_encoders", {})
    monkeypatch.setattr(
        MetadataResponse._struct, "_data_class", MetadataResponse._struct.data_class
    )
    monkeypatch.setattr(
        StructField,
        "emit_decode_from",
        lambda *given, **named: two.emit_decode_from(*given, **named),
    )
    read_by: list[Any] = []

    def read_first() -> None:
        read_by.append(read())
        two.first_ended.set()

    first = Thread(target=read_first)
    first.start()
    assert two.first_began.wait(10)
    second = Thread(target=lambda: read_by.append(read()))
    second.start()
    for thread in (first, second):
        thread.join(10)
    assert [each.brokers for each in (*read_by, read())] == [[], [], []]
