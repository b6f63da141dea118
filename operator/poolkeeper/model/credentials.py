"""Poolkeeper's identity towards ZooKeeper and the brokers, and how it verifies theirs.

Passwords are in no `repr`, so that no message, log line or traceback shows one.
"""

from dataclasses import field
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Tls


class Scheme(StrEnum):
    """ZooKeeper's authentication schemes that take a user and a password."""

    DIGEST = "digest"
    SASL = "sasl"


class Mechanism(StrEnum):
    """The SASL mechanisms of brokers that take a user and a password."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


@frozen
class ZooKeeperCredentials:
    """A user of ZooKeeper."""

    username: str
    password: str = field(repr=False)
    scheme: Scheme = Scheme.DIGEST


@frozen
class BrokerCredentials:
    """The user with which Poolkeeper logs in at brokers."""

    username: str
    password: str = field(repr=False)
    mechanism: Mechanism = Mechanism.PLAIN


@frozen
class ClientConfig:
    """Identity and TLS for both; `None` is anonymous, and plain text. `Tls()` trusts the system."""

    zookeeper: ZooKeeperCredentials | None = None
    zookeeper_tls: Tls | None = None
    brokers: BrokerCredentials | None = None
    brokers_tls: Tls | None = None
