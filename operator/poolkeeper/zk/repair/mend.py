"""Finds what is wrong, and carries remedies out: each in one transaction, fenced and versioned."""

import base64
from collections.abc import Iterable, Sequence

from poolkeeper.errors import Forbidden, HolderActive, Stale
from poolkeeper.model.execution.throttles import LeftThrottles, Throttled
from poolkeeper.zk import fencing, throttling, znodes
from poolkeeper.zk.client.operations import Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs.kafka_nodes import ConfigChangeNode
from poolkeeper.zk.journal.journal import Journal
from poolkeeper.zk.journal.throttle_records import DEFAULT, Entity, config_path
from poolkeeper.zk.repair import kafka_findings, our_findings, throttle_findings
from poolkeeper.zk.repair.values import Examined, Finding, Remedy, Source

SOURCES: Sequence[Source] = (
    our_findings.findings,
    kafka_findings.findings,
    throttle_findings.findings,
)
"""What looks for damage, in the order in which it is mended: throttles once configs are whole."""


def find(examined: Examined) -> tuple[Finding, ...]:
    """Return everything that is wrong, each node once."""
    found: dict[str, Finding] = {}
    for source in SOURCES:
        for finding in source(examined):
            found.setdefault(finding.path, finding)
    return tuple(found.values())


def backup(session: Session, findings: Iterable[Finding]) -> dict[str, object]:
    """Return what the nodes hold that are about to be written or removed, with their children."""
    kept = {}
    for finding in findings:
        children = session.children(finding.path) or ()
        paths = [*finding.nodes, *(f"{finding.path}/{child}" for child in children)]
        for path, node in zip(paths, session.read_many(paths), strict=True):
            if node is not None:
                data = base64.b64encode(node.data).decode()
                kept[path] = {"version": node.version, "base64": data}
    return {"nodes": kept}


def take_over(session: Session) -> tuple[Operation, ...]:
    """Give the journal a new epoch, and remove a holder that belongs to no session.

    Returns what was written. Raises `HolderActive` while a process holds the journal. The epoch's
    data version, which is the fence, only grows: what another process believes to hold is held no
    more.
    """
    holder = session.read(znodes.HOLDER)
    if holder is not None and holder.ephemeral_owner:
        raise HolderActive(str(fencing.who_holds(session)))
    epoch = session.read(znodes.EPOCH)
    operations: list[Operation] = [
        Create(znodes.EPOCH, b"1")
        if epoch is None
        else SetData(znodes.EPOCH, str(epoch.version + 1).encode(), epoch.version)
    ]
    if holder is not None:
        operations.append(Delete(znodes.HOLDER, holder.version))
    session.commit(tuple(operations))
    return tuple(operations)


def carry_out(journal: Journal, finding: Finding) -> bool:
    """Mend one finding; false if the node, or what it is made of, changed since then."""
    try:
        if finding.throttled is not None:
            return _end_throttles(journal, finding, finding.throttled)
        journal.commit(*_operations(journal, finding))
    except Stale:
        return False
    return True


def _end_throttles(journal: Journal, finding: Finding, entity: Entity) -> bool:
    """Restore or unset throttles; false if a run is recorded, or they are not as examined."""
    node = journal.session.read(finding.path)
    if node is None or node.version != finding.version or journal.session.exists(znodes.RUN):
        return False
    throttled = _throttled(entity)
    if finding.remedy is Remedy.RESTORE:
        if throttling.take_off(journal, LeftThrottles(recorded=throttled)):
            path = config_path(entity)
            raise Forbidden(f"setting {path} is not allowed for this ZooKeeper identity", path)
    else:
        throttling.remove(journal, throttled)
    return True


def _throttled(entity: Entity) -> Throttled:
    if isinstance(entity, int):
        return Throttled(brokers=(entity,))
    return Throttled(default=True) if entity == DEFAULT else Throttled((entity,))


def _operations(journal: Journal, finding: Finding) -> tuple[Operation, ...]:
    if finding.version is None:
        return () if finding.data is None else (Create(finding.path, finding.data),)
    if finding.remedy is Remedy.REMOVE:
        return (*journal.delete_below(finding.path), Delete(finding.path, finding.version))
    assert finding.data is not None, "a remedy that writes says what"
    write = SetData(finding.path, finding.data, finding.version)
    if not finding.path.startswith((f"{znodes.TOPIC_CONFIGS}/", f"{znodes.BROKER_CONFIGS}/")):
        return (*finding.made_of, write)
    told = Create(znodes.CONFIG_CHANGE, ConfigChangeNode.encode(finding.path), sequence=True)
    return (write, told)
