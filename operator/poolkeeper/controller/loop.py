"""The two loops around the reconcile pass: one executes a confirmed plan, one runs for ever.

`drive` is `poolkeeper apply`. It holds the journal, runs passes until nothing is left to do, waits
between passes for a change, and survives a short ZooKeeper outage. `keep` is one cluster of
`poolkeeper run`: the same pass for ever, towards whatever is declared at the moment.

Between passes a loop watches the znodes that show progress. It waits at most `POLL_S` while a
request is in flight, because a replica that joins the ISR changes none of those znodes, and at most
`RESYNC_S` otherwise.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.brokers.enrich import enriched
from poolkeeper.brokers.protocol import BrokerClient
from poolkeeper.connections import ClusterConnections
from poolkeeper.errors import Forbidden, HolderActive, Internal, PoolkeeperError, Stale, Unavailable
from poolkeeper.model.outcomes import ExternalPlanState, Outcome, Progress, State
from poolkeeper.model.plans import Plan
from poolkeeper.model.runs import Phase
from poolkeeper.model.specs import Desired, Mode
from poolkeeper.model.topology import Cluster
from poolkeeper.model.waits import Wait, WaitReason, after_error
from poolkeeper.planning.planner import make_plan
from poolkeeper.reconcile.authority import Authority, authority_of
from poolkeeper.reconcile.cluster import preview, reconcile_cluster
from poolkeeper.reconcile.context import (
    Enrich,
    PassContext,
    PassMemory,
    PendingPlan,
    Planner,
    PreviewContext,
    Timed,
    untimed,
)
from poolkeeper.reconcile.external_plan import ExternalPlan
from poolkeeper.zk import journal, znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperAccess, ZooKeeperView

POLL_S = 1.0
RESYNC_S = 30.0
AWAY_S = 600.0
PASS_S = 300.0
"""The longest that one pass may take; a loop that is silent for longer is stuck."""
PATIENCE_S = 30.0
BROKERS_S = 10.0
STALE_IN_A_ROW_MAX = 50
WATCHED = (
    znodes.REASSIGNMENT,
    znodes.PREFERRED_ELECTION,
    znodes.BROKER_IDS,
    znodes.TOPICS,
    znodes.CONTROLLER,
    znodes.RUN_STOP,
)

Report = Callable[[Outcome], None]
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TransferRate:
    """The bytes per second and the time left of a run, measured over the last minute."""

    samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=120))

    def paced(self, outcome: Outcome, now_s: float) -> Outcome:
        """Return the outcome with transfer rate and time left filled in."""
        progress = outcome.progress
        if progress is None:
            return outcome
        if self.samples and progress.bytes_done < self.samples[-1][1]:
            self.samples.clear()
        self.samples.append((now_s, progress.bytes_done))
        while now_s - self.samples[0][0] > 60:
            self.samples.popleft()
        return replace(outcome, progress=self._with_rate(progress, now_s))

    def _with_rate(self, progress: Progress, now_s: float) -> Progress:
        since_s, before = self.samples[0]
        arrived = progress.bytes_done >= progress.bytes_total
        if now_s - since_s < 1 or progress.bytes_done == before or arrived:
            return progress
        rate = (progress.bytes_done - before) / (now_s - since_s)
        left = (progress.bytes_total - progress.bytes_done) / rate
        return replace(progress, rate_bytes_per_s=rate, seconds_left=left)


def drive(
    access: ClusterConnections,
    desired: Desired,
    agreed: Plan | None,
    report: Report,
    *,
    patience_s: float = PATIENCE_S,
) -> Outcome:
    """Execute a plan that a person confirmed, to its end; return the last outcome.

    Without `agreed` the recorded run is completed and nothing else is begun. Raises `HolderActive`,
    `Fenced`, `StalePlan`, `Refused` or `Unavailable`. `Unavailable` is raised at once before the
    first pass, and otherwise after ZooKeeper was away for ten minutes.
    """
    passed = False
    away_since: float | None = None

    def there(outcome: Outcome) -> None:
        nonlocal passed, away_since
        passed, away_since = True, None
        report(outcome)

    while True:
        try:
            with _opened(access, _holding_for_apply(patience_s)) as (session, context):
                return _drive(session, context, desired, agreed, there)
        except Forbidden:
            raise
        except Unavailable as away:
            away_since = away_since or time.monotonic()
            if not passed or time.monotonic() - away_since > AWAY_S:
                raise
            report(Outcome(State.WAITING, waits=(after_error(away),), plan=agreed))
            Event().wait(POLL_S)


def _drive(
    session: Session, context: PassContext, desired: Desired, agreed: Plan | None, report: Report
) -> Outcome:
    authority = Authority(
        steps=agreed is not None, plans=frozenset(() if agreed is None else (agreed.hash,))
    )
    pace = TransferRate()
    stale_in_a_row = 0
    while True:
        if agreed is None and journal.read_run(session) is None:
            return Outcome(State.CONVERGED)
        try:
            outcome = reconcile_cluster(context, desired, authority, agreed)
            stale_in_a_row = 0
        except Stale as stale:
            stale_in_a_row += 1
            if stale_in_a_row > STALE_IN_A_ROW_MAX:
                raise
            outcome = Outcome(State.WAITING, waits=(after_error(stale),))
        outcome = pace.paced(outcome, time.monotonic())
        report(outcome)
        if outcome.state in (State.CONVERGED, State.STOPPED):
            return outcome
        if outcome.state is State.WAITING:
            session.wait(WATCHED, _pause_s(outcome))


def _pause_s(outcome: Outcome) -> float:
    """The longest wait for news; short while throttles are set: brokers apply them in 0.1 s."""
    throttling = outcome.progress is not None and outcome.progress.phase is Phase.THROTTLING
    return POLL_S / 5 if throttling else POLL_S


Holding = Callable[[Session], AbstractContextManager[journal.Journal]]


def _holding_for_apply(patience_s: float) -> Holding:
    return lambda session: journal.held(session, "apply", _now_ms(), patience_s=patience_s)


@contextmanager
def _opened(
    access: ClusterConnections,
    holding: Holding,
    planner: Planner = make_plan,
    timed: Timed = untimed,
    pending: PendingPlan | None = None,
) -> Iterator[tuple[Session, PassContext]]:
    session = access.session()
    brokers = None
    try:
        brokers = access.brokers()
        with holding(session) as held:
            enrich = _enrich(access, brokers)
            memory = PassMemory(pending=pending or PendingPlan())
            reached = ZooKeeperAccess(held)
            context = PassContext(reached, _now_ms, brokers, enrich, memory, planner, timed)
            yield session, context
    finally:
        if brokers is not None:
            brokers.close()
        session.close()


def _enrich(access: ClusterConnections, brokers: BrokerClient | None) -> Enrich:
    """Return what adds sizes and rates to an observation; their sources may be away."""

    def enrich(cluster: Cluster) -> Cluster:
        if brokers is not None:
            cluster = enriched(cluster, brokers, BROKERS_S).cluster
        return access.measured(cluster)

    return enrich


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Kept:
    """What the loop of one cluster is given: its declared state, its callbacks, its wake-up.

    `paused`: whether the loop finishes the stage in flight and starts no other, whatever is
    declared. `settling`: whether resources may still be arriving, one by one. `beat` is called with
    the seconds for which the loop may now be silent. `offer` returns the external plan for this
    cluster, if there is one. `pending` is the pending plan; it survives a change of executor or of
    mode.
    """

    access: ClusterConnections
    desired: Callable[[], Desired]
    report: Report
    wake: Event = field(default_factory=Event)
    stop: Event = field(default_factory=Event)
    paused: Callable[[], bool] = lambda: False
    settling: Callable[[], bool] = lambda: False
    planner: Planner = make_plan
    timed: Timed = untimed
    beat: Callable[[float], None] = lambda patience_s: None
    offer: Callable[[], ExternalPlan | None] = lambda: None
    pending: PendingPlan = field(default_factory=PendingPlan)

    def end(self) -> None:
        """Ask the loop to end; the next executor resumes the recorded run."""
        self.stop.set()
        self.wake.set()


def keep(kept: Kept) -> None:
    """Reconcile one cluster until asked to end; runs in a thread of its own.

    Errors are reported and retried, with pauses of 1 s doubling to 30 s. No error ends the loop.
    """
    failures = 0
    while not kept.stop.is_set():
        kept.beat(PASS_S)
        try:
            if kept.desired().cluster.mode is Mode.PLAN_ONLY:
                _preview(kept)
            else:
                _keep_held(kept)
            failures = 0
        except HolderActive as other:
            kept.report(Outcome(State.WAITING, waits=(after_error(other),), error=other))
        except PoolkeeperError as error:
            kept.report(Outcome(State.WAITING, waits=(after_error(error),), error=error))
            failures = min(failures + 1, 6)
            _pause(kept, min(2 ** (failures - 1), 30))
        except Exception as error:
            # A bug in one pass must end neither this loop nor the others.
            logger.exception("pass of cluster %s failed", kept.desired().cluster.name)
            internal = Internal(f"internal error: {error!r}")
            kept.report(Outcome(State.WAITING, waits=(after_error(internal),), error=internal))
            failures = min(failures + 1, 6)
            _pause(kept, min(2 ** (failures - 1), 30))


def _preview(kept: Kept) -> None:
    """Plan and report without a single write, until the mode changes."""
    with kept.access.session() as session:
        brokers = kept.access.brokers()
        enrich = _enrich(kept.access, brokers)
        view = ZooKeeperView(session)
        context = PreviewContext(view, _now_ms, enrich, kept.pending, kept.planner, kept.timed)
        try:
            while not kept.stop.is_set() and kept.desired().cluster.mode is Mode.PLAN_ONLY:
                kept.beat(PASS_S)
                kept.wake.clear()
                kept.report(preview(context, kept.desired()))
                kept.beat(RESYNC_S + PASS_S)
                session.wait(WATCHED, RESYNC_S, kept.wake)
        finally:
            if brokers is not None:
                brokers.close()


def _keep_held(kept: Kept) -> None:
    pace = TransferRate()
    holding = _holding_for_run(kept)
    with _opened(kept.access, holding, kept.planner, kept.timed, kept.pending) as (
        session,
        context,
    ):
        while not kept.stop.is_set() and kept.desired().cluster.mode is not Mode.PLAN_ONLY:
            kept.beat(PASS_S)
            kept.wake.clear()
            desired = kept.desired()
            authority = authority_of(desired, journal.read_approvals(session))
            authority = replace(authority, settling=kept.settling())
            if kept.paused():
                authority = Authority(paused=True)
            try:
                offered = kept.offer()
                outcome = reconcile_cluster(context, desired, authority, external=offered)
            except Stale as stale:
                waits = (after_error(stale),)
                outcome = Outcome(State.WAITING, waits=waits, seen=context.memory.seen)
            kept.report(pace.paced(outcome, time.monotonic()))
            if outcome.state is not State.PROGRESSED:
                busy = outcome.progress is not None or bool(outcome.waits) or _awaited(outcome)
                paths: Sequence[str] = (*WATCHED, znodes.APPROVALS)
                kept.beat(RESYNC_S + PASS_S)
                session.wait(paths, POLL_S if busy else RESYNC_S, kept.wake)


def _awaited(outcome: Outcome) -> bool:
    """Whether an external plan waits for its turn."""
    return outcome.external is not None and outcome.external.state is ExternalPlanState.WAITING


def _holding_for_run(kept: Kept) -> Holding:
    """Return what takes the journal, once its holder released it or its session expired."""

    def waiting(holder: journal.Holder) -> None:
        kept.wake.clear()
        wait = Wait(WaitReason.EXECUTOR_ACTIVE, detail=str(holder))
        kept.report(Outcome(State.WAITING, waits=(wait,)))

    return lambda session: journal.held(
        session, "run", _now_ms(), patience_s=PATIENCE_S, waiting=waiting, wake=kept.wake
    )


def _pause(kept: Kept, seconds: float) -> None:
    kept.beat(seconds + PASS_S)
    kept.wake.wait(seconds)
    kept.wake.clear()
