"""A seed from its beginning to its end.

Troubles come within `TROUBLE_MS`, each when it first can. When the last is over and nothing has
changed for `STILL_MS`, the loop is at rest. If it waits then, what it waits for is put right as far
as people can, and it goes on; after a few such rounds it must have converged.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from poolkeeper.errors import Forbidden, PoolkeeperError, Stale, Unavailable
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error, has
from poolkeeper.model.specs import Mode, Remedies
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.reassignments.stalls import IGNORED_PAUSE_MS
from poolkeeper.reconcile.authority import authority_of
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.preview import preview_cluster
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SESSION_MS
from poolkeeper.sandbox.fake_zookeeper import Faults
from simulation.asked import AskedBrokers
from simulation.campaign import damage, machines, offers, repairs, tools
from simulation.campaign.damage import DAMAGE
from simulation.campaign.groups import KINDS, groups, may_join
from simulation.campaign.kinds import Trouble
from simulation.campaign.machines import MACHINES
from simulation.campaign.offers import OFFERS
from simulation.campaign.ours import AT_CALLS, OUTAGES_MS, CallTroubles
from simulation.campaign.people import PEOPLE
from simulation.campaign.situation import RELEASES, Situation, drawn
from simulation.campaign.tools import TOOLS
from simulation.campaign.upkeep import RELEASES_OF, UPKEEP
from simulation.executors import Executor, PlannedBefore

ACTIONS: Mapping[Trouble, Callable[[Situation], bool]] = {
    **MACHINES,
    **UPKEEP,
    **TOOLS,
    **DAMAGE,
    **PEOPLE,
    **OFFERS,
}
TROUBLE_MS = 15_000
RETRY_MS = 1_500
TRIES = 14
STILL_MS = 30_000
ROUNDS_MAX = 3
"""How often all is put right: people see what is in the way only when it is."""
CONVERGED_MS = 6_000
POLL_S, POLL_MAX_S = 10.0, 20.0


@dataclass(slots=True)
class Loop(Executor):
    """The loop of one cluster as `poolkeeper run` has it, until it is at rest."""

    situation: Situation | None = None
    calls: CallTroubles | None = None
    _last: Any = None
    _since_ms: int = 0

    def _open(self, plan: Faults) -> FakeSession:
        self._last = None  # what did not change while no pass ended may just be about to
        s = self.situation
        assert s is not None
        if s.repair_due:
            s.repair_due = False
            repairs.repair(s)
        return Executor._open(self, plan)

    def _pass(self, context: PassContext) -> Outcome:
        s = self.situation
        assert s is not None
        context = replace(context, now_ms=lambda: s.now_ms + s.skew_ms)
        if s.repair_due:
            raise Unavailable("a person ended this process, to run repair")
        try:
            if s.desired.cluster.mode is Mode.PLAN_ONLY:
                return preview_cluster(context.preview, s.desired)
            offered = offers.make(s, context)
            outcome = reconcile_cluster(
                context, s.desired, authority_of(s.desired), external=offered
            )
            offers.hear(s, outcome.external)
            return outcome
        except Stale as stale:
            return Outcome(State.WAITING, waits=(after_error(stale),))
        except Forbidden as refused:
            return Outcome(State.WAITING, waits=(after_error(refused),), error=refused)
        except Unavailable:
            raise
        except PoolkeeperError as error:
            return Outcome(State.WAITING, waits=(after_error(error),), error=error)

    def _close(self, session: FakeSession) -> None:
        assert self.calls is not None
        if self.calls.away():
            session.die()
        else:
            session.close()

    def rest(self, outcome: Outcome) -> bool:
        """Whether nothing is under way, and nothing has changed for a while."""
        s = self.situation
        assert s is not None
        counts = tuple((w.kind, w.count, w.brokers) for w in outcome.waits)
        sign = (outcome.state, frozenset(counts), outcome.progress and outcome.progress.phase)
        changed = sign != self._last or bool(outcome.did)
        if changed or s.now_ms < s.quiet_from_ms:
            self._last, self._since_ms = sign, s.now_ms
            return False
        still_ms = CONVERGED_MS if outcome.state is State.CONVERGED else STILL_MS
        return s.now_ms - self._since_ms >= still_ms

    def poll_s(self) -> float:
        """How long to wait for news: longer where there was none for long."""
        assert self.situation is not None
        progress = self.seen[-1].progress if self.seen else None
        if progress is not None and progress.phase is Phase.THROTTLING:
            return 1.0
        still_s = (self.situation.now_ms - self._since_ms) / 1000
        return min(max(POLL_S, still_s), POLL_MAX_S)


@dataclass(slots=True)
class Played:
    """What became of a seed: at rest, and after all was put right if it waited then."""

    situation: Situation
    loop: Loop
    since_zxid: int
    ends: list[Outcome] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)


def troubles_of(s: Situation) -> list[Trouble]:
    """Draw the troubles of a situation: a group by its seed, and sometimes one more."""
    kinds = [*groups()[s.seed % len(groups())]]
    more = s.dice.choice(KINDS)
    if s.dice.randrange(3) == 0 and may_join(more, kinds):
        kinds.append(more)
    return kinds


def _releases(seed: int) -> Sequence[str]:
    """Return the releases in which all kinds of a seed's group can happen, if there are such."""
    kinds = groups()[seed % len(groups())]
    return next((RELEASES_OF[kind] for kind in kinds if kind in RELEASES_OF), RELEASES)


def play(seed: int, at_rest: Callable[[Played], list[str]] = lambda _: []) -> Played:
    """Play a seed; `at_rest` names what is wrong each time the loop is at rest."""
    s = drawn(seed, _releases(seed))
    calls = CallTroubles(s)
    brokers = AskedBrokers(s.cluster, tells_logs=s.tells_logs)
    loop = Loop(
        s.cluster,
        s.desired,
        brokers=brokers if s.asks_brokers else None,
        enrich=brokers.enrich if s.tells_logs else lambda cluster: _with_sizes(s, cluster),
        plan=PlannedBefore(),
        situation=s,
        calls=calls,
    )
    loop.at_rest, loop.pause_s = loop.rest, loop.poll_s
    played = Played(s, loop, s.cluster.server.zxid)
    _edit(s)
    for kind in troubles_of(s):
        _schedule(s, calls, kind)
    s.busy(TROUBLE_MS)
    _finish(played, calls.plan, at_rest)
    while _waits(played.ends[-1]) and len(played.ends) <= ROUNDS_MAX:
        _put_right(s, played.ends[-1])
        _finish(played, calls.plan, at_rest)
    return played


def _finish(played: Played, plan: Faults, at_rest: Callable[[Played], list[str]]) -> None:
    played.loop.finish(lambda _: plan, passes_max=2000)
    played.ends.append(played.loop.seen[-1])
    played.checked += at_rest(played)


def stopped(outcome: Outcome) -> bool:
    """Whether a person stopped the run, of the cluster's own plan or of a Rebalance's."""
    return has(_told(outcome), WaitReason.STOPPED_BY_PERSON)


def _told(outcome: Outcome) -> tuple[Wait, ...]:
    """What is waited for, by the cluster's own plan or by a Rebalance's."""
    told = () if outcome.external is None else outcome.external.why
    return (*outcome.waits, *(why for why in told if isinstance(why, Wait)))


def _waits(outcome: Outcome) -> bool:
    """Whether a loop at rest is not done; a run that a person stopped is."""
    if stopped(outcome) and not outcome.waits:
        return False
    if has(outcome.waits, WaitReason.STOPPED_BY_PERSON):
        return len(outcome.waits) > 1
    return outcome.state is not State.CONVERGED or bool(outcome.waits)


def _edit(s: Situation) -> None:
    """Make the edit that the run begins with: data has to move, in most cases."""
    kind = s.dice.choice(
        (Trouble.POOL_CHANGED, Trouble.DRAINED, Trouble.FACTOR_CHANGED, Trouble.POOL_CHANGED)
    )
    if not ACTIONS[kind](s):
        ACTIONS[Trouble.DRAINED](s)


def _schedule(s: Situation, calls: CallTroubles, kind: Trouble) -> None:
    left = TRIES

    def strike() -> None:
        nonlocal left
        left -= 1
        if kind in AT_CALLS or kind in OUTAGES_MS or kind is Trouble.CLOCK_JUMPS:
            calls.arm(kind)
        elif s.live and ACTIONS[kind](s):
            s.struck.append((s.now_ms, kind))
            s.busy(1000)
        elif left:
            s.later(RETRY_MS, strike)

    s.later(s.dice.uniform(200, TROUBLE_MS), strike)


STRANGE = (
    WaitReason.FOREIGN_REQUEST,
    WaitReason.UNREADABLE_REQUEST,
    WaitReason.REQUEST_EMPTY,
    WaitReason.REQUEST_BROKER_UNKNOWN,
    WaitReason.REQUEST_BROKER_NOT_LIVE,
    WaitReason.REQUEST_NOT_BEGUN,
    WaitReason.REQUEST_DONE,
)


def _with_sizes(s: Situation, cluster: Cluster) -> Cluster:
    """Return what brokers would tell of the sizes."""
    topics = {
        name: replace(
            topic,
            partitions=tuple(
                p._replace(size_bytes=s.sizes.get((name, p.partition), 0)) for p in topic.partitions
            ),
        )
        for name, topic in cluster.topics.items()
    }
    return replace(cluster, topics=topics)


REPAIRED = (WaitReason.FAILED, WaitReason.ISR_OUTSIDE_REPLICAS)
"""What `poolkeeper repair` mends."""

MENDS: tuple[tuple[Collection[WaitReason], Callable[[Situation], None]], ...] = (
    (REPAIRED, repairs.repair),
    (
        (WaitReason.TOPIC_QUEUED_FOR_DELETION, WaitReason.DELETION_AWAITS_BROKERS),
        lambda s: repairs.remove_topics(s, tools.NOBODY),
    ),
    ((WaitReason.LOG_OF_NEW_PARTITION,), repairs.remove_stray_logs),
    ((WaitReason.STAGE_IN_FLIGHT, WaitReason.FOREIGN_MOVE), repairs.copy_again),
)
"""What people do by hand about what a loop waits for."""


def _put_right(s: Situation, outcome: Outcome) -> None:
    """Undo what people can undo: brokers return, strangers go, everything is allowed."""
    for id_, broker in s.cluster.simulation.brokers.items():
        if broker.disk.failed:
            machines.replace_log_dirs(s, id_)
    for id_ in s.dead:
        machines.start(s, id_)
    s.edit_cluster(mode=Mode.APPLY)
    offers.open_window(s)
    s.edit_execution(remedies=Remedies(True, True, True))
    for entity in s.foreign_throttles & set(tools.throttled(s)):
        tools.clear_throttles(s, entity)
    for path in [*s.hidden]:
        damage.show(s, path)
    tools.load_configs(s)
    if s.has(Trouble.CONFIG_UNLOADABLE):  # brokers make a log once they are told of it again
        s.later(2_000, lambda: machines.change_controller(s))
    told = _told(outcome)
    strange = any(wait.reason in STRANGE for wait in told)
    if strange and s.cluster.exists(REQUEST):
        s.cluster.delete(REQUEST)
        s.cluster.delete("/controller")
    for reasons, mend in MENDS:
        if any(wait.reason in reasons for wait in told):
            mend(s)
    if has(told, WaitReason.REQUEST_IGNORED):
        s.cluster.clock.advance(IGNORED_PAUSE_MS)
    s.later(SESSION_MS + 1000, lambda: tools.leave_nobody(s))
    s.busy(10_000)
