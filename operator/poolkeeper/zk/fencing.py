"""Which process may write to a cluster: the holder of its journal, and nobody else.

That it is the declared cluster, by its id, is checked before by `reconcile.observe.observation`.

* `holder` (ephemeral): the active process. After a `kill -9` the next one waits until ZooKeeper has
  ended the dead session.
* `epoch`: its data version is the fence. Taking the journal over bumps it in the transaction that
  creates `holder`, and every later write checks it: a process that only thinks it is the holder
  can write nothing.
* `holder-<session>` (ephemeral, created with `holder`): every later write checks it as well. A
  journal that is deleted and made anew counts its epochs from the beginning: the version of the new
  one may be that of the old one, and sessions differ.

A session that was lost in an outage leaves its `holder` node behind until the server ends it. That
is no other executor: the process that lost it waits for it.
"""

import json
import os
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from poolkeeper.errors import (
    DamagedNode,
    Fenced,
    Forbidden,
    HolderActive,
    PoolkeeperError,
    Refused,
    Stale,
    Unavailable,
    WhyUnwritten,
)
from poolkeeper.frozen import frozen
from poolkeeper.zk import kraft, znodes
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import SentTransaction, Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import HolderBody

_PARENTS = (znodes.RECORDS, znodes.RECORDS_OF_TOPICS)
"""Of the journal's other nodes; made before its first use."""


@frozen
class Holder:
    """The active process: `what` is the command (`apply` or `run`), `since_ms` since 1970."""

    host: str
    pid: int
    what: str
    since_ms: int
    session: int = 0

    def __str__(self) -> str:
        return f"poolkeeper {self.what} on {self.host}, process {self.pid}"


@frozen
class UnknownHolder(Holder):
    """Some process holds the journal, and its node does not tell which; `why` not."""

    why: str = ""

    def __str__(self) -> str:
        return f"it cannot be told which: {self.why}"


OnCommit = Callable[[Sequence[Operation], bool], None]


def note_nothing(transaction: Sequence[Operation], known_done: bool) -> None:
    """Take note of nothing: for sessions without an audit trail."""


_STAYS = "nothing more is written: what is in flight goes on and throttles stay"


class FencedSession:
    """A session whose every write checks that this process still is the holder.

    `on_commit` is called with each transaction that wrote something, and with whether that is known
    to be done: an answer may have been lost.
    """

    def __init__(self, session: Session, epoch_version: int) -> None:
        self.session = session
        self.on_commit: OnCommit = note_nothing
        self._holding = znodes.holder_of_session(session.session_id)
        self._fence = (Check(znodes.EPOCH, epoch_version), Check(self._holding, 0))

    def commit(self, *operations: Operation) -> tuple[str, ...]:
        """Commit as one transaction if this process still is the holder.

        Raises `Fenced` if it is not, `Stale` if another check failed, or if the cluster has begun
        to migrate to KRaft and this is a node of Kafka's: then nothing was written.
        """
        self._require_zookeeper([operations])
        return self._answer(self._send(operations))

    def commit_each(self, transactions: Sequence[Sequence[Operation]]) -> list[WhyUnwritten | None]:
        """Commit each as a transaction of its own, all of them on their way at the same time.

        Returns of each why nothing was written, or None; the errors without their traces, which
        would keep this frame and so the errors. Raises `Fenced` or `Unavailable` when all that was
        sent has been answered: `on_commit` is told of each. Raises `Stale` as `commit` does for a
        migration.
        """
        self._require_zookeeper(transactions)
        found: list[WhyUnwritten | None] = []
        sent: list[SentTransaction | None] = []
        failure: PoolkeeperError | None = None
        for operations in transactions:
            try:
                sent.append(self._send(operations))
                found.append(None)
            except (Refused, Stale, Forbidden) as error:
                sent.append(None)
                found.append(error.with_traceback(None))
            except (Fenced, Unavailable) as error:
                failure = error
                break
        for position, each in enumerate(sent):
            try:
                if each is not None:
                    self._answer(each)
            except (Stale, Forbidden) as error:
                found[position] = error.with_traceback(None)
            except (Fenced, Unavailable) as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return found

    def _require_zookeeper(self, transactions: Sequence[Sequence[Operation]]) -> None:
        """Raise `Stale` if Kafka's nodes are to be written and a KRaft controller leads."""
        written = {
            operation.path
            for transaction in transactions
            for operation in transaction
            if not isinstance(operation, Check)
        }
        foreign = min((p for p in written if not p.startswith(f"{znodes.ROOT}/")), default=None)
        if foreign is not None and kraft.is_migrating(self.session):
            raise Stale("the cluster is migrating to KRaft: nothing is written to it", foreign)

    def _send(self, operations: Sequence[Operation]) -> SentTransaction:
        try:
            return self.session.send((*self._fence, *operations))
        except Stale as stale:
            self._require_fence(stale)
            if stale.path in _PARENTS:
                self._make_parents()
            raise

    def _answer(self, sent: SentTransaction) -> tuple[str, ...]:
        try:
            return _noted(self.session, sent, self.on_commit)[len(self._fence) :]
        except Stale as stale:
            self._require_fence(stale)
            raise

    def _require_fence(self, stale: Stale) -> None:
        if stale.path in (znodes.EPOCH, self._holding):
            raise Fenced(self._why_fenced(stale.path)) from stale

    def _make_parents(self) -> None:
        """Make the parents of records anew, which somebody deleted; the next pass writes there."""
        if gone := [Create(path, b"") for path in _PARENTS if not self.session.exists(path)]:
            self.commit(*gone)

    def _why_fenced(self, path: str) -> str:
        there = self.session.exists(znodes.EPOCH)
        if there and self.session.exists(self._holding):
            if not self._is_held():
                return "another Poolkeeper took this cluster over; nothing more is written"
            _, damage = our_nodes.try_reading(lambda: read_epoch(self.session))
            what = f"somebody wrote into {path}" if damage is None else str(damage)
            return f"{what}; {_STAYS}; start again, and the run is resumed"
        how = "another one was made in its place" if there else f"{znodes.EPOCH} is gone"
        return (
            f"the journal was deleted ({how}); {_STAYS}; start again, and `poolkeeper status` names"
            " what is left"
        )

    def _is_held(self) -> bool:
        """Whether the journal is still this process's, and nobody else's."""
        try:
            holder = who_holds(self.session)
        except Forbidden:
            return False
        return holder is not None and holder.session == self.session.session_id


def commit_noted(
    session: Session, transaction: Sequence[Operation], on_commit: OnCommit
) -> tuple[str, ...]:
    """Commit a transaction, and note it if it writes anything; raises what `Session.commit` does.

    One whose connection was lost is noted as unknown.
    """
    return _noted(session, session.send(transaction), on_commit)


def _noted(session: Session, sent: SentTransaction, on_commit: OnCommit) -> tuple[str, ...]:
    writes = any(not isinstance(operation, Check) for operation in sent.operations)
    try:
        created = session.answer(sent)
    except Forbidden:
        raise
    except Unavailable:
        if writes:
            on_commit(sent.operations, False)
        raise
    if writes:
        on_commit(sent.operations, True)
    return created


@contextmanager
def hold(
    session: Session,
    what: str,
    now_ms: int,
    *,
    patience_s: float,
    waiting: Callable[[Holder], None] | None = None,
    wake: Event | None = None,
    lost: set[int] | None = None,
) -> Iterator[int]:
    """Hold the cluster's journal for the time of the `with` block; gives the epoch's version.

    Waits up to `patience_s`, or until `wake` is set, for a dead holder's session to end. Raises
    `HolderActive` naming the holder if its session is still there then, or at once if the holder is
    a live process on this machine. `waiting`, if given, is called with the holder, and a live
    holder is waited for as well: a process that is stopped (SIGSTOP) is alive, and its session
    still ends. Creates the journal's nodes at the first use.

    `lost`: the sessions that the caller lost in outages since it last held the journal; one is
    added if the block ends by an outage. Raises `Unavailable` if the holder is still one of these.
    An outage in which `holder` cannot be deleted any more changes nothing of how the block ended.
    """
    holder = Holder(socket.gethostname(), os.getpid(), what, now_ms)
    lost = set() if lost is None else lost
    try:
        version = _take(session, holder, patience_s, waiting, wake or Event(), lost)
    except Unavailable:
        lost.add(session.session_id)  # the answer may be lost of a `holder` that was created
        raise
    lost.clear()  # this `holder` could be created, and so theirs is gone
    try:
        yield version
    except Unavailable:
        lost.add(session.session_id)  # `holder` cannot be deleted now; it ends with the session
        raise
    except BaseException:
        _let_go(session, lost)
        raise
    _let_go(session, lost)


def _take(
    session: Session,
    holder: Holder,
    patience_s: float,
    waiting: Callable[[Holder], None] | None,
    wake: Event,
    lost: Collection[int],
) -> int:
    _prepare(session)
    body = {"version": 1, "host": holder.host, "pid": holder.pid, "what": holder.what}
    data = json.dumps(body | {"since_ms": holder.since_ms}, sort_keys=True).encode()
    for last in (False, True):
        epoch = read_epoch(session)
        number = str(epoch.number + 1).encode()
        try:
            session.commit(
                (
                    SetData(znodes.EPOCH, number, epoch.version),
                    Create(znodes.HOLDER, data, ephemeral=True),
                    Create(znodes.holder_of_session(session.session_id), b"", ephemeral=True),
                )
            )
            return epoch.version + 1
        except Stale:
            other = who_holds(session)
            was_ours = other is not None and other.session in lost
            if last and was_ours:
                raise Unavailable("ZooKeeper has not ended our earlier session yet") from None
            at_once = waiting is None and other is not None and not was_ours and _lives_here(other)
            if last or at_once:
                session_id = other.session if other else 0
                raise HolderActive(str(other or "it just changed"), session_id) from None
            if other is not None:
                if waiting is not None and not was_ours:
                    waiting(other)
                session.wait((znodes.HOLDER,), patience_s, wake)
    raise AssertionError("unreachable: the second round returns or raises")


def wait_until_released(session: Session, patience_s: float) -> None:
    """Wait until nobody holds the journal; raises `HolderActive` where `hold` would."""
    for last in (False, True):
        other = who_holds(session)
        if other is None:
            return
        if last or _lives_here(other):
            raise HolderActive(str(other), other.session)
        session.wait((znodes.HOLDER,), patience_s)


def _lives_here(holder: Holder) -> bool:
    if isinstance(holder, UnknownHolder) or holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _let_go(session: Session, lost: set[int]) -> None:
    """Delete what says that this process holds the journal, or leave it to the session's end."""
    try:
        _delete_own(session)
    except (Stale, Unavailable):
        lost.add(session.session_id)


def _delete_own(session: Session) -> None:
    paths = (znodes.HOLDER, znodes.holder_of_session(session.session_id))
    own = [
        Delete(path, node.version)
        for path, node in zip(paths, session.read_many(paths), strict=True)
        if node is not None and node.ephemeral_owner == session.session_id
    ]
    if own:
        session.commit(own)


def _prepare(session: Session) -> None:
    """Create the journal's permanent nodes; it does not matter if another process is faster."""
    wanted = ((znodes.ROOT, b""), (znodes.EPOCH, b"0"), *((path, b"") for path in _PARENTS))
    if session.exists(znodes.RECORDS_OF_TOPICS):
        read_epoch(session)  # an epoch that is gone from a journal in use is not made again
    for path, data in wanted:
        if session.read(path) is None:
            try:
                session.commit((Create(path, data),))
            except Stale:
                continue


@frozen
class Epoch:
    """The epoch: its number, and the data version that is the fence."""

    number: int
    version: int


def read_epoch(session: Session) -> Epoch:
    """Return the epoch of a journal that exists; raises `DamagedNode`."""
    node = session.read(znodes.EPOCH)
    if node is None:
        raise our_nodes.damaged_node(znodes.EPOCH, "it is gone, and the journal is there")
    return Epoch(our_nodes.decode_epoch(node.data), node.version)


def read_holder(session: Session) -> Holder | None:
    """Return the active process, or None. Raises `DamagedNode` if that cannot be told."""
    node = session.read(znodes.HOLDER)
    if node is None:
        return None
    if not node.ephemeral_owner:
        raise our_nodes.damaged_node(
            znodes.HOLDER, "it belongs to no session (expected one that ends with its process)"
        )
    body = our_nodes.decode(znodes.HOLDER, node.data, HolderBody)
    return Holder(body.host, body.pid, body.what, body.since_ms, session=node.ephemeral_owner)


def who_holds(session: Session) -> Holder | None:
    """Return the process that holds the journal; only its session if its node is damaged."""
    try:
        return read_holder(session)
    except DamagedNode as damaged:
        node = session.read(znodes.HOLDER)
        owner = 0 if node is None else node.ephemeral_owner
        return UnknownHolder("", 0, "", 0, owner, str(damaged))
