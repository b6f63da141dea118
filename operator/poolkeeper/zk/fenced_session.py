"""Writes of the process that holds a cluster's journal: each checks that it still does.

See `fencing` for what is checked. Once a KRaft controller leads, nothing of Kafka's is written.
"""

from collections.abc import Callable, Iterable, Sequence

from poolkeeper.errors import (
    Fenced,
    Forbidden,
    PoolkeeperError,
    Refused,
    Stale,
    TooLarge,
    Unavailable,
    WhyUnwritten,
)
from poolkeeper.zk import fencing, kraft, znodes
from poolkeeper.zk.client.operations import Check, Create, Operation, batches, pipelines
from poolkeeper.zk.client.session import SentTransaction, Session
from poolkeeper.zk.codecs import our_nodes

OnCommit = Callable[[Sequence[Operation], bool], None]


def note_nothing(transaction: Sequence[Operation], known_done: bool) -> None:
    """Take note of nothing: for sessions without an audit trail."""


LOOKS_MAX = 10
"""How often the controller is looked at for one write, if it changes between look and write.

Where brokers lead and die in turn, a mend has to come between two of them.
"""
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
        for looks_left in reversed(range(LOOKS_MAX)):
            sent = _checked(self._require_zookeeper([operations]), operations)
            try:
                created = self._answer(self._send(sent))
            except Stale as stale:
                if stale.path != znodes.CONTROLLER_EPOCH or sent is operations or not looks_left:
                    raise
            else:
                return created[len(sent) - len(operations) :]
        raise AssertionError("unreachable: the last look returns or raises")

    def commit_in_batches(self, operations: Iterable[Operation]) -> None:
        """Commit operations that need not be one transaction; as few at once as the servers take.

        Raises what `commit` does: then some may be written.
        """
        for batch in batches(operations):
            self._commit_batch(batch)

    def _commit_batch(self, batch: Sequence[Operation]) -> None:
        try:
            self.commit(*batch)
        except TooLarge:
            if len(batch) == 1:
                raise
            half = len(batch) // 2
            self._commit_batch(batch[:half])
            self._commit_batch(batch[half:])

    def commit_each(self, transactions: Sequence[Sequence[Operation]]) -> list[WhyUnwritten | None]:
        """Commit each as a transaction of its own, many of them on their way at the same time.

        Returns of each why nothing was written, or None; the errors without their traces, which
        would keep this frame and so the errors. Raises `Fenced` or `Unavailable` when all that was
        sent has been answered: `on_commit` is told of each. Raises `Stale` as `commit` does for a
        migration.
        """
        unclaimed = self._require_zookeeper(transactions)
        found: list[WhyUnwritten | None] = []
        for together in pipelines([_checked(unclaimed, each) for each in transactions]):
            found += self._commit_together(together)
        return found

    def _commit_together(
        self, transactions: Sequence[Sequence[Operation]]
    ) -> list[WhyUnwritten | None]:
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
            except (TooLarge, Stale, Forbidden) as error:
                found[position] = error.with_traceback(None)
            except (Fenced, Unavailable) as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return found

    def _require_zookeeper(self, transactions: Sequence[Sequence[Operation]]) -> tuple[Check, ...]:
        """Raise `Stale` if Kafka's nodes are to be written and a KRaft controller leads.

        Returns the check that none claims the cluster before they are written.
        """
        written = {
            operation.path
            for transaction in transactions
            for operation in transaction
            if not isinstance(operation, Check)
        }
        foreign = min((p for p in written if not p.startswith(f"{znodes.ROOT}/")), default=None)
        if foreign is None:
            return ()
        migrating, unclaimed = kraft.migrating_and_unclaimed(self.session)
        if migrating:
            raise Stale("the cluster is migrating to KRaft: nothing is written to it", foreign)
        return unclaimed

    def _send(self, operations: Sequence[Operation]) -> SentTransaction:
        try:
            return self.session.send((*self._fence, *operations))
        except Stale as stale:
            self._require_fence(stale)
            if stale.path in fencing.PARENTS:
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
        if gone := [Create(path, b"") for path in fencing.PARENTS if not self.session.exists(path)]:
            self.commit(*gone)

    def _why_fenced(self, path: str) -> str:
        there = self.session.exists(znodes.EPOCH)
        if there and self.session.exists(self._holding):
            if not self._is_held():
                return "another Poolkeeper took this cluster over; nothing more is written"
            _, damage = our_nodes.try_reading(lambda: fencing.read_epoch(self.session))
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
            holder = fencing.who_holds(self.session)
        except Forbidden:
            return False
        return holder is not None and holder.session == self.session.session_id


def _checked(unclaimed: Sequence[Check], operations: Sequence[Operation]) -> Sequence[Operation]:
    """Return the operations after this check; as they are where their own rely on its node."""
    if not unclaimed or any(each.path == znodes.CONTROLLER_EPOCH for each in operations):
        return operations
    return (*unclaimed, *operations)


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
