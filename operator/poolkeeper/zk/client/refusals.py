"""Why servers do not take a session, by server.

Kazoo tries one server after another until it is told to stop. It logs why each failed, without what
is wrong with a certificate, and keeps nothing. So its attempts are watched here. A server without
SASL answers each question for a challenge with nothing, and kazoo asks again at once, without end:
the second question ends the attempt.
"""

import ssl
import struct
from collections.abc import Collection
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.connection import ConnectionDropped
from kazoo.protocol.serialization import SASL

from poolkeeper import tls_failures

NO_ANSWER = "no answer in time"
NO_SASL = "it offers no SASL"
UNKNOWN_NAME = "its name cannot be resolved"
SILENT = (
    "it accepts connections, but does not answer in time, as a server does that hangs or that is no"
    " ZooKeeper: a broker's port is none, and Kafka in KRaft mode has none"
)
OTHER_PROTOCOL = "what it answers is not ZooKeeper's: is another service at this port?"
HUNG_UP = (
    "it closes connections, as servers do that have no quorum, that do not trust the client's"
    " certificate or miss it, or that have no TLS at this port"
)
"""With TLS. ZooKeeper tells nothing of a certificate that it refuses, or resets the connection."""
HUNG_UP_WITHOUT_TLS = (
    "it closes connections, as servers do that have no quorum, that require TLS, or that have too"
    " many of this machine"
)


class Refusals:
    """How the last attempt at each server of a client failed."""

    def __init__(self) -> None:
        self._by_server: dict[str, str] = {}
        self._empty_answers = 0

    def told(self, servers: Collection[str]) -> str:
        """Return the reasons, each with its server where there are several; "" without any.

        `servers` are all that were to be tried. A deadline may end the first attempt at a server or
        come after it, so what has not answered yet is told as what has not answered in time: the
        same trouble is told in the same words. Where none did, that nobody answers says it all.
        """
        found = dict.fromkeys(servers, NO_ANSWER) | self._by_server
        reasons = set(found.values())
        if reasons <= {NO_ANSWER}:
            return ""
        if len(found) == 1:
            return reasons.pop()
        return "; ".join(f"{server}: {why}" for server, why in sorted(found.items()))

    @property
    def no_sasl(self) -> bool:
        """Whether a server was asked for SASL, and offers none."""
        return NO_SASL in self._by_server.values()

    def watch(self, client: KazooClient) -> None:
        """Note from now on how attempts of this client to connect fail."""
        self._watch_names(client)
        self._watch_attempts(client)
        self._watch_challenges(client)

    def _watch_names(self, client: KazooClient) -> None:
        resolve = client._connection._expand_client_hosts

        def resolve_watched() -> Any:
            found = resolve()
            known = {(host, port) for host, _, port in found}
            for host, port in client.hosts:
                if (host, port) not in known:
                    self._by_server[f"{host}:{port}"] = UNKNOWN_NAME
            return found

        client._connection._expand_client_hosts = resolve_watched

    def _watch_attempts(self, client: KazooClient) -> None:
        connect = client._connection._connect

        def connect_watched(host: str, ip: str, port: int) -> Any:
            self._empty_answers = 0
            try:
                return connect(host, ip, port)
            except Exception as error:
                why = NO_SASL if self._empty_answers > 1 else reason(error, bool(client.use_ssl))
                self._by_server[f"{host}:{port}"] = why
                raise

        client._connection._connect = connect_watched

    def _watch_challenges(self, client: KazooClient) -> None:
        submit = client._connection._submit

        def submit_watched(request: Any, timeout: float, xid: int | None = None) -> Any:
            if isinstance(request, SASL) and not request.challenge:
                self._empty_answers += 1
                if self._empty_answers > 1:
                    raise AuthFailedError(NO_SASL)
            return submit(request, timeout, xid)

        client._connection._submit = submit_watched


def reason(error: BaseException, tls: bool) -> str:
    """Return what a failed attempt to connect means; `tls`: whether it was made with TLS."""
    cause = error.__context__ if isinstance(error, ConnectionDropped) else error
    match cause:
        case ssl.SSLError(reason="UNEXPECTED_EOF_WHILE_READING"):
            return HUNG_UP
        case ssl.SSLError():
            return tls_failures.reason(cause)
        case KazooTimeoutError() | TimeoutError():
            return SILENT if isinstance(error, KazooTimeoutError) else NO_ANSWER
        case None | ConnectionResetError() | BrokenPipeError():
            return HUNG_UP if tls else HUNG_UP_WITHOUT_TLS
        case struct.error():
            return OTHER_PROTOCOL
        case OSError():
            return cause.strerror or str(cause)
        case _:
            return str(cause) or type(cause).__name__
