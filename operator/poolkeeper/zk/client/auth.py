"""The identity of a session, and how it verifies the server.

In a cluster with `zookeeper.set.acl` the brokers' own identity is needed: without it throttles
cannot be read and nothing can be written. There are two mechanisms. `digest` is a user and password
that ZooKeeper turns into the id `digest:user:hash` and never rejects; a wrong password shows at the
first node whose ACL does not name the id. `sasl` with DIGEST-MD5 is checked by the server when the
session starts. A client certificate (TLS) is an identity as well.

DIGEST-MD5 hashes names and passwords in ISO 8859-1 (RFC 2831), pure-sasl what it gets.
Other characters would need UTF-8 to be negotiated, which pure-sasl does not do.
"""

import importlib.util
from collections.abc import Callable

from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.model.specs import Tls


def client_options(
    credentials: ZooKeeperCredentials | None,
    tls: Tls | None,
    find: Callable[[str], object] = importlib.util.find_spec,
) -> dict[str, object]:
    """Return the options of kazoo's client for these credentials.

    `find` looks for an installed package. Raises `Unavailable` where one is missing, `Forbidden`
    for credentials that no server could know.
    """
    options: dict[str, object] = {}
    match credentials:
        case ZooKeeperCredentials(scheme=Scheme.SASL):
            options["sasl_options"] = _sasl_options(credentials, find)
        case ZooKeeperCredentials():
            if ":" in credentials.username:
                raise Forbidden("a user of ZooKeeper's scheme digest has no colon in its name")
            secret = f"{credentials.username}:{credentials.password}"
            options["auth_data"] = [(Scheme.DIGEST.value, secret)]
    if tls is not None:
        options |= {
            "use_ssl": True,
            "ca": tls.ca,
            "certfile": tls.certificate,
            "keyfile": tls.key,
            # Any certificate of the same authority would otherwise pass for the server.
            "check_hostname": True,
        }
    return options


def _sasl_options(
    credentials: ZooKeeperCredentials, find: Callable[[str], object]
) -> dict[str, str | bytes]:
    if find("puresasl") is None:
        raise Unavailable("SASL needs the package pure-sasl, which is not installed")
    try:
        username, password = (
            text.encode("iso-8859-1") for text in (credentials.username, credentials.password)
        )
    except UnicodeEncodeError:
        raise Forbidden(
            "user and password of ZooKeeper's scheme sasl have characters of ISO 8859-1 only"
        ) from None
    return {"mechanism": "DIGEST-MD5", "username": username, "password": password}
