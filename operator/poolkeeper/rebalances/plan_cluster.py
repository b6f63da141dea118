"""One cluster's part of a response, from what was observed of it; the same wherever it is made.

The plan is made of the whole cluster, as a loop does it. If only some pools are in scope, it keeps
only the moves whose partitions end up in them; moves of different pools never depend on each other.
The remaining moves are a plan only if the independent audit finds no violation.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from poolkeeper.errors import InvalidInput, PoolkeeperError
from poolkeeper.fleet.schedule.work import cut_of, work_of
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.diagnosis import impossible_requests
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import identity
from poolkeeper.rebalances.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.response import ClusterResponse, Planned
from poolkeeper.report.holdings import holdings

Planner = Callable[[Desired, Cluster, Records, frozenset[int]], Plan]
"""Makes the plan that `make_plan` makes."""


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """What was observed of a cluster."""

    cluster: Cluster
    records: Records
    gone: frozenset[int]


def part_of(
    asked: ClusterRequest,
    seen: ObservedCluster,
    question: RebalanceRequest,
    plan: Planner = make_plan,
) -> ClusterResponse:
    """Plan one cluster; a fault of it, or of its plan, becomes its problem and is never raised."""
    desired, cluster = asked.desired, seen.cluster
    try:
        if wrong := impossible_requests.problems(desired, cluster, seen.records, seen.gone):
            raise InvalidInput(replace(each, file="", line=0) for each in wrong)
        made = plan(desired, cluster, seen.records, seen.gone)
        if asked.pools:
            made = scoped(made, desired, asked.pools)
        audit.enforce(made, desired, cluster, seen.records, seen.gone, fresh=True)
    except PoolkeeperError as failed:
        return problem_of(asked, failed)
    work = None
    if question.budget is not None:
        execution = desired.cluster.execution
        held = holdings(made, desired, cluster)
        site = question.sites.get(asked.cluster, "")
        work = work_of(made, held, site, execution.windows, cut_of(execution))
    size = sum(len(topic.partitions) for topic in cluster.topics.values())
    return ClusterResponse(Planned(asked.cluster, made, partitions=size), work)


def problem_of(asked: ClusterRequest, failed: PoolkeeperError) -> ClusterResponse:
    """The part of a cluster that has no plan, with the reason."""
    return ClusterResponse(Planned(asked.cluster, problem=failed.line))


def scoped(plan: Plan, desired: Desired, pools: Collection[str]) -> Plan:
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
