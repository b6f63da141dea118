import gc
import socket
import weakref
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from kafka import errors as kafka_errors

from poolkeeper.brokers.requests import BrokerClient, Versions
from poolkeeper.model.topology import TopicPartition


@pytest.mark.parametrize(
    ("releases", "lowest"),
    [
        pytest.param({}, None, id="nobody-answered"),
        pytest.param({1: "3.9", 2: "3.9"}, "3.9", id="all-alike"),
        pytest.param({1: "2.8", 2: "0.10.2"}, "0.10.2", id="in-an-upgrade"),
    ],
)
def test_lowest_release(releases, lowest):
    assert Versions(releases, {}).lowest == lowest


class KafkaReplica(NamedTuple):
    topic: str
    partition: int
    broker: int


class Admin:
    """A client of brokers that answer, or fail with these errors; they listen at a port or none."""

    def __init__(self, protocol: str, port: int = 1, **errors: Exception) -> None:
        self.config = {"security_protocol": protocol}
        self.errors = {int(broker.removeprefix("b")): error for broker, error in errors.items()}
        self.host, self.port = "127.0.0.1", port
        self._manager = self.cluster = self

    def broker_metadata(self, broker: int) -> object:
        return None if broker > 2 else self

    def alter_replica_log_dirs(self, asked: dict) -> dict:
        return {KafkaReplica(*name): kafka_errors.LogDirNotFoundError for name in asked}

    def get_broker_version_data(self, broker: int) -> object:
        if broker in self.errors:
            raise self.errors[broker]
        return type("Told", (), {"broker_version_str": "3.9"})()


class Held:
    """What the caller of a question has in its hands."""


UNTRUSTED = kafka_errors.KafkaConnectionError("Handshake failed")
PAUSING = kafka_errors.NodeNotReadyError()
WRONG = kafka_errors.SaslAuthenticationFailedError()
LATE = kafka_errors.KafkaTimeoutError()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "listens", "errors", "refused"),
    [
        pytest.param("SSL", True, {}, False, id="all-answer"),
        pytest.param("SSL", True, {"b2": UNTRUSTED}, True, id="a-certificate-is-not-trusted"),
        pytest.param("SASL_SSL", True, {"b2": PAUSING}, True, id="while-the-library-pauses"),
        pytest.param("SSL", False, {"b2": PAUSING}, False, id="nobody-listens"),
        pytest.param("SSL", True, {"b3": PAUSING}, False, id="nobody-knows-where"),
        pytest.param("PLAINTEXT", True, {"b2": PAUSING}, False, id="nothing-is-checked"),
        pytest.param(
            *("PLAINTEXT", False, dict.fromkeys(("b1", "b2", "b3"), PAUSING), True),
            id="nobody-answers",
        ),
        pytest.param("SASL_PLAINTEXT", False, {"b2": WRONG}, True, id="a-wrong-password"),
        pytest.param("SSL", True, {"b2": LATE}, False, id="no-answer-in-time"),
    ],
)
def test_whether_another_connection_may_reach_more(
    port: int, protocol: str, listens: bool, errors: dict[str, Exception], refused: bool
) -> None:
    brokers = BrokerClient(Admin(protocol, port if listens else 1, **errors))
    brokers.versions((1, 2, 3), 1)
    assert brokers.is_refused is refused


@pytest.mark.slow
def test_who_refuses_does_so_until_it_answers(port: int) -> None:
    admin = Admin("SSL", port, b2=UNTRUSTED)
    brokers = BrokerClient(admin)
    brokers.versions((1, 2), 1)
    brokers.versions((1,), 1)
    assert brokers.is_refused, "the other one was not asked"
    admin.errors.clear()
    brokers.versions((1, 2), 1)
    assert not brokers.is_refused


@pytest.mark.slow
def test_a_broker_that_does_not_answer_keeps_nothing_of_those_who_asked() -> None:
    def caller() -> weakref.ref[Held]:
        held, admin = Held(), Admin("PLAINTEXT", b1=UNTRUSTED, b2=LATE)
        assert sorted(BrokerClient(admin).versions((1, 2, 3), 1).failures) == [1, 2]
        return weakref.ref(held)

    gc.disable()
    try:
        assert caller()() is None
    finally:
        gc.enable()


def test_why_a_broker_does_not_move_a_replica_is_told_in_words() -> None:
    name = TopicPartition("t", 0)
    refused = BrokerClient(Admin("PLAINTEXT")).move_log_dirs(1, {name: "/gone"})
    assert refused == {name: "it has no such log directory"}
