"""A run, phase by phase: every pass does at most one thing and leaves the record resumable.

| phase | the pass | then |
|---|---|---|
| STORING | checks that the document is complete (otherwise it discards the run) | THROTTLING |
| THROTTLING | writes lists and rates; asks the brokers, or waits, until they are set | MOVING |
| MOVING | a request in flight: watches it; none: gates, then the next stage's request | COPYING |
| | none, and somebody removed throttles of the run | THROTTLING |
| COPYING | has replicas moved between log directories (`log_dir_moves`) | ELECTING |
| | somebody removed throttles of the run | THROTTLING |
| ELECTING | requests preferred leaders of what moved, at most a few times | RESTORING |
| RESTORING | restores the saved throttle values, removes the run | |

Which moves are done is read from the live cluster in every pass, never from the record. A partition
that somebody else reassigned is left alone and reported. A move whose topic is gone counts as done.
One whose topic cannot be read is held: others go on, and the run does not end without a person.
One that no throttle can limit is held as well, and the run ends without it (`unlimited_moves`). So
is one of a topic whose config no broker can load (`unloadable_configs`).

A run ends early if a person stopped it, or cancelled moves of it with another tool, or if it is
replaced because the declared state changed, or the brokers that are live have, so that no stage of
it is lawful any more.
The stage in flight is still finished first: between two stages nothing is left to clean up but what
is still copied (`early_end`). Where it cannot be, or shall not be, its moves are cancelled and
return to where they were (`cancel`).

This module only decides, from values; `act` carries the decisions out.
"""

from collections.abc import Sequence

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.runs import Ending, Phase, ThrottleConflicts
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.proposals import cool_down
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress import (
    log_dir_copies,
    staying_moves,
    step_progress,
)
from poolkeeper.planning.run_state.progress.move_progress import (
    ENDED_STATES,
    IN_FLIGHT_STATES,
    OPEN_STATES,
    MoveState,
    waits_for_copies,
    waits_for_nodes,
)
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    FAILED_OVER,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile.decide import (
    early_end,
    held_moves,
    in_flight,
    log_dir_moves,
    throttle_rate,
)
from poolkeeper.reconcile.decide.cancelling import cancel, cancel_candidates
from poolkeeper.reconcile.decide.decisions import (
    WAITS_MAX,
    CheckThrottles,
    ComputeStage,
    DoNothing,
    Elect,
    ElectController,
    EndRun,
    EnterPhase,
    MissingInput,
    NeededInput,
    RecordThrottled,
    RequestStage,
    RunDecision,
    RunSituation,
    StopRun,
)
from poolkeeper.reconcile.decide.steps import is_election_ignored
from poolkeeper.reconcile.observe.run_view import led_partitions

OUTLIVED_MS = 60_000
"""How long a run waits for brokers with which its next stage worsens nothing."""


def decide(at: RunSituation) -> RunDecision | NeededInput:
    """Decide what this pass does about the run, or what must be found out first."""
    match at.run.phase:
        case Phase.STORING:
            return _after_storing(at)
        case Phase.THROTTLING:
            return _while_throttling(at)
        case Phase.MOVING if at.view.cancelled and at.run.ending is None:
            return StopRun(at.view.cancelled)
        case Phase.MOVING if at.view.in_flight:
            return cancel.decide(at) or in_flight.decide(at)
        case Phase.MOVING:
            return _between_stages(at)
        case Phase.COPYING:
            return log_dir_moves.decide(at)
        case Phase.ELECTING:
            return _while_electing(at)
        case Phase.RESTORING:
            return EndRun()


def _after_storing(at: RunSituation) -> EnterPhase:
    """The run is whole from here on, whoever takes it further: balance has begun, if it does."""
    balancing, started_ms = at.desired.cluster.balancing, at.run.started_ms
    balance = cool_down.balance_record(at.plan, balancing, at.view.balanced, started_ms)
    return EnterPhase(Phase.THROTTLING, balance=balance)


def _while_throttling(at: RunSituation) -> RunDecision | NeededInput:
    view = at.view
    if not view.ending_read:
        return MissingInput.ENDING
    ending = at.run.ending or view.ending
    if ending is not None and not at.run.stage:
        return EnterPhase(Phase.RESTORING, ending)
    if not at.document.throttled:
        return EnterPhase(Phase.MOVING)
    if view.conflicts is None:
        return MissingInput.CONFLICTS
    if ending is not None:
        return EnterPhase(Phase.MOVING)
    if waits := _waits_before_throttling(at, view.conflicts):
        return DoNothing(waits)
    if not at.run.throttled_ms:
        return RecordThrottled()
    if view.throttle_settled is None:
        return MissingInput.SETTLED
    if not view.throttle_settled:
        return DoNothing((Wait(WaitReason.THROTTLE_SETTLING, brokers=view.unsettled),))
    return EnterPhase(Phase.MOVING)


def _waits_before_throttling(at: RunSituation, found: ThrottleConflicts) -> tuple[Wait, ...]:
    """Return why the throttles do not count as written.

    After the first stage, values of somebody else are no reason to wait. A config that cannot be
    read or written never is one: what moves by it is held.
    """
    if at.run.stage or at.throttles.put_back or not found:
        return ()
    return (Wait(WaitReason.THROTTLE_CONFLICT, topics=found.topics, brokers=found.brokers),)


def _between_stages(at: RunSituation) -> RunDecision | NeededInput:
    view, found = at.view, _stage_end(at)
    states = {p.state for p in view.progress}
    if MoveState.UNKNOWN in states:
        return DoNothing((Wait(WaitReason.TOPICS_CHANGING),), found)
    if at.run.ending is None and not view.ending_read:
        return MissingInput.ENDING
    if ending := at.run.ending or view.ending:
        return early_end.decide(at, ending, found)
    unseen = _unseen(at)
    if not states & {*OPEN_STATES, *IN_FLIGHT_STATES}:
        if waits := (*unseen, *waits_for_copies(at.plan.moves, view.progress, view.cluster)):
            return throttle_rate.decide_rate(at, found) or DoNothing(waits[:WAITS_MAX], found)
        if log_dir_copies.copies_of(at.plan):
            return EnterPhase(Phase.COPYING, found=found)
        return EnterPhase(Phase.ELECTING, Ending.FINISHED, found)
    if at.paused:
        return DoNothing((Wait(WaitReason.PAUSED), *unseen), found)
    if changed := throttle_rate.decide_rate(at, found):
        return changed
    if not view.stage_computed:
        return _compute_stage_if_open(at, found)
    return _request_stage_if_lawful(at, found)


def _unseen(at: RunSituation) -> tuple[Wait, ...]:
    """Name the topics of the run that cannot be read."""
    return waits_for_nodes(at.plan.moves, at.view.progress, at.view.cluster)


def _stage_end(at: RunSituation) -> tuple[Action, ...]:
    """Report the end of a stage once: many passes may come before the next one begins.

    Of a request whose moves are all cancelled, none was to arrive: it names what goes back, and not
    what else the stage had.
    """
    run = at.run
    if not run.step:
        return ()
    arrived = sum(at.view.progress[m].at >= index for m, index in run.step)
    if at.reported_stage == (run.stage, arrived):
        return ()
    finished = ActionKind.STAGE_FINISHED
    of = len(run.step) if {m for m, _ in run.step} - {*run.returning} else 0
    return (Action(finished, stage=run.stage, count=arrived, of=of),)


def _compute_stage_if_open(at: RunSituation, found: tuple[Action, ...]) -> DoNothing | ComputeStage:
    """Decide to look for the next stage, unless a gate is closed."""
    moves, progress, cluster = at.plan.moves, at.view.progress, at.view.cluster
    ours = gates.own_partitions(moves, progress) - _requested_by_others(at)
    blocked = gates.blocks(moves, progress, cluster)
    places = tuple(
        p.at if p.state in OPEN_STATES and i not in blocked else None
        for i, p in enumerate(progress)
    )
    candidates = [move for move, place in zip(moves, places, strict=True) if place is not None]
    waits = (
        *gates.closed_gates(cluster, at.document.baseline, candidates, ours),
        *gates.waits_before_stages(at.desired, cluster, at.now_ms),
    )
    return DoNothing((*waits, *_unseen(at)), found) if waits else ComputeStage(places)


def _requested_by_others(at: RunSituation) -> set[TopicPartition]:
    """Return the partitions that a request names and the run did not request.

    Somebody may request the very list that the run would request next.
    """
    entries = {e.name for e in at.view.cluster.reassignment or ()}
    moves = (at.plan.moves[m] for m, _ in at.run.step)
    return entries - {move.name for move in moves}


def _is_outlived(at: RunSituation, waits: Sequence[Wait]) -> bool:
    """Return whether the plan was right for other brokers than those that are live by now.

    It was made while a rack was away, say: what would worsen nothing then does so now, and no wait
    helps. A broker that restarts is back sooner.
    """
    if not waits or any(wait.reason is not WaitReason.LAW_WORSENED for wait in waits):
        return False
    return at.now_ms - max(at.run.started_ms, at.run.requested_ms) >= OUTLIVED_MS


def _request_stage_if_lawful(
    at: RunSituation, found: tuple[Action, ...]
) -> DoNothing | EnterPhase | RequestStage | ElectController | CheckThrottles | ComputeStage:
    """Decide to request the stage that was found, if it breaks no placement rule."""
    moves, cluster, stage = at.plan.moves, at.view.cluster, at.view.stage
    if not isinstance(stage, next_stage.Stage):
        if given_up := _given_up(at):
            if behind := waits_for_copies(moves, at.view.progress, cluster):
                return DoNothing((*_unseen(at), *behind)[:WAITS_MAX], found)
            copies = log_dir_copies.copies_of(at.plan)
            phase, ending = Phase.COPYING, None
            if not copies:
                phase, ending = Phase.ELECTING, Ending.FINISHED
            return EnterPhase(phase, ending, (*found, *given_up))
        blocked = gates.blocks(moves, at.view.progress, cluster)
        awaited = () if stage is None else (stage.wait,)
        waits = in_order((*blocked.values(), *held_moves.waits_of_targets(at), *awaited))
        if _is_outlived(at, waits):
            return EnterPhase(Phase.RESTORING, Ending.REPLACED, found)
        return DoNothing((*_unseen(at), *waits)[:WAITS_MAX], found)
    sized = at.view.cluster_with_sizes or cluster
    gone, records = at.view.gone, at.view.records
    next_stage.assert_lawful_stage(stage, moves, at.desired, sized, gone, records)
    attempts = at.run.attempts if stage.entries == at.run.step else 0
    if not _is_tried_out(attempts):
        return _request_if_throttled(at, RequestStage(stage, attempts + 1, found))
    fails_over = cancel_candidates.may_fail_over(at)
    pause_ms = STALL_MS if fails_over and attempts == ATTEMPTS_MAX else IGNORED_PAUSE_MS
    if at.now_ms - at.run.requested_ms < pause_ms:
        return DoNothing((Wait(WaitReason.REQUEST_IGNORED, count=ATTEMPTS_MAX),), found)
    if fails_over:
        return ElectController(found)
    return _request_if_throttled(at, RequestStage(stage, attempts, found))


def _is_tried_out(attempts: int) -> bool:
    """Whether a controller took a request off as often as it gets it.

    Up to 2.3 it drops what is done already as it remembers the lists: it does not read what others
    wrote into a topic node. The next one does, and so gets the request as often.
    """
    return attempts == ATTEMPTS_MAX or attempts >= FAILED_OVER + ATTEMPTS_MAX


def _request_if_throttled(
    at: RunSituation, request: RequestStage
) -> DoNothing | EnterPhase | RequestStage | CheckThrottles | ComputeStage:
    """Decide to request the stage once the throttles are as the run set them.

    Throttles that somebody removed are written again, as at the start of the run. Values that
    somebody changed stay. Moves of the stage whose throttles cannot be read or set any more are
    held, and another stage is looked for.
    """
    if not at.document.throttled or not at.throttles.keeps:
        return request
    if at.view.throttles is None:
        moves = at.plan.moves
        return CheckThrottles(frozenset(moves[m].topic for m, _ in request.stage.entries))
    cluster = at.view.cluster_with_sizes or at.view.cluster
    if held_moves.unlimited_moves(at, (m for m, _ in request.stage.entries), cluster):
        return _compute_stage_if_open(at, request.found)
    if at.view.throttles.unset:
        return EnterPhase(Phase.THROTTLING, found=request.found)
    return request


def _given_up(at: RunSituation) -> tuple[Action, ...]:
    """Return what the run leaves where it is, if that is all that is left to be moved."""
    progress = at.view.progress
    left = [m for m, p in enumerate(progress) if p.state not in ENDED_STATES]
    sized = at.view.cluster_with_sizes or at.view.cluster
    stay = held_moves.waits_of_staying(at, left, sized)
    if len(stay) < len(left):
        return ()
    return staying_moves.actions_of_staying(at.plan.moves, stay)


def _while_electing(at: RunSituation) -> RunDecision:
    ignored = is_election_ignored(at.electing_since_ms, at.now_ms)
    if at.view.cluster.electing and not ignored:
        return DoNothing((Wait(WaitReason.ELECTION_IN_PROGRESS),))
    wanted = led_partitions(at.plan)
    due = sorted(set(step_progress.due_elections(wanted, at.view.cluster)))
    rounds = 1 + len([*step_progress.election_requests(set(wanted))])
    if not due or ignored or at.run.attempts >= rounds:
        kept = (Action(ActionKind.LEADERS_KEPT, count=len(due)),) if due else ()
        return EnterPhase(Phase.RESTORING, found=kept)
    return Elect(next(step_progress.election_requests(due)), len(due))
