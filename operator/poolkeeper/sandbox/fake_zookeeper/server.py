"""A ZooKeeper without a network, threads or a disk: sessions, transactions, their log.

Writes are done one after another, each under the next zxid, and logged as a real server logs them
(`transactions`): the same assertions work on both. A failed write takes a zxid as well. Watches are
told right after the transaction, in its order, before the writer has its answer.

A session ends when its client closes it, when `expire` says so, or `timeout_ms` after its client
was dropped; its ephemeral nodes go in one transaction.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kazoo.exceptions import (
    KazooException,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.security import Permissions

from poolkeeper.sandbox.clock import Clock, Timer
from poolkeeper.sandbox.fake_zookeeper import acl as fake_zookeeper_acl
from poolkeeper.sandbox.fake_zookeeper.acl import Identity
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation as Logged
from poolkeeper.sandbox.fake_zookeeper.transactions import Transaction, TransactionKind
from poolkeeper.sandbox.fake_zookeeper.tree import Moment, Tree
from poolkeeper.sandbox.fake_zookeeper.watches import WatchEvent, WatchTable
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    DeleteNode,
    Event,
    Happening,
    Operation,
    Watch,
)

FIRST_SESSION = 0x1000_0000_0000_0001


class TransactionLog(Protocol):
    """Where transactions go: a list, or whoever watches them."""

    def append(self, transaction: Transaction, /) -> None:
        """Take in a transaction."""
        ...


@dataclass(slots=True)
class _Session:
    timeout_ms: int
    on_end: Callable[[], None]
    identities: set[Identity] = field(default_factory=set)
    ending: Timer | None = None


class FakeZooKeeper:
    """The server. Paths are absolute here; chroots belong to clients."""

    def __init__(
        self, clock: Clock, request_bytes_max: int = fake_zookeeper_acl.REQUEST_BYTES_MAX
    ) -> None:
        self.clock = clock
        self.request_bytes_max = request_bytes_max
        self.log: TransactionLog = []
        self.zxid = 0
        self.tree = Tree(clock.now_ms())
        self._watches = WatchTable()
        self._sessions: dict[int, _Session] = {}
        self._next_session = FIRST_SESSION

    # Sessions

    def open_session(self, timeout_ms: int, on_end: Callable[[], None]) -> int:
        """Open a session; `on_end` is called if it ends by `expire` or by its timeout."""
        session, self._next_session = self._next_session, self._next_session + 1
        self._sessions[session] = _Session(timeout_ms, on_end)
        self._record(session, TransactionKind.OPEN_SESSION, (Logged(TransactionKind.OPEN_SESSION),))
        return session

    def log_in(self, session: int, identity: Identity) -> None:
        """Give a session one more identity."""
        self._session(session).identities.add(identity)

    def drop(self, session: int) -> None:
        """Let a session end after its timeout: its client is not heard of any more."""
        known = self._sessions.get(session)
        if known is not None and known.ending is None:
            self._watches.take_all(session)
            known.ending = self.clock.after(known.timeout_ms, lambda: self.expire(session))

    def expire(self, session: int) -> None:
        """End a session now, against its client's will."""
        known = self._sessions.get(session)
        if known is not None:
            self.close_session(session)
            known.on_end()

    def close_session(self, session: int) -> None:
        """End a session, and delete its ephemeral nodes."""
        known = self._sessions.pop(session, None)
        if known is None:
            return
        if known.ending is not None:
            known.ending.cancel()
        self._watches.take_all(session)
        self.zxid += 1
        moment = Moment(self.zxid, self.clock.now_ms(), session)
        told: list[WatchEvent] = []
        paths = self.owned_by(session)
        self._end_nodes(session, paths)
        for path in paths:
            told.extend(self._watches.after(DeleteNode(path), path))
        deletes = tuple(Logged(TransactionKind.DELETE, path) for path in paths)
        self.log.append(
            Transaction(
                *moment[:1], session, moment.time_ms, TransactionKind.CLOSE_SESSION, deletes
            )
        )
        self._deliver(told)

    def lose_connection(self, session: int) -> None:
        """Forget a session's watches, each told that it is; the session itself goes on."""
        for watch in self._watches.take_all(session):
            watch(Event(Happening.DISCONNECTED, None))

    def is_alive(self, session: int) -> bool:
        """Say whether the session has not ended."""
        return session in self._sessions

    def _session(self, session: int) -> _Session:
        known = self._sessions.get(session)
        if known is None:
            raise SessionExpiredError
        return known

    def identities(self, session: int) -> Collection[Identity]:
        """Return who a session is, beside anyone."""
        return self._session(session).identities

    # Watches

    def watch(self, path: str, session: int, watch: Watch, *, children: bool) -> None:
        """Register a one-shot watch."""
        self._session(session)
        self._watches.add(path, session, watch, children=children)

    def _deliver(self, events: Sequence[WatchEvent]) -> None:
        for session, watch, event in events:
            if session in self._sessions:
                watch(event)

    # Writes

    def commit(self, session: int, operations: Sequence[Operation]) -> list[Any]:
        """Do all operations or none; return an answer for each, failures as exceptions.

        The one that failed answers its own error, those before it `RolledBackError`, those after
        it `RuntimeInconsistency`.
        """
        self._session(session)
        self.zxid += 1
        moment = Moment(self.zxid, self.clock.now_ms(), session)
        answers = self._apply(session, operations)
        failed = next((n for n, each in enumerate(answers) if is_cause(each)), None)
        if failed is not None:
            return self._failed(moment, operations, failed, answers[failed])
        told = [
            (o, answer if isinstance(o, CreateNode) else o.path)
            for o, answer in zip(operations, answers, strict=True)
        ]
        logged = [_logged(o, a) for o, a in zip(operations, answers, strict=True)]
        self._log(moment, logged)
        self._deliver([one for o, path in told for one in self._watches.after(o, path)])
        return answers

    def _apply(self, session: int, operations: Sequence[Operation]) -> list[Any]:
        """Do all operations or none; the answers end with the failure of the first that fails."""
        identities = self.identities(session)
        moment = Moment(self.zxid, self.clock.now_ms(), session)
        answers: list[Any] = []
        for operation in operations:
            try:
                fake_zookeeper_acl.require_operation(self.tree, operation, identities)
                answers.append(self.tree.apply(operation, moment))
            except KazooException as failure:
                self.tree.undo(self.zxid)
                return [*answers, failure]
        return answers

    def owned_by(self, session: int) -> tuple[str, ...]:
        """Return the paths of a session's ephemeral nodes, in the order of their creation."""
        return self.tree.owned_by(session)

    def _end_nodes(self, session: int, paths: Sequence[str]) -> None:
        """Delete the ephemeral nodes of a session that ends."""
        moment = Moment(self.zxid, self.clock.now_ms(), session)
        for path in paths:
            self.tree.apply(DeleteNode(path), moment)

    def close(self) -> None:
        """End; what is in memory needs no end."""

    def load(self, operations: Iterable[Operation]) -> None:
        """Do operations as of one transaction, before anybody looks: no log, no watches, no ACL."""
        self.zxid += 1
        moment = Moment(self.zxid, self.clock.now_ms(), 0)
        for operation in operations:
            self.tree.apply(operation, moment)

    def set_acl(self, session: int, path: str, acl: Sequence[Any]) -> None:
        """Replace a node's ACL."""
        identities = self.identities(session)
        fake_zookeeper_acl.require(self.tree.get(path), Permissions.ADMIN, identities)
        self.zxid += 1
        moment = Moment(self.zxid, self.clock.now_ms(), session)
        node = self.tree.set_acl(path, tuple(acl), moment)
        self._log(moment, [Logged(TransactionKind.SET_ACL, path, version=node.acl_version)])

    def _failed(
        self, moment: Moment, operations: Sequence[Operation], at: int, failure: KazooException
    ) -> list[Any]:
        before = [_logged(operation, None) for operation in operations[:at]]
        rest = len(operations) - at
        errors = [Logged(TransactionKind.ERROR, error=failure.code)]
        errors += [Logged(TransactionKind.ERROR, error=RuntimeInconsistency.code)] * (rest - 1)
        self._log(moment, before + errors)
        return [
            *(RolledBackError() for _ in before),
            failure,
            *(RuntimeInconsistency() for _ in range(rest - 1)),
        ]

    def _log(self, moment: Moment, logged: Sequence[Logged]) -> None:
        kind = logged[0].kind if len(logged) == 1 else TransactionKind.MULTI
        self.log.append(
            Transaction(moment.zxid, moment.session, moment.time_ms, kind, tuple(logged))
        )

    def _record(self, session: int, kind: TransactionKind, operations: tuple[Logged, ...]) -> None:
        self.zxid += 1
        self.log.append(Transaction(self.zxid, session, self.clock.now_ms(), kind, operations))


def is_cause(answer: Any) -> bool:
    """Whether the answer says why a transaction failed, not only that another operation did."""
    echoes = (RolledBackError, RuntimeInconsistency)
    return isinstance(answer, KazooException) and not isinstance(answer, echoes)


def _logged(operation: Operation, answer: Any) -> Logged:
    match operation:
        case CreateNode(path, data, ephemeral):
            return Logged(TransactionKind.CREATE, answer or path, data, ephemeral=ephemeral)
        case DeleteNode(path):
            return Logged(TransactionKind.DELETE, path)
        case CheckNode(path, version):
            return Logged(TransactionKind.CHECK, path, version=version)
        case _:
            version = operation.version + 1 if answer is None else answer.version
            return Logged(TransactionKind.SET, operation.path, operation.data, version=version)
