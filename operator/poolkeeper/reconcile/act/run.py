"""Carries out decisions about a run: its begin, its phases and stages.

Each function carries out one decision and returns what the pass did.
"""

from dataclasses import replace

from poolkeeper.errors import GrowingNodeTooLarge, TooLarge
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.runs import Phase, Run, RunDocument
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has, hold_up
from poolkeeper.model.plans import (
    Plan,
)
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.gates.disks import SeenDisks
from poolkeeper.planning.run_state.progress.move_progress import OPEN_STATES, classify
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile.act import (
    keep_throttles,
    log_dir_requests,
    return_moves,
    run_end,
    server_limits,
    stall_recovery,
)
from poolkeeper.reconcile.context import PassContext, lost_by_now, outcome_of, progress_outcome
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    CancelMoves,
    ChangeThrottle,
    DoNothing,
    Elect,
    ElectController,
    EndRun,
    EnterPhase,
    MoveLogDirs,
    RecordThrottled,
    RequestOrder,
    RequestStage,
    RunDecision,
    RunSituation,
    StopRun,
    Watch,
)
from poolkeeper.reconcile.observe.gone_brokers import log_dirs_to_rebuild
from poolkeeper.reconcile.observe.observation import Observation

_AT_WORK = (Phase.MOVING, Phase.COPYING)


def begin_run(
    context: PassContext, desired: Desired, plan: Plan, observed: Observation, approved_by: str
) -> Outcome:
    """Record a new run with its document; nothing else is written yet."""
    context.trail.concern(plan.hash, approved_by=approved_by)
    cluster = observed.cluster
    records, gone = observed.records, observed.gone
    left = [p.at if p.state in OPEN_STATES else None for p in classify(plan.moves, cluster)]
    plan = next_stage.with_stages(plan, cluster, desired, left, records=records, gone=gone)
    context.access.remember_stopped(None)
    throttled = desired.cluster.execution.throttle
    limited = throttled.mode is not ThrottleMode.NONE
    lists = throttles.throttled_lists(plan.moves) if limited else {}
    keys = throttles.keys_by_broker(plan) if limited else {}
    is_throttled, without = bool(lists or keys), context.memory.unwritable.keys()
    saved = context.access.read_throttles(
        [topic for topic in lists if topic not in without],
        {broker: each for broker, each in keys.items() if broker not in without},
    )
    document = RunDocument(plan, saved, gates.health(cluster))
    lost = log_dirs_to_rebuild(observed.records, desired, context.now_ms())
    run = Run(
        plan=plan.hash,
        fingerprint=plan.fingerprint,
        concern=plan_json.concern(desired, plan.moves, cluster.id, observed.gone, lost),
        phase=Phase.STORING,
        digest="",
        chunks=0,
        started_ms=context.now_ms(),
        rates=(throttled.rate_bytes_per_s,) if is_throttled else (),
        declared_rate=throttled.rate_bytes_per_s if is_throttled else 0,
        approved_by=approved_by,
    )
    context.memory.forget_run()
    context.memory.unwritable_ms = 0  # what is found in the run is asked about anew after its end
    context.memory.all_moves_seen = True  # none has begun
    run = context.access.begin_run(run, document)
    context.memory.documents = {run.digest: document}
    begun = Action(ActionKind.RUN_BEGUN, hash=run.plan, by=approved_by)
    return progress_outcome(context, run, plan, begun)


def discard_run(context: PassContext, run: Run) -> Outcome:
    """Remove a run whose document was not written completely: nothing of it was done."""
    context.access.end_run(run)
    return Outcome(State.PROGRESSED, did=(Action(ActionKind.RUN_DISCARDED),))


def apply_decision(context: PassContext, at: RunSituation, decision: RunDecision) -> Outcome:
    """Carry out a decision about a run."""
    run, plan = at.run, at.plan
    match decision:
        case DoNothing():
            return _wait(context, at, decision)
        case EnterPhase():
            _note_reported_stage(context, at, decision.found)
            return _enter_phase(context, run, plan, decision)
        case RecordThrottled():
            after = replace(run, throttled_ms=context.now_ms())
            return progress_outcome(context, context.access.rewrite_run(run, after), plan)
        case RequestStage():
            _note_reported_stage(context, at, decision.found)
            return _request_stage(context, at, decision)
        case ElectController():
            _note_reported_stage(context, at, decision.found)
            return stall_recovery.elect_another(context, at, decision.found)
        case BeginReturn() | CancelMoves() | RequestOrder() | StopRun():
            return return_moves.carry_out(context, at, decision)
        case Watch():
            return _watch_stage(context, at, decision)
        case MoveLogDirs():
            if decision.throttle is not None:
                changed = _change_throttle(context, run, at.document, decision.throttle)
                at = replace(at, run=changed)
            return log_dir_requests.carry_out(context, at, decision)
        case Elect():
            after = replace(run, attempts=run.attempts + 1)
            after = context.access.request_election_of_run(run, after, decision.partitions)
            requested = Action(ActionKind.ELECTION_REQUESTED, count=decision.due)
            return progress_outcome(context, after, plan, requested)
        case EndRun():
            return run_end.end(context, run, at.document)


def _wait(context: PassContext, at: RunSituation, decision: DoNothing) -> Outcome:
    _note_reported_stage(context, at, decision.found)
    if at.run.phase is Phase.MOVING and hold_up(decision.waits, copying=False):
        keep_throttles.release_arrived(context, at)
    return outcome_of(context, at.run, at.plan, Result(decision.found, decision.waits))


def _note_reported_stage(context: PassContext, at: RunSituation, found: tuple[Action, ...]) -> None:
    """Remember the stage whose end this pass reports, so that it is reported once."""
    for action in found:
        if action.kind is ActionKind.STAGE_FINISHED:
            context.memory.reported_stage = (at.run.stage, action.count)


def _enter_phase(context: PassContext, run: Run, plan: Plan, decision: EnterPhase) -> Outcome:
    """Enter a phase; between two requests the throttles may be written, which is no new attempt."""
    between = decision.phase is Phase.THROTTLING and run.phase is Phase.MOVING
    between = between and not decision.rates and not run.returning
    after = replace(
        run,
        phase=decision.phase,
        step=run.step if between else (),
        returning=(),
        attempts=run.attempts if between else 0,
        ending=decision.ending or run.ending,
    )
    if decision.rates:
        after = replace(after, rates=decision.rates, declared_rate=decision.rates[0])
    if decision.rates or decision.phase is Phase.THROTTLING:
        after = replace(after, throttled_ms=0)
    put_back = decision.phase is Phase.THROTTLING and run.phase in _AT_WORK and not decision.rates
    if put_back and len(run.rates) == 1:
        known = context.memory.throttles
        context.memory.throttles = replace(known, put_back=known.put_back + 1)
    return progress_outcome(
        context, context.access.rewrite_run(run, after, decision.balance), plan, *decision.found
    )


def _request_stage(context: PassContext, at: RunSituation, decision: RequestStage) -> Outcome:
    run, entries = at.run, decision.stage.entries
    after = replace(
        run,
        stage=run.stage + (decision.attempts == 1),
        step=entries,
        returning=(),
        requested_ms=context.now_ms(),
        attempts=decision.attempts,
        lost=lost_by_now(context, run, at.plan),
    )
    try:
        after = context.access.request_stage(run, after, at.plan, at.view.cluster)
    except TooLarge as large:
        if len(entries) == 1 and not isinstance(large, GrowingNodeTooLarge):
            raise
        # The servers' limit was lowered. The next pass looks for a smaller stage.
        server_limits.note_too_large(context, large)
        return progress_outcome(context, run, at.plan, *decision.found)
    context.memory.moves_in_flight = len(entries)
    context.memory.begun = set()
    names = {at.plan.moves[m].topic for m, _ in entries} & at.view.cluster.topics.keys()
    topics = [at.view.cluster.topics[name] for name in names]
    context.memory.requested_nodes = {t.name: (t.version, len(t.partitions)) for t in topics}
    context.memory.disks = SeenDisks()  # what is known is of the copies of an earlier stage
    context.memory.reported_stage = None
    again = decision.attempts if decision.attempts > 1 else 0
    requested = Action(
        ActionKind.STAGE_REQUESTED, stage=after.stage, count=len(entries), attempt=again
    )
    return progress_outcome(context, after, at.plan, *decision.found, requested)


def _watch_stage(context: PassContext, at: RunSituation, decision: Watch) -> Outcome:
    result = Result(waits=decision.waits)
    context.memory.unheard_since_ms = None  # nothing is cancelled
    if decision.stall is None:
        context.memory.stall = None
    else:
        assert at.view.reading is not None, "a request in flight was read"
        remedies = at.desired.cluster.execution.remedies
        result += stall_recovery.recover(
            context,
            at.view.reading,
            decision.stall,
            remedies,
            needs_remedy=decision.needs_remedy,
        )
    result += Result(waits=decision.late)
    run = at.run
    if decision.throttle is not None:
        run = _change_throttle(context, run, at.document, decision.throttle)
    if decision.check:
        if has(decision.waits, WaitReason.BROKER_NOT_LIVE):
            keep_throttles.release_arrived(context, at)
        topics = decision.check - context.memory.released
        result += keep_throttles.compare(context, at, topics, keep=decision.keep)
    return outcome_of(context, run, at.plan, result)


def _change_throttle(
    context: PassContext, run: Run, document: RunDocument, change: ChangeThrottle
) -> Run:
    if change.written:
        context.access.write_throttles(document, run.rates, topics=())
        known = context.memory.throttles
        context.memory.throttles = replace(known, changes=known.changes + 1)
    rates = run.rates if change.rates is None else change.rates
    declared = run.declared_rate if change.declared is None else change.declared
    after = replace(run, rates=rates, rate_reason=change.reason, declared_rate=declared)
    return run if after == run else context.access.rewrite_run(run, after)
