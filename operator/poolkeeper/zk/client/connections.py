"""Connects to ZooKeeper, and checks that the address is a Kafka cluster's.

ZooKeeper accepts any client and any chroot: a wrong address shows as an empty tree. A client that
created its chroot would make it look like an empty cluster. So nothing is created here. A chroot
without the brokers' nodes is refused, and the message names the chroots that have them.
"""

import atexit
import logging
import re
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState

from poolkeeper import tls_files
from poolkeeper.errors import Forbidden, Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model import addresses
from poolkeeper.zk import znodes
from poolkeeper.zk.client import failures, multiread
from poolkeeper.zk.client.refusals import Refusals

PORT = 2181
"""Of a server whose address names none."""
LOGINS_MAX = 3
CLOSE_S = 30.0
"""Longer than kazoo itself waits for the end of its connection."""

logger = logging.getLogger(__name__)

_CHROOT = re.compile(r"(?:/[^\s,/]+)*/?")
_SUGGESTIONS_MAX = 200
_ATTEMPTS = 4
"""How many servers may keep silent, one after another, within a session's timeout."""
_ATTEMPT_S_MIN = 0.5
"""What a handshake with TLS may take, however short the deadline is."""
_VERSION_TIMEOUT_S = 5.0
_VERSION_BYTES = 4096
_VERSION = re.compile(r"^Zookeeper version: ([0-9]+)\.([0-9]+)", re.MULTILINE)


@frozen
class Address:
    """`servers` is `h1:2181,h2:2181`, `chroot` is empty or `/kafka`."""

    servers: str
    chroot: str

    @classmethod
    def parse(cls, connect: str) -> "Address":
        """Read `h1:2181,h2:2181/chroot`; raises `Refused` for anything else."""
        servers, slash, rest = connect.strip().partition("/")
        hosts = [host.strip() for host in servers.split(",")]
        chroot = slash + rest
        for host in hosts:
            if host and (problem := addresses.server_problem(addresses.with_port(host, PORT))):
                raise Refused(f"{connect!r} is no ZooKeeper address: {problem}")
        if not all(hosts) or not _CHROOT.fullmatch(chroot):
            raise Refused(
                f"{connect!r} is no ZooKeeper address "
                "(expected host:port,host:port/chroot, one chroot after the last host)"
            )
        return cls(",".join(hosts), chroot.rstrip("/"))

    def __str__(self) -> str:
        return self.servers + self.chroot


class Connection:
    """A started kazoo client that stays with its one session.

    `lost` is set when the session has ended, for whatever reason, and for good. `rejected`: because
    the server does not take the credentials; what is asked afterwards only hears of the end.
    `refusals`: how attempts to connect failed. `count`: how many connections the session has had.
    """

    def __init__(self, client: KazooClient, refusals: Refusals | None = None) -> None:
        self.client = client
        self.refusals = refusals or Refusals()
        self.lost = Event()
        self.rejected = False
        self.count = 0
        self.session_id = 0
        self._version: tuple[int, int] | None = None
        self._version_count = 0
        self._changed = Event()
        self._callbacks: list[Callable[[], None]] = []
        self._closing = Lock()
        self._closed = False
        client.add_listener(self._on_state)

    @property
    def server_version(self) -> tuple[int, int] | None:
        """Major and minor version of the server, `None` if it does not tell.

        Asked for once in each connection: servers are upgraded one by one, and a session that goes
        from one to another may meet an older one. If that does not tell now, it is asked again.
        """
        if self._version_count != (count := self.count):
            found = server_version(self.client)
            if found is not None or self._version is None:
                self._version, self._version_count = found, count
            return found
        return self._version

    @property
    def has_multiread(self) -> bool:
        """Whether bulk reads may be sent: a server that does not know them ends the session."""
        version = self.server_version
        return version is not None and version >= multiread.SINCE

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Call this from another thread when the session ends; it must not block."""
        self._callbacks.append(callback)

    def start(self, deadline_s: float) -> bool:
        """Connect; false if no server took the session before the deadline.

        Raises OSError or RuntimeError where this process has no descriptor or thread left for it.
        """
        try:
            self.client.start_async()
        except (OSError, RuntimeError):
            # `stop` needs the socket that kazoo may lack; its threads are there already.
            self._closed = True
            self.client.handler.stop()
            self.client.close()
            raise
        return self._changed.wait(deadline_s)

    def give_up(self) -> None:
        """Treat the session as lost: operations still queued in the client must not be sent."""
        # Kazoo would otherwise open another session and send the queued operations in it.
        self.client._stopped.set()
        self.lost.set()
        for callback in self._callbacks:
            callback()

    def close(self) -> None:
        """End the session and release its threads and sockets; may be called again.

        Returns within `CLOSE_S`: kazoo waits for threads of its own without a deadline.
        """
        with self._closing:
            if self._closed:
                return
            self._closed = True
            # A client that stopped from within has still to be stopped from outside.
            self.client._stopped.clear()
            failed: list[Exception] = []
            ending = Thread(target=self._end, args=(failed,), name="closing", daemon=True)
            ending.start()
            ending.join(CLOSE_S)
            if ending.is_alive():
                # At the end of the process kazoo would wait for the same threads again.
                atexit.unregister(self.client.handler.stop)
                logger.warning(
                    "kazoo did not end its threads within %.0f s; they are left", CLOSE_S
                )
            elif failed:
                raise failed[0]

    def _end(self, failed: list[Exception]) -> None:
        try:
            self.client.stop()
            self.client.close()
        except (KazooException, KazooTimeoutError, OSError) as error:
            failed.append(error)

    def _on_state(self, state: str) -> None:
        self.count += state == KazooState.CONNECTED
        if state == "LOST":
            self.rejected |= self.client.client_state == KeeperState.AUTH_FAILED
            self.give_up()
        self._changed.set()


@frozen
class Connector:
    """How to connect: kazoo's options, the session's timeout and the deadline of each answer."""

    options: dict[str, Any]
    timeout_s: float
    deadline_s: float

    def connect_to_kafka(self, address: Address) -> Connection:
        """Open a session with a Kafka cluster; raises `Unavailable` if there is none.

        A login is rejected if it is several times: a server that goes down hangs up as well.
        """
        for _ in range(LOGINS_MAX - 1):
            with suppress(_LoginFailed):
                return self._connect_to_kafka(address)
        return self._connect_to_kafka(address)

    def _connect_to_kafka(self, address: Address) -> Connection:
        connection = self.connect(address)
        try:
            if problem := self._problem(connection, address):
                raise Unavailable(problem)
            connection.session_id = connection.client.client_id[0]
        except BaseException:
            connection.close()
            raise
        return connection

    def connect(self, address: Address) -> Connection:
        """Open a session; raises `Unavailable` if no server takes it before the deadline."""
        logger = logging.Logger("poolkeeper.zk")  # of its own: kazoo's warnings are ours to report
        logger.addHandler(logging.NullHandler())
        client = KazooClient(
            str(address),
            timeout=self.timeout_s,
            logger=logger,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 1.0},
            **self.options,
        )
        _limit_attempts(client, self.timeout_s, self.deadline_s)
        refusals = Refusals()
        refusals.watch(client)
        connection = Connection(client, refusals)
        try:
            if connection.start(self.deadline_s):
                return connection
        except (OSError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or error
            raise Unavailable(f"no ZooKeeper can be asked at {address.servers}: {why}") from error
        dates = tls_files.dates_remark(client.certfile)
        told = refusals.told([f"{host}:{port}" for host, port in client.hosts])
        why = f" ({told}{dates})" if told else dates
        connection.close()
        raise Unavailable(
            f"no ZooKeeper answers at {address.servers} within {self.deadline_s:g} s{why}"
        )

    def _problem(self, connection: Connection, address: Address) -> str | None:
        paths = ("/", znodes.BROKER_IDS, znodes.TOPICS)
        doing = f"looking for a Kafka cluster at {address}"
        try:
            with failures.translate_errors(doing):
                asks = [partial(connection.client.exists_async, path) for path in paths]
                results = [ask() for ask in asks]
            there = []
            for path, ask, result in zip(paths, asks, results, strict=True):
                with failures.translate_errors(f"{doing}, at its node {path},"):
                    there.append(failures.repeat(ask, self.deadline_s, result) is not None)
        except Unavailable as failed:
            if not connection.rejected:
                raise
            if connection.refusals.no_sasl:
                raise Forbidden(
                    f"ZooKeeper at {address.servers} offers no SASL: its credentials cannot have"
                    " the scheme sasl"
                ) from failed
            raise _LoginFailed(str(failures.rejected_credentials(doing))) from failed
        if all(there):
            return None
        absent = " and no ".join(p for p, found in zip(paths, there, strict=True) if not found)
        problem = f"it has no {absent}" if there[0] else "it does not exist"
        others = self._chroots_of_kafka(address)
        hint = f"; did you mean the chroot {' or '.join(others)}?" if others else ""
        return f"{address.chroot or '/'} at {address.servers} is no Kafka cluster: {problem}{hint}"

    def _chroots_of_kafka(self, address: Address) -> tuple[str, ...]:
        """Return other chroots of these servers, at most one level deep, that hold a cluster."""
        above = self.connect(Address(address.servers, ""))
        try:
            names = failures.answer(above.client.get_children_async("/"), self.deadline_s)
            chroots = ["", *(f"/{name}" for name in sorted(names)[:_SUGGESTIONS_MAX])]
            ask, nodes = above.client.exists_async, (znodes.BROKER_IDS, znodes.TOPICS)
            asked = [
                (chroot, [ask(chroot + node) for node in nodes])
                for chroot in chroots
                if chroot != address.chroot
            ]
            return tuple(
                chroot or "/"
                for chroot, results in asked
                if all([failures.answer(result, self.deadline_s) for result in results])
            )
        except (KazooException, KazooTimeoutError):
            return ()  # a hint that cannot be given; what is wrong is known already
        finally:
            above.close()


class _LoginFailed(Forbidden):
    """The server hung up at the login, or rejected it."""


def _limit_attempts(client: KazooClient, timeout_s: float, deadline_s: float) -> None:
    """Bound the time that one server has to accept a connection, and to answer on it.

    Kazoo gives each server the whole timeout of the session, and one server of an ensemble that
    answers nothing (a machine that is switched off, or one that accepts connections and is not yet
    up) would cost us the session, or the deadline, while the others are well.
    """
    attempt_s = max(_ATTEMPT_S_MIN, min(timeout_s, deadline_s) / _ATTEMPTS)
    invoke, create = client._connection._invoke, client.handler.create_connection

    def invoke_limited(timeout: float, request: Any, xid: int | None = None) -> Any:
        return invoke(min(timeout, attempt_s), request, xid)

    def create_limited(*args: Any, timeout: float, **named: Any) -> Any:
        return create(*args, timeout=min(timeout, attempt_s), **named)

    client._connection._invoke = invoke_limited
    client.handler.create_connection = create_limited


def server_version(client: KazooClient) -> tuple[int, int] | None:
    """Return major and minor version of the server, or `None` if it does not tell.

    Asked by `srvr`, which servers allow whatever their list of allowed commands says, on a
    connection of its own. That goes to the address whose certificate was just checked.
    """
    try:
        peer = client._connection._socket.getpeername()[:2]
        asking = client.handler.create_connection(
            peer,
            timeout=_VERSION_TIMEOUT_S,
            use_ssl=client.use_ssl,
            ca=client.ca,
            certfile=client.certfile,
            keyfile=client.keyfile,
        )
        with closing(asking):
            asking.settimeout(_VERSION_TIMEOUT_S)
            asking.sendall(b"srvr")
            found = _VERSION.search(asking.recv(_VERSION_BYTES).decode(errors="replace"))
    except (KazooException, KazooTimeoutError, OSError, AttributeError):
        return None  # also where the connection, and its socket, has just gone
    return None if found is None else (int(found[1]), int(found[2]))
