"""One cluster's part of a response, from what was observed of it; the same wherever it is made.

The plan is made of the whole cluster, as a loop does it. If only some pools are in scope, it keeps
only the moves whose partitions end up in them; moves of different pools never depend on each other.
The remaining moves are a plan only if the independent audit finds no violation; topics and pools
that it finds one of stay as they are, as in a loop.
"""

from collections.abc import Collection
from dataclasses import replace

from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.schedule.work import cut_of, work_of
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.lawful_plan import lawful_plan
from poolkeeper.planning.planner import Planner, make_plan
from poolkeeper.planning.proposals import identity
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import ClusterPlan, ClusterResponse
from poolkeeper.report.holdings import holdings


@frozen
class ObservedCluster:
    """What was observed of a cluster."""

    cluster: Cluster
    records: Records
    gone: frozenset[int]


def plan_cluster(
    cluster_request: ClusterRequest,
    observed: ObservedCluster,
    request: RebalanceRequest,
    plan: Planner = make_plan,
) -> ClusterResponse:
    """Plan one cluster; a fault of it, or of its plan, becomes its problem and is never raised."""
    desired, cluster = cluster_request.desired, observed.cluster
    known = cluster, observed.records, observed.gone

    def make(wanted: Desired) -> Plan:
        made, pools = plan(wanted, *known), cluster_request.pools
        return plan_of_pools(made, wanted, pools) if pools else made

    def judge(made: Plan, wanted: Desired) -> tuple[audit.Violation, ...]:
        return audit.check_plan(made, wanted, *known, fresh=True)

    try:
        made = lawful_plan(desired, make, judge).plan
    except PoolkeeperError as failed:
        return response_of_error(cluster_request, failed)
    work = None
    if request.budget is not None:
        execution = desired.cluster.execution
        held = holdings(made, desired, cluster, observed.records)
        site = request.sites.get(cluster_request.cluster, "")
        work = work_of(made, held, site, execution.windows, cut_of(execution))
    size = sum(len(topic.partitions) for topic in cluster.topics.values())
    return ClusterResponse(ClusterPlan(cluster_request.cluster, made, partitions=size), work)


def response_of_error(cluster_request: ClusterRequest, error: PoolkeeperError) -> ClusterResponse:
    """The part of a cluster that has no plan, with the reason."""
    return ClusterResponse(ClusterPlan(cluster_request.cluster, problem=error.line))


def plan_of_pools(plan: Plan, desired: Desired, pools: Collection[str]) -> Plan:
    """The part of the plan for these pools: a plan of its own, with its own hash and no steps."""
    pool_of = {broker: pool.name for pool in desired.pools for broker in pool.brokers}
    moves = tuple(move for move in plan.moves if _pool(move, pool_of) in pools)
    return replace(
        plan,
        hash=identity.plan_hash(moves, ()),
        steps=(),
        moves=moves,
        certificates=tuple(each for each in plan.certificates if each.pool in pools),
        stages=(),
        makespan=None,
        problems=tuple(each for each in plan.problems if each.pool in pools or not each.pool),
    )


def _pool(move: Move, pool_of: dict[int, str]) -> str:
    return next((pool_of[broker] for broker in move.target if broker in pool_of), "")
