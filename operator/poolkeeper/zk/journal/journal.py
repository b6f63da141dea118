"""The journal: the run of a cluster, and what is kept between runs.

All of it lies under `/poolkeeper` in the cluster's own chroot:

* `holder`, `holder-<session>` and `epoch`: which process may write (`fencing`).
* `run` and its children: the record of the run (`runs`), removed when the run ends; `run/stop` is
  the request that it ends, after the stage in flight or at once.
* `asked` and its children: the plan that waits for approval (`pending_plan`).
* `approvals`: hashes that people approved on the command line beside an active holder.
* `stopped`: the fingerprint of the plan that a person stopped; a loop does not start it again.
* `history` and its children: the runs that ended last (`history`).
* `records`: what is remembered of topics, brokers and the cluster (`records`), and the throttles
  that are set (`throttle_records`).

Nothing here decides anything: it reads, and it writes what it is given, fenced.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from threading import Event
from typing import TypeVar

from poolkeeper.errors import DamagedNode, NodeDamage, Refused, Stale
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.records import (
    BalanceRecord,
    RecordKind,
    Records,
    RequestRecord,
    TopicRecord,
)
from poolkeeper.model.execution.runs import (
    CHUNKS_MAX,
    Phase,
    Run,
    RunDocument,
    StopRequest,
    StoredRun,
    contradiction,
)
from poolkeeper.model.execution.throttles import ThrottleReading
from poolkeeper.zk import fencing, znodes
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import json_bodies, our_nodes
from poolkeeper.zk.codecs.our_nodes import ApprovalsBody, PendingPlanBody
from poolkeeper.zk.fenced_session import FencedSession, OnCommit, commit_noted, note_nothing
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import records, runs, throttle_records

T = TypeVar("T")
APPROVALS_MAX = 32
ASKING_ATTEMPTS = 3


@frozen
class JournalView:
    """What a process that does not hold the journal can read of it.

    `damage`: the nodes that cannot be read; what they would say is None.
    """

    holder: Holder | None = None
    stored: StoredRun = field(default_factory=StoredRun)
    stopped: str | None = None
    records: Records = field(default_factory=Records)
    throttles: ThrottleReading = field(default_factory=ThrottleReading)
    request: RequestRecord | None = None
    damage: tuple[NodeDamage, ...] = ()
    epoch_damage: NodeDamage | None = None
    approvals: tuple[str, ...] = ()
    """The hashes approved on the command line beside an active holder, oldest first."""

    @property
    def run(self) -> Run | None:
        """The recorded run."""
        return self.stored.run

    @property
    def document(self) -> RunDocument | None:
        """The document of the recorded run, if it was written completely."""
        return self.stored.document

    @property
    def stop(self) -> StopRequest | None:
        """A person's request that the run ends."""
        return self.stored.stop

    @property
    def run_damage(self) -> NodeDamage | None:
        """The damaged node without which a run cannot go on, if there is one."""
        return self.stored.damage or self.epoch_damage


class Journal(FencedSession):
    """The journal, open for writing; exists only while this process is the holder."""

    # The run

    def begin(self, run: Run, chunks: Sequence[bytes]) -> Run:
        """Record a new run: its node first, then its document, chunk by chunk."""
        if len(chunks) > CHUNKS_MAX:
            raise Refused("the plan is too large to be recorded: narrow what is declared")
        self.commit(Create(znodes.RUN, runs.encode_run(run)))
        for i, chunk in enumerate(chunks):
            self.commit(Create(znodes.plan_chunk(i), chunk))
        return replace(run, version=0)

    def begin_whole(self, run: Run, chunks: Sequence[bytes]) -> Run:
        """Record a new run with a short document in one transaction."""
        nodes = (Create(znodes.plan_chunk(i), chunk) for i, chunk in enumerate(chunks))
        self.commit(Create(znodes.RUN, runs.encode_run(run)), *nodes)
        return replace(run, version=0)

    def rewrite(self, before: Run, after: Run, *operations: Operation) -> Run:
        """Rewrite the run node, together with other operations, in one transaction."""
        self.commit(SetData(znodes.RUN, runs.encode_run(after), before.version), *operations)
        return replace(after, version=before.version + 1)

    def end(self, run: Run, *operations: Operation) -> None:
        """Remove the run and everything below it, with other operations, in one transaction."""
        removed = (*self.delete_below(znodes.RUN), Delete(znodes.RUN, run.version))
        self.commit(*removed, *self._without_request(), *operations)

    def record_request(self, record: RequestRecord | None) -> None:
        """Record what the run is about to request; None removes the record."""
        if record is None:
            if removed := self._without_request():
                self.commit(*removed)
            return
        path, data = znodes.RECORD_OF_REQUEST, runs.encode_request(record)
        node = self.session.read(path)
        if node is None:
            self.commit(Create(path, data))
        elif node.data != data:
            self.commit(SetData(path, data, node.version))

    def _without_request(self) -> tuple[Delete, ...]:
        node = self.session.read(znodes.RECORD_OF_REQUEST)
        return () if node is None else (Delete(znodes.RECORD_OF_REQUEST, node.version),)

    def delete_below(self, path: str) -> tuple[Delete, ...]:
        """Return the operations that delete all below a node, whichever release wrote it."""
        paths = [f"{path}/{child}" for child in self.session.children(path) or ()]
        made: list[Delete] = []
        for each, node in zip(paths, self.session.read_many(paths), strict=True):
            if node is not None:
                deeper = self.delete_below(each) if node.children else ()
                made += (*deeper, Delete(each, node.version))
        return tuple(made)

    # What is remembered

    def remember_stopped(self, fingerprint: str | None) -> None:
        """Record the fingerprint of the plan that a person stopped; None removes the record."""
        node = self.session.read(znodes.STOPPED)
        if fingerprint is None:
            if node is not None:
                self.commit(Delete(znodes.STOPPED, node.version))
        elif node is None:
            self.commit(Create(znodes.STOPPED, fingerprint.encode()))
        elif node.data != fingerprint.encode():  # another process may have written it before
            self.commit(SetData(znodes.STOPPED, fingerprint.encode(), node.version))

    def forget_approvals(self) -> None:
        """Remove the approvals left by `poolkeeper apply`: their plans have been executed."""
        node = self.session.read(znodes.APPROVALS)
        if node is not None:
            self.commit(Delete(znodes.APPROVALS, node.version))

    def remember_brokers(self, records: Records) -> None:
        """Record the brokers' racks and absences and the cluster's id, if they changed."""
        brokers = our_nodes.brokers_body(records.brokers)
        id_body = {"version": 1, "id": records.cluster_id}
        for kind, path, body in (
            (RecordKind.BROKERS, znodes.RECORD_OF_BROKERS, brokers),
            (RecordKind.CLUSTER, znodes.RECORD_OF_CLUSTER, id_body),
        ):
            if kind in records.damage:
                continue  # only a person may give up what it held
            data = canonical(body).encode()
            node = self.session.read(path)
            if node is None:
                self.commit(Create(path, data))
            elif node.data != data:
                self.commit(SetData(path, data, node.version))

    def balance_record(self, record: BalanceRecord) -> Operation:
        """Return the operation that makes the record so."""
        node = self.session.read(znodes.RECORD_OF_BALANCE)
        body = json_bodies.encode({"version": 1, "started_ms": record.started_ms})
        if node is None:
            return Create(znodes.RECORD_OF_BALANCE, body)
        return SetData(znodes.RECORD_OF_BALANCE, body, node.version)


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
) -> Iterator[Journal]:
    """Hold the journal for the time of the `with` block; see `fencing.hold`."""
    with fencing.hold(
        session, what, now_ms, patience_s=patience_s, waiting=waiting, wake=wake, lost=lost
    ) as epoch_version:
        yield Journal(session, epoch_version)


def topic_record(topic: str, record: TopicRecord | None, node: Node | None) -> Operation | None:
    """Return the write of a topic's record over the node that was read; None if it is unchanged."""
    path = znodes.record_of_topic(topic)
    if record is None:
        return None if node is None else Delete(path, node.version)
    body = records.encode_topic(record)
    if node is None:
        return Create(path, body)
    return None if node.data == body else SetData(path, body, node.version)


def read_run(session: Session) -> Run | None:
    """Return the recorded run, or None."""
    node = session.read(znodes.RUN)
    return None if node is None else runs.decode_run(node.data, node.version)


def read_document(session: Session, run: Run) -> RunDocument | None:
    """Return the run's document; `None` if it is still being stored, or the run has moved on.

    Raises `DamagedNode` for one that is not whole although the run has gone on, or that is not the
    one that the run names.
    """
    paths = [znodes.plan_chunk(i) for i in range(run.chunks)]
    nodes = session.read_many(paths)
    chunks = [node.data for node in nodes if node is not None]
    document = runs.decode_document(chunks, run.digest)
    if document is not None:
        if found := contradiction(run, document):
            raise our_nodes.damaged_node(znodes.RUN, found)
    elif run.phase is not Phase.STORING and read_run(session) == run:
        gone = [path for path, node in zip(paths, nodes, strict=True) if node is None]
        found = "it is gone" if gone else f"it is not what {znodes.RUN} names by its digest"
        raise our_nodes.damaged_node(gone[0] if gone else znodes.plan_chunk(0), found)
    return document


def read_stop(session: Session) -> StopRequest | None:
    """Return a person's request that the run ends, if there is one."""
    node = session.read(znodes.RUN_STOP)
    return None if node is None else runs.decode_stop(node.data)


def read_stopped(session: Session) -> str | None:
    """Return the fingerprint of the plan that a person stopped, if any."""
    node = session.read(znodes.STOPPED)
    return None if node is None else our_nodes.decode_stopped(node.data)


def read_status(session: Session) -> JournalView:
    """Return the journal; a damaged node is told in `damage`."""
    holder, holder_damage = our_nodes.try_reading(lambda: fencing.read_holder(session))
    stored = read_stored_run(session)
    stopped, stopped_damage = our_nodes.try_reading(lambda: read_stopped(session))
    approvals, approvals_damage = our_nodes.try_reading(lambda: read_approvals(session))
    _, pending_damage = our_nodes.decode_if_there(
        znodes.ASKED, session.read(znodes.ASKED), PendingPlanBody
    )
    epoch_damage = _epoch_damage(session)
    kept = records.read(session)
    throttles = throttle_records.read(session)
    request, request_damage = our_nodes.try_reading(lambda: records.read_request(session))
    damage = (
        *(stored.damage, epoch_damage, holder_damage),
        *(stopped_damage, approvals_damage, pending_damage, request_damage),
        *kept.damage.values(),
        *kept.damaged_topics.values(),
        *throttles.damage,
    )
    return JournalView(
        holder=holder,
        stored=stored,
        stopped=stopped,
        records=kept,
        throttles=throttles,
        request=request,
        damage=tuple(each for each in damage if each is not None),
        epoch_damage=epoch_damage,
        approvals=approvals or (),
    )


def read_stored_run(session: Session) -> StoredRun:
    """Return the recorded run with its document, as far as both can be read."""
    run, damage = our_nodes.try_reading(lambda: read_run(session))
    if run is None:
        return StoredRun(damage=damage)
    document, damage = our_nodes.try_reading(lambda: read_document(session, run))
    return StoredRun(run, document, read_stop(session), damage)


def read_run_to_stop(session: Session) -> StoredRun:
    """Return the recorded run, for who asks it to end; nothing else of the journal is needed.

    Raises `DamagedNode` for one that could not go on.
    """
    stored = read_stored_run(session)
    if (damage := stored.damage or _epoch_damage(session)) is not None:
        raise DamagedNode(damage)
    return stored


def _epoch_damage(session: Session) -> NodeDamage | None:
    """What is wrong with the epoch of a journal that exists."""
    if session.read(znodes.EPOCH) is None and not session.exists(znodes.RECORDS_OF_TOPICS):
        return None  # the journal was never used
    return our_nodes.try_reading(lambda: fencing.read_epoch(session))[1]


def request_stop(
    session: Session, stop: StopRequest | None = None, on_commit: OnCommit = note_nothing
) -> Run | None:
    """Request that the run ends; return it, or `None` without a run.

    It ends after the stage in flight, unless `stop` asks for more. What was asked for before is
    never taken back: a stop that waits for its stage is sharpened, not the other way round. Where
    the run ends meanwhile, or somebody else asks, it is looked at again.
    """
    asked = stop or StopRequest()
    return _until_written(lambda: _request_stop(session, asked, on_commit))


def _request_stop(session: Session, stop: StopRequest, on_commit: OnCommit) -> Run | None:
    run = read_run(session)
    if run is None:
        return None
    epoch = fencing.read_epoch(session)
    node = session.read(znodes.RUN_STOP)
    before = None if node is None else runs.decode_stop(node.data)
    both = stop.added_to(before)
    data = runs.encode_stop(both)
    write = (
        Create(znodes.RUN_STOP, data)
        if node is None
        else SetData(znodes.RUN_STOP, data, node.version)
    )
    if both != before:
        fence = Check(znodes.EPOCH, epoch.version)
        commit_noted(session, (fence, write), on_commit)
    return run


def read_approvals(session: Session) -> tuple[str, ...]:
    """Return the hashes approved on the command line beside an active holder, oldest first."""
    node = session.read(znodes.APPROVALS)
    if node is None:
        return ()
    return our_nodes.decode(znodes.APPROVALS, node.data, ApprovalsBody).plans


def hand_over_approval(session: Session, plan: str, on_commit: OnCommit = note_nothing) -> None:
    """Record an approval for the active holder; it also removes the record of a stop."""
    _until_written(lambda: _hand_over_approval(session, plan, on_commit))


def _hand_over_approval(session: Session, plan: str, on_commit: OnCommit) -> None:
    node = session.read(znodes.APPROVALS)
    known = read_approvals(session)
    plans = [*(p for p in known if p != plan), plan][-APPROVALS_MAX:]
    data = json_bodies.encode({"version": our_nodes.VERSION, "plans": plans})
    fence = Check(znodes.EPOCH, fencing.read_epoch(session).version)
    write = (
        Create(znodes.APPROVALS, data)
        if node is None
        else SetData(znodes.APPROVALS, data, node.version)
    )
    stopped = session.read(znodes.STOPPED)
    undo = () if stopped is None else (Delete(znodes.STOPPED, stopped.version),)
    commit_noted(session, (fence, write, *undo), on_commit)


def _until_written(write: Callable[[], T]) -> T:
    """Do what somebody asks for beside the holder, again where another write came first."""
    for _ in range(ASKING_ATTEMPTS - 1):
        with suppress(Stale):
            return write()
    return write()
