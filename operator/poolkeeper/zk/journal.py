"""The journal: the run of a cluster, and the records kept between runs.

All of it lies under `/poolkeeper` in the cluster's own chroot:

* `holder` and `epoch`: which process may write (`fencing`).
* `run` and its children: the record of the run (`runs`), removed when the run ends; `run/stop` is
  the request that it ends, after the stage in flight or at once.
* `asked` and its children: the plan that waits for approval (`pending_plan`).
* `approvals`: hashes that people approved on the command line beside an active holder.
* `stopped`: the fingerprint of the plan that a person stopped; a loop does not start it again.
* `history` and its children: the runs that ended last (`history`).
* `records`: topic owners, brokers' racks and absences, the cluster's id, when the last run began
  that balanced the cluster, and the throttles that are set (`throttle_records`).

Nothing here decides anything: it reads, and it writes what it is given, fenced.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.errors import Refused
from poolkeeper.jsontext import canonical
from poolkeeper.model.records import BalanceRecord, BrokerRecord, Records, TopicRecord
from poolkeeper.model.runs import Run, RunDocument, StopRequest
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.model.throttles import ThrottleReading
from poolkeeper.zk import fencing, json_bodies, runs, throttle_records, znodes
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.fencing import FencedSession, Holder

APPROVALS_MAX = 32


@dataclass(frozen=True, slots=True)
class JournalView:
    """The parts of the journal that `status`, `show` and `stop` read."""

    holder: Holder | None
    run: Run | None
    document: RunDocument | None
    stop: StopRequest | None
    stopped: str | None
    throttles: ThrottleReading = field(default_factory=ThrottleReading)

    @property
    def running(self) -> str | None:
        """The plan of the recorded run if its document can be read."""
        return None if self.document is None else self.document.plan.hash


class Journal(FencedSession):
    """The journal, open for writing; exists only while this process is the holder."""

    # The run

    def begin(self, run: Run, chunks: Sequence[bytes]) -> Run:
        """Record a new run: its node first, then its document, chunk by chunk."""
        self.commit(Create(znodes.RUN, runs.encode_run(run)))
        for i, chunk in enumerate(chunks):
            self.commit(Create(znodes.plan_chunk(i), chunk))
        return replace(run, version=0)

    def rewrite(self, before: Run, after: Run, *operations: Operation) -> Run:
        """Rewrite the run node, together with other operations, in one transaction."""
        self.commit(SetData(znodes.RUN, runs.encode_run(after), before.version), *operations)
        return replace(after, version=before.version + 1)

    def end(self, run: Run, *operations: Operation) -> None:
        """Remove the run and everything below it, with other operations, in one transaction."""
        removed = (*self.delete_children(znodes.RUN), Delete(znodes.RUN, run.version))
        self.commit(*removed, *operations)

    def delete_children(self, path: str) -> tuple[Delete, ...]:
        """Return the operations that delete all children of a node."""
        paths = [f"{path}/{child}" for child in self.session.children(path) or ()]
        nodes = self.session.read_many(paths)
        return tuple(
            Delete(p, n.version) for p, n in zip(paths, nodes, strict=True) if n is not None
        )

    # What is remembered

    def remember_stopped(self, fingerprint: str | None) -> None:
        """Record the fingerprint of the plan that a person stopped; None removes the record."""
        node = self.session.read(znodes.STOPPED)
        if fingerprint is None:
            if node is not None:
                self.commit(Delete(znodes.STOPPED, node.version))
        elif node is None:
            self.commit(Create(znodes.STOPPED, fingerprint.encode()))
        else:
            self.commit(SetData(znodes.STOPPED, fingerprint.encode(), node.version))

    def forget_approvals(self) -> None:
        """Remove the approvals left by `poolkeeper apply`: their plans have been executed."""
        node = self.session.read(znodes.APPROVALS)
        if node is not None:
            self.commit(Delete(znodes.APPROVALS, node.version))

    def topic_record(self, topic: str, record: TopicRecord | None) -> Operation | None:
        """Return the operation that writes the record, or `None` if it is unchanged."""
        path = znodes.record_of_topic(topic)
        node = self.session.read(path)
        if record is None:
            return None if node is None else Delete(path, node.version)
        body = _encode_topic_record(record)
        if node is None:
            return Create(path, body)
        return None if node.data == body else SetData(path, body, node.version)

    def remember_brokers(self, records: Records) -> None:
        """Record the brokers' racks and absences and the cluster's id, if they changed."""
        brokers = {
            str(id_): {"rack": record.rack, "missing_since_s": record.missing_since_s}
            for id_, record in sorted(records.brokers.items())
        }
        for path, body in (
            (znodes.RECORD_OF_BROKERS, {"version": 1, "brokers": brokers}),
            (znodes.RECORD_OF_CLUSTER, {"version": 1, "id": records.cluster_id}),
        ):
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


def _encode_topic_record(record: TopicRecord) -> bytes:
    body = {
        "version": 1,
        "owner": record.owner,
        "declared": list(record.declared_keys),
        "deletion_policy": record.deletion_policy.value,
    }
    return canonical(body).encode()


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


def read_run(session: Session) -> Run | None:
    """Return the recorded run, or None."""
    node = session.read(znodes.RUN)
    return None if node is None else runs.decode_run(node.data, node.version)


def read_document(session: Session, run: Run) -> RunDocument | None:
    """Return the run's document, or `None` if it was not written completely."""
    nodes = session.read_many([znodes.plan_chunk(i) for i in range(run.chunks)])
    chunks = [node.data for node in nodes if node is not None]
    return runs.decode_document(chunks, run.digest)


def read_stop(session: Session) -> StopRequest | None:
    """Return a person's request that the run ends, if there is one."""
    node = session.read(znodes.RUN_STOP)
    return None if node is None else runs.decode_stop(node.data)


def read_stopped(session: Session) -> str | None:
    """Return the fingerprint of the plan that a person stopped, if any."""
    node = session.read(znodes.STOPPED)
    return None if node is None else node.data.decode()


def read_status(session: Session) -> JournalView:
    """Return the parts of the journal that `status` shows."""
    run = read_run(session)
    return JournalView(
        holder=fencing.read_holder(session),
        run=run,
        document=None if run is None else read_document(session, run),
        stop=None if run is None else read_stop(session),
        stopped=read_stopped(session),
        throttles=throttle_records.read(session),
    )


def request_stop(session: Session, stop: StopRequest | None = None) -> Run | None:
    """Request that the run ends; return it, or `None` without a run.

    It ends after the stage in flight, unless `stop` asks for more. What was asked for before is
    never taken back: a stop that waits for its stage is sharpened, not the other way round.
    """
    stop = stop or StopRequest()
    run = read_run(session)
    if run is None:
        return None
    epoch = session.read(znodes.EPOCH)
    assert epoch is not None, "a run exists, so its journal does"
    node = session.read(znodes.RUN_STOP)
    before = StopRequest() if node is None else runs.decode_stop(node.data)
    both = StopRequest(before.at_once or stop.at_once, before.allow_failover or stop.allow_failover)
    data = runs.encode_stop(both)
    write = (
        Create(znodes.RUN_STOP, data)
        if node is None
        else SetData(znodes.RUN_STOP, data, node.version)
    )
    if node is None or both != before:
        session.commit((Check(znodes.EPOCH, epoch.version), write))
    return run


def read_approvals(session: Session) -> tuple[str, ...]:
    """Return the hashes approved on the command line beside an active holder, oldest first."""
    node = session.read(znodes.APPROVALS)
    return () if node is None else tuple(json.loads(node.data)["plans"])


def hand_over_approval(session: Session, plan: str) -> None:
    """Record an approval for the active holder; it also removes the record of a stop."""
    node = session.read(znodes.APPROVALS)
    known = read_approvals(session)
    plans = [*(p for p in known if p != plan), plan][-APPROVALS_MAX:]
    data = json.dumps({"version": 1, "plans": plans}).encode()
    epoch = session.read(znodes.EPOCH)
    assert epoch is not None, "a holder exists, so its journal does"
    fence = Check(znodes.EPOCH, epoch.version)
    write = (
        Create(znodes.APPROVALS, data)
        if node is None
        else SetData(znodes.APPROVALS, data, node.version)
    )
    stopped = session.read(znodes.STOPPED)
    undo = () if stopped is None else (Delete(znodes.STOPPED, stopped.version),)
    session.commit((fence, write, *undo))


def read_recorded_brokers(session: Session) -> frozenset[int]:
    """Return the ids of the brokers that are recorded; empty before the first write."""
    node = session.read(znodes.RECORD_OF_BROKERS)
    return frozenset() if node is None else frozenset(_decode_brokers(node.data))


def read_records(session: Session) -> Records:
    """Return all records; empty before the first write."""
    cluster, brokers = session.read_many([znodes.RECORD_OF_CLUSTER, znodes.RECORD_OF_BROKERS])
    topics = session.children(znodes.RECORDS_OF_TOPICS) or ()
    nodes = session.read_many([znodes.record_of_topic(topic) for topic in topics])
    return Records(
        cluster_id=None if cluster is None else json.loads(cluster.data)["id"],
        topics={
            topic: _decode_topic_record(node.data)
            for topic, node in zip(topics, nodes, strict=True)
            if node is not None
        },
        brokers={} if brokers is None else _decode_brokers(brokers.data),
    )


def read_balance(session: Session) -> BalanceRecord | None:
    """Return when balance began last; `None` if it never did. Raises `Refused` for other data."""
    node = session.read(znodes.RECORD_OF_BALANCE)
    if node is None:
        return None
    try:
        return BalanceRecord(json_bodies.integer(json_bodies.parse(node.data), "started_ms"))
    except Refused as wrong:
        raise Refused(f"{znodes.RECORD_OF_BALANCE} is damaged: {wrong}") from wrong


def _decode_topic_record(data: bytes) -> TopicRecord:
    body = json.loads(data)
    policy = DeletionPolicy(body["deletion_policy"])
    return TopicRecord(body["owner"], tuple(body["declared"]), policy)


def _decode_brokers(data: bytes) -> dict[int, BrokerRecord]:
    return {
        int(id_): BrokerRecord(body["rack"], body["missing_since_s"])
        for id_, body in json.loads(data)["brokers"].items()
    }
