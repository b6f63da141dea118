"""The plan that there is of a cluster now: stored by a run or by an operator that asks, or made."""

from poolkeeper.cli.commands.plans import plan as planning
from poolkeeper.cli.input.clusters import cluster_reading, plan_observation, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.output.plans.plan_page import PlanSeen, PlanState
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.reconcile import adoption
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal, pending_plan, records


def current_plan(target: Target, words: tuple[str, ...] = (), *, forecast: bool = True) -> PlanSeen:
    """Read the plan that is stored, or make one; raises Unavailable and what `plan` raises.

    `words`: the options that name the manifests, for lines of a shell. `forecast`: whether a plan
    that is made gets its stages, which can take longer than the plan itself.
    """
    desired = target.desired
    with cluster_reading.session(target) as session:
        stored = _stored(session)
        if stored is not None or desired is None:
            state, found = stored or (PlanState.UNKNOWN, Plan(target.name, "", ""))
            cluster = cluster_reading.read_cluster(session, target).cluster
            wanted = desired or targets.empty_desired(target)
            return PlanSeen(state, found, wanted, cluster, words, records.read(session))
    return _made(target, desired, words, forecast=forecast)


def _stored(session: Session) -> tuple[PlanState, Plan] | None:
    recorded = journal.read_status(session)
    if recorded.document is not None:
        return PlanState.UNDER_WAY, recorded.document.plan
    waits = pending_plan.read_if_whole(session)
    return (PlanState.WAITS, waits) if waits is not None else None


def _made(target: Target, desired: Desired, words: tuple[str, ...], *, forecast: bool) -> PlanSeen:
    seen = plan_observation.observe_for_plan(target, desired).observed
    seen = adoption.with_approved_adoptions(desired, seen, desired.cluster.approval.plans)
    asked = cluster_reading.config_questions(target)
    made = planning.audited_plan(desired, seen, prune=False, refused=asked, forecast=forecast)
    made = planning.with_troubles(made, desired, seen)
    return PlanSeen(PlanState.MADE_NOW, made, desired, seen.cluster, words, seen.records)
