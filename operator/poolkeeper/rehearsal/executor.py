"""Poolkeeper at work on a simulated cluster, in virtual time: what the loops do, as one process.

A process may die at any of its calls; `finish` lets another one take over when ZooKeeper has ended
the dead one's session, as often as it takes. The passes are the real ones; what is imitated is the
loop around them (`controller.loops.drive`), as it would wait for a real clock.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.controller.loops.wake_ups import WATCHED, WakeUpBudget
from poolkeeper.errors import Stale, Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.waits import after_error
from poolkeeper.model.plans import Plan
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.access import Enrich
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext, planner_of_a_loop
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Faults, faults
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading.reading_cache import DecodedTopics

POLL_S = 1.0
AWAY_MS = 1000
SESSION_END_MS = 60_000
EVERYTHING = Authority(steps=True, plans=None)


class NeverEnds(Exception):
    """The work does not come to its end within the passes or processes that it may take."""


def converged(outcome: Outcome) -> bool:
    """Whether nothing is left to do."""
    return outcome.state is State.CONVERGED


@dataclass(slots=True)
class Executor:
    """Works until `at_rest` says so.

    `passes` and `writes` count over all processes; `seen` is what they reported.
    """

    cluster: SimulatedCluster
    desired: Desired
    authority: Authority = EVERYTHING
    at_rest: Callable[[Outcome], bool] = converged
    agreed: Plan | None = None
    offer: Callable[[], ExternalPlan | None] = lambda: None
    enrich: Enrich = lambda cluster: cluster
    brokers: Any = None
    pause_s: Callable[[], float] = lambda: POLL_S
    plan: Planner = field(default_factory=planner_of_a_loop)
    decoded: DecodedTopics = field(default_factory=DecodedTopics)
    passes: int = 0
    writes: int = 0
    seen: list[Outcome] = field(default_factory=list)

    def finish(
        self,
        plans: Callable[[int], Faults] = lambda _: faults.none,
        *,
        passes_max: int = 1000,
        processes_max: int = 50,
    ) -> int:
        """Work until at rest; return how many processes it took.

        `plans` gives the faults of the n-th process, counted from 0.
        """
        for n in range(processes_max):
            if self._process(plans(n), passes_max):
                return n + 1
        raise NeverEnds(f"not converged after {processes_max} processes: {self.seen[-3:]}")

    def _process(self, plan: Faults, passes_max: int) -> bool:
        """Run one process to its end; false if it died."""
        lost: set[int] = set()
        while True:
            session = self._open(plan)
            try:
                self._hold(session, passes_max, lost)
                return True
            except Unavailable:
                self.wait_for_zookeeper()
            except faults.ClientKilled:
                self._await_end(session.session_id)
                return False
            finally:
                self.writes += session.fake.writes
                self._close(session)

    def _await_end(self, session: int) -> None:
        """Wait, as whoever takes over, for ZooKeeper to end a dead process's session."""
        server = self.cluster.server
        ended = self.cluster.clock.run_until(lambda: not server.is_alive(session), SESSION_END_MS)
        if not ended:
            raise NeverEnds("the session of a dead process does not end")

    def _now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def _open(self, plan: Faults) -> FakeSession:
        return FakeSession(self.cluster.server, self.cluster.clock, plan=plan)

    def _close(self, session: FakeSession) -> None:
        session.close()

    def _hold(self, session: FakeSession, passes_max: int, lost: set[int]) -> None:
        now_ms, news = self._now_ms, WakeUpBudget()
        with journal.hold(session, "apply", now_ms(), patience_s=30, lost=lost) as held:
            access = ZooKeeperAccess(held, self.decoded)
            context = PassContext(access, now_ms, self.brokers, self.enrich, plan=self.plan)
            while True:
                self.passes += 1
                if self.passes > passes_max:
                    raise NeverEnds(f"too many passes: {self.seen[-3:]}")
                outcome = self._pass(context)
                self.note(outcome)
                if self.at_rest(outcome):
                    return
                if outcome.state is not State.PROGRESSED:
                    self.pause(session, news)

    def wait_for_zookeeper(self) -> None:
        """Wait as a loop does before it tries to reach ZooKeeper again."""
        self.cluster.clock.advance(AWAY_MS)

    def note(self, outcome: Outcome) -> None:
        """Take in what a pass did."""
        self.seen.append(outcome)

    def pause(self, session: FakeSession, news: WakeUpBudget) -> None:
        """Wait as a loop does, for news or the next look."""
        self.cluster.clock.advance(1000 * news.pause_s(self._now_ms() / 1000))
        session.wait(WATCHED, self.pause_s())

    def _pass(self, context: PassContext) -> Outcome:
        try:
            return reconcile_cluster(
                context, self.desired, self.authority, self.agreed, self.offer()
            )
        except Stale as stale:
            return Outcome(State.WAITING, waits=(after_error(stale),))
