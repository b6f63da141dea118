"""`poolkeeper apply`: plan, show, ask, drive.

A person confirms a plan with a hash, and exactly that plan is executed. A recorded run comes first.
If it is for what is declared now, it is resumed with its own plan. Any other run is ended after its
stage in flight before a new plan is made. While an operator is active nothing is executed here; the
approval is stored for the operator (`operator_approval`).
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import click

from poolkeeper import wording
from poolkeeper.cli.commands.plans import (
    chosen_plan,
    operator_approval,
    plan_output,
    reviewed_plan,
)
from poolkeeper.cli.commands.plans import plan as planning_command
from poolkeeper.cli.commands.plans.apply_result import ApplyResult, emit_document
from poolkeeper.cli.commands.plans.chosen_plan import ApplyOptions
from poolkeeper.cli.commands.plans.operator_approval import ApprovalProgress
from poolkeeper.cli.commands.plans.plan_output import Beside
from poolkeeper.cli.input import confirmation, interrupts, options
from poolkeeper.cli.input.clusters import cluster_reading, plan_observation, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import left_alone, left_undone, printing
from poolkeeper.cli.output.plans import plan_text
from poolkeeper.cli.output.runs import progress, what_stays
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.audit_notes import note_commits
from poolkeeper.controller.loops.drive import drive
from poolkeeper.errors import (
    DamagedNode,
    Refused,
)
from poolkeeper.load.refresh import LoadHistory
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import LoadSource, Mode
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments import requests, stalls
from poolkeeper.planning.run_state.reassignments.lost_runs import LostRun
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile import adoption
from poolkeeper.reconcile.observe.observation import Observation, observe_cluster
from poolkeeper.telemetry.audit import AuditTrail, Emit
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal.journal import JournalView

_STAYING = (
    WaitReason.TOPIC_DAMAGED,
    WaitReason.ISR_OUTSIDE_REPLICAS,
    WaitReason.CONTROLLER_EPOCH_BEHIND,
    WaitReason.DELETION_AWAITS_BROKERS,
)
"""What no pass of `apply` ends."""


@click.command()
@options.by_manifests
@click.option(
    "--plan",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Execute this plan, written by `plan --out`, if it still fits.",
)
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal.")
@click.option("--prune", is_flag=True, help="Also delete topics that are no longer declared.")
@options.audit_log()
@options.output()
def apply(
    address: ClusterSelection,
    file: Path | None,
    yes: bool,
    prune: bool,
    audit_log: Emit,
    output: str,
) -> int:
    """Carry a plan out stage by stage, throttled and verified, to its end.

    Shows the plan and asks first. May be killed at any point and started again: it resumes where it
    was. Refuses a plan made for another state of the cluster or the manifests, and refuses to run
    beside another executor; to an active operator (`poolkeeper run`) it hands the approval over.

    `spec.mode` says what is done without a person: this command carries out in PlanOnly too. In
    Paused and RollBack it is refused.

    Exit code 4: done as far as possible, yet the cluster is not as declared: what others moved is
    left alone, or the plan could not do everything; JSON says what (`undone`).

    Topics are deleted with --prune only, and only those whose last resource declared
    `deletionPolicy: Delete`; beside an active operator not at all.
    """
    if file is not None and prune:
        raise click.UsageError("--plan and --prune exclude each other: a plan says what it deletes")
    target = targets.target(address)
    desired = target.desired
    assert desired is not None, "this command takes manifests only"
    left_alone.tell(target.others)
    if desired.cluster.mode in (Mode.PAUSED, Mode.ROLL_BACK):
        raise Refused(
            f"KafkaCluster {target.name}: spec.mode is {desired.cluster.mode.value}, in which"
            " nothing is applied (expected Apply or PlanOnly; `poolkeeper rollback` cancels what is"
            " in flight)"
        )
    reviewed = None if file is None else reviewed_plan.read(file)  # before anything is connected to
    command = ApplyOptions(target, desired, file, reviewed, yes, prune, output, audit_log)
    with interrupts.raise_once() as check:
        return _apply(command, check)


def _apply(command: ApplyOptions, check: interrupts.Check) -> int:
    with cluster_reading.session(command.target) as session:
        enriching = cluster_reading.ClusterEnricher(command.target)
        now_ms = plan_observation.now_ms()
        before = journal.read_status(session)
        if before.run_damage is not None:
            raise DamagedNode(before.run_damage)
        view, stored = ZooKeeperView(session), before.stored
        with what_stays.report_after_errors(lambda: stored.run is not None):
            observed = observe_cluster(
                view, command.desired, now_ms, enriching, running=stored.running, saved=stored.saved
            )
        approved = command.desired.cluster.approval.plans
        observed = adoption.with_approved_adoptions(command.desired, observed, approved)
        asked = chosen_plan.plan_awaiting_approval(command.desired, session)
        plan, resumed = chosen_plan.choose_plan(command, observed, before, asked)
        beside_other = chosen_plan.is_refused_beside(before.holder, plan, resumed=resumed)
        if beside_other:
            chosen_plan.wait_for_other(session, before, plan)
    if beside_other:
        return _apply(command, check)
    printing.warn(
        (*map(str, before.damage), *map(str, observed.reading.notes), *enriching.warnings)
    )
    if plan is None:
        return _end_other_run(command, before, observed.lost_run, check)
    if plan.empty and not resumed:
        return _report_no_changes(command, observed, plan, before.holder)
    operator = (
        before.holder if before.holder and before.holder.what == chosen_plan.OPERATOR else None
    )
    if operator is not None and not resumed:
        operator_approval.require_done_by_operator(plan, asked, operator)
    if command.output == printing.TEXT:
        if command.reviewed is not None and command.yes:  # the plan in the file has been reviewed
            printing.emit(f"{plan.hash}\n{plan_text.summary(plan)}\n")
        else:
            waits = () if resumed else plan_observation.live_waits(observed, None, command.desired)
            waits += planning_command.stage_waits(plan, command.desired, observed)
            plan_output.show(plan, command.desired, observed, command.output, Beside(waits=waits))
            printing.emit("")
    again = "Type yes to go on with this plan" if resumed else "Type yes to apply this plan"
    confirmation.confirm(again, yes=command.yes)
    if operator is not None:
        return _hand_over(command, plan, operator, check)
    return _drive(command, plan, check, resumed=resumed)


def _end_other_run(
    command: ApplyOptions, before: JournalView, lost: LostRun, check: interrupts.Check
) -> int:
    """End a run that is for other manifests or was not recorded completely; then start again.

    `lost`: what goes on of a run whose record is lost.
    """
    if before.run is None or before.run.resumes:
        told = wording.sentences(lost.waits()) or ["what a lost run requested is ended first"]
        printing.warn(told)
        confirmation.confirm("Type yes to wait until it has ended", yes=command.yes)
    elif before.document is not None:
        printing.warn([f"run {before.run.plan} is for other manifests: it is ended first"])
        confirmation.confirm("Type yes to end it after its stage in flight", yes=command.yes)
    ends = what_stays.report_after_errors(lambda: True)
    with ends, progress.printer(_stream(command)) as printer:
        report = _with_interrupt_check(check, printer)
        connections = _connections(command.target)
        drive(connections, command.desired, None, report, emit=command.emit)
    return _apply(command, check)


def _report_no_changes(
    command: ApplyOptions, observed: Observation, plan: Plan, holder: Holder | None
) -> int:
    """Say that there is nothing to do; the records of owners and brokers are still updated.

    A stuck request is withdrawn first, where that is allowed; then throttles that a run left are
    taken off. Anything else that blocks moves is told and not waited for, with the throttles that
    it keeps in force: there is nothing to move.
    """
    waits = plan_observation.live_waits(observed, None, command.desired)
    closed = gates.foreign(observed.cluster, ()) or gates.controller(observed.cluster)
    known = requests.known_brokers(observed.cluster, observed.records.brokers)
    stuck = stalls.foreign_stall_of(observed.cluster, known) is not None
    staying: tuple[Wait, ...] = ()
    curable = stuck and command.desired.cluster.execution.remedies.remove_stale_requests
    if holder is None and (curable or not closed):
        with progress.printer(_stream(command)) as printer:
            connections = _connections(command.target)
            done = drive(connections, command.desired, plan, printer, emit=command.emit)
        staying = left_undone.throttles_left(done)
        waits = tuple(wait for wait in waits if wait.reason in _STAYING)
        observed = replace(observed, left=observed.left.staying)
    plan = planning_command.with_troubles(plan, command.desired, observed)
    throttled = (*left_throttles.waits_for_ours(observed.left), *staying)
    damage = left_undone.of_damage(left_throttles.waits(observed.left))
    undone = (
        *left_undone.of_waits((*waits, *throttled)),
        *left_undone.of_plan(plan),
        *damage,
    )
    if command.output == printing.JSON:
        emit_document(plan, Outcome(State.CONVERGED, waits=(*waits, *staying)), undone)
    else:
        waits = (*waits, *staying)
        plan_output.show(plan, command.desired, observed, command.output, Beside(waits=waits))
    return left_undone.EXIT_CODE if undone else 0


def _hand_over(command: ApplyOptions, plan: Plan, holder: Holder, check: interrupts.Check) -> int:
    """Leave the approval to the operator; carry the plan out here if the operator is gone."""
    trail = AuditTrail(command.emit, command.target.name, "apply")
    trail.concern(plan.hash)
    trail.begins()
    with cluster_reading.session(command.target) as session:
        found = operator_approval.leave_approval(session, plan.hash, note_commits(trail), check)
    if found is ApprovalProgress.OPERATOR_GONE:
        printing.warn([f"{holder} is gone: the plan is carried out here"])
        return _drive(command, plan, check)
    trail.note_decision("ApprovalHandedOver", f"approved, to be executed by {holder}")
    begun = found is ApprovalProgress.BEGUN
    if command.output == printing.JSON:
        document = {"plan": plan.hash, "state": "handed over", "holder": str(holder)}
        printing.emit_json(document | {"begun": begun})
    elif begun:
        printing.emit(f"approved {plan.hash}; it is executed by {holder}")
    else:
        printing.emit(f"approved {plan.hash}; {holder} has not begun it yet")
        printing.warn(["`poolkeeper status` tells what it waits for"])
    return 0


def _drive(
    command: ApplyOptions, plan: Plan, check: interrupts.Check, *, resumed: bool = False
) -> int:
    did: list[Action] = []
    in_mid_run = resumed
    try:
        ends = what_stays.report_after_errors(lambda: in_mid_run)
        with ends, progress.printer(_stream(command)) as printer:

            def keep(outcome: Outcome) -> None:
                nonlocal in_mid_run
                did.extend(outcome.did)
                if outcome.progress is not None or outcome.did:  # a pass, not an outage
                    in_mid_run = outcome.in_mid_run
                printer(outcome)

            report = _with_interrupt_check(check, keep)
            connections = _connections(command.target)
            outcome = drive(connections, command.desired, plan, report, emit=command.emit)
    except KeyboardInterrupt:
        printing.warn([what_stays.RUN_STAYS if in_mid_run else what_stays.NO_RUN_STAYS])
        raise
    result = ApplyResult.of(plan, outcome, did)
    result.tell(command.output)
    return result.exit_code


def _stream(command: ApplyOptions) -> TextIO:
    """The stream for progress: standard output, or standard error beside a JSON document."""
    return sys.stderr if command.output == printing.JSON else sys.stdout


def _with_interrupt_check(
    check: interrupts.Check, printer: Callable[[Outcome], None]
) -> Callable[[Outcome], None]:
    """Return the printer of a run that checks for an interrupt at every outcome."""

    def report(outcome: Outcome) -> None:
        check()
        printer(outcome)

    return report


def _connections(target: Target) -> ClusterConnections:
    def session() -> Session:
        return cluster_reading.open_session(target)

    declared = LoadSource() if target.desired is None else target.desired.cluster.load
    load = LoadHistory(lambda: declared)
    return ClusterConnections(session, lambda: cluster_reading.brokers(target), load)
