"""Opens and closes connections to brokers, and translates their failures.

kafka-python tries a bootstrap server again until its deadline, whatever the reason, and then gives
no reason. So the servers' ports are tried first, all at once: where nothing listens, that is
reported at once, and a machine that is switched off, which answers nothing at all, takes no time
from the others. One of several that accepts connections and says nothing has half of the time left.
The results of connection attempts are kept as the reason why there is no connection. A broker that
rejects a password says so and closes the connection; the library sees only the latter.
"""

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from kafka import KafkaConsumer
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from poolkeeper import tls_failures, tls_files
from poolkeeper.brokers import message_codecs
from poolkeeper.brokers.sizes import Failure
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.model import addresses

DEFAULT_PORT = 9092
METADATA_AGE_MS = 10_000
"""The longest time until a broker that was added to the cluster is known."""
LISTENING_S = 1.0
ATTEMPTS = 4
"""How many brokers may keep silent, one after another, before the deadline of any's answer."""
AT_ONCE = 64
"""How many bootstrap servers are tried at a time; nobody needs that many."""
REACHABLE_S = 0.25
"""The time that other bootstrap servers have once one accepts connections."""
GRACE_S = 0.5
"""The time in which a thread tells what the deadline has ended."""
TIMEOUTS = (kafka_errors.KafkaTimeoutError, kafka_errors.RequestTimedOutError)
UNANSWERED = (
    *TIMEOUTS,
    kafka_errors.KafkaConnectionError,
    kafka_errors.NodeNotReadyError,
    kafka_errors.UnknownBrokerIdError,
    OSError,
)
"""Errors of who does not answer now; a broker that has just started is not known to others yet."""
NO_ANSWER = "no answer in time"
FETCH_WAIT_MS = 500
"""How long a broker waits for records that are not there."""
WITHOUT_TLS = ("PLAINTEXT", "SASL_PLAINTEXT")
WRONG_CREDENTIALS = "the credentials are wrong"
REFUSALS_MAX = 3
"""The number of login attempts: a wrong password stays wrong, and accounts get locked."""
UNTRUSTED = (
    "; brokers may end connections like this that do not trust the client's certificate, or miss it"
)
SILENT_REFUSALS = ("UNEXPECTED_EOF_WHILE_READING", "UNEXPECTED_MESSAGE")
"""OpenSSL's names of how brokers end a handshake that tell nothing of a certificate; 2.3 does."""
REFUSED = (
    kafka_errors.IllegalSaslStateError,
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
)
"""What a broker says that takes these credentials neither now nor later."""

message_codecs.compile_in_one_thread()


def connect(
    bootstrap: Sequence[str], settings: Mapping[str, object], deadline_s: float
) -> KafkaAdminClient:
    """Open a client within `deadline_s`; raises Unavailable, and Refused for what is no address.

    `bootstrap` holds `host:port`s; `settings` are kafka-python's, for security.
    """
    for server in bootstrap:
        if problem := addresses.server_problem(addresses.with_port(server, DEFAULT_PORT)):
            raise Refused(f"{','.join(bootstrap)!r} are no addresses of brokers: {problem}")
    deadline = time.monotonic() + deadline_s
    reachable, unreachable = _reachable(bootstrap, deadline)
    left_ms = max(1, int((deadline - time.monotonic()) * 1000))
    made: list[KafkaNetClient] = []
    attempts: list[_ConnectionAttempts] = []

    def net_client(**configs: object) -> KafkaNetClient:
        net = NetworkSelector(**configs)
        configs["socket_connection_setup_timeout_ms"] = max(500, int(deadline_s * 1000 / ATTEMPTS))
        attempts.append(_ConnectionAttempts(net, unreachable, **configs))
        made.append(KafkaNetClient(net, attempts[-1]))
        return made[-1]

    try:
        return KafkaAdminClient(
            bootstrap_servers=list(reachable),
            bootstrap_timeout_ms=left_ms,
            request_timeout_ms=max(1, int(deadline_s * 1000)),
            reconnect_backoff_max_ms=1000,
            metadata_max_age_ms=METADATA_AGE_MS,
            client_id="poolkeeper",
            kafka_client=net_client,
            **settings,
        )
    except (kafka_errors.KafkaError, OSError, ValueError) as error:
        _end(made)
        why = reason(error)
        if isinstance(error, kafka_errors.KafkaTimeoutError) and attempts:
            why = attempts[-1].last_error or why
        certificate = settings.get("ssl_certfile")
        dates = tls_files.dates_remark(str(certificate)) if certificate else ""
        raise Unavailable(f"brokers at {','.join(bootstrap)}: {why}{dates}") from error


def consumer_beside(client: KafkaAdminClient, deadline_s: float) -> KafkaConsumer:
    """Open a consumer of no group, to the same cluster and with the same rights as a client.

    It commits nothing, and starts nowhere: seek first. Raises the library's errors.
    """
    told = ("bootstrap_servers", "security_protocol", "ssl_", "sasl_")
    settings = {key: value for key, value in client.config.items() if key.startswith(told)}
    timeout_ms = max(2 * FETCH_WAIT_MS, int(deadline_s * 1000))
    made: list[KafkaNetClient] = []

    def net_client(**configs: object) -> KafkaNetClient:
        made.append(KafkaNetClient(**configs))
        return made[-1]

    try:
        return KafkaConsumer(
            bootstrap_timeout_ms=timeout_ms,
            request_timeout_ms=timeout_ms,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            reconnect_backoff_max_ms=1000,
            client_id="poolkeeper",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            kafka_client=net_client,
            **settings,
        )
    except BaseException:
        _end(made)
        raise


def _end(clients: Sequence[KafkaNetClient]) -> None:
    for client in clients:
        client.close()
        client._net.stop()  # its constructor started the thread, and nobody else ends it


def ask_any(client: KafkaAdminClient, question: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of any broker to a question that changes nothing; raises the library's errors.

    The library asks one at random. A broker that is away stays registered until its session ends;
    once it was tried in vain, others are asked first.
    """
    manager = client._manager
    for _ in manager.cluster.brokers():
        with contextlib.suppress(kafka_errors.KafkaConnectionError, kafka_errors.NodeNotReadyError):
            return manager.run(question, *arguments)
    return manager.run(question, *arguments)


@contextlib.contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn the library's errors into Unavailable, naming `what` was asked."""
    try:
        yield
    except (kafka_errors.KafkaError, OSError, RuntimeError) as error:
        raise Unavailable(f"{what}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Return the meaning of a library error for the person who reads it."""
    match error:
        case kafka_errors.SaslAuthenticationFailedError():
            return WRONG_CREDENTIALS
        case kafka_errors.IllegalSaslStateError():
            return "this port accepts no credentials"
        case kafka_errors.UnsupportedSaslMechanismError():
            return f"this SASL mechanism is not offered ({_detail(error)})"
        case kafka_errors.AuthorizationError():
            return "these credentials are not authorized for it"
        case kafka_errors.IncompatibleBrokerVersion():
            return "this version of Kafka does not support the request"
        case kafka_errors.LogDirNotFoundError():
            return "it has no such log directory"
        case kafka_errors.UnknownBrokerIdError():
            return "the other brokers do not know it"
        case kafka_errors.KafkaTimeoutError() | kafka_errors.RequestTimedOutError():
            return NO_ANSWER
        case kafka_errors.KafkaConnectionError() if _is_late(error):
            return NO_ANSWER
        case kafka_errors.KafkaConnectionError():
            failed = _tls_error(error)
            return f"cannot connect ({tls_failures.reason(failed) if failed else _detail(error)})"
        case kafka_errors.NodeNotReadyError():
            return "cannot connect"
        case _:
            return str(error) or type(error).__name__


def _is_late(error: BaseException) -> bool:
    """Whether a deadline ended it."""
    late = isinstance(error, TIMEOUTS)
    late |= "timed out" in str(error)  # their words: kafka-python has no class for it
    return late


def failure(error: BaseException) -> Failure:
    """Return why a broker gave no answer."""
    return Failure(reason(error), silent=isinstance(error, UNANSWERED))


def address(server: str) -> tuple[str, int]:
    """Split `host:port` or `[::1]:port`; the port is 9092 where none is said."""
    host, port = addresses.split_server(addresses.with_port(server, DEFAULT_PORT))
    return host.strip("[]"), int(port)


class _ConnectionAttempts(KafkaConnectionManager):  # type: ignore[misc] # it has no types
    """Connections that record how the last attempts to find the cluster ended: `last_error`."""

    def __init__(
        self, net: NetworkSelector, unreachable: Mapping[str, str], **configs: object
    ) -> None:
        super().__init__(net, **configs)
        self._unreachable = unreachable
        self._errors: dict[str, str] = {}
        self._refusals = 0
        self._refused: Exception = kafka_errors.SaslAuthenticationFailedError("hung up")

    @property
    def last_error(self) -> str:
        """Why no server let us in, each with its server where they differ; "" before the first."""
        found = {**self._unreachable, **self._errors}
        if len(reasons := {*found.values()}) < 2:
            return next(iter(reasons), "")
        return "; ".join(f"{server}: {why}" for server, why in sorted(found.items()))

    def get_connection(self, node_id: object, **how: Any) -> KafkaConnection:
        """Return the connection; raise where credentials were refused often enough."""
        if self._refusals >= REFUSALS_MAX and not self.bootstrapped:
            raise self._refused
        if how.get("timeout_ms") and len(self.cluster.bootstrap_brokers()) > 1:
            how["timeout_ms"] /= 2  # only an attempt to find the cluster has any
        connection = super().get_connection(node_id, **how)
        if not self.bootstrapped:
            connection.init_future.add_errback(lambda error: self._note_failure(connection, error))
            connection.init_future.add_callback(lambda _: self._note_success(connection))
        return connection

    def _note_failure(self, connection: KafkaConnection, error: Exception) -> None:
        """Tell a rejected password, which comes after the first response, from other failures."""
        late = _is_late(error)
        hung_up = isinstance(error, kafka_errors.KafkaConnectionError) and not late
        answered = connection.broker_version_data is not None
        self._refusals += hung_up and answered and self.config["sasl_mechanism"] is not None
        if isinstance(error, REFUSED):
            self._refusals += 1
            self._refused = error
        if self._errors and late:
            return  # the deadline ended the last attempt; those before it say more
        closed = _was_made(connection, error) and not answered and not late
        self._errors[self._server(connection)] = reason(error) + self._remark(closed, error)

    def _remark(self, closed: bool, error: Exception) -> str:
        """What may be why a server closed the connection before it said a word."""
        if not closed:
            return ""
        if self.config["security_protocol"] in WITHOUT_TLS:
            return "; brokers that require TLS close connections without it"
        return UNTRUSTED if _tells_no_certificate(error) else ""

    def _note_success(self, connection: KafkaConnection) -> None:
        why = "it accepts connections, but does not answer in time"
        if self.config["sasl_mechanism"] is None:
            why += "; brokers that require credentials close connections without them"
        self._errors[self._server(connection)] = why

    def _server(self, connection: KafkaConnection) -> str:
        found = self.cluster.broker_metadata(connection.node_id)
        if found is None:
            return ""
        return f"[{found.host}]:{found.port}" if ":" in found.host else f"{found.host}:{found.port}"


def is_listening(host: str, port: int) -> bool:
    """Whether a broker accepts connections, whatever becomes of them; within `LISTENING_S`."""
    try:
        socket.create_connection((host, port), timeout=LISTENING_S).close()
    except OSError:
        return False
    return True


def _reachable(
    bootstrap: Sequence[str], deadline: float
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the servers that accept a connection, and why others do not.

    Others have `REACHABLE_S` once the first accepts one. Raises `Unavailable` if none does.
    """
    ended: SimpleQueue[tuple[str, str]] = SimpleQueue()
    bootstrap = list(dict.fromkeys(bootstrap))
    untried = iter(bootstrap)

    def try_some(number: int) -> None:
        for server in islice(untried, number):
            trying = (server, deadline, ended)
            # Not of a pool, whose threads the end of the process would wait for.
            Thread(target=_try, args=trying, name="bootstrap", daemon=True).start()

    try_some(AT_ONCE)
    failed = dict.fromkeys(bootstrap, NO_ANSWER)
    until = deadline + GRACE_S
    for _ in bootstrap:
        try:
            server, why = ended.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            break
        if why:
            failed[server] = why
            try_some(1)
            continue
        del failed[server]
        until = min(until, time.monotonic() + REACHABLE_S)
    if len(failed) == len(bootstrap):
        refusals = "; ".join(f"{server}: {why}" for server, why in failed.items())
        raise Unavailable(f"no broker answers ({refusals})")
    return [server for server in bootstrap if server not in failed], failed


def _try(server: str, deadline: float, ended: "SimpleQueue[tuple[str, str]]") -> None:
    """Tell why a server accepts no connection; "" where it does."""
    left_s = max(0.05, deadline - time.monotonic())
    try:
        socket.create_connection(address(server), timeout=left_s).close()
    except TimeoutError:
        ended.put((server, NO_ANSWER))
    except OSError as error:
        ended.put((server, error.strerror or str(error)))
    else:
        ended.put((server, ""))


def _was_made(connection: KafkaConnection, error: BaseException) -> bool:
    """Whether the server took the connection, whatever became of it: a handshake failed, say."""
    return connection.parser is not None or isinstance(error.__context__, OSError)


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """What OpenSSL said: the library wraps what reading failed with, and quotes handshakes."""
    wrapped = (*error.args, error.__context__)
    return next((each for each in wrapped if isinstance(each, ssl.SSLError)), None)


def _tells_no_certificate(error: BaseException) -> bool:
    """Whether a refused certificate may be the reason: brokers may close without a word of it."""
    failed = _tls_error(error)
    return failed is None or failed.reason in SILENT_REFUSALS


def _detail(error: BaseException) -> str:
    return " ".join(str(argument) for argument in error.args) or "closed"
