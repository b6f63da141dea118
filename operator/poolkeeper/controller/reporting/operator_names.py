"""Several releases at work on one Kubernetes: each would write the statuses of the same resources.

Only one of them holds a Kafka cluster at a time, so that no data is in danger. Each says in
`status.operator` of the KafkaCluster who writes. A release that reads another name than it said
names both, and so does the other one, in the same words. From then on only one of them writes the
other statuses (`may_write`), so that they do not go to and fro.

A name that was not heard of for `FORGET_S` is asked for: a release says its own name alone, and
whoever else is at work restores the list. A name is dropped when nobody did within `ANSWER_S`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Mode
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus

OPERATOR = "operator"
FORGET_S = 120.0
ANSWER_S = 60.0
LAG_S = 15.0
"""Within this time a watch shows what was written."""
OTHERS_MAX = 2
NAME_CHARS_MAX = 63 + 1 + 253


@frozen
class Writers:
    """The releases that are at work on a KafkaCluster, sorted, and what its status says of them.

    `is_news`: they are several, and were others before.
    """

    names: Sequence[str]
    said: str
    is_news: bool = False


@dataclass(slots=True)
class _Known:
    """What is known of one KafkaCluster: when each other release was last heard of."""

    said: str = ""
    said_s: float = 0.0
    asked_s: float | None = None
    heard_s: dict[str, float] = field(default_factory=dict)
    names: Sequence[str] = ()

    def hear(self, names: Collection[str], now_s: float) -> None:
        for name in sorted(names):
            if name in self.heard_s or len(self.heard_s) < OTHERS_MAX:
                self.heard_s[name[:NAME_CHARS_MAX]] = now_s

    def say(self, said: str, now_s: float) -> None:
        if said != self.said:
            self.said, self.said_s = said, now_s


@dataclass(slots=True)
class OperatorName:
    """The name of this release, "namespace/Lease", and the others by KafkaCluster."""

    own: str
    _known: dict[str, _Known] = field(default_factory=dict)

    def writers(self, cluster: str, live: str, now_s: float) -> Writers:
        """Return who works on this cluster. `live` is what its status says, as a watch shows it.

        Before this release has said anything, what is live is of an earlier leader.
        """
        known = self._known.setdefault(cluster, _Known())
        if known.said and live not in ("", known.said) and now_s - known.said_s >= LAG_S:
            known.asked_s = None
            known.hear(set(live.split(", ")) - {self.own}, now_s)
        silent = [name for name, at_s in known.heard_s.items() if now_s - at_s >= FORGET_S]
        if silent and known.asked_s is None:
            known.asked_s = now_s
        elif known.asked_s is not None and now_s - known.asked_s >= ANSWER_S:
            known.asked_s = None
            known.heard_s.clear()
        names = sorted({self.own, *known.heard_s})
        is_news = len(names) > 1 and names != known.names
        known.names = names
        known.say(self.own if known.asked_s is not None else ", ".join(names), now_s)
        return Writers(names, known.said, is_news)

    def may_write(self, writers: Writers, outcome: Outcome, mode: Mode | None) -> bool:
        """Whether this release writes more than its name: it holds the cluster, or nobody does."""
        if len(writers.names) == 1:
            return True
        if has(outcome.waits, WaitReason.EXECUTOR_ACTIVE):
            return False
        holds = outcome.last_observation is not None and mode is not Mode.PLAN_ONLY
        return holds or self.own == writers.names[0]

    def retain(self, clusters: Collection[str]) -> None:
        """Forget all KafkaClusters but these."""
        for name in set(self._known) - set(clusters):
            del self._known[name]


def two_operators(names: Sequence[str]) -> ReadyCondition:
    """Return the condition of a KafkaCluster on which several releases work."""
    message = (
        f"{len(names)} releases of Poolkeeper work here ({', '.join(names)}: namespace"
        " and Lease), and one of them at a time writes to Kafka: uninstall all but one"
        " (`helm list -A`)"
    )
    return ReadyCondition(ReadyStatus.STALLED, "TwoOperators", message)
