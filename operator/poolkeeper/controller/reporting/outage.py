"""What statuses say while a cluster cannot be read.

The KafkaCluster reports an outage at once. Topics and ResourcePools report it only after
`OUTAGE_S`. Most outages last seconds: ZooKeeper restarts, a session is opened again, the session of
a dead leader expires. Thousands of Topics would change their status, and seconds later change it
back. Until `OUTAGE_S` has passed they are reported from the last outcome in which the cluster was
read. Without such an outcome the live status is left as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.conditions import condition_of

OUTAGE_S = 60.0


@dataclass(slots=True)
class Outages:
    """Of each cluster, the last outcome in which it was read and its time.

    A cluster that was never read has None, and the time since when it could not be read.
    """

    _last: dict[str, tuple[Outcome | None, float]] = field(default_factory=dict)

    def outcome_for_topics_and_pools(
        self, name: str, outcome: Outcome, now_s: float
    ) -> Outcome | None:
        """The outcome that Topics and ResourcePools report; None leaves their status as it is."""
        if outcome.last_observation is not None:
            self._last[name] = (outcome, now_s)
            return outcome
        last, at_s = self._last.setdefault(name, (None, now_s))
        return last if now_s - at_s < OUTAGE_S else outcome

    def forget(self, name: str) -> None:
        """Forget a cluster whose loop ended."""
        self._last.pop(name, None)

    def names(self) -> set[str]:
        """Return the clusters with a recorded outcome or outage."""
        return set(self._last)


def resources_with_current_status(assembly: Assembly) -> Mapping[ObjectKey, CustomResource]:
    """Return the resources whose live status may stay: it is of their current generation."""
    if assembly.hold:
        return {}
    return {
        key: each
        for key, each in assembly.objects.items()
        if each is not assembly.cluster
        and key not in assembly.verdicts
        and not each.deleting
        and condition_of(each.status, "Ready").get("observedGeneration") == each.generation
    }
