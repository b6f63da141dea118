"""Carries out decisions: every write of a pass is here, or in a function called from here.

Each function carries out one decision and returns the actions done. `complete_view` serves
decisions that need more input. It also writes throttles: only then does it show whose throttles are
in force.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from poolkeeper.errors import Refused, Stale
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind, Deletion
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.runs import Ending, Phase, Run, RunDocument
from poolkeeper.model.execution.throttles import LeftThrottles
from poolkeeper.model.execution.waits import after_error
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.problem.topic_rights import namespaces_of_doomed
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.gates.disks import SeenDisks
from poolkeeper.planning.run_state.progress.copied_bytes import bytes_done
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyState, copies_of
from poolkeeper.planning.run_state.progress.move_progress import MoveState, classify
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile import plan_to_approve, rate_signals
from poolkeeper.reconcile.act import (
    keep_throttles,
    log_dir_requests,
    return_moves,
    stall_recovery,
    unwritable_configs,
)
from poolkeeper.reconcile.context import PassContext, outcome_of, progress_outcome
from poolkeeper.reconcile.decide import run as runs
from poolkeeper.reconcile.decide import steps
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    CancelMoves,
    ChangeThrottle,
    CheckThrottles,
    DoNothing,
    Elect,
    ElectController,
    EndRun,
    EnterPhase,
    MissingInput,
    MoveLogDirs,
    NeededInput,
    RecordThrottled,
    RequestOrder,
    RequestStage,
    RunDecision,
    RunSituation,
    Watch,
)
from poolkeeper.reconcile.decide.steps import WriteSteps
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers, lost_log_dirs, updated_records
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.observe.run_view import RunGuard, RunView, find_ending, look_at_copies

READ_GONE_EVERY_MS = 5_000
TOGETHER_MAX = 100
"""Creations and configs that are sent without waiting for each other's answers."""
_AT_WORK = (Phase.MOVING, Phase.COPYING)

# Steps


def write_steps(
    context: PassContext,
    desired: Desired,
    cluster: Cluster,
    decision: WriteSteps,
    *,
    by_person: bool = False,
) -> Result:
    """Write steps, each in its own transaction.

    A step that cannot be written keeps no other from being written; of a person's plan all have to
    be: there the error is raised. A config that is refused is left out of both.
    """
    due, refused = unwritable_configs.judged(context, desired, cluster, decision.steps)
    did: list[Action] = []
    waits = [*decision.waits, *(() if by_person else refused)]
    for together in _together(due, 1 if by_person else TOGETHER_MAX):
        errors = _write_together(context, desired, cluster, together)
        for step, error in zip(together, errors, strict=True):
            if error is None:
                did.append(steps.action_of(step))
            elif by_person:
                raise error
            else:
                waits.append(after_error(error))
    return Result(tuple(did), tuple(waits))


def _together(due: Iterable[Step], most: int) -> Iterator[list[Step]]:
    """Yield the steps in their order, in lists of those whose writes are sent together."""
    together: list[Step] = []
    for step in due:
        is_of_topic = isinstance(step, CreateTopic | SetConfig)
        if together and (not is_of_topic or len(together) == most):
            yield together
            together = []
        if is_of_topic:
            together.append(step)
        else:
            yield [step]
    if together:
        yield together


def _write_together(
    context: PassContext, desired: Desired, cluster: Cluster, together: Sequence[Step]
) -> Sequence[Refused | Stale | None]:
    """Write a list of `_together`; return of each step why it was not written, or None."""
    of_topics = [each for each in together if isinstance(each, CreateTopic | SetConfig)]
    if of_topics:
        records = steps.records_for(desired, cluster, of_topics)
        return context.access.write_topics(list(zip(of_topics, records, strict=True)))
    try:
        _write_step(context, cluster, desired, together[0])
    except (Refused, Stale) as error:
        return [error]
    return [None]


def _write_step(context: PassContext, cluster: Cluster, desired: Desired, step: Step) -> None:
    access, memory = context.access, context.memory
    match step:
        case AddPartitions():
            access.add_partitions(step)
        case DeleteTopic():
            access.delete_topic(step, cluster)
            namespace = namespaces_of_doomed(desired).get(step.topic, "")
            memory.deletions.append(Deletion(context.now_ms(), namespace))
        case ElectLeaders():
            partitions = tuple(TopicPartition(*each) for each in step.partitions)
            memory.elections.update(partitions)
            access.request_election(partitions)
        case _:
            raise Refused(f"{type(step).__name__} is no step that is written by itself")


def clear_after_lost_run(context: PassContext, left: LeftThrottles) -> Result:
    """Restore what was before the throttles that runs of ours left; nothing of them goes on."""
    context.access.take_off_throttles(left)
    context.access.forget_request()
    count = len(left.ours)
    return Result((Action(ActionKind.THROTTLES_TAKEN_OFF, count=count),) if count else ())


# Runs


def begin_run(
    context: PassContext, desired: Desired, plan: Plan, observed: Observation, approved_by: str
) -> Outcome:
    """Record a new run with its document; nothing else is written yet."""
    context.trail.concern(plan.hash, approved_by=approved_by)
    cluster = observed.cluster
    plan = next_stage.with_stages(plan, cluster, desired, gone=observed.gone)
    context.access.remember_stopped(None)
    throttled = desired.cluster.execution.throttle
    limited = throttled.mode is not ThrottleMode.NONE
    lists = throttles.lists_of(plan.moves) if limited else {}
    saved = context.access.read_throttles(lists, throttles.keys_by_broker(plan) if limited else {})
    document = RunDocument(plan, saved, gates.health(cluster))
    lost = lost_log_dirs(observed.records, desired, context.now_ms())
    run = Run(
        plan=plan.hash,
        fingerprint=plan.fingerprint,
        concern=plan_json.concern(desired, plan.moves, cluster.id, observed.gone, lost),
        phase=Phase.STORING,
        digest="",
        chunks=0,
        started_ms=context.now_ms(),
        rates=(throttled.rate_bytes_per_s,) if document.throttled else (),
        declared_rate=throttled.rate_bytes_per_s if document.throttled else 0,
        approved_by=approved_by,
    )
    context.memory.forget_run()
    run = context.access.begin_run(run, document)
    context.memory.documents = {run.digest: document}
    begun = Action(ActionKind.RUN_BEGUN, hash=run.plan, by=approved_by)
    return progress_outcome(context, run, plan, begun)


def discard_run(context: PassContext, run: Run) -> Outcome:
    """Remove a run whose document was not written completely: nothing of it was done."""
    context.access.end_run(run)
    return Outcome(State.PROGRESSED, did=(Action(ActionKind.RUN_DISCARDED),))


def complete_view(
    context: PassContext, at: RunSituation, guard: RunGuard, needed_input: NeededInput
) -> RunView:
    """Return the view of the run, extended by what a decision needs."""
    run, document, view = at.run, at.document, at.view
    match needed_input:
        case MissingInput.ENDING:
            return replace(view, ending_read=True, ending=find_ending(context, run, at.plan, guard))
        case MissingInput.CONFLICTS:
            conflicts = context.access.write_throttles(document, run.rates)
            return replace(view, conflicts=conflicts)
        case MissingInput.SETTLED:
            foreign = () if view.conflicts is None else view.conflicts.brokers
            found = keep_throttles.ask_whether_settled(context, run, document, foreign)
            return replace(view, throttle_settled=found.done, unsettled=found.unsettled)
        case MissingInput.GONE:
            return replace(view, gone_read=True, gone=_note_gone(context, at))
        case MissingInput.RATE_SIGNALS:
            return replace(view, signals=rate_signals.measure(context, at))
        case CheckThrottles():
            topics = needed_input.topics
            live = context.access.check_throttles(document, run.rates, topics)
            keep_throttles.note(context, live)
            return replace(view, throttles=live)
        case _:
            sized = context.enrich(view.cluster)
            states = needed_input.states
            held = runs.held_targets(at, states, sized)
            states = tuple(None if m in held else place for m, place in enumerate(states))
            gone = guard.gone()
            with context.timed("stage"):
                moves = next_stage.with_live_bytes(at.plan.moves, states, sized)
                stage = next_stage.next_stage(moves, states, sized, at.desired, gone=gone)
            return replace(
                view, stage_computed=True, stage=stage, cluster_with_sizes=sized, gone=gone
            )


def _note_gone(context: PassContext, at: RunSituation) -> frozenset[int]:
    """Return the brokers that count as gone; record who is missing, so that it can count later.

    The records are those of all topics, too: they are read again after a while only.
    """
    memory, now_ms = context.memory, context.now_ms()
    if memory.gone is not None and now_ms - memory.gone_read_ms < READ_GONE_EVERY_MS:
        return memory.gone
    before = context.access.read_records()
    records = updated_records(before, at.view.cluster, at.desired, now_ms)
    if records != before:
        context.access.remember_brokers(records)
    memory.gone, memory.gone_read_ms = gone_brokers(records, at.desired, now_ms), now_ms
    return memory.gone


def apply_decision(context: PassContext, at: RunSituation, decision: RunDecision) -> Outcome:
    """Carry out a decision about a run."""
    run, plan = at.run, at.plan
    match decision:
        case DoNothing():
            _note_reported_stage(context, at, decision.found)
            return outcome_of(context, run, plan, Result(decision.found, decision.waits))
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
        case BeginReturn() | CancelMoves() | RequestOrder():
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
            return _end_run(context, run, at.document)


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
    )
    after = context.access.request_stage(run, after, at.plan, at.view.cluster)
    context.memory.moves_in_flight = len(entries)
    context.memory.disks = SeenDisks()  # what is known is of the copies of an earlier stage
    context.memory.reported_stage = None
    again = decision.attempts if decision.attempts > 1 else 0
    requested = Action(
        ActionKind.STAGE_REQUESTED, stage=after.stage, count=len(entries), attempt=again
    )
    return progress_outcome(context, after, at.plan, *decision.found, requested)


def _watch_stage(context: PassContext, at: RunSituation, decision: Watch) -> Outcome:
    result = Result(waits=decision.waits)
    if decision.stall is not None:
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
        result += keep_throttles.compare(context, at, decision.check, keep=decision.keep)
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


def _end_run(context: PassContext, run: Run, document: RunDocument) -> Outcome:
    context.access.restore_throttles(document, run.rates)
    stopped = run.ending in (Ending.STOPPED, Ending.ROLLED_BACK)
    if stopped:
        context.access.remember_stopped(run.fingerprint)
        plan_to_approve.remember(context, None)  # what is left is another question
    finished = _finished(context, run, document.plan)
    ended = Action(ActionKind.RUN_ENDED, ending=run.ending)
    outcome = progress_outcome(context, run, document.plan, ended)
    context.access.end_run(run, finished)
    context.memory.carried_out = None  # the history has one more
    return replace(outcome, state=State.STOPPED) if stopped else outcome


def _finished(context: PassContext, run: Run, plan: Plan) -> FinishedRun:
    """Return the run's entry in the history; how much arrived is read from the topics.

    The memory is told as well: it is empty where another process came so far.
    """
    copies = copies_of(plan)
    topics = {move.topic for move in plan.moves} | {step.topic for step in copies}
    live = context.access.observe("", topics=topics, want_configs=False).cluster
    progress = classify(plan.moves, live)
    for m, each in enumerate(progress):
        context.memory.note_progress(plan, m, each, live)
    if copies:
        look_at_copies(context, plan, live)
    copied = context.memory.copies.progress
    done = sum(bytes_done(*each, live, {}) for each in zip(plan.moves, progress, strict=True))
    done += sum(each.copied_bytes for each in copied)
    arrived = sum(each.state is MoveState.DONE for each in progress)
    arrived += sum(each.state is CopyState.DONE for each in copied)
    return FinishedRun(
        plan=run.plan,
        started_ms=run.started_ms,
        ended_ms=context.now_ms(),
        ending=run.ending,
        stages=run.stage,
        moves=len(plan.moves) + len(copies),
        moves_done=arrived,
        bytes_done=done,
        size_bytes=sum(move.bytes for move in plan.moves) + sum(s.bytes for s in copies),
        approved_by=run.approved_by,
        executor=context.trail.executor,
    )
