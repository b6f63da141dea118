"""A run, phase by phase: every call does at most one thing and leaves the journal resumable.

| phase | the pass | then |
|---|---|---|
| STORING | the document is complete (a run without it is discarded) | THROTTLING |
| THROTTLING | writes lists and rates; asks the brokers, or waits, until they are settled | MOVING |
| MOVING | a request in flight: watches it; none: gates, then the next stage's request | ELECTING |
| ELECTING | asks for preferred leaders of what moved, at most a few times | RESTORING |
| RESTORING | puts the saved throttle values back, removes the run | |

Which moves are done is read from the live cluster in every pass, never from the journal. A move
that somebody else took elsewhere is left alone and named; one whose topic is gone counts as done.

When the run ends early, stopped by a person or replaced because what was declared changed, the
stage in flight is still finished first: there is no state between two stages that needs care.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from poolkeeper import flights
from poolkeeper.errors import RefusalReason, Refused, Unavailable
from poolkeeper.means import FLYING, Means, outcome_of
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Outcome, Phase, State
from poolkeeper.model.plans import ElectLeaders, Plan
from poolkeeper.model.runs import Ending
from poolkeeper.model.specs import Desired, ThrottleMode
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning import audit_laws, documents, gates, residual, stages, throttles, windows
from poolkeeper.planning.progress import MoveProgress, MoveState, classify
from poolkeeper.sights import Sight
from poolkeeper.zk import apply, journal, observe, throttling
from poolkeeper.zk.runs import Document, Run, digest_of, encode_document

SETTLE_MS = 5_000
ATTEMPTS_MAX = 5
WAITS_MAX = 10


@dataclass(frozen=True, slots=True)
class Wish:
    """What the run is wanted for, asked between stages only.

    `still` tells whether this run is; `gone` which brokers count as lost.
    `paused`: finish the stage in flight and start none.
    """

    still: Callable[[Run, Plan], bool]
    gone: Callable[[], frozenset[int]] = frozenset
    paused: bool = False


def begin(means: Means, desired: Desired, plan: Plan, sight: Sight) -> Outcome:
    """Record a new run with its document; nothing else is written yet."""
    cluster = sight.cluster
    throttled = desired.cluster.execution.throttle
    lists = throttles.lists_of(plan.moves) if throttled.mode is not ThrottleMode.NONE else {}
    brokers = throttles.brokers_of(plan.moves) if lists else ()
    saved = throttling.save(means.journal, lists, brokers)
    document = Document(plan, saved, gates.health(cluster))
    chunks = encode_document(document)
    run = Run(
        plan=plan.hash,
        fingerprint=plan.fingerprint,
        concern=documents.concern(desired, plan.moves, cluster.id, sight.gone),
        phase=Phase.STORING,
        digest=digest_of(chunks),
        chunks=len(chunks),
        started_ms=means.now_ms(),
        rates=(throttled.rate_bytes_per_s,) if lists else (),
    )
    means.memory.documents = {run.digest: document}
    means.memory.bytes_done = {}
    means.memory.arrived = set()
    means.memory.finished = None
    means.journal.begin(run, chunks)
    return outcome_of(
        means, run, document, State.PROGRESSED, did=(Action(ActionKind.RUN_BEGUN, hash=run.plan),)
    )


def refuse_hopeless(desired: Desired, plan: Plan, cluster: Cluster) -> None:
    """Raise `Refused` if the throttle is below what a moving partition takes in."""
    throttle = desired.cluster.execution.throttle
    if throttle.mode is ThrottleMode.NONE:
        return
    ingest = []
    for move in plan.moves:
        topic = cluster.topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        ingest.append(None if partition is None else partition.in_bytes_per_s)
    hopeless = throttles.hopeless(plan.moves, ingest, throttle.rate_bytes_per_s)
    if hopeless:
        reason = RefusalReason.THROTTLE_TOO_LOW
        raise Refused("the throttle can never catch up", reason=reason, facts=hopeless)


def document_of(means: Means, run: Run) -> Document | None:
    """Return the run's document, read once per process."""
    known = means.memory.documents.get(run.digest)
    if known is None:
        known = journal.read_document(means.journal.session, run)
        if known is not None:
            means.memory.documents = {run.digest: known}
    return known


def advance(means: Means, desired: Desired, run: Run, wish: Wish) -> Outcome:
    """Take the run one step further."""
    document = document_of(means, run)
    if document is None:
        means.journal.end(run)
        return Outcome(State.PROGRESSED, did=(Action(ActionKind.RUN_DISCARDED),))
    match run.phase:
        case Phase.STORING:
            return _turn(means, run, document, Phase.THROTTLING)
        case Phase.THROTTLING:
            return _throttle(means, run, document, wish)
        case Phase.MOVING:
            return _move(means, desired, run, document, wish)
        case Phase.ELECTING:
            return _elect(means, desired, run, document)
        case Phase.RESTORING:
            return _restore(means, run, document)


def _turn(
    means: Means, run: Run, document: Document, phase: Phase, ending: Ending | None = None
) -> Outcome:
    after = replace(run, phase=phase, step=(), attempts=0, ending=ending or run.ending)
    after = means.journal.rewrite(run, after)
    return outcome_of(means, after, document, State.PROGRESSED)


def _throttle(means: Means, run: Run, document: Document, wish: Wish) -> Outcome:
    ending = _ending(means, run, document, wish)
    if ending is not None:
        return _turn(means, run, document, Phase.RESTORING, ending)
    lists = throttling.lists_of(document)
    if not lists:
        return _turn(means, run, document, Phase.MOVING)
    conflicts = throttling.write(means.journal, document.saved, lists, run.rates)
    if conflicts:
        wait = Wait(
            WaitReason.THROTTLE_CONFLICT, topics=conflicts.topics, brokers=conflicts.brokers
        )
        return outcome_of(means, run, document, State.WAITING, waits=(wait,))
    if not run.throttled_ms:
        after = means.journal.rewrite(run, replace(run, throttled_ms=means.now_ms()))
        return outcome_of(means, after, document, State.PROGRESSED)
    if not _settled(means, run, document):
        wait = Wait(WaitReason.THROTTLE_SETTLING)
        return outcome_of(means, run, document, State.WAITING, waits=(wait,))
    return _turn(means, run, document, Phase.MOVING)


def _settled(means: Means, run: Run, document: Document) -> bool:
    """Whether the brokers have the rate: by their own word, else after a while."""
    if means.now_ms() - run.throttled_ms >= SETTLE_MS:
        return True
    if means.brokers is None:
        return False
    expected = throttles.rates(run.rates[0])
    try:
        live = set(means.brokers.ids()) & document.saved.brokers.keys()
        return all(means.brokers.throttle_settled(b, expected) is not False for b in sorted(live))
    except Unavailable:
        return False


def _move(means: Means, desired: Desired, run: Run, document: Document, wish: Wish) -> Outcome:
    plan = document.plan
    named = _topics_of(plan, run.step)
    session = means.journal.session
    if named:
        observation = observe.cluster(session, desired.cluster.name, topics=named)
        step = [plan.moves[m] for m, _ in run.step]
        progress = classify(step, observation.cluster)
        requested = observation.cluster.reassignment is not None
        if requested or any(p.state in FLYING for p in progress):
            return flights.watch(means, desired, run, document, observation, progress)
    cluster = observe.cluster(
        session, desired.cluster.name, restart_lock=desired.cluster.execution.restart_lock
    ).cluster
    means.memory.look_again(cluster)
    progress = classify(plan.moves, cluster)
    for m, p in enumerate(progress):
        means.memory.see(plan, m, p, cluster)
    did = _verified(means, run, progress)
    if any(p.state is MoveState.UNKNOWN for p in progress):
        changing = Wait(WaitReason.TOPICS_CHANGING)
        return outcome_of(means, run, document, State.WAITING, did, (changing,))
    ending = _ending(means, run, document, wish)
    if ending is not None:
        return _noting(did, _turn(means, run, document, Phase.RESTORING, ending))
    open_ = (MoveState.PENDING, MoveState.ORPHANED)
    if not any(p.state in (*open_, *FLYING) for p in progress):
        return _noting(did, _turn(means, run, document, Phase.ELECTING, Ending.FINISHED))
    if wish.paused:
        paused = Wait(WaitReason.PAUSED)
        return outcome_of(means, run, document, State.WAITING, did, (paused,))
    return _next_stage(means, desired, run, document, cluster, progress, did, wish)


def _next_stage(
    means: Means,
    desired: Desired,
    run: Run,
    document: Document,
    cluster: Cluster,
    progress: Sequence[MoveProgress],
    did: tuple[Action, ...],
    wish: Wish,
) -> Outcome:
    moves = document.plan.moves
    ours = {
        TopicPartition(move.topic, move.partition)
        for move, p in zip(moves, progress, strict=True)
        if p.state in (*FLYING, MoveState.ORPHANED)
    }
    blocked = gates.blocks(moves, progress, cluster)
    at = [
        p.at if p.state in (MoveState.PENDING, MoveState.ORPHANED) and i not in blocked else None
        for i, p in enumerate(progress)
    ]
    candidates = [move for move, i in zip(moves, at, strict=True) if i is not None]
    waits = [*gates.closed(cluster, document.baseline, candidates, ours)]
    waits.extend(closed_now(desired, cluster, means.now_ms()))
    if waits:
        return outcome_of(means, run, document, State.WAITING, did, tuple(waits))
    sized = means.enrich(cluster)
    gone = wish.gone()
    with means.timed("stage"):
        stage = stages.next_stage(moves, at, sized, desired, gone=gone)
    if not isinstance(stage, stages.Stage):
        waits = [*blocked.values(), *(() if stage is None else (stage.wait,))]
        return outcome_of(means, run, document, State.WAITING, did, tuple(waits[:WAITS_MAX]))
    before = audit_laws.live_state(cluster)
    after_stage = stages.after_stage(before, moves, stage)
    stages.assert_lawful(before, after_stage, desired, sized, gone)
    attempts = run.attempts + 1 if tuple(stage.entries) == run.step else 1
    if attempts > ATTEMPTS_MAX:
        wait = Wait(WaitReason.REQUEST_IGNORED, count=ATTEMPTS_MAX)
        return outcome_of(means, run, document, State.WAITING, did, (wait,))
    after = apply.request(
        means.journal,
        run,
        replace(
            run,
            stage=run.stage + (attempts == 1),
            step=tuple(stage.entries),
            requested_ms=means.now_ms(),
            attempts=attempts,
        ),
        document.plan,
        cluster,
    )
    means.memory.flying = len(stage.entries)
    means.memory.finished = None
    requested = Action(ActionKind.STAGE_REQUESTED, stage=after.stage, count=len(stage.entries))
    return outcome_of(means, after, document, State.PROGRESSED, (*did, requested))


def closed_now(desired: Desired, cluster: Cluster, now_ms: int) -> tuple[Wait, ...]:
    """Return why nothing may start at this time: a restart lock, or outside the windows."""
    execution = desired.cluster.execution
    reasons = []
    if cluster.restart_locked:
        reasons.append(Wait(WaitReason.RESTART_LOCKED, path=execution.restart_lock or ""))
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if execution.windows and not windows.is_open(execution.windows, now):
        opening = windows.next_opening(execution.windows, now)
        reasons.append(Wait(WaitReason.OUTSIDE_WINDOW, until=opening))
    return tuple(reasons)


def _elect(means: Means, desired: Desired, run: Run, document: Document) -> Outcome:
    plan = document.plan
    wanted = [(move.topic, move.partition) for move in plan.moves]
    for step in plan.steps:
        if isinstance(step, ElectLeaders):
            wanted.extend(step.partitions)
    names = sorted({topic for topic, _ in wanted})
    session = means.journal.session
    cluster = observe.cluster(session, desired.cluster.name, topics=names).cluster
    for m, p in enumerate(classify(plan.moves, cluster)):
        means.memory.see(plan, m, p, cluster)
    if cluster.electing:
        wait = Wait(WaitReason.ELECTION_IN_PROGRESS)
        return outcome_of(means, run, document, State.WAITING, waits=(wait,))
    due = sorted(set(residual.due_elections(wanted, cluster)))
    rounds = 2 + len(set(wanted)) // apply.ELECTION_PARTITIONS_MAX
    if not due or run.attempts >= rounds:
        did = (Action(ActionKind.LEADERS_KEPT, count=len(due)),) if due else ()
        return _noting(did, _turn(means, run, document, Phase.RESTORING))
    election = apply.election(due[: apply.ELECTION_PARTITIONS_MAX])
    after = means.journal.rewrite(run, replace(run, attempts=run.attempts + 1), election)
    did = (Action(ActionKind.ELECTION_REQUESTED, count=len(due)),)
    return outcome_of(means, after, document, State.PROGRESSED, did)


def _restore(means: Means, run: Run, document: Document) -> Outcome:
    throttling.restore(means.journal, document.saved, throttling.lists_of(document), run.rates)
    if run.ending is Ending.STOPPED:
        means.journal.remember_stopped(run.fingerprint)
    did = (Action(ActionKind.RUN_ENDED, ending=run.ending),)
    ended = outcome_of(means, run, document, State.PROGRESSED, did)
    means.journal.end(run)
    state = State.STOPPED if run.ending is Ending.STOPPED else State.PROGRESSED
    return replace(ended, state=state)


def _ending(means: Means, run: Run, document: Document, wish: Wish) -> Ending | None:
    if journal.read_stop(means.journal.session):
        return Ending.STOPPED
    return None if wish.still(run, document.plan) else Ending.REPLACED


def _verified(means: Means, run: Run, progress: Sequence[MoveProgress]) -> tuple[Action, ...]:
    """Tell how a stage ended, once: many passes may come before the next one begins."""
    if not run.step:
        return ()
    arrived = sum(progress[m].at >= index for m, index in run.step)
    if means.memory.finished == (run.stage, arrived):
        return ()
    means.memory.finished = (run.stage, arrived)
    finished = ActionKind.STAGE_FINISHED
    return (Action(finished, stage=run.stage, count=arrived, of=len(run.step)),)


def _topics_of(plan: Plan, step: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(sorted({plan.moves[m].topic for m, _ in step}))


def _noting(did: tuple[Action, ...], outcome: Outcome) -> Outcome:
    return replace(outcome, did=(*did, *outcome.did))
