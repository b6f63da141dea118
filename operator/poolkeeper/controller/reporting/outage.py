"""What statuses say while a cluster cannot be read.

The KafkaCluster reports an outage at once. Topics and ResourcePools report it only after
`OUTAGE_S`. Most outages last seconds: ZooKeeper restarts, a session is opened again, the session of
a dead leader expires. Thousands of Topics would change their status, and seconds later change it
back. Until `OUTAGE_S` has passed they are reported from the last outcome in which the cluster was
read. Without such an outcome the live status is left as it is. What is new or edited in an outage
was part of no such pass, and reports the outage at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from poolkeeper.controller.reporting.pass_assembly import assembly_of_pass
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.conditions import condition_of

OUTAGE_S = 60.0


@frozen
class ReportedPass:
    """The outcome of a pass, and the assembly that it can report on."""

    assembly: Assembly
    outcome: Outcome


@dataclass(slots=True)
class Outages:
    """Of each cluster, the last pass in which it was read and its time.

    A cluster that was never read has None, and the time since when it could not be read.
    """

    _last: dict[str, tuple[ReportedPass | None, float]] = field(default_factory=dict)

    def pass_for_topics_and_pools(
        self, assembly: Assembly, outcome: Outcome, now_s: float
    ) -> ReportedPass | None:
        """The pass that Topics and ResourcePools report; None leaves their status as it is."""
        ended = ReportedPass(assembly, outcome)
        if outcome.last_observation is not None:
            self._last[assembly.name] = (ended, now_s)
            return ended
        last, at_s = self._last.setdefault(assembly.name, (None, now_s))
        if now_s - at_s >= OUTAGE_S:
            return ended
        if last is None:
            return None
        return replace(last, assembly=assembly_of_pass(last.assembly, assembly))

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
