"""What is left to do for a Kafka topic, and what a person is asked to approve, in a few words."""

from poolkeeper.model.plans import CreateTopic
from poolkeeper.resources.status.topic.situation import TopicSituation
from poolkeeper.resources.status.wording import (
    count,
    few,
)


def approval_text(at: TopicSituation) -> str:
    """The plan that waits for an approval, and where it is given."""
    plan = at.work.plan.hash if at.work.plan else ""
    return f"approve plan {plan} in {at.cluster}"


def differences_text(at: TopicSituation) -> str:
    """What is left to do, in a few words."""
    standing = at.standing
    if not standing.exists:
        return _creation_text(at)
    parts = []
    if standing.missing > 0:
        parts.append(f"add {count(standing.missing, 'partition')}")
    if standing.misplaced:
        parts.append(_moves_text(at))
    if standing.differing:
        parts.append(f"set config {few(standing.differing)}")
    if standing.unled:
        parts.append(f"get leaders for {count(standing.unled, 'partition')}")
    if standing.missing < 0:
        kept = f"its {count(standing.partitions, 'partition')} stay, as partitions never shrink"
        return f"{', '.join(parts) or 'do nothing'}; {kept}"
    return ", ".join(parts) or "be read again"


def _creation_text(at: TopicSituation) -> str:
    created = next((s for s in at.plan_work.steps if isinstance(s, CreateTopic)), None)
    of = f" with {count(len(created.replicas), 'partition')}" if created else ""
    return f"create topic {at.spec.topic} in pool {at.spec.pool}{of}"


def _moves_text(at: TopicSituation) -> str:
    standing, spec = at.standing, at.spec
    moves = at.plan_work.moves or standing.partitions_misplaced
    where = f"into pool {spec.pool}" if standing.outside else f"in pool {spec.pool}"
    why = f" off drained brokers {where}" if standing.drained else f" {where}"
    factor = f" to {count(spec.replication_factor or 0, 'replica')}" if standing.resized else ""
    return f"move {count(moves, 'partition')}{why}{factor}"
