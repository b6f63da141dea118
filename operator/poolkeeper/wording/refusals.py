"""Why something was refused, and how a live cluster differs from a plan's, as sentences."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.refusals import Drift, DriftReason, Fact, HopelessMove, Refusal
from poolkeeper.text import count, cut, size
from poolkeeper.wording.pieces import NAMED_MAX


def refusal_text(refusal: Refusal) -> str:
    """Return a refusal as a sentence, with the first of its facts."""
    if not refusal.facts:
        return refusal.detail
    facts = cut(map(_fact, refusal.facts), NAMED_MAX, grouped=False)
    return f"{refusal.detail}: {'; '.join(facts)}"


def _fact(fact: Fact) -> str:
    match fact:
        case Drift():
            return drift_text(fact)
        case HopelessMove():
            return (
                f"{fact.partition} receives {size(fact.in_bytes_per_s)}/s, "
                f"the throttle allows {size(fact.throttle_bytes_per_s)}/s"
            )


def drift_text(drift: Drift) -> str:
    """Return one difference between the live cluster and a plan's as a sentence."""
    return _DRIFTS[drift.reason](drift)


_D = DriftReason

_DRIFTS: Mapping[DriftReason, Callable[[Drift], str]] = {
    _D.REPLICAS_CHANGED: lambda drift: (
        f"{drift.partition} has replicas {list(drift.live)}, planned from {list(drift.planned)}"
    ),
    _D.MOVED_TOPIC_GONE: lambda drift: f"topic {drift.topic} is gone or was created again",
    _D.TOPIC_UNREADABLE: lambda drift: f"topic {drift.topic} cannot be read: {drift.path}",
    _D.TOPIC_GONE: lambda drift: f"topic {drift.topic} is gone",
    _D.TOPIC_EXISTS: lambda drift: f"topic {drift.topic} now exists, with other replicas",
    _D.PARTITIONS_ADDED: lambda drift: (
        f"topic {drift.topic} now has {count(drift.count, 'partition')}"
    ),
    _D.TOPIC_RECREATED: lambda drift: (
        f"topic {drift.topic} was deleted and created again by somebody else"
    ),
    _D.REPLICA_GONE: lambda drift: f"broker {drift.broker} no longer holds {drift.partition}",
    _D.LOG_DIR_CHANGED: lambda drift: (
        f"{drift.partition} is now in {drift.path} of broker {drift.broker}"
    ),
    _D.LOG_DIR_FAILED: lambda drift: (
        f"the log directory {drift.path} of broker {drift.broker} has failed, so that"
        f" {drift.partition} cannot be moved within the broker"
    ),
    _D.DECLARED_OTHERWISE: lambda drift: (
        "the declaration of the cluster, its pools or the topics to move has changed"
    ),
}
