import contextlib
import socket
import ssl
import threading
import time

import pytest
from kafka import errors as kafka_errors
from kafka.net import manager

from poolkeeper.brokers import connections
from poolkeeper.errors import Refused, Unavailable
from switched_off import switched_off


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param("h:9093", ("h", 9093), id="host-and-port"),
        pytest.param("h", ("h", 9092), id="the-usual-port"),
        pytest.param("[::1]:9093", ("::1", 9093), id="ipv6-with-port"),
    ],
)
def test_address(server, expected):
    assert connections.address(server) == expected


def read(name):
    """What the library makes of an alert that it reads, as with TLS 1.3."""
    return kafka_errors.KafkaConnectionError(alert(name))


def at_handshake(error):
    """What it makes of an error of the handshake."""
    failed = kafka_errors.KafkaConnectionError(f"Handshake failed: {error}")
    failed.__context__ = error
    return failed


def alert(name):
    error = ssl.SSLError(1, "as OpenSSL says it")
    error.reason = name
    return error


def untrusted(words):
    error = ssl.SSLCertVerificationError(1, "as OpenSSL says it")
    error.verify_message = words
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            read("SSLV3_ALERT_CERTIFICATE_EXPIRED"),
            "cannot connect (it demands a client certificate that it trusts"
            " (SSLV3_ALERT_CERTIFICATE_EXPIRED))",
            id="client-certificate-read-late",
        ),
        pytest.param(
            at_handshake(alert("SSLV3_ALERT_BAD_CERTIFICATE")),
            "cannot connect (it demands a client certificate that it trusts"
            " (SSLV3_ALERT_BAD_CERTIFICATE))",
            id="client-certificate",
        ),
        pytest.param(
            at_handshake(untrusted("certificate has expired")),
            "cannot connect (its certificate is not trusted: certificate has expired)",
            id="certificate-of-the-broker",
        ),
        pytest.param(
            kafka_errors.SaslAuthenticationFailedError(), "the credentials are wrong", id="sasl"
        ),
        pytest.param(
            kafka_errors.ClusterAuthorizationFailedError(),
            "these credentials are not authorized for it",
            id="acl",
        ),
        pytest.param(kafka_errors.KafkaTimeoutError(), "no answer in time", id="timeout"),
        pytest.param(
            kafka_errors.KafkaConnectionError("111 ECONNREFUSED"),
            "cannot connect (111 ECONNREFUSED)",
            id="refused",
        ),
        pytest.param(
            kafka_errors.KafkaConnectionError("Connection timed out"),
            "no answer in time",
            id="a-machine-that-is-off",
        ),
        pytest.param(
            kafka_errors.UnknownBrokerIdError(7), "the other brokers do not know it", id="unknown"
        ),
        pytest.param(
            kafka_errors.IncompatibleBrokerVersion("…"),
            "this version of Kafka does not support the request",
            id="too-old",
        ),
    ],
)
def test_reasons_in_words(error, expected):
    assert connections.reason(error) == expected


def test_a_server_that_never_answers_is_unavailable_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unavailable, match=f"brokers at {server}: no answer in time"):
            connections.connect([server], {}, deadline_s=0.2)


def test_a_server_that_is_switched_off_takes_no_time_from_the_others():
    with switched_off() as port, socket.create_server(("127.0.0.1", 0)) as up:
        off, server = f"127.0.0.1:{port}", f"127.0.0.1:{up.getsockname()[1]}"
        began = time.monotonic()
        found, failed = connections._reachable([off, server, "127.0.0.1:1", server], began + 30)
        assert time.monotonic() - began < 15
    assert found == [server]
    assert failed == {off: "no answer in time", "127.0.0.1:1": "Connection refused"}


def test_of_very_many_servers_some_are_tried_at_a_time(monkeypatch):
    monkeypatch.setattr(connections, "AT_ONCE", 2)
    refusing = [f"127.0.0.{last}:1" for last in range(2, 12)]
    with socket.create_server(("127.0.0.1", 0)) as up:
        server = f"127.0.0.1:{up.getsockname()[1]}"
        found, failed = connections._reachable([*refusing, server], time.monotonic() + 30)
    assert found == [server]
    assert failed == dict.fromkeys(refusing, "Connection refused")


def test_where_no_server_accepts_connections_each_is_told():
    with switched_off() as port:
        off = f"127.0.0.1:{port}"
        with pytest.raises(Unavailable) as raised:
            connections.connect([off, "127.0.0.1:1"], {}, deadline_s=0.2)
    assert str(raised.value) == (
        f"no broker answers ({off}: no answer in time; 127.0.0.1:1: Connection refused)"
    )


@pytest.mark.slow
def test_one_of_several_that_keeps_silent_leaves_time_to_the_others(monkeypatch):
    """The library draws one at a time; the silent one is drawn first."""
    tried = []

    def draw(those):
        tried.append(those[len(tried) % len(those)])
        return tried[-1]

    monkeypatch.setattr(manager.random, "choice", draw)
    with socket.create_server(("127.0.0.1", 0)) as silent, hanging_up() as other:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}", other]
        with pytest.raises(Unavailable) as raised:
            connections.connect(servers, {}, deadline_s=1)
    assert f"{other}: cannot connect (" in str(raised.value)


REQUIRES_TLS = "; brokers that require TLS close connections without it"


@contextlib.contextmanager
def hanging_up():
    """A server that closes each connection; its address."""

    def serve():
        with contextlib.suppress(OSError):
            while True:
                listening.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.mark.slow
def test_each_server_s_own_reason_is_told_and_no_other_remark():
    with hanging_up() as server, pytest.raises(Unavailable) as raised:
        connections.connect([server, "127.0.0.1:1"], {}, deadline_s=0.8)
    told = str(raised.value).partition(f"brokers at {server},127.0.0.1:1: ")[2]
    assert "127.0.0.1:1: Connection refused" in told
    assert told.count(REQUIRES_TLS) == 1
    own = next(each for each in told.split("127.0.0.1:") if each.startswith(server.split(":")[1]))
    assert REQUIRES_TLS in own


@pytest.mark.parametrize(
    ("server", "words"),
    [
        pytest.param("kafka..example:9092", "'kafka..example' is no host", id="empty-label"),
        pytest.param("kafka:99999", "'99999' is no port", id="port-too-high"),
        pytest.param("kafka:x", "'x' is no port", id="port-of-letters"),
    ],
)
def test_what_is_no_address_is_refused_at_once(server, words):
    with pytest.raises(Refused, match=f"are no addresses of brokers: {words}"):
        connections.connect(["kafka-1:9092", server], {}, deadline_s=0.2)
