"""Takes up what a run requested whose record is lost.

How such a request is recognised: `planning.run_state.reassignments.lost_runs`.
"""

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Ending, Health, Phase, Run, RunDocument, Saved
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.reassignments.lost_runs import LostRun
from poolkeeper.reconcile.context import PassContext, progress_outcome


def take_up(context: PassContext, name: str, lost: LostRun, health: Health) -> Outcome:
    """Record a run of the moves in flight, which ends once these have arrived or are cancelled.

    It sets no throttles. Those of the lost run stay, as they are accounted for, until it has ended.
    """
    record, moves = lost.record, lost.in_flight
    assert record is not None, "something of it is in flight"
    plan = Plan(name, plan_json.plan_hash(moves, ()), record.fingerprint, moves=moves)
    now_ms = context.now_ms()
    run = Run(
        plan=plan.hash,
        fingerprint=record.fingerprint,
        concern="",
        phase=Phase.MOVING,
        digest="",
        chunks=0,
        started_ms=now_ms,
        stage=1,
        step=tuple((m, 1) for m in range(len(moves))),
        requested_ms=now_ms,
        ending=Ending.REPLACED,
        approved_by=record.approved_by,
        resumes=record.plan,
    )
    context.trail.concern(record.plan, approved_by=record.approved_by)
    context.memory.forget_run()
    run = context.access.resume_lost_run(run, RunDocument(plan, Saved(), health))
    taken = Action(ActionKind.RUN_TAKEN_UP, hash=record.plan, count=len(moves))
    return progress_outcome(context, run, plan, taken)
