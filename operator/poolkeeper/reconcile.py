"""One pass over one cluster: observe, plan, stage, apply, report.

A pass reads once, writes at most one thing (the steps that never queue, a phase of a run, a stage's
request), and leaves; the loop calls it again when something changed. It never waits inside. Every
pass does the same from live state, so that a crash between any two of its lines is harmless:

* with a run in the journal it takes that run further (`execution`), whoever began it;
* without one it plans, or takes the plan that a person agreed to; writes the steps that are due;
  begins a run if there are moves that may go.

Nothing is written while a foreign reassignment runs, without a controller, during a migration to
KRaft, or to a cluster whose id is not the one that is pinned.
"""

from dataclasses import dataclass, replace

from poolkeeper import approvals, asides, copies, errands, execution, remedies, steps
from poolkeeper.errands import Offer
from poolkeeper.errors import Refused, StalePlan
from poolkeeper.execution import Wish, closed_now
from poolkeeper.flights import STALL_MS
from poolkeeper.means import Asked, Enrich, Means, Planner, Timed, untimed
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Errand, ErrandState, Outcome, Result, Seen, State
from poolkeeper.model.plans import (
    AddPartitions,
    DeleteTopic,
    ElectLeaders,
    MoveLogDir,
    Plan,
    SetConfig,
)
from poolkeeper.model.refusals import refusal_of
from poolkeeper.model.specs import ApprovalPolicy, Desired, Mode
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning import audit, documents, gates, residual
from poolkeeper.planning.making import make_plan
from poolkeeper.planning.owners import settled
from poolkeeper.planning.progress import MoveState, classify
from poolkeeper.planning.residual import StepState
from poolkeeper.sights import Sight, gone_brokers, see, shown
from poolkeeper.zk import asks, journal
from poolkeeper.zk.runs import Run
from poolkeeper.zk.session import Session

DELETIONS_MAX = 10
"""Topics that are deleted within a while, where no person approves: a slip of the hand, no more."""
DELETIONS_WITHIN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Authority:
    """What a pass may do.

    `steps`: creations, added partitions, harmless configs, elections. `plans`: hashes of approved
    plans, whose moves and destructive steps may be done; `None` approves every plan, except that
    many deletions at once wait for a person also then: `named` are hashes approved one by one.
    `paused`: a run in progress finishes its stage in flight; nothing else starts. `settling`: what
    is declared is still arriving, or going, piece by piece, so that no run is begun and no topic
    deleted that nobody approved.
    """

    steps: bool = False
    plans: frozenset[str] | None = frozenset()
    paused: bool = False
    settling: bool = False
    named: frozenset[str] = frozenset()

    @property
    def early(self) -> bool:
        """Whether moves and deletions wait until what is declared has settled."""
        return self.settling and self.plans is None

    def covers(self, plan: Plan) -> bool:
        """Whether the moves and destructive steps of this plan may be done."""
        return self.plans is None or plan.hash in self.plans


def authority_of(desired: Desired, handed_over: tuple[str, ...] = ()) -> Authority:
    """Return what a loop may do by the cluster's mode and approval policy."""
    spec = desired.cluster
    if spec.mode is not Mode.APPLY:
        return Authority(paused=spec.mode is not Mode.PLAN_ONLY)
    approved = frozenset(spec.approval.plans) | frozenset(handed_over)
    if spec.approval.policy is ApprovalPolicy.AUTO:
        return Authority(steps=True, plans=None, named=approved)
    return Authority(steps=True, plans=approved)


def reconcile_cluster(
    means: Means,
    desired: Desired,
    authority: Authority,
    agreed: Plan | None = None,
    offer: Offer | None = None,
) -> Outcome:
    """Do one pass. `agreed` is the plan that a person confirmed: it is executed as it is.

    `offer` is a plan that is executed as it is, too, when it is its turn (`errands`).
    """
    run = journal.read_run(means.journal.session)
    if run is not None:
        wish = errands.wish_of(_wish(means, desired, authority, agreed), run, offer)
        pace = desired
        if offer is not None and run.plan == offer.hash:
            pace = errands.paced(desired, offer)
        outcome = execution.advance(means, pace, run, wish)
        if agreed is not None:
            return outcome
        everything = authority.plans is None
        outcome = asides.beside(
            means, desired, outcome, acting=authority.steps, destructive=everything
        )
        return errands.beside_a_run(outcome, run, offer)
    if authority.paused:
        return _look_only(means, desired)
    means.memory.beside = None
    with means.timed("observe"):
        sight = see(means.journal.session, desired, means.now_ms(), means.enrich)
    means.memory.seen = shown(sight, means.memory.seen)
    if offer is not None and agreed is None:
        outcome = _offered(means, desired, authority, sight, offer)
    else:
        outcome = _planned(means, desired, authority, sight, agreed)
    return replace(outcome, seen=means.memory.seen)


def _offered(
    means: Means, desired: Desired, authority: Authority, sight: Sight, offer: Offer
) -> Outcome:
    """Do one pass without a run: what goes before the offered plan, or begin that."""
    errand = errands.readiness(offer, desired, sight.cluster)
    if errand is None and authority.settling:
        errand = Errand(offer.hash, ErrandState.WAITING, (Wait(WaitReason.SETTLING),))
    if errand is not None:
        return replace(_planned(means, desired, authority, sight, None), errand=errand)
    assert offer.plan is not None
    held_back = replace(authority, plans=frozenset())
    outcome = _planned(means, desired, held_back, sight, None)
    waiting = Errand(offer.hash, ErrandState.WAITING, outcome.waits)
    own = outcome.plan
    if outcome.state is State.PROGRESSED or own is None:
        return replace(outcome, errand=waiting)
    if errands.has_urgent(own) and authority.covers(own):
        urgent = (Wait(WaitReason.OWN_PLAN_URGENT),)
        outcome = _planned(means, desired, authority, sight, None)
        return replace(outcome, errand=replace(waiting, why=urgent))
    try:
        rest = _rest_of(offer.plan, sight.cluster)
        audit.enforce(
            rest, settled(desired, sight.records), sight.cluster, sight.records, sight.gone
        )
        agreed = replace(authority, plans=frozenset((offer.hash,)))
        pace = errands.paced(desired, offer)
        begun = _execute(means, pace, agreed, offer.plan, sight, by_person=False)
    except Refused as refused:
        errand = Errand(offer.hash, ErrandState.REFUSED, (refusal_of(refused),))
        return replace(_planned(means, desired, authority, sight, None), errand=errand)
    if begun.state is State.PROGRESSED:
        return replace(begun, errand=replace(waiting, state=ErrandState.MOVING, why=begun.waits))
    approval = WaitReason.APPROVAL_REQUIRED
    waits = tuple(wait for wait in outcome.waits if wait.reason is not approval)
    kept = outcome.waits if authority.plans is not None else waits
    return replace(outcome, waits=kept, errand=replace(waiting, why=begun.waits))


def _planned(
    means: Means, desired: Desired, authority: Authority, sight: Sight, agreed: Plan | None
) -> Outcome:
    """Do one pass without a run."""
    desired = settled(desired, sight.records)
    waits = (*gates.controller(sight.cluster), *gates.foreign(sight.cluster, ()))
    if waits:
        cure = _cure(means, desired, authority, sight)
        return Outcome(State.WAITING, cure.did, (*waits, *cure.waits), agreed)
    if agreed is None:
        with means.timed("plan"):
            plan = means.plan(desired, sight.cluster, sight.records, sight.gone)
        if not authority.covers(plan):
            plan = approvals.asked_about(means, plan, desired, sight)
    else:
        plan = agreed
        stale = () if means.memory.begun else residual.staleness(plan, sight.cluster)
        if stale:
            raise StalePlan("the cluster moved on since the plan was made", facts=stale)
    means.memory.begun = True
    audit.enforce(_rest_of(plan, sight.cluster), desired, sight.cluster, sight.records, sight.gone)
    with means.timed("apply"):
        outcome = _execute(means, desired, authority, plan, sight, by_person=agreed is not None)
    if outcome.state is State.CONVERGED:
        asks.remember(means.journal, None)
        if agreed is None:
            means.journal.forget_approvals()
    return outcome


def _cure(means: Means, desired: Desired, authority: Authority, sight: Sight) -> Result:
    """Withdraw somebody's request that is done or pointless, once it has been so for a while."""
    stall = remedies.foreign_stall_of(sight.cluster)
    memory = means.memory
    if stall is None or not (authority.steps or authority.plans):
        memory.stale_since_ms = None
        return Result()
    now_ms = means.now_ms()
    memory.stale_since_ms = memory.stale_since_ms or now_ms
    if now_ms - memory.stale_since_ms < STALL_MS:
        return Result()
    allowed = desired.cluster.execution.remedies
    return remedies.attempt(means.journal, means.brokers, sight.observation, stall, allowed)


def preview(
    session: Session,
    desired: Desired,
    now_ms: int,
    enrich: Enrich,
    asked: Asked,
    planner: Planner = make_plan,
    timed: Timed = untimed,
    because: WaitReason = WaitReason.PLAN_ONLY,
) -> Outcome:
    """Plan, and write nothing at all; a run that is recorded is left as it is."""
    with timed("observe"):
        sight = see(session, desired, now_ms, enrich)
    desired = settled(desired, sight.records)
    with timed("plan"):
        plan = planner(desired, sight.cluster, sight.records, sight.gone)
    plan = approvals.renewed(asked, plan, desired, sight)
    seen = Seen(sight.cluster, sight.records, sight.gone)
    waits = [*gates.controller(sight.cluster), *gates.foreign(sight.cluster, ())]
    recorded = journal.read_run(session) is not None
    if recorded:
        waits.append(Wait(WaitReason.RUN_RECORDED, cause=Wait(because)))
    if plan.empty and not waits:
        return Outcome(State.CONVERGED, plan=plan, seen=seen)
    if not plan.empty:
        waits.append(Wait(because))
    return Outcome(State.WAITING, waits=tuple(waits), plan=plan, seen=seen, recorded=recorded)


def _look_only(means: Means, desired: Desired) -> Outcome:
    """See how the cluster stands, while nothing may be started."""
    session = means.journal.session
    outcome = preview(
        session,
        desired,
        means.now_ms(),
        means.enrich,
        means.memory.asked,
        means.plan,
        means.timed,
        because=WaitReason.PAUSED,
    )
    means.memory.seen = outcome.seen
    return outcome


def _wish(means: Means, desired: Desired, authority: Authority, agreed: Plan | None) -> Wish:
    """Return what a run is wanted for, to end one that is for something else.

    Brokers that count as gone are taken from the records alone: what is missing for a moment does
    not replace a run.
    """

    def gone() -> frozenset[int]:
        records = journal.read_records(means.journal.session)
        return gone_brokers(records, desired, means.now_ms())

    def still(run: Run, plan: Plan) -> bool:
        if agreed is not None:
            return run.fingerprint == agreed.fingerprint
        records = journal.read_records(means.journal.session)
        owned = settled(desired, records)
        wanted = documents.concern(owned, plan.moves, records.cluster_id, gone())
        return run.concern == wanted

    return Wish(still, gone, authority.paused)


def _rest_of(plan: Plan, cluster: Cluster) -> Plan:
    """Return the plan without what is done already: that is what the laws are asked about."""
    states = classify(plan.moves, cluster)
    moves = tuple(
        move._replace(path=move.path[p.at :])
        for move, p in zip(plan.moves, states, strict=True)
        if p.state in (MoveState.PENDING, MoveState.IN_FLIGHT)
    )
    left = tuple(s for s in plan.steps if residual.progress_of(s, cluster).state is StepState.TO_DO)
    named = documents.plan_hash(moves, left)
    return replace(plan, moves=moves, steps=left, stages=(), hash=named)


def _execute(
    means: Means,
    desired: Desired,
    authority: Authority,
    plan: Plan,
    sight: Sight,
    *,
    by_person: bool,
) -> Outcome:
    cluster = sight.cluster
    result = Result()
    if authority.steps or (authority.covers(plan) and not plan.empty):
        means.journal.remember_brokers(sight.records)
    moving = {move.topic for move in plan.moves}
    covered = authority.covers(plan)
    for step in plan.steps:
        if isinstance(step, ElectLeaders | DeleteTopic | MoveLogDir):
            continue
        if isinstance(step, AddPartitions) and step.topic in moving:
            continue  # a controller that moves the topic could swallow the addition
        destructive = isinstance(step, SetConfig) and step.destructive
        allowed = covered if destructive else authority.steps
        result += steps.take(means, desired, step, cluster, allowed=allowed)
    settling = (Wait(WaitReason.SETTLING),)
    holds = settling if authority.early else closed_now(desired, cluster, means.now_ms())
    at_once = desired.cluster.execution.max_moves_per_broker
    begun = copies.begin(means, plan, cluster, at_once, holds, approved=covered)
    result += begun
    ended = (MoveState.DONE, MoveState.GONE, MoveState.DIVERGED)
    pending = [p for p in classify(plan.moves, cluster) if p.state not in ended]
    if result.did:
        return Outcome(State.PROGRESSED, result.did, result.waits, plan)
    if authority.steps:
        steps.remember_owners(means, desired, plan, sight)
    if pending:
        stopped = not by_person and (
            journal.read_stopped(means.journal.session) == plan.fingerprint
        )
        if stopped:
            waits = (*result.waits, Wait(WaitReason.STOPPED_BY_PERSON))
            return Outcome(State.WAITING, waits=waits, plan=plan)
        return _start(means, desired, authority, plan, sight, result.waits)
    deleting = covered and not _is_storm(means, authority, plan)
    for step in plan.steps:
        late = isinstance(step, ElectLeaders | DeleteTopic) or (
            isinstance(step, AddPartitions) and step.topic in moving
        )
        if late and authority.early and isinstance(step, DeleteTopic):
            result += Result(waits=settling)
        elif late:
            allowed = deleting if isinstance(step, DeleteTopic) else authority.steps
            taken = steps.take(means, desired, step, cluster, allowed=allowed)
            if isinstance(step, DeleteTopic) and taken.did:
                means.memory.deletions_ms.append(means.now_ms())
            result += taken
    waits = tuple(dict.fromkeys(result.waits))
    if result.did:
        return Outcome(State.PROGRESSED, result.did, waits, plan)
    state = State.WAITING if waits else State.CONVERGED
    return Outcome(state, _left_alone(plan, cluster), waits, plan)


def _is_storm(means: Means, authority: Authority, plan: Plan) -> bool:
    """Whether more topics would be deleted in a while than may be without a person's word."""
    due = sum(isinstance(step, DeleteTopic) for step in plan.steps)
    if authority.plans is not None or plan.hash in authority.named:
        return False
    now_ms, lately = means.now_ms(), means.memory.deletions_ms
    recent = sum(now_ms - at_ms < DELETIONS_WITHIN_MS for at_ms in lately)
    return recent + due > DELETIONS_MAX


def _left_alone(plan: Plan, cluster: Cluster) -> tuple[Action, ...]:
    """Name the moves that ended without being done: their partition went another way."""
    return tuple(
        Action(
            ActionKind.TOPIC_GONE if p.state is MoveState.GONE else ActionKind.LEFT_ALONE,
            partitions=(TopicPartition(move.topic, move.partition),),
        )
        for move, p in zip(plan.moves, classify(plan.moves, cluster), strict=True)
        if p.state in (MoveState.GONE, MoveState.DIVERGED)
    )


def _start(
    means: Means,
    desired: Desired,
    authority: Authority,
    plan: Plan,
    sight: Sight,
    waits: tuple[Wait, ...],
) -> Outcome:
    if not authority.covers(plan):
        wait = Wait(WaitReason.APPROVAL_REQUIRED, hash=plan.hash)
        return Outcome(State.WAITING, waits=(*waits, wait), plan=plan)
    if authority.early:
        return Outcome(State.WAITING, waits=(*waits, Wait(WaitReason.SETTLING)), plan=plan)
    closed = closed_now(desired, sight.cluster, means.now_ms())
    if closed:
        return Outcome(State.WAITING, waits=(*waits, *closed), plan=plan)
    execution.refuse_hopeless(desired, plan, sight.cluster)
    means.journal.remember_stopped(None)
    return execution.begin(means, desired, plan, sight)
