"""One ZooKeeper session, blocking: the only door to kazoo.

A `Session` is one session of ZooKeeper's, never a second one: the journal's holder node lives and
dies with it, so a silent new session would write without holding anything. Once ZooKeeper ended it,
every call raises `Unavailable`, until the owner opens another one. A lost connection is no lost
session: reads are repeated on the next connection.

A write whose answer did not come is different from one that failed. If the connection was lost, it
may or may not have happened; if nothing came until the deadline, it might even happen later, so the
session is given up. Either is `Unavailable` with "outcome unknown": observe again.

All methods may be called from several threads.
"""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from threading import Event
from typing import Any, Self, TypeAlias

from kazoo.exceptions import ConnectionLoss, KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper import tls_files
from poolkeeper.errors import Stale, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.credentials import ZooKeeperCredentials
from poolkeeper.model.specs import Tls
from poolkeeper.text import count
from poolkeeper.zk.client import auth, failures, gc_pause, multiread, operations, transactions
from poolkeeper.zk.client.connections import Address, Connection, Connector
from poolkeeper.zk.client.multiread import Found
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.client.operations import Check, Operation
from poolkeeper.zk.client.size_limit import SizeLimit, too_large
from poolkeeper.zk.client.watches import Watches

NAMED_MAX = 5
"""Of a transaction that failed, as many nodes are named."""


Moment: TypeAlias = tuple[int, int]
"""How far a server is: which connection of the session, counted, and the last transaction (zxid)
that the server had applied when it replied last."""


@frozen
class SentTransaction:
    """A transaction on its way, and kazoo's result of it."""

    operations: Sequence[Operation]
    result: Any


class Session:
    """See `open`. Every call answers or raises within `deadline_s`; bulk reads per reply.

    `reads` counts nodes asked for, `writes` transactions sent.
    """

    def __init__(self, connection: Connection, address: Address, deadline_s: float) -> None:
        self.address = address
        self.session_id = connection.session_id
        self.reads = 0
        self.writes = 0
        self._connection = connection
        self._client = connection.client
        self._deadline_s = deadline_s
        self._acls = transactions.Acls(self._client, deadline_s)
        self._watches = Watches(self._client, deadline_s)
        self._bound = multiread.RequestBound()
        exists = self._client.exists_async
        self._size_limit = SizeLimit(exists, lambda: connection.count, deadline_s)
        connection.on_lost(self._watches.wake)

    @classmethod
    def open(
        cls,
        connect: str,
        *,
        credentials: ZooKeeperCredentials | None = None,
        tls: Tls | None = None,
        timeout_s: float = 10,
        deadline_s: float = 15,
    ) -> Self:
        """Open a session with the Kafka cluster at `h1:2181,h2:2181/chroot`.

        `timeout_s` is how long ZooKeeper keeps the session, and its ephemeral nodes, without a sign
        of life. Raises `Refused` for an address that is none, `Unavailable` with one line for an
        absent server, rejected credentials, TLS files that cannot be used, or a chroot without a
        Kafka cluster (nothing is created there).

        Begins with a sync. With local sessions a server opens one without its leader, and what it
        answers first would be as old as what it knows: of a run that began since, nothing.
        """
        address = Address.parse(connect)
        tls_files.require_usable(tls)
        connector = Connector(auth.client_options(credentials, tls), timeout_s, deadline_s)
        session = cls(connector.connect_to_kafka(address), address, deadline_s)
        try:
            session.sync()
        except BaseException:
            session.close()
            raise
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether ZooKeeper has not ended the session, as far as is known; false when closed."""
        return not self._connection.lost.is_set()

    def close(self) -> None:
        """End the session, and with it its ephemeral nodes; may be called again."""
        self._connection.close()

    def server_version(self) -> tuple[int, int] | None:
        """Return major and minor version of the server, `None` if it does not tell."""
        return self._connection.server_version

    @property
    def moment(self) -> Moment:
        """How far the server was with the last reply that came, to whichever thread."""
        return self._connection.count, self._client.last_zxid

    def sync(self) -> Moment:
        """Let the server catch up with its leader, so that later reads see all earlier writes.

        Returns how far it is then. What was known of ACLs is forgotten.
        """
        self._read("waiting for sync", lambda: self._client.sync_async("/"))
        self._acls.forget()
        return self.moment

    def read(self, path: str) -> Node | None:
        """Return the node, or `None` if there is none."""
        try:
            data, stat = self._read(f"reading {path}", lambda: self._client.get_async(path))
        except NoNodeError:
            return None
        return multiread.node(data, stat)

    def exists(self, path: str) -> bool:
        """Return whether the node is there."""
        stat = self._read(f"looking for {path}", lambda: self._client.exists_async(path))
        return stat is not None

    def modified_ms(self, path: str) -> int | None:
        """Return when the node was written last, by the clock of ZooKeeper's leader then.

        Milliseconds since 1970; `None` if there is no such node.
        """
        stat = self._read(f"looking for {path}", lambda: self._client.exists_async(path))
        return None if stat is None else int(stat.mtime)

    def children(self, path: str) -> tuple[str, ...] | None:
        """Return the names of the node's children, sorted, or `None` if there is no such node."""
        try:
            names = self._read(f"listing {path}", lambda: self._client.get_children_async(path))
        except NoNodeError:
            return None
        return tuple(sorted(names))

    def read_many(
        self, paths: Sequence[str], *, unreadable: Node | None = None
    ) -> list[Node | None]:
        """Return each node, or `None` where there is none; not one moment's state of them all.

        `unreadable` stands for nodes that the ACL hides from us; without it they are an error.
        """
        found = self._read_many(paths, multiread.NODES)
        if multiread.has_no_errors(found):
            return found
        return [multiread.found_node(p, n, unreadable) for p, n in zip(paths, found, strict=True)]

    def read_bodies(
        self, groups: Sequence[tuple[str, ...]], *, unreadable: bytes | None = None
    ) -> list[tuple[bytes | None, ...]]:
        """Return the data of the nodes of each group of paths, all read as by `read_many`.

        Cheaper than nodes, for those of which nobody wants to know how old they are.
        """
        paths = list(chain.from_iterable(groups))
        found = self._read_many(paths, multiread.BODIES)
        if not multiread.has_no_errors(found):
            answers = zip(paths, found, strict=True)
            there = iter(
                [multiread.found_node(path, answer, unreadable) for path, answer in answers]
            )
        else:
            there = iter(found)
        return [tuple(islice(there, len(group))) for group in groups]

    def _read_many(self, paths: Sequence[str], form: multiread.Form[Found]) -> list[Found | int]:
        self._require_alive()
        self.reads += len(paths)
        doing = f"reading {count(len(paths), 'node')}" + (f" such as {paths[0]}" if paths else "")
        with failures.translate_errors(doing), gc_pause.collector_paused():
            if self._connection.has_multiread:
                chroot = self._client.chroot
                ask, deadline_s = self._ask, self._deadline_s
                return multiread.read(paths, ask, deadline_s, form, chroot, self._bound)
            get = self._client.get_async
            return multiread.read_singly(paths, get, self._deadline_s, form)

    def commit(self, transaction: Sequence[Operation]) -> tuple[str, ...]:
        """Do all operations or none, in one transaction; return the paths of creates, else "".

        Raises `Stale` naming the first that lost against another write, `Unavailable` where ACLs
        forbid one, or where the outcome is unknown, `TooLarge` if it is too much for a transaction.
        """
        return self.answer(self.send(transaction))

    def send(self, transaction: Sequence[Operation]) -> SentTransaction:
        """Send a transaction, whose `answer` is to be asked for: several may be on their way.

        ZooKeeper does those of one session in the order in which they were sent. Raises `TooLarge`
        if it is too much for a transaction, `Stale` or `Unavailable` if it cannot be sent.
        """
        operations.require_bounds(transaction)
        self._require_alive()
        if self._size_limit.is_known_to_exceed(size := self._request_bytes(transaction)):
            raise too_large(size, _written(transaction))
        self.writes += 1
        try:
            acls = self._acls.of_new(transaction)
        except Stale:
            # Its checks may have failed as well, as of a fence that went with the parent.
            if checks := [each for each in transaction if isinstance(each, Check)]:
                self.commit(checks)
            raise
        result = transactions.request(self._client, transaction, acls).commit_async()
        return SentTransaction(transaction, result)

    def answer(self, sent: SentTransaction) -> tuple[str, ...]:
        """Wait for the answer to a transaction that was sent; see `commit`.

        Where it costs the connection, the servers are asked whether that was for its size.
        """
        transaction = sent.operations
        doing = f"writing {_written(transaction)}"
        try:
            answers = failures.answer(sent.result, self._deadline_s)
        except KazooTimeoutError as late:
            self._connection.give_up()
            raise Unavailable(
                f"outcome unknown: no answer in {self._deadline_s:g} s ({doing})"
            ) from late
        except KazooException as failed:
            self._require_small(failed, transaction)
            why = failures.unavailable(failed, doing)
            raise Unavailable(f"outcome unknown: {why}") from failed
        return transactions.created_paths(transaction, answers)

    def takes(self, size: int) -> bool:
        """Ask whether the servers take a write of so many bytes, of whomever."""
        self._require_alive()
        with failures.translate_errors(f"asking whether a write may have {size} bytes"):
            return self._size_limit.is_taken(size)

    def wait(self, paths: Sequence[str], deadline_s: float, wake: Event | None = None) -> bool:
        """Block until one of the paths, or its set of children, changes; false if none did.

        Returns early when `wake` is set; the change sets it too, and the caller clears it. A change
        since the last wait that named the path counts. Raises `Unavailable` when the session ends.
        """
        self._require_alive()
        with failures.translate_errors("watching for changes"):
            changed = self._watches.wait(paths, deadline_s, wake or Event())
        self._require_alive()
        return changed

    def _require_small(self, failed: KazooException, transaction: Sequence[Operation]) -> None:
        """Raise `TooLarge` if it was its size that cost a transaction the connection."""
        size = self._request_bytes(transaction)
        if isinstance(failed, ConnectionLoss) and self._size_limit.is_exceeded(size):
            self._size_limit.note_lost(size)
            raise too_large(size, _written(transaction)) from failed

    def _request_bytes(self, transaction: Sequence[Operation]) -> int:
        chroot = len(self.address.chroot.encode())
        return operations.request_bytes_bound(transaction) + chroot * len(transaction)

    def _require_alive(self) -> None:
        if not self.alive:
            raise Unavailable(f"{failures.EXPIRED}; a new one must be opened")

    def _ask(self, request: Any) -> Any:
        result = self._client.handler.async_result()
        self._client._call(request, result)
        return result

    def _read(self, doing: str, ask: Callable[[], Any]) -> Any:
        """Return what kazoo's asynchronous call gives; NoNodeError passes."""
        self._require_alive()
        self.reads += 1
        with failures.translate_errors(doing, unchanged=NoNodeError):
            return failures.repeat(ask, self._deadline_s)


def _written(transaction: Sequence[Operation]) -> str:
    """Name the nodes that a transaction writes; of hundreds the first ones tell what it is about.

    Those that it only checks are named where it does nothing else: the holder's has the session in
    its name, and who fails again and again in new sessions would tell something else each time.
    """
    writes = [each for each in transaction if not isinstance(each, Check)] or transaction
    paths = tuple(dict.fromkeys(operation.path for operation in writes))
    named, more = paths[:NAMED_MAX], len(paths) - NAMED_MAX
    return ", ".join(named) + (f" and {count(more, 'node')} more" if more > 0 else "")
