"""While a cluster cannot be looked at, its KafkaCluster says so at once; the rest waits a while.

Most outages last seconds: a ZooKeeper that restarts, a session that is opened anew, the time until
that of a dead leader has ended. Thousands of Topics that say so, and seconds later say again what
they said before, are of no use to anybody. So for `OUTAGE_S` they are told of by the last outcome
in which the cluster was seen; where none was, a status that somebody else wrote stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.outcomes import Outcome
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.conditions import condition_of

OUTAGE_S = 60.0


@dataclass(slots=True)
class Outages:
    """By cluster: the last outcome in which it was seen, and when; or since when it never was."""

    _last: dict[str, tuple[Outcome | None, float]] = field(default_factory=dict)

    def outcome_for_the_rest(self, name: str, outcome: Outcome, now_s: float) -> Outcome | None:
        """Return what all but the KafkaCluster are to tell of; None: what they say may stand."""
        if outcome.seen is not None:
            self._last[name] = (outcome, now_s)
            return outcome
        last, at_s = self._last.setdefault(name, (None, now_s))
        return last if now_s - at_s < OUTAGE_S else outcome

    def forget(self, name: str) -> None:
        """Forget a cluster whose loop ended."""
        self._last.pop(name, None)

    def names(self) -> set[str]:
        """Return the clusters that are known."""
        return set(self._last)


def standing(assembly: Assembly) -> Mapping[ObjectKey, CustomResource]:
    """Return the resources whose status may stand: it is of what they declare now."""
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
