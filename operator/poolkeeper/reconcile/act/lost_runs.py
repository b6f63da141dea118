"""Takes up what a run requested whose record is lost.

How such a request is recognised: `planning.run_state.reassignments.lost_runs`.
"""

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result
from poolkeeper.model.execution.runs import (
    Ending,
    Health,
    Phase,
    Run,
    RunDocument,
    Saved,
    ThrottleValues,
)
from poolkeeper.model.execution.throttles import LeftThrottles
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.reassignments.lost_runs import LostRun
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.reconcile.context import PassContext, progress_outcome

TRY_AGAIN_MS = 60_000
_NOT_ALLOWED = "setting it is not allowed for this ZooKeeper identity"


def take_up(
    context: PassContext, name: str, lost: LostRun, health: Health, declared_rate: int
) -> Outcome:
    """Record a run of the moves in flight, which ends once these have arrived or are cancelled.

    It sets no throttles. Those of the lost run stay, as they are accounted for, until it has ended;
    only a rate that a cancelling had brought down is raised to the declared one.
    """
    record, moves = lost.record, lost.in_flight
    assert record is not None, "something of it is in flight"
    plan = Plan(name, plan_json.plan_hash(moves, ()), record.fingerprint, moves=moves)
    frozen = _frozen(context, record.plan)
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
        rates=(declared_rate, FROZEN_BYTES_PER_S) if frozen else (),
        declared_rate=declared_rate if frozen else 0,
    )
    context.trail.concern(record.plan, approved_by=record.approved_by)
    context.memory.forget_run()
    document = RunDocument(plan, Saved(brokers=frozen), health)
    run = context.access.resume_lost_run(run, document)
    taken = Action(ActionKind.RUN_TAKEN_UP, hash=record.plan, count=len(moves))
    return progress_outcome(context, run, plan, taken)


def take_off_throttles(context: PassContext, left: LeftThrottles) -> Result:
    """Restore what was before the throttles that runs of ours left; nothing of them goes on.

    What may not be written stays, and is the only wait. It is tried again after a while, or once
    somebody else has taken some of it off.
    """
    memory, now_ms = context.memory, context.now_ms()
    known = memory.stuck_throttles
    lasts = {*known.topics, *known.brokers} <= {*left.ours.topics, *left.ours.brokers}
    old = now_ms - memory.stuck_ms >= TRY_AGAIN_MS
    if left.recorded != known or old or not lasts:
        memory.stuck_throttles, memory.stuck_ms = context.access.take_off_throttles(left), now_ms
    context.access.forget_request()
    stuck = memory.stuck_throttles
    ours = {*left.ours.topics, *left.ours.brokers} - {*stuck.topics, *stuck.brokers}
    did = (Action(ActionKind.THROTTLES_TAKEN_OFF, count=len(ours)),) if ours else ()
    stays = Wait(
        WaitReason.THROTTLES_LEFT, topics=stuck.topics, brokers=stuck.brokers, detail=_NOT_ALLOWED
    )
    return Result(did, (stays,) if stuck else ())


def _frozen(context: PassContext, plan: str) -> dict[int, ThrottleValues]:
    """Return what was before on brokers whose rate a cancelling of that plan's moves lowered."""
    recorded = context.access.read_throttle_records().brokers
    return {
        id_: each.record.original
        for id_, each in recorded.items()
        if each.record.plan == plan and str(FROZEN_BYTES_PER_S) in each.record.ours.values()
    }
