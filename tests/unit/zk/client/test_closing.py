"""The end of a connection: it comes, even where kazoo waits for ever."""

import logging
from threading import Event
from types import SimpleNamespace

import pytest

from poolkeeper.zk.client import connections
from poolkeeper.zk.client.connections import Connection


class Client(SimpleNamespace):
    """What a connection needs of kazoo's client; `stop` does what it was told."""

    def __init__(self, stop) -> None:
        self.calls: list[str] = []
        super().__init__(
            _stopped=Event(),
            add_listener=lambda _: None,
            handler=SimpleNamespace(stop=lambda: None),
            stop=lambda: (self.calls.append("stop"), stop()),
            close=lambda: self.calls.append("close"),
        )


def test_a_client_is_stopped_and_closed_once() -> None:
    client = Client(lambda: None)
    connection = Connection(client)
    connection.close()
    connection.close()
    assert client.calls == ["stop", "close"]


def test_a_client_that_does_not_stop_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "CLOSE_S", 0.05)
    released = Event()
    client = Client(released.wait)
    with caplog.at_level(logging.WARNING):
        Connection(client).close()
    assert "did not end its threads" in caplog.text
    assert client.calls == ["stop"]
    released.set()


def test_what_kazoo_says_of_the_end_is_heard() -> None:
    def fail() -> None:
        raise OSError("not closed")

    with pytest.raises(OSError, match="not closed"):
        Connection(Client(fail)).close()
