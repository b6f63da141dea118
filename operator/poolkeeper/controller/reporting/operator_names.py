"""Several releases at work on one Kubernetes: each writes the statuses of the same KafkaClusters.

Only one of them holds a Kafka cluster at a time, so that no data is in danger. But they overwrite
each other's statuses. Each says in `status.operator` who writes: a release that reads another name
where it wrote its own names both, and so does the other one, in the same words, until one of them
has been silent for `FORGET_S`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus

OPERATOR = "operator"
FORGET_S = 300.0
LAG_S = 15.0
NAMES_MAX = 5


@dataclass(slots=True)
class OperatorName:
    """The name of this release, "namespace/Lease", and the others seen, by KafkaCluster."""

    own: str
    _others: dict[str, dict[str, float]] = field(default_factory=dict)
    _began_s: dict[str, float] = field(default_factory=dict)

    def names(self, cluster: str, written: str, live: str, now_s: float) -> Sequence[str]:
        """Return who writes the status of this cluster, sorted.

        `written` is what we wrote last, `live` what a watch shows. Before we have written, and
        until a watch may be expected to show it, what is live is of an earlier leader.
        """
        others = self._others.setdefault(cluster, {})
        began_s = self._began_s.setdefault(cluster, now_s)
        for name, seen_s in list(others.items()):
            if now_s - seen_s >= FORGET_S:
                del others[name]
                self._began_s[cluster] = began_s = now_s
        if written and live and live != written and now_s - began_s >= LAG_S:
            for name in live.split(", ")[:NAMES_MAX]:
                if name != self.own:
                    others.setdefault(name, now_s)
        return sorted({self.own, *others})


def two_operators(names: Sequence[str]) -> ReadyCondition:
    """Return the condition of a KafkaCluster whose status several releases write."""
    message = (
        f"{len(names)} releases of Poolkeeper work here ({', '.join(names)}: namespace"
        " and Lease), and each writes this status: uninstall all but one (helm list -A)"
    )
    return ReadyCondition(ReadyStatus.STALLED, "TwoOperators", message)
