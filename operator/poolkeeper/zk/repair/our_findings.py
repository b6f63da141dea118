"""What is wrong with our own nodes.

Most of them are kept for comfort and can be removed: the next executor asks again, or records
again. Two are not: without its node or its document a run cannot be taken further. A run node can
be made again from a document that is whole: the run is then wound up as any other run that is no
longer wanted, its throttles restored. Without the document the run is removed. What it has in
flight is known by the record of its request, and the next executor takes it up.
"""

from collections.abc import Iterator

from poolkeeper.errors import DamagedNode, NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import Ending, Phase, Run, RunDocument
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.move_progress import MoveState, classify
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import json_bodies, our_nodes
from poolkeeper.zk.journal import history, journal, pending_plan, runs
from poolkeeper.zk.journal.journal import JournalView
from poolkeeper.zk.repair.values import Examined, Finding, Remedy

_REMOVED = {
    znodes.STOPPED: "it is removed: a loop may begin again the plan that a person stopped",
    znodes.APPROVALS: "it is removed: plans that were approved beside an executor need it again",
    znodes.ASKED: "it is removed: the plan that waits for approval is asked about again",
    znodes.RECORD_OF_CLUSTER: "it is removed: the next executor records the present id, {id}",
    znodes.RECORD_OF_REQUEST: (
        "it is removed: should the run be lost as well, what it requested counts as somebody else's"
    ),
    znodes.RECORD_OF_BROKERS: (
        "it is removed: racks are recorded again from live brokers, absences from now on"
    ),
}
_TOPIC_REMOVED = (
    "it is removed: the next executor records the owner again; keys that were declared before and"
    " are no longer keep their values, and without a Topic the topic is not deleted"
)
_NO_RATE = 2**40
"""Stands for a throttle of which nothing is left on the brokers."""


def findings(examined: Examined) -> Iterator[Finding]:
    """Yield everything that is wrong with our nodes."""
    session = examined.session
    view = journal.read_status(session)
    for damage in view.damage:
        if damage not in view.throttles.damage:
            yield _finding(examined, damage)
    for damage in history.read(session).damage:
        yield _finding(examined, damage)
    if all(damage.path != znodes.ASKED for damage in view.damage):
        _, pending = our_nodes.try_reading(lambda: pending_plan.read(session))
        if pending is not None:
            yield _removed(session, znodes.ASKED, pending.found, _REMOVED[znodes.ASKED])


def keeps_run(session: Session, view: JournalView) -> bool:
    """Whether a run is recorded that is not to be removed."""
    damage = [
        each
        for each in view.damage
        if each.path == znodes.RUN or each.path.startswith(f"{znodes.RUN}/")
    ]
    lost = any(not each.later_version for each in damage) and _stored(session) is None
    return session.exists(znodes.RUN) and not lost


def _finding(examined: Examined, damage: NodeDamage) -> Finding:
    session, path = examined.session, damage.path
    if damage.later_version:
        return _left(path, str(damage), "a later Poolkeeper wrote it: use that release")
    if path == znodes.HOLDER:
        return _holder(session, damage)
    if path == znodes.EPOCH:
        return Finding(path, damage.found, Remedy.TAKE_OVER, "the journal gets a new epoch")
    if path == znodes.RUN or path.startswith(f"{znodes.RUN}/"):
        return _run(examined, damage)
    if path == znodes.RECORD_OF_BALANCE:
        return _balance(examined, damage)
    if path.startswith(f"{znodes.HISTORY}/"):
        return _removed(session, path, damage.found, "it is removed: that run is told no longer")
    effect = _REMOVED.get(path, _TOPIC_REMOVED).format(id=examined.reading.cluster.id)
    return _removed(session, path, damage.found, effect)


def _holder(session: Session, damage: NodeDamage) -> Finding:
    node = session.read(znodes.HOLDER)
    if node is not None and node.ephemeral_owner:
        return _left(
            damage.path,
            damage.found,
            f"the process with session {node.ephemeral_owner:#x} holds the cluster: its node ends"
            " with it, so stop that process",
        )
    effect = "the node is removed, as no process has it, and the journal gets a new epoch"
    return Finding(damage.path, damage.found, Remedy.TAKE_OVER, effect)


def _balance(examined: Examined, damage: NodeDamage) -> Finding:
    node = examined.session.read(damage.path)
    data = json_bodies.encode({"version": our_nodes.VERSION, "started_ms": examined.now_ms})
    return Finding(
        damage.path,
        damage.found,
        Remedy.WRITE,
        "it is written as if balance began now: spec.balancing.coolDown passes before the next",
        None if node is None else node.version,
        data,
    )


@frozen
class _Stored:
    """A document that is whole, with its digest and its number of chunks."""

    document: RunDocument
    digest: str
    chunks: int


def _run(examined: Examined, damage: NodeDamage) -> Finding:
    session = examined.session
    stored = _stored(session)
    node = session.read(znodes.RUN)
    if stored is None or node is None:
        effect = (
            "the run is removed: the next executor takes up what is in flight and plans the rest"
        )
        return _removed(session, znodes.RUN, f"{damage.path}: {damage.found}", effect)
    run = _wound_up(stored, examined)
    effect = "it is written again from the stored plan: the next executor winds the run up"
    found, data = f"{damage.path}: {damage.found}", runs.encode_run(run)
    return Finding(znodes.RUN, found, Remedy.WRITE, effect, node.version, data)


def _stored(session: Session) -> _Stored | None:
    """Return the document below the run node, if it is whole by itself."""
    names = [n for n in session.children(znodes.RUN) or () if n.startswith("plan-")]
    nodes = session.read_many([f"{znodes.RUN}/{name}" for name in names])
    chunks = [node.data for node in nodes if node is not None]
    digest = runs.digest_of(chunks)
    try:
        document = runs.decode_document(chunks, digest)
    except DamagedNode:
        return None
    return None if document is None else _Stored(document, digest, len(chunks))


def _wound_up(stored: _Stored, examined: Examined) -> Run:
    """Return a run of that document that ends when what is in flight has arrived."""
    plan, cluster = stored.document.plan, examined.reading.cluster
    step = tuple(
        (m, progress.at + 1)
        for m, progress in enumerate(classify(plan.moves, cluster))
        if progress.is_at_work and progress.state is not MoveState.ZOMBIE
    )
    return Run(
        plan=plan.hash,
        fingerprint=plan.fingerprint,
        concern="",
        phase=Phase.MOVING if step else Phase.RESTORING,
        digest=stored.digest,
        chunks=stored.chunks,
        started_ms=examined.now_ms,
        step=step,
        requested_ms=examined.now_ms if step else 0,
        throttled_ms=examined.now_ms,
        rates=_rates(stored.document, cluster),
        ending=None if step else Ending.REPLACED,
    )


def _rates(document: RunDocument, cluster: Cluster) -> tuple[int, ...]:
    """Return the rates on the brokers of the run that were not there before it."""
    if not document.throttled:
        return ()
    found: dict[int, None] = {}
    for id_, before in document.saved.brokers.items():
        broker = cluster.brokers.get(id_)
        live = {} if broker is None else broker.config or {}
        values = {live.get(key) for key in before}
        value = values.pop() if len(values) == 1 else None
        if value and value.isdecimal() and value not in before.values() and len(value) < 15:
            found[int(value)] = None
    return tuple(found) or (_NO_RATE,)


def _removed(session: Session, path: str, found: str, effect: str) -> Finding:
    node = session.read(path)
    version = None if node is None else node.version
    return Finding(path, found, Remedy.REMOVE, effect, version)


def _left(path: str, found: str, effect: str) -> Finding:
    return Finding(path, found, Remedy.NONE, effect)
