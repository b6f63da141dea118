"""Poolkeeper at work on a simulated cluster, in virtual time: what the loops do, as one process.

A process may die at any of its calls; `finish` lets another one take over when ZooKeeper has ended
the dead one's session, as often as it takes.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.controller.loop import WATCHED, NewsBudget
from poolkeeper.errors import Stale, Unavailable
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.waits import after_error
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import Enrich, PassContext, Planner, planner_of_a_loop
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.sandbox.fake_zookeeper import Faults, faults
from poolkeeper.zk import journal
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from simulation.clusters import SimulatedCluster
from simulation.fake_session import FakeSession

POLL_S = 1.0
AWAY_MS = 1000
EVERYTHING = Authority(steps=True, plans=None)


def converged(outcome: Outcome) -> bool:
    """Whether nothing is left to do."""
    return outcome.state is State.CONVERGED


@dataclass(slots=True)
class PlannedBefore:
    """A planner that answers its last questions again at once.

    A loop that waits repeats them, and so does a scenario that is played again with a fault.
    """

    known: deque[tuple[Any, Plan]] = field(default_factory=lambda: deque(maxlen=64))
    planner: Planner = field(default_factory=planner_of_a_loop)

    def __call__(self, *question: Any) -> Plan:
        for before, answer in self.known:
            if before == question:
                return answer
        self.known.append((question, self.planner(*question)))
        return self.known[-1][1]


PLANNED_BEFORE = PlannedBefore()


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
    plan: Planner = field(default_factory=lambda: PLANNED_BEFORE)
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
        raise AssertionError(f"not converged after {processes_max} processes: {self.seen[-3:]}")

    def _process(self, plan: Faults, passes_max: int) -> bool:
        """Run one process to its end; false if it died."""
        lost: set[int] = set()
        while True:
            session = self._open(plan)
            try:
                self._hold(session, passes_max, lost)
                return True
            except Unavailable:
                self.cluster.clock.advance(AWAY_MS)
            except faults.ClientKilled:
                self._await_end(session.session_id)
                return False
            finally:
                self.writes += session.fake.writes
                self._close(session)

    def _await_end(self, session: int) -> None:
        """Wait, as whoever takes over, for ZooKeeper to end a dead process's session."""
        server = self.cluster.server
        assert self.cluster.clock.run_until(lambda: not server.is_alive(session), 60_000)

    def _now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def _open(self, plan: Faults) -> FakeSession:
        return FakeSession(self.cluster.server, self.cluster.clock, plan=plan)

    def _close(self, session: FakeSession) -> None:
        session.close()

    def _hold(self, session: FakeSession, passes_max: int, lost: set[int]) -> None:
        now_ms, news = self._now_ms, NewsBudget()
        with journal.hold(session, "apply", now_ms(), patience_s=30, lost=lost) as held:
            access = ZooKeeperAccess(held)
            context = PassContext(access, now_ms, self.brokers, self.enrich, plan=self.plan)
            while True:
                self.passes += 1
                assert self.passes <= passes_max, f"too many passes: {self.seen[-3:]}"
                outcome = self._pass(context)
                self.seen.append(outcome)
                if self.at_rest(outcome):
                    return
                if outcome.state is not State.PROGRESSED:
                    self.cluster.clock.advance(1000 * news.pause_s(now_ms() / 1000))
                    session.wait(WATCHED, self.pause_s())

    def _pass(self, context: PassContext) -> Outcome:
        try:
            return reconcile_cluster(
                context, self.desired, self.authority, self.agreed, self.offer()
            )
        except Stale as stale:
            return Outcome(State.WAITING, waits=(after_error(stale),))
