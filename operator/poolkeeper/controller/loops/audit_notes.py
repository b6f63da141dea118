"""What is written to the audit trail: every transaction, and what every pass did."""

from collections.abc import Sequence

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.telemetry import logs
from poolkeeper.telemetry.audit import AuditTrail
from poolkeeper.zk.client.operations import Operation, describe
from poolkeeper.zk.fenced_session import OnCommit


def note_commits(trail: AuditTrail) -> OnCommit:
    """Return what notes transactions in the audit trail."""

    def note(transaction: Sequence[Operation], known_done: bool) -> None:
        trail.wrote([describe(operation) for operation in transaction], answered=known_done)

    return note


def note_decisions(trail: AuditTrail, outcome: Outcome) -> None:
    """Note in the audit trail what a pass did."""
    if outcome.progress is not None:
        trail.concern(outcome.progress.plan, outcome.progress.stage, trail.approved_by)
    for action in outcome.did:
        trail.note_decision(
            action.kind.value,
            logs.text_of(action),
            topic=action.topic,
            pool=action.pool,
            partitions=tuple(f"{name.topic}-{name.partition}" for name in action.partitions),
            broker=action.broker,
            count=action.count,
            of=action.of,
            namespace=action.namespace,
            ending=None if action.ending is None else action.ending.value,
        )
