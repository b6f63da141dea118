"""How `poolkeeper ui` looks at a cluster, and which pages it shows of it.

A look reads what the command of the same name reads, and writes nothing. Manifests that change are
read again by the next look; while they are wrong, the pages say so.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock, Semaphore
from typing import Protocol, TypeVar

from poolkeeper.cli import timing
from poolkeeper.cli.commands.plans.current_plan import current_plan
from poolkeeper.cli.commands.ui import rehearsal_page
from poolkeeper.cli.input.clusters import cluster_reading, status_reading, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output.plans import plan_page
from poolkeeper.cli.output.plans.plan_page import PlanSeen
from poolkeeper.cli.output.runs import run_page
from poolkeeper.cli.output.runs.run_page import RunSeen
from poolkeeper.resources.parse import files
from poolkeeper.resources.parse.files import Stamp
from poolkeeper.ui.registry import LiveCluster, LivePage
from poolkeeper.ui.watch import Looking, SharedLook
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import history as finished_runs
from poolkeeper.zk.journal.history import History

T = TypeVar("T")

LOOKS_AT_ONCE = 8
"""How many looks are under way at one time, over all clusters."""
PLAN_EVERY_S = 10.0
HISTORY_EVERY_S = 5.0
PLAN_REFRESH_S = 30

_SLOTS = Semaphore(LOOKS_AT_ONCE)


class Declared(Protocol):
    """Where the pages find what is declared of a cluster."""

    @property
    def words(self) -> tuple[str, ...]:
        """The options that name the manifests, for a line of a shell; none without manifests."""

    def target(self) -> Target:
        """Return the cluster's target; raises InvalidInput, Refused and Unavailable."""

    def leaderless(self) -> tuple[str, ...]:
        """Return why nobody acts on what is declared, if no operator leads; raises Unavailable."""


@dataclass(slots=True)
class DeclaredInFolder:
    """The cluster's target; its manifests are read again when a file of theirs has changed."""

    address: ClusterSelection
    _target: Target | None = None
    _stamp: Stamp | None = None
    _lock: Lock = field(default_factory=Lock)

    def target(self) -> Target:
        """Return the target; raises InvalidInput and Refused for manifests that are wrong."""
        with self._lock:
            stamp = files.stamp(self.address.folders)
            if self._target is None or stamp != self._stamp:
                self._target = targets.target(self.address)
                self._stamp = stamp
            return self._target

    @property
    def words(self) -> tuple[str, ...]:
        """The options that name the manifests, for a line of a shell; none without manifests."""
        return self.address.words

    def leaderless(self) -> tuple[str, ...]:
        """Return nothing: who acts on a folder is not known."""
        return ()


@dataclass(slots=True)
class StatusLook:
    """Looks at the status over one session, which stays open between looks."""

    declared: Declared
    _session: Session | None = None
    _connect: str = ""

    def look(self) -> RunSeen:
        """Read the status; raises Unavailable."""
        target, leaderless = self.declared.target(), self.declared.leaderless()
        if self._connect != target.connect:
            self.rest()
        try:
            if self._session is None:
                self._session, self._connect = cluster_reading.open_session(target), target.connect
            return RunSeen(status_reading.read(self._session, target), leaderless)
        except BaseException:
            self.rest()  # the next look begins with another session
            raise

    def rest(self) -> None:
        """Close the session."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def history(declared: Declared) -> History:
    """Read the finished runs; raises Unavailable."""
    with cluster_reading.session(declared.target()) as session:
        return finished_runs.read(session)


def plan(declared: Declared) -> PlanSeen:
    """Read the plan that is stored, or make one; raises Unavailable and what `plan` raises."""
    return current_plan(declared.target(), declared.words)


def cluster_pages(declared: Declared, name: str) -> LiveCluster:
    """The pages of one cluster. A page more is a line more."""
    status = StatusLook(declared)
    whose = shlex.quote(name)
    run = SharedLook(
        Looking(_in_turn(status.look), status.rest), timing.WATCH_EVERY_S, f"the run of {whose}"
    )
    planned = SharedLook(
        Looking(_in_turn(lambda: plan(declared))), PLAN_EVERY_S, f"the plan of {whose}"
    )
    ended = SharedLook(
        Looking(_in_turn(lambda: history(declared))), HISTORY_EVERY_S, f"the history of {whose}"
    )
    rehearsed = SharedLook(
        Looking(_in_turn(lambda: rehearsal_page.look(declared.target(), declared.words))),
        rehearsal_page.REHEARSE_EVERY_S,
        f"the rehearsal of {whose}",
    )
    pages = (
        LivePage("run", "Run", run, run_page.report),
        LivePage(
            "pools", "Pools", planned, plan_page.pools, in_place=False, refresh_s=PLAN_REFRESH_S
        ),
        LivePage(
            "plan", "Plan", planned, plan_page.report, in_place=False, refresh_s=PLAN_REFRESH_S
        ),
        LivePage(
            "rehearsal",
            "Rehearsal",
            rehearsed,
            rehearsal_page.report,
            in_place=False,
            refresh_s=round(rehearsal_page.REHEARSE_EVERY_S),
        ),
        LivePage(
            "history",
            "History",
            ended,
            lambda found: run_page.history(name, found.runs, found.damage),
        ),
    )
    return LiveCluster(name, pages, run_page.line)


def all_pages(address: ClusterSelection) -> tuple[LiveCluster, ...]:
    """The pages of the cluster that is selected, or of all that the manifests hold.

    Raises InvalidInput with all problems of the manifests, Refused for an unknown name.
    """
    if address.zookeeper is not None or address.cluster is not None:
        return (cluster_pages(DeclaredInFolder(address), targets.target(address).name),)
    return tuple(
        cluster_pages(DeclaredInFolder(replace(address, cluster=name)), name)
        for name in targets.names(address)
    )


def _in_turn(look: Callable[[], T]) -> Callable[[], T]:
    def looked() -> T:
        with _SLOTS:
            return look()

    return looked
