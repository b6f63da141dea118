"""External plans: made and approved in a Rebalance, executed by the cluster's own loop.

A loop executes one plan at a time, its own or an external one. An external plan uses the same
journal, stages and gates. More urgent work comes first:

    a recorded run of any plan
    heal and drain of the cluster's own plan, where they are allowed
    the external plan
    everything else of the own plan: migrations, replication factors, balance

Creations, configs and the like never wait for it. Once its run is recorded, the journal has the
plan: the run is resumed like any other, also when the Rebalance is gone.
"""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper.errors import RefusalReason
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import ExternalPlanState, ExternalPlanStatus, Outcome, Why
from poolkeeper.model.execution.refusals import Drift, DriftReason, Refusal
from poolkeeper.model.execution.runs import Ending, Run
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan, Urgency
from poolkeeper.model.specs import Throttle, ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.move_progress import ENDED_STATES, MoveState, classify
from poolkeeper.planning.run_state.throttling.throttles import ADAPTIVE_RISE_MAX
from poolkeeper.reconcile.observe.run_view import RunGuard


@frozen
class ExternalPlan:
    """A plan for one cluster; `plan` is `None` while it cannot be read.

    `declaration`: the `declaration` that it was planned for. `has_begun`: some of its moves may be
    done already, so that the cluster differs from the one it was planned for. `wait`: why no stage
    of it may start now; empty if one may. `withdrawn`: its Rebalance no longer wants it; a run of
    it ends after its stage in flight. `bytes_per_s`: the rate at which all brokers of the cluster
    together may receive its replicas; `offer`: its number, which grows with each other rate.
    `rate_known`: whether that is known; until then the throttle stays as it is.
    """

    hash: str
    plan: Plan | None = None
    declaration: str = ""
    has_begun: bool = False
    wait: Wait | None = None
    withdrawn: bool = False
    bytes_per_s: int | None = None
    offer: int = 0
    rate_known: bool = True

    def status(self, state: ExternalPlanState, *why: Why) -> ExternalPlanStatus:
        """Return the plan's state after a pass."""
        return ExternalPlanStatus(self.hash, state, why, self.offer)


def declaration(desired: Desired, plan: Plan) -> str:
    """The digest of the declared state that the plan depends on."""
    return plan_json.concern(desired, plan.moves, None, ())


def receivers(plan: Plan) -> int:
    """How many brokers take replicas, at least 1."""
    brokers = {b for move in plan.moves for b in set(move.target) - set(move.source)}
    return max(1, len(brokers))


def with_rate(desired: Desired, external: ExternalPlan) -> Desired:
    """The declared state with a throttle that keeps the external plan to its rate.

    A throttle applies to each broker. The rate is shared by the brokers that receive replicas. An
    adaptive throttle may rise to a multiple of its start. Where that would exceed the rate, it is
    fixed instead.
    """
    if external.bytes_per_s is None or external.plan is None:
        return desired
    share = max(1, external.bytes_per_s // receivers(external.plan))
    throttle = desired.cluster.execution.throttle
    known = throttle.mode is not ThrottleMode.NONE
    if (
        throttle.mode is ThrottleMode.ADAPTIVE
        and ADAPTIVE_RISE_MAX * throttle.rate_bytes_per_s <= share
    ):
        return desired
    rate = min(throttle.rate_bytes_per_s, share) if known else share
    return _with_throttle(desired, Throttle(ThrottleMode.FIXED, rate))


def desired_for_run(desired: Desired, run: Run, external: ExternalPlan | None) -> Desired:
    """The declared state; with the external plan's throttle if the run executes that plan.

    While the plan cannot be read, the throttle stays as it is.
    """
    if external is None or run.plan != external.hash:
        return desired
    if external.plan is None and external.bytes_per_s is not None and run.rates:
        return _with_throttle(desired, Throttle(ThrottleMode.FIXED, run.rates[0]))
    return with_rate(desired, external)


def _with_throttle(desired: Desired, throttle: Throttle) -> Desired:
    execution = replace(desired.cluster.execution, throttle=throttle)
    return replace(desired, cluster=replace(desired.cluster, execution=execution))


def guard_of(guard: RunGuard, run: Run, external: ExternalPlan | None) -> RunGuard:
    """The guard of a recorded run; an external plan can pause or end its own run."""
    if external is None or run.plan != external.hash:
        return guard
    if external.withdrawn:
        return replace(guard, still_applies=lambda run, plan, records: False)
    held = external.wait is not None
    return replace(
        guard,
        paused=guard.paused or held,
        rate_known=guard.rate_known and external.rate_known,
    )


def with_status(outcome: Outcome, run: Run, external: ExternalPlan | None) -> Outcome:
    """The outcome of a pass over a recorded run, with the state of the external plan."""
    if external is None:
        return outcome
    why = outcome.waits
    if run.plan != external.hash:
        state, why = ExternalPlanState.WAITING, (Wait(WaitReason.OWN_PLAN_RUNNING),)
    elif run.ending in (Ending.REPLACED, Ending.STOPPED, Ending.ROLLED_BACK):
        state, why = ExternalPlanState.WAITING, (Wait(WaitReason.RUN_ENDING, ending=run.ending),)
    else:
        state = ExternalPlanState.MOVING
        if external.wait is not None:
            others = (wait for wait in why if wait.reason is not WaitReason.PAUSED)
            why = (external.wait, *others)
    return replace(outcome, external=external.status(state, *why))


def status_before_run(
    external: ExternalPlan, desired: Desired, cluster: Cluster
) -> ExternalPlanStatus | None:
    """Why the external plan does not begin now, or None if it may; no run is recorded."""
    if external.withdrawn:
        return external.status(ExternalPlanState.DONE, Action(ActionKind.WITHDRAWN))
    if external.plan is None:
        return external.status(ExternalPlanState.WAITING, Wait(WaitReason.PLAN_BEING_READ))
    states = [each.state for each in classify(external.plan.moves, cluster)]
    stale = () if external.has_begun else step_progress.staleness(external.plan, cluster)
    if not stale and all(state in ENDED_STATES for state in states):
        return external.status(
            ExternalPlanState.DONE, *_moves_left_to_others(external.plan, states)
        )
    if declaration(desired, external.plan) != external.declaration:
        stale = (Drift(DriftReason.DECLARED_OTHERWISE),)
    if stale:
        refusal = Refusal(RefusalReason.STALE_PLAN, "the plan is outdated", stale)
        return external.status(ExternalPlanState.REFUSED, refusal)
    if external.wait is not None:
        return external.status(ExternalPlanState.WAITING, external.wait)
    return None


def has_urgent(plan: Plan) -> bool:
    """Whether a plan has moves that heal or drain."""
    return any(move.urgency <= Urgency.DRAIN for move in plan.moves)


def _moves_left_to_others(plan: Plan, states: Sequence[MoveState]) -> tuple[Action, ...]:
    named = tuple(
        move.name
        for move, state in zip(plan.moves, states, strict=True)
        if state in (MoveState.GONE, MoveState.DIVERGED)
    )
    return (Action(ActionKind.LEFT_TO_OTHERS, partitions=named),) if named else ()
