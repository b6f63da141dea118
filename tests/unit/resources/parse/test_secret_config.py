from collections.abc import Callable

import pytest

from poolkeeper.errors import Refused
from poolkeeper.model.credentials import BrokerCredentials, Mechanism, Scheme, ZooKeeperCredentials
from poolkeeper.resources.parse.secret_config import (
    broker_credentials,
    tls_files,
    zookeeper_credentials,
)

USER = {"username": b"pool", "password": b"pass word\r\n"}
Reader = Callable[[str, dict[str, bytes]], object]


@pytest.mark.parametrize(
    ("read", "secret", "expected"),
    [
        pytest.param(
            zookeeper_credentials,
            USER,
            ZooKeeperCredentials("pool", "pass word", Scheme.DIGEST),
            id="a ZooKeeper user has scheme digest, and no line end in the password",
        ),
        pytest.param(
            zookeeper_credentials,
            USER | {"scheme": b"sasl", "note": b"\xff"},
            ZooKeeperCredentials("pool", "pass word", Scheme.SASL),
            id="another scheme may be said, other keys are ignored",
        ),
        pytest.param(
            broker_credentials,
            USER | {"mechanism": b"SCRAM-SHA-512"},
            BrokerCredentials("pool", "pass word", Mechanism.SCRAM_SHA_512),
            id="a Kafka user with its mechanism",
        ),
        pytest.param(
            zookeeper_credentials,
            USER | {"scheme": b"\n"},
            ZooKeeperCredentials("pool", "pass word", Scheme.DIGEST),
            id="a scheme that only ends a line is not said",
        ),
        pytest.param(
            tls_files,
            {"ca.crt": b"CA", "tls.crt": b"C", "tls.key": b"K", "tls.key.old": b""},
            {"ca": b"CA", "certificate": b"C", "key": b"K"},
            id="a Secret of type TLS",
        ),
        pytest.param(tls_files, {"ca.crt": b"CA"}, {"ca": b"CA"}, id="authorities alone"),
    ],
)
def test_secrets_say(read: Reader, secret: dict[str, bytes], expected: object) -> None:
    assert read("s", secret) == expected


@pytest.mark.parametrize(
    ("read", "secret", "message"),
    [
        pytest.param(
            zookeeper_credentials,
            {"username": b"pool"},
            "Secret s: password is missing (expected username and password)",
            id="half a user",
        ),
        pytest.param(
            zookeeper_credentials,
            USER | {"password": b"\n"},
            "Secret s: password is missing (expected username and password)",
            id="a password that only ends a line",
        ),
        pytest.param(
            broker_credentials,
            USER | {"username": b"\r\n"},
            "Secret s: username is missing (expected username and password)",
            id="a user name that only ends a line",
        ),
        pytest.param(
            zookeeper_credentials,
            USER | {"scheme": b"kerberos"},
            "Secret s: scheme is unknown (expected one of digest, sasl)",
            id="a scheme that is none",
        ),
        pytest.param(
            zookeeper_credentials,
            USER | {"username": b"pool:keeper"},
            "Secret s: username has a colon (expected none with ZooKeeper's scheme digest)",
            id="a user of digest that ends at its colon",
        ),
        pytest.param(
            broker_credentials,
            {"username": b"\xff", "password": b"x"},
            "Secret s: username is no text (expected UTF-8)",
            id="bytes that are no text",
        ),
        pytest.param(
            tls_files,
            {"key.pem": b"K"},
            "Secret s: holds no TLS files (expected ca.crt, tls.crt or tls.key)",
            id="no TLS at all",
        ),
        pytest.param(
            tls_files,
            {"ca.crt": b"CA", "tls.key": b"K"},
            "Secret s: tls.crt is missing (expected with tls.key)",
            id="a key without its certificate",
        ),
    ],
)
def test_what_is_wrong_names_secret_and_key_alone(
    read: Reader, secret: dict[str, bytes], message: str
) -> None:
    with pytest.raises(Refused) as raised:
        read("s", secret)
    assert str(raised.value) == message
