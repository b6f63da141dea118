"""Credentials and TLS files from the Secrets that a KafkaCluster names.

    zookeeper.credentialsSecretRef      username, password, scheme (digest | sasl; default digest)
    brokers.credentialsSecretRef        username, password, mechanism (default PLAIN)
    *.tls.secretRef                     ca.crt; tls.crt and tls.key together

Unknown keys are ignored: a Secret may serve others too. Problems name Secret and key, not values.
Pure: the caller reads the Secrets, and writes the TLS files to disk for the client libraries.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from poolkeeper.errors import Refused
from poolkeeper.model.credentials import BrokerCredentials, Mechanism, Scheme, ZooKeeperCredentials
from poolkeeper.text import listed

TLS_FILES = {"ca": "ca.crt", "certificate": "tls.crt", "key": "tls.key"}
"""The fields of `Tls` and the keys of the Secret that hold them."""

Secret = Mapping[str, bytes]
_Choice = TypeVar("_Choice", bound=StrEnum)


def zookeeper_credentials(name: str, secret: Secret) -> ZooKeeperCredentials:
    """Parse ZooKeeper credentials; raises `Refused` naming the key that is missing or wrong."""
    scheme = _choice(name, secret, "scheme", Scheme.DIGEST)
    username, password = _text(name, secret, "username"), _text(name, secret, "password")
    if scheme is Scheme.DIGEST and ":" in username:
        raise Refused(
            f"Secret {name}: username has a colon (expected none with ZooKeeper's scheme digest)"
        )
    return ZooKeeperCredentials(username, password, scheme)


def broker_credentials(name: str, secret: Secret) -> BrokerCredentials:
    """Parse Kafka credentials; raises `Refused` naming the key that is missing or wrong."""
    mechanism = _choice(name, secret, "mechanism", Mechanism.PLAIN)
    return BrokerCredentials(
        _text(name, secret, "username"), _text(name, secret, "password"), mechanism
    )


def tls_files(name: str, secret: Secret) -> dict[str, bytes]:
    """The PEM files by field of `Tls`; raises `Refused` if there is none, or half a pair."""
    found = {field: secret[key] for field, key in TLS_FILES.items() if secret.get(key)}
    if not found:
        expected = listed(TLS_FILES.values(), "or")
        raise Refused(f"Secret {name}: holds no TLS files (expected {expected})")
    if ("certificate" in found) != ("key" in found):
        here, there = ("tls.crt", "tls.key") if "certificate" in found else ("tls.key", "tls.crt")
        raise Refused(f"Secret {name}: {there} is missing (expected with {here})")
    return found


def hidden_texts(secret: Secret) -> tuple[str, ...]:
    """The password and the private key of a Secret, as texts that nobody may see."""
    found = (secret.get(key, b"") for key in ("password", TLS_FILES["key"]))
    return tuple(text for value in found if (text := value.decode(errors="replace").strip()))


def _text(name: str, secret: Secret, key: str) -> str:
    said = _said(name, secret, key)
    if not said:
        raise Refused(f"Secret {name}: {key} is missing (expected username and password)")
    return said


def _said(name: str, secret: Secret, key: str) -> str:
    """Return what a key says; an empty text where it is not there, or only ends a line."""
    try:
        return secret.get(key, b"").decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise Refused(f"Secret {name}: {key} is no text (expected UTF-8)") from None


def _choice(name: str, secret: Secret, key: str, default: _Choice) -> _Choice:
    said = _said(name, secret, key)
    if not said:
        return default
    kind = type(default)
    try:
        return kind(said)
    except ValueError:
        expected = ", ".join(choice.value for choice in kind)
        raise Refused(f"Secret {name}: {key} is unknown (expected one of {expected})") from None
