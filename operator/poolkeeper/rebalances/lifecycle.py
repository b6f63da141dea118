"""The lifecycle of a Rebalance: its next state, from what is declared and what loops report. Pure.

The hash that a person approves names the plans of all clusters. Waves are those of the budget. A
cluster gets its turn when two things hold: all clusters of earlier waves have ended or cannot move
at present, and fewer than `clustersAtOnce` are moving. So a cluster in mode PlanOnly does not keep
all others waiting, and comes first again as soon as it can move.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    Outcome,
    Progress,
    Why,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.model.rebalances import (
    ClusterRebalance,
    PartState,
    RebalanceSpec,
    RebalanceState,
    RebalanceStep,
)
from poolkeeper.model.specs import ApprovalPolicy, Mode
from poolkeeper.rebalances.planning.response import ClusterPlan, RebalanceResponse
from poolkeeper.rebalances.scope import RebalanceScope
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.status.wording import coarse


def with_plans(
    rebalance_state: RebalanceState, scope: RebalanceScope, response: RebalanceResponse, record: str
) -> RebalanceState:
    """The state after the response arrived; `record` names what is kept of it."""
    waves = response.waves
    turns = () if waves is None else waves.turns
    wave_of: dict[str, int] = {}
    for turn in turns:
        wave_of[turn.cluster] = min(turn.wave, wave_of.get(turn.cluster, turn.wave))
    left_out = {} if waves is None else {each.cluster: each.reason for each in waves.left_out}
    parts = [_part(each, wave_of, left_out) for each in response.clusters]
    seconds = 0 if waves is None else -(-waves.makespan_ms // 1000)
    return replace(
        rebalance_state,
        step=RebalanceStep.WAITING_FOR_APPROVAL,
        hash=_hash(parts),
        record=record,
        waves=0 if waves is None else waves.waves,
        seconds=seconds,
        parts=tuple(sorted([*parts, *scope.unplanned], key=lambda part: part.cluster)),
    )


def _part(
    cluster_plan: ClusterPlan, wave_of: Mapping[str, int], left_out: Mapping[str, str]
) -> ClusterRebalance:
    if cluster_plan.plan is None:
        return ClusterRebalance(
            cluster_plan.cluster, PartState.FAILED, message=f"not planned: {cluster_plan.problem}"
        )
    if not cluster_plan.moves:
        return ClusterRebalance(cluster_plan.cluster, PartState.IN_PLACE)
    part = ClusterRebalance(
        cluster_plan.cluster,
        hash=cluster_plan.plan.hash,
        moves=cluster_plan.moves,
        bytes=cluster_plan.bytes,
    )
    if cluster_plan.cluster not in wave_of and cluster_plan.cluster in left_out:
        message = f"not in the budget: {left_out[cluster_plan.cluster]}"
        return replace(part, state=PartState.FAILED, hash="", message=message)
    return replace(part, wave=wave_of.get(cluster_plan.cluster, 1))


def _hash(parts: Iterable[ClusterRebalance]) -> str:
    """`sha256:` and the digest of cluster and plan of all that moves; empty if nothing does."""
    named = sorted([part.cluster, part.hash] for part in parts if part.hash)
    text = canonical(named)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if named else ""


def is_approved(spec: RebalanceSpec, rebalance_state: RebalanceState) -> bool:
    """Whether the plans may be carried out; plans that move nothing need no approval."""
    approval = spec.approval
    automatic = approval.policy is ApprovalPolicy.AUTO
    return automatic or not rebalance_state.hash or rebalance_state.hash in approval.plans


@frozen
class KnownCluster:
    """What is known of a cluster now.

    `assembly`: `None` if no such KafkaCluster is there. `abandoned`: why it may be missing although
    nobody deleted it, or empty. `first`: the Rebalance that has its turn in this cluster before.
    """

    assembly: Assembly | None = None
    outcome: Outcome | None = None
    first: str = ""
    abandoned: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether the KafkaCluster was deleted."""
        return not self.abandoned and (self.assembly is None or self.assembly.cluster is None)

    def obstacle(self, cluster: str) -> Wait | None:
        """Why nothing can begin in the cluster at present; `None` if it can."""
        assembly, outcome = self.assembly, self.outcome
        if self.is_gone:
            return Wait(WaitReason.CLUSTER_MISSING, name=cluster)
        if assembly is None or assembly.cluster is None:
            return Wait(WaitReason.DECLARATION_HELD, detail=self.abandoned)
        if assembly.desired is None:
            return Wait(WaitReason.DECLARATION_HELD, detail=assembly.hold)
        mode = assembly.desired.cluster.mode
        if mode is not Mode.APPLY:
            return Wait(WaitReason.MODE_NOT_APPLY, name=cluster, mode=mode)
        if self.first:
            return Wait(WaitReason.OTHER_REBALANCE_FIRST, name=self.first)
        if outcome is None:
            return Wait(WaitReason.NOT_OBSERVED_YET)
        return None if outcome.error is None else after_error(outcome.error)

    @property
    def why(self) -> tuple[Why, ...]:
        """What its loop waits for; with the offered plan, if one is offered."""
        if self.outcome is None:
            return ()
        status = self.outcome.external
        return self.outcome.waits if status is None else status.why

    def progress_of(self, plan: str) -> Progress | None:
        """How far a run of this plan is; `None` if none is under way."""
        progress = None if self.outcome is None else self.outcome.progress
        return progress if progress is not None and progress.plan == plan else None

    def is_copying(self, plan: str) -> bool:
        """Whether something of a run of this plan is in flight, as far as is known."""
        progress = self.progress_of(plan)
        return progress is not None and progress.moves_in_flight > 0

    def status_of(self, plan: str) -> ExternalPlanStatus | None:
        """The state of this plan since it was offered; `None` if its loop has not seen it."""
        status = None if self.outcome is None else self.outcome.external
        return status if status is not None and status.plan == plan else None


def known_clusters(
    rebalance_state: RebalanceState,
    assemblies: Mapping[str, Assembly],
    outcome_of: Callable[[str], Outcome | None],
    rebalance_of: Mapping[str, str],
    abandoned: str = "",
) -> Mapping[str, KnownCluster]:
    """What is known of each cluster; `rebalance_of`: which Rebalance has its turn in it.

    `abandoned`: why resources may be missing that nobody deleted, or empty.
    """
    names = [part.cluster for part in rebalance_state.parts]
    return {
        name: KnownCluster(
            assemblies.get(name), outcome_of(name), rebalance_of.get(name, ""), abandoned
        )
        for name in names
    }


def with_outcomes(
    rebalance_state: RebalanceState, views: Mapping[str, KnownCluster], due: Collection[str]
) -> RebalanceState:
    """The state updated with what is known of the clusters; `due`: those whose turn it is."""
    parts = tuple(
        _part_with_outcome(part, views[part.cluster], part.cluster in due)
        for part in rebalance_state.parts
    )
    return replace(rebalance_state, parts=parts)


def _part_with_outcome(part: ClusterRebalance, view: KnownCluster, due: bool) -> ClusterRebalance:
    if part.state.is_final:
        return part
    if view.is_gone:
        message = f"KafkaCluster {part.cluster} does not exist any more"
        return replace(part, state=PartState.FAILED, message=message, why=())
    if view.outcome is None and view.assembly is not None and view.assembly.desired is not None:
        return part  # a new leader has not looked at it yet
    obstacle = view.obstacle(part.cluster)
    progress = view.progress_of(part.hash)
    if progress is not None:
        part = replace(
            part,
            moves_done=coarse(progress.moves_done, part.moves),
            bytes_done=coarse(progress.bytes_done, part.bytes),
            begun=True,
        )
    if obstacle is not None:
        return _part_in_state(part, PartState.WAITING, (obstacle,))
    if progress is not None:
        return _moving_part(part, view.why)
    status = view.status_of(part.hash)
    return (
        _unreported_part(part, view.outcome, due)
        if status is None
        else _part_with_status(part, status)
    )


def _unreported_part(
    part: ClusterRebalance, outcome: Outcome | None, due: bool
) -> ClusterRebalance:
    """A cluster whose loop has not reported on its plan yet.

    What the loop reported before the plan was offered concerns something else.
    """
    told = outcome is not None and (part.has_begun or (due and outcome.last_observation is None))
    state = part.state if part.has_begun else PartState.PLANNED
    return _part_in_state(part, state, outcome.waits if outcome is not None and told else ())


def _part_with_status(part: ClusterRebalance, status: ExternalPlanStatus) -> ClusterRebalance:
    match status.state:
        case ExternalPlanState.DONE:
            done = replace(part, moves_done=part.moves, bytes_done=part.bytes)
            return _part_in_state(done, PartState.DONE, status.why)
        case ExternalPlanState.REFUSED:
            return _part_in_state(part, PartState.FAILED, status.why)
        case ExternalPlanState.MOVING:
            return _part_in_state(part, PartState.MOVING)
        case ExternalPlanState.WAITING:
            return _part_in_state(part, PartState.WAITING, status.why)


def _moving_part(part: ClusterRebalance, found: Iterable[Why]) -> ClusterRebalance:
    """Of the waits only those that are more than the progress of the stage."""
    own = (WaitReason.STAGE_IN_FLIGHT, WaitReason.STAGE_DEADLINE, WaitReason.THROTTLE_SETTLING)
    why = tuple(w for w in found if not (isinstance(w, Wait) and w.reason in own))
    return _part_in_state(part, PartState.MOVING, why)


def _part_in_state(
    part: ClusterRebalance, state: PartState, why: tuple[Why, ...] = ()
) -> ClusterRebalance:
    return replace(part, state=state, message="", why=why)


def clusters_due(
    rebalance_state: RebalanceState, spec: RebalanceSpec, views: Mapping[str, KnownCluster]
) -> frozenset[str]:
    """The clusters whose turn it is, including those that are moving.

    A cluster that cannot go on, and has a stage in flight, counts until that has ended.
    """
    open_ = sorted(
        (part for part in rebalance_state.parts if not part.state.is_final),
        key=lambda part: (not part.has_begun, part.wave, part.cluster),
    )
    able = [part for part in open_ if views[part.cluster].obstacle(part.cluster) is None]
    wave = min((part.wave for part in able), default=0)
    turn = [part.cluster for part in able if part.has_begun or part.wave == wave]
    copying = sum(part not in able and views[part.cluster].is_copying(part.hash) for part in open_)
    limit = spec.budget.clusters_at_once or len(rebalance_state.parts)
    return frozenset(turn[: max(0, limit - copying)])


def with_end(rebalance_state: RebalanceState, now_ms: int) -> RebalanceState:
    """The state, ended if nothing is left to do."""
    if not all(part.state.is_final for part in rebalance_state.parts):
        return rebalance_state
    step = RebalanceStep.FAILED if rebalance_state.failed else RebalanceStep.SUCCEEDED
    return replace(rebalance_state, step=step, ended_ms=now_ms)


def without_record(rebalance_state: RebalanceState) -> RebalanceState:
    """The state if the plans cannot be read any more: runs that have begun continue."""
    message = "the record of the plans is gone, or was changed by somebody"
    parts = tuple(
        part
        if part.state.is_final
        else replace(_part_in_state(part, PartState.FAILED), message=message)
        for part in rebalance_state.parts
    )
    return replace(rebalance_state, parts=parts)
