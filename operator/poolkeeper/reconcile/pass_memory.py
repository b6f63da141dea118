"""What a process remembers between passes.

The memory is a convenience. A process that starts anew knows less of the progress and asks the
brokers again, but it makes the same decisions.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from poolkeeper.brokers.sizes import Sizes
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind, Deletion
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.execution.punctuality import LostTime
from poolkeeper.model.execution.runs import RunDocument, StopRequest, UnreadableConfig
from poolkeeper.model.execution.throttles import Throttled
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topology import Cluster, TopicPartition, with_torn_as_before
from poolkeeper.planning.run_state import unclean_elections
from poolkeeper.planning.run_state.deletions import AskedDeletion
from poolkeeper.planning.run_state.gates.disks import SeenDisks
from poolkeeper.planning.run_state.progress.copied_bytes import bytes_done
from poolkeeper.planning.run_state.progress.held_copies import Asks, Holds
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyProgress, CopyState
from poolkeeper.planning.run_state.progress.move_progress import (
    DONE_IN_ONE,
    GIVEN_UP_STATES,
    NOT_BEGUN,
    MoveProgress,
    MoveState,
)
from poolkeeper.planning.run_state.progress.stalled_copies import CopyLooks
from poolkeeper.planning.run_state.reassignments.orphans import SeenOrphans
from poolkeeper.planning.run_state.reassignments.requests import SeenStall
from poolkeeper.planning.run_state.throttling.adaptive_rate import LOOKS, SizeLook
from poolkeeper.planning.run_state.throttling.throttles import ThrottleWatch
from poolkeeper.planning.staging.limits import ServerLimits
from poolkeeper.reconcile.answer_cache import AnswerCache

if TYPE_CHECKING:  # the clients of brokers take longest to import, and plans of files need none
    pass

UNCLEAN_MAX = 1000
LOOKS_APART_MS = 30_000
"""Of what happened between two looks that are further apart, nobody has seen when it did."""


@dataclass(slots=True)
class PendingPlan:
    """The plan that a person was last asked to approve; kept across changes of mode.

    `known`: what was planned last, and found out of the cluster.
    """

    plan: Plan | None = None
    known: AnswerCache = field(default_factory=AnswerCache)


@frozen
class PlanDuringRun:
    """The plan made during a run for its steps: its declared state and until when it is valid."""

    desired: Desired
    until_ms: int
    plan: Plan
    waits: tuple[Wait, ...] = ()


@frozen
class AskedCancel:
    """The moves that brokers were asked to cancel, since when, when last, and what they refused."""

    moves: tuple[int, ...] = ()
    since_ms: int = 0
    at_ms: int = 0
    waits: tuple[Wait, ...] = ()


@dataclass(slots=True)
class CopyMemory:
    """What a process knows of its run's moves between log directories.

    `sizes`: what brokers said at `asked_ms`; 0 if they are to be asked again. `progress`: how far
    each move is. `pending`: whether some had not begun when they were looked at last. `asks`: what
    came of the requests of a move, by its position. `silent_since_ms`: since when a live broker
    does not say how far its copies are. `looks`: since when copies do not grow.
    """

    asked_ms: int = 0
    sizes: Sizes = field(default_factory=lambda: Sizes({}))
    progress: tuple[CopyProgress, ...] = ()
    pending: bool = True
    asks: dict[int, Asks] = field(default_factory=dict)
    silent_since_ms: int | None = None
    looks: CopyLooks = field(default_factory=dict)


@frozen
class KnownRefusal:
    """A config that the brokers refused, in which words, and when they were asked."""

    check: "ConfigCheck"
    words: str
    asked_ms: int


@dataclass(slots=True)
class ConfigMemory:
    """What brokers said of topic configs, by topic; until when they are not asked."""

    refused: dict[str, KnownRefusal] = field(default_factory=dict)
    silent_until_ms: int = 0


@dataclass(slots=True)
class PunctualityMemory:
    """What made the run late, as of the last look; `None`: as it is recorded.

    `copied`: whether something was copied by the last look; `None` before the first one, which was
    at `at_ms`.
    """

    lost: LostTime | None = None
    copied: bool | None = None
    at_ms: int = 0

    def was_copied(self, now_ms: int, *, copying: bool) -> bool:
        """Whether something was copied since the last look, or before the first one."""
        if self.copied is None or now_ms - self.at_ms > LOOKS_APART_MS:
            return copying
        return self.copied


@dataclass(slots=True)
class PassMemory:
    """What one process keeps between passes.

    Losing it costs time, and the count of recent deletions: a new process may delete as many topics
    again before it asks a person. It requests moves once more that it did not see begin, and that
    somebody has cancelled, or that came to nothing before.
    """

    documents: dict[str, RunDocument] = field(default_factory=dict)
    elections: set[TopicPartition] = field(default_factory=set)
    """Partitions whose election was requested and is still due; it is not requested again."""
    bytes_done: dict[int, int] = field(default_factory=dict)
    arrived: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)
    """The moves that ended without having arrived."""
    all_moves_seen: bool = False
    """Whether this process has seen where every move of the run is, whoever made them."""
    moves_in_flight: int = 0
    reported_stage: tuple[int, int] | None = None
    """The stage whose end was reported, and how many of its partitions had arrived."""
    adapted_ms: int = 0
    looks: deque[SizeLook] = field(default_factory=lambda: deque(maxlen=LOOKS))
    """The last sizes of logs that the adaptive throttle goes by."""
    throttles: ThrottleWatch = field(default_factory=ThrottleWatch)
    released: set[str] = field(default_factory=set)
    """The topics whose throttle lists were taken off in mid-run, as all has arrived."""
    server_limits: ServerLimits = field(default_factory=ServerLimits)
    unwritten: dict[str, Action] = field(default_factory=dict)
    """By topic, what is told in the end of its steps of a person's plan that cannot be written."""
    unwritable: dict[str | int, UnreadableConfig] = field(default_factory=dict)
    """By topic and broker, why it cannot be throttled, as of `unwritable_ms` or the run since."""
    unwritable_ms: int = 0
    held: tuple[Wait, ...] = ()
    """Why moves of the run are held, as of the last look for its next stage."""
    stuck_throttles: Throttled = field(default_factory=Throttled)
    """Of what runs have left, whose config may not be written, as of `stuck_ms`."""
    stuck_ms: int = 0
    carried_out: set[str] | None = None
    """The hashes of plans that were carried out, as far as that is known; None: not read yet."""
    told_approval: str = ""
    """The hash of the approved plan that was told last."""
    deletions: deque[Deletion] = field(default_factory=lambda: deque(maxlen=100))
    asked_deletions: dict[str, AskedDeletion] = field(default_factory=dict)
    """Those of the last minutes, by topic."""
    has_begun: bool = False
    wrote_early: bool = False
    """Whether the last pass wrote creations, partitions or configs, and so came to nothing else."""
    stall: SeenStall | None = None
    orphans: SeenOrphans = field(default_factory=SeenOrphans)
    disks: SeenDisks = field(default_factory=SeenDisks)
    copies: CopyMemory = field(default_factory=CopyMemory)
    copy_holds: Holds = field(default_factory=dict)
    """The moves between log directories that earlier runs gave up."""
    configs: ConfigMemory = field(default_factory=ConfigMemory)
    gone: frozenset[int] | None = None
    """The brokers that counted as gone at `gone_read_ms`."""
    gone_read_ms: int = 0
    missing: set[int] | None = None
    """The declared brokers that were missing at the last look of this run."""
    unheard_since_ms: int | None = None
    """Since when brokers that shall cancel moves do not answer."""
    asked_cancel: AskedCancel = field(default_factory=AskedCancel)
    electing_since_ms: int | None = None
    """Since when a request for elections is there, while leaders are to be elected."""
    begun: set[int] = field(default_factory=set)
    """The requested moves that the controller has begun (2.4 and later)."""
    requested_nodes: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    """By topic, the version of its node and its partitions as the stage was requested."""
    overdue: Mapping[int, int] = field(default_factory=dict)
    """Since when a controller would have ended each requested move, had it known of it."""
    stop: StopRequest | None = None
    """That a person asked for the end of the run, as read in this pass while something moves."""
    last_observation: LastObservation | None = None
    leaders_seen: Cluster | None = None
    """Each topic as it was last read, and the brokers: what unclean elections are told from."""
    unclean: tuple[TopicPartition, ...] = ()
    """Partitions whose leader was elected uncleanly; not told yet."""
    punctuality: PunctualityMemory = field(default_factory=PunctualityMemory)
    plan_during_run: PlanDuringRun | None = None
    pending: PendingPlan = field(default_factory=PendingPlan)
    now_ms: int = 0
    """The time of the last pass."""

    def forget_times(self) -> None:
        """Forget what counts from a time that this process noted: its clock was set back."""
        self.adapted_ms = 0
        self.looks.clear()
        self.throttles = replace(self.throttles, checked_ms=0)
        self.stall = None
        self.orphans = SeenOrphans()
        self.disks = SeenDisks()
        self.copies = CopyMemory()
        self.copy_holds = {}
        self.configs = ConfigMemory()
        self.asked_deletions = {}
        self.unwritable_ms = self.stuck_ms = 0
        self.gone, self.gone_read_ms = None, 0
        self.unheard_since_ms = None
        self.asked_cancel = AskedCancel()
        self.punctuality.at_ms = 0
        self.electing_since_ms = None
        self.overdue = {}
        self.plan_during_run = None

    def note_electing(self, *, electing: bool, now_ms: int) -> None:
        """Note whether a request for elections is there at this look."""
        since_ms = now_ms if self.electing_since_ms is None else self.electing_since_ms
        self.electing_since_ms = since_ms if electing else None

    def observe(self, seen: LastObservation) -> None:
        """Remember what was observed, and note what leaders were elected uncleanly since."""
        self._note_elections(seen.cluster)
        if self.last_observation is not None:
            whole = with_torn_as_before(seen.cluster, self.last_observation.cluster)
            seen = replace(seen, cluster=whole)
        self.last_observation = seen

    def note_leaders(self, cluster: Cluster) -> None:
        """Note what leaders were elected uncleanly in topics that were read alone."""
        known = self.leaders_seen
        self._note_elections(cluster)
        if known is not None:
            self.leaders_seen = replace(cluster, topics={**known.topics, **cluster.topics})

    def _note_elections(self, cluster: Cluster) -> None:
        if self.leaders_seen is not None:
            found = unclean_elections.unclean_elections_between(self.leaders_seen, cluster)
            self.unclean = tuple(dict.fromkeys((*self.unclean, *found)))[:UNCLEAN_MAX]
        self.leaders_seen = cluster

    def take_elections(self) -> tuple[Action, ...]:
        """Return the unclean elections noted since they were taken last."""
        found, self.unclean = self.unclean, ()
        return (Action(ActionKind.UNCLEAN_ELECTION, partitions=found),) if found else ()

    def update_last_observation(self, cluster: Cluster) -> None:
        """Replace the remembered cluster; the Kafka version that the brokers reported is kept."""
        if self.last_observation is not None:
            now = replace(cluster, kafka_version=self.last_observation.cluster.kafka_version)
            whole = with_torn_as_before(now, self.last_observation.cluster)
            if whole != self.last_observation.cluster:
                self._note_elections(now)
                self.last_observation = replace(self.last_observation, cluster=whole)

    def note_progress(self, plan: Plan, m: int, progress: MoveProgress, cluster: Cluster) -> None:
        """Record the progress of one move of the run; it never goes back.

        A replica that leaves the ISR for a moment has not lost what it copied.
        """
        now = bytes_done(plan.moves[m], progress, cluster, self.disks.disks.copied)
        self.bytes_done[m] = max(now, self.bytes_done.get(m, 0))
        if progress.state in GIVEN_UP_STATES and m not in self.arrived:
            self.given_up.add(m)
        elif progress.state not in GIVEN_UP_STATES:
            self._take_back(m)
        if progress.state in (MoveState.DONE, MoveState.GONE):
            self.arrived.add(m)

    def _take_back(self, m: int) -> None:
        """Note that a move is not given up any more: its topic was made again."""
        if m in self.given_up:
            self.given_up.discard(m)
            self.arrived.discard(m)

    def note_all_moves(
        self, plan: Plan, progress: Sequence[MoveProgress], cluster: Cluster
    ) -> None:
        """Record the progress of every move of the run; an unreadable one is not waited for."""
        for m, each in enumerate(progress):
            # Most moves of a large plan have not begun, or are noted as arrived.
            is_noted = each is DONE_IN_ONE and m in self.arrived and m not in self.given_up
            if each is NOT_BEGUN:
                self._take_back(m)
            elif not is_noted:
                self.note_progress(plan, m, each, cluster)
        self.all_moves_seen = all(each.state is not MoveState.UNKNOWN for each in progress)

    def note_copies(self, progress: tuple[CopyProgress, ...]) -> None:
        """Record the progress of the run's moves between log directories.

        A broker that does not answer for a moment has not lost what it copied, and what is done is
        done.
        """
        known = self.copies.progress or progress
        self.copies.progress = tuple(
            _last_known(before, now) for before, now in zip(known, progress, strict=True)
        )

    def forget_run(self) -> None:
        """Forget the progress of the last run."""
        self.documents = {}
        self.bytes_done = {}
        self.arrived = set()
        self.given_up = set()
        self.all_moves_seen = False
        self.reported_stage = None
        self.held = ()
        self.throttles = ThrottleWatch()
        self.released = set()
        self.looks.clear()
        self.gone = self.missing = None
        self.disks = SeenDisks()
        self.copies = CopyMemory()
        self.punctuality = PunctualityMemory()
        self.stall = None
        self.unheard_since_ms = None
        self.asked_cancel = AskedCancel()
        self.electing_since_ms = None
        self.begun = set()
        self.requested_nodes = {}
        self.overdue = {}
        self.stop = None


def _last_known(before: CopyProgress, now: CopyProgress) -> CopyProgress:
    """How far a move between log directories is, by the look before where its broker is silent."""
    if now.state not in (CopyState.UNKNOWN, CopyState.AWAY, CopyState.UNREADABLE):
        return now
    if before.state is CopyState.DONE:
        return before
    return now._replace(copied_bytes=before.copied_bytes)
