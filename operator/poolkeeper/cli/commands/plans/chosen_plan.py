"""Which plan `apply` carries out: that of the run under way, of the file, or one that it makes.

Where an operator asks about a plan, only that plan would be approved. Beside another executor
nothing is carried out and no run is ended.
"""

from pathlib import Path

from poolkeeper.cli.commands.plans import plan as planning_command
from poolkeeper.cli.commands.plans import reviewed_plan
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.controller.loops.open_pass import PATIENCE_S
from poolkeeper.errors import HolderActive, Refused, StalePlan
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.planning.proposals import plan_json
from poolkeeper.reconcile import plan_to_approve
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.pass_memory import PendingPlan
from poolkeeper.telemetry import audit as audit_trail
from poolkeeper.telemetry.audit import Emit
from poolkeeper.zk import fencing
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import pending_plan
from poolkeeper.zk.journal.journal import JournalView

OPERATOR = "run"
"""What an operator says of itself in the journal."""


@frozen
class ApplyOptions:
    """The options of the command; `reviewed`: the plan in the file, if there is one."""

    target: Target
    desired: Desired
    file: Path | None
    reviewed: Plan | None
    yes: bool
    prune: bool
    output: str
    emit: Emit = audit_trail.discard


def is_refused_beside(holder: Holder | None, plan: Plan | None, *, resumed: bool) -> bool:
    """Whether what comes next is refused beside `holder`: to carry `plan` out, or to end a run.

    Beside an operator a plan is approved, and the operator carries it out.
    """
    if holder is None:
        return False
    if plan is None:
        return True
    return holder.what != OPERATOR and (resumed or not plan.empty)


def wait_for_other(session: Session, before: JournalView, plan: Plan | None) -> None:
    """Wait until the other executor is gone; raise `HolderActive` if it stays.

    A process that was killed holds the journal until its session ends. While another one works,
    nothing is shown and nobody is asked about what would be refused.
    """
    try:
        fencing.wait_until_released(session, PATIENCE_S)
    except HolderActive as active:
        run = before.run
        if plan is not None or run is None or run.resumes:
            raise
        raise HolderActive(
            f"{active.holder}: it carries out {run.plan}, a plan for other manifests: give it these"
            " manifests, or end it first",
            active.session,
        ) from None


def plan_awaiting_approval(desired: Desired, session: Session) -> Plan | None:
    """Return the plan whose approval an operator waits for, if there is one.

    Under Auto it is None: a stored plan may be left from before, and needs no approval.
    """
    auto = desired.cluster.approval.policy is ApprovalPolicy.AUTO
    return None if auto else pending_plan.read_if_whole(session)


def choose_plan(
    command: ApplyOptions, observed: Observation, before: JournalView, operator_plan: Plan | None
) -> tuple[Plan | None, bool]:
    """Return the plan to execute and whether it is under way already; None: end a run first.

    `operator_plan` is the plan that an operator asks about: only that plan would be approved.
    """
    wanted = plan_json.fingerprint(
        command.desired,
        observed.records.cluster_id,
        observed.gone,
        plan_json.lost_log_dirs(observed.cluster),
    )
    if before.run is not None:
        stored = before.document.plan if before.document else None
        if stored is None or before.run.fingerprint != wanted or before.run.resumes:
            return None, False
        if command.reviewed is not None and command.reviewed.hash != stored.hash:
            raise Refused(f"another plan is under way: {stored.hash}")
        return stored, True
    if observed.lost_run.in_flight:
        return None, False
    if command.reviewed is None:
        asking = cluster_reading.config_questions(command.target)
        plan = planning_command.audited_plan(
            command.desired, observed, prune=command.prune, refused=asking
        )
        return plan_to_approve.renew(
            PendingPlan(operator_plan), plan, command.desired, observed
        ), False
    plan = command.reviewed
    reviewed_plan.require_fit(plan, str(command.file), command.desired, observed, wanted)
    by_operator = before.holder is not None and before.holder.what == OPERATOR
    if by_operator and operator_plan is not None and operator_plan.hash != plan.hash:
        raise StalePlan(
            f"the active operator asks about another plan, {operator_plan.hash}:"
            f" `poolkeeper show {operator_plan.hash}` shows it; approve that one"
        )
    return plan, False
