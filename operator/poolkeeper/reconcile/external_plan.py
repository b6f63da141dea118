"""Plans that are offered to a cluster's loop: made and approved elsewhere, carried out by it.

A loop carries out one plan at a time, its own or an offered one. An offered plan goes through the
same journal, stages and gates as its own, and gives way to what is more urgent:

    a run that is recorded, whosever it is
    heal and drain of the cluster's own plan, where they may go
    the offered plan
    everything else of the own plan: migrations, replication factors, balance

Creations, configs and the like are never held up by it. Once a run of it is recorded, the journal
has the plan: it is resumed like any other, also where nobody offers it any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolkeeper.errors import RefusalReason
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import ExternalPlanState, ExternalPlanStatus, Outcome, Why
from poolkeeper.model.plans import Plan, Urgency
from poolkeeper.model.refusals import Drift, DriftReason, Refusal
from poolkeeper.model.runs import Ending, Run
from poolkeeper.model.specs import Desired, Throttle, ThrottleMode
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state import step_progress
from poolkeeper.planning.run_state.progress import MoveState, classify
from poolkeeper.planning.run_state.throttles import ADAPTIVE_RISE_MAX
from poolkeeper.reconcile.context import ENDED
from poolkeeper.reconcile.observation import RunGuard


@dataclass(frozen=True, slots=True)
class ExternalPlan:
    """A plan for one cluster; `None` while it cannot be read.

    `declared`: `declaration` of what it was planned for. `begun`: parts of it may be done, so that
    the cluster looks otherwise than it was planned for. `held`: why no stage of it may start now,
    if none may. `withdrawn`: nobody wants it any more; a run of it ends after its stage in
    flight. `bytes_per_s`: what all brokers of the cluster together may take in for it.
    """

    hash: str
    plan: Plan | None = None
    declared: str = ""
    begun: bool = False
    held: Wait | None = None
    withdrawn: bool = False
    bytes_per_s: int | None = None

    def status(self, state: ExternalPlanState, *why: Why) -> ExternalPlanStatus:
        """Return what became of it in a pass."""
        return ExternalPlanStatus(self.hash, state, why)


def declaration(desired: Desired, plan: Plan) -> str:
    """The digest of what is declared of a cluster as far as the plan depends on it."""
    return plan_json.concern(desired, plan.moves, None, ())


def with_rate(desired: Desired, external: ExternalPlan) -> Desired:
    """What is declared, with a throttle under which the external plan keeps to its rate.

    A throttle is of each broker; the rate is shared by those that take replicas in. An adaptive
    throttle may rise to a multiple of its start: where that is too much, it does not rise at all.
    """
    if external.bytes_per_s is None or external.plan is None:
        return desired
    receivers = {b for move in external.plan.moves for b in set(move.target) - set(move.source)}
    share = max(1, external.bytes_per_s // max(1, len(receivers)))
    throttle = desired.cluster.execution.throttle
    known = throttle.mode is not ThrottleMode.NONE
    if (
        throttle.mode is ThrottleMode.ADAPTIVE
        and ADAPTIVE_RISE_MAX * throttle.rate_bytes_per_s <= share
    ):
        return desired
    rate = min(throttle.rate_bytes_per_s, share) if known else share
    execution = replace(desired.cluster.execution, throttle=Throttle(ThrottleMode.FIXED, rate))
    return replace(desired, cluster=replace(desired.cluster, execution=execution))


def paced(desired: Desired, run: Run, external: ExternalPlan | None) -> Desired:
    """What is declared, with the throttle of the external plan if the run is one of it."""
    if external is None or run.plan != external.hash:
        return desired
    return with_rate(desired, external)


def guard_of(guard: RunGuard, run: Run, external: ExternalPlan | None) -> RunGuard:
    """The guard of a recorded run, if it is one of the external plan."""
    if external is None or run.plan != external.hash:
        return guard
    if external.withdrawn:
        return replace(guard, wanted=lambda run, plan: False)
    return replace(guard, paused=guard.paused or external.held is not None)


def with_status(outcome: Outcome, run: Run, external: ExternalPlan | None) -> Outcome:
    """The outcome of a pass over a recorded run, with what it means for the external plan."""
    if external is None:
        return outcome
    why = outcome.waits
    if run.plan != external.hash:
        state, why = ExternalPlanState.WAITING, (Wait(WaitReason.OWN_PLAN_RUNNING),)
    elif run.ending in (Ending.REPLACED, Ending.STOPPED):
        state, why = ExternalPlanState.WAITING, (Wait(WaitReason.RUN_ENDING, ending=run.ending),)
    else:
        state = ExternalPlanState.MOVING
        if external.held is not None:
            others = (wait for wait in why if wait.reason is not WaitReason.PAUSED)
            why = (external.held, *others)
    return replace(outcome, external=external.status(state, *why))


def readiness(
    external: ExternalPlan, desired: Desired, cluster: Cluster
) -> ExternalPlanStatus | None:
    """Why the external plan is not begun now; None if it may be. There is no run."""
    if external.withdrawn:
        return external.status(ExternalPlanState.DONE, Action(ActionKind.WITHDRAWN))
    if external.plan is None:
        return external.status(ExternalPlanState.WAITING, Wait(WaitReason.PLAN_BEING_READ))
    states = [each.state for each in classify(external.plan.moves, cluster)]
    stale = () if external.begun else step_progress.staleness(external.plan, cluster)
    if not stale and all(state in ENDED for state in states):
        return external.status(ExternalPlanState.DONE, *_left_alone(external.plan, states))
    if declaration(desired, external.plan) != external.declared:
        stale = (Drift(DriftReason.DECLARED_OTHERWISE),)
    if stale:
        refusal = Refusal(RefusalReason.STALE_PLAN, "the plan is of another time", stale)
        return external.status(ExternalPlanState.REFUSED, refusal)
    if external.held is not None:
        return external.status(ExternalPlanState.WAITING, external.held)
    return None


def has_urgent(plan: Plan) -> bool:
    """Whether a plan heals or drains."""
    return any(move.urgency <= Urgency.DRAIN for move in plan.moves)


def _left_alone(plan: Plan, states: Sequence[MoveState]) -> tuple[Action, ...]:
    named = tuple(
        TopicPartition(move.topic, move.partition)
        for move, state in zip(plan.moves, states, strict=True)
        if state in (MoveState.GONE, MoveState.DIVERGED)
    )
    return (Action(ActionKind.LEFT_TO_OTHERS, partitions=named),) if named else ()
