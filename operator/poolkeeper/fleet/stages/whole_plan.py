"""The plan of a cluster as `poolkeeper plan` tells it: with parts, stages and how long they take.

No tables have these: a plan is made without them, as few plans of a fleet are ever looked at. They
are made when one is shown, from the plan in the tables and what it was made from; nothing is
planned again, and the hash stays. A page has parts and no stages: to predict those of fifty large
plans would make a whole run a quarter longer. What counts of a cluster may be newer than its plan.
Where moves do not begin at the lists of its snapshot any more, nobody can tell how the plan would
go, and `PlanIsOld` is raised.
"""

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.lake import input_digest
from poolkeeper.fleet.lake.manifests import Manifest
from poolkeeper.fleet.stages.plan import PlanInput, PlanTask, plan_input_of
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.frozen import frozen
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.parts.split import Circumstances, with_parts
from poolkeeper.report import predicted


class PlanIsOld(Refused):
    """A plan was made from something else than what counts now."""


@frozen
class PlanSources:
    """What counts of a cluster, by which its plan is made or was made."""

    cluster: str
    manifest: Manifest | None
    snapshot: ClusterEntry | None
    features: ClusterEntry | None

    def digest(self, refused: str = "") -> str:
        """What the plan is made from; `refused`: why the cluster is not to be planned."""
        return input_digest(
            "plan",
            refused,
            self.manifest.digest if self.manifest else "",
            made_in(self.snapshot),
            made_in(self.features),
        )


@frozen
class WholePlan:
    """A plan with its parts and stages, and what it was made from."""

    plan: Plan
    made_from: PlanInput


def made_in(entry: ClusterEntry | None) -> str:
    """What names the rows of a cluster: rows of a run never change."""
    return f"{entry.run} {entry.status}" if entry else "none"


def whole_plan(
    plan: Plan, entry: ClusterEntry, sources: PlanSources, tables: Tables, *, staged: bool = True
) -> WholePlan:
    """The plan of that entry; raises `PlanIsOld`, or as `plan_input_of`.

    `staged`: with stages, and how long they take.
    """
    declared = sources.manifest.text if sources.manifest else ""
    task = PlanTask(sources.cluster, declared, sources.snapshot, sources.features)
    made_from = plan_input_of(task, tables)
    if entry.input != sources.digest() and not _begins_at(plan, made_from.cluster):
        raise PlanIsOld(
            "its plan is older than its snapshot (`poolkeeper fleet plan` makes it again)"
        )
    at = Circumstances(made_from.desired, made_from.cluster, made_from.records, made_from.gone)
    told = with_parts(plan, at)
    told = predicted.with_prediction(told, at) if staged else told
    return WholePlan(predicted.with_troubles(told, at), made_from)


def _begins_at(plan: Plan, cluster: Cluster) -> bool:
    """Whether each move begins at the list that the cluster has."""
    topics = {move.topic for move in plan.moves} & cluster.topics.keys()
    lists = {
        (name, each.partition): each.replicas
        for name in topics
        for each in cluster.topics[name].partitions
    }
    return all(lists.get((each.topic, each.partition)) == each.source for each in plan.moves)
