"""A run: the execution of one plan, recorded from its first write until throttles are restored."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.punctuality import NOTHING_LOST, LostTime
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import ReassignmentEntry, TopicPartition
from poolkeeper.typed_json import Milliseconds

CHUNKS_MAX = 400
"""Of a stored document, 200 KiB each: 1,000,000 moves take about a tenth."""
_Count = Annotated[int, Meta(ge=0, le=2**62, description="an integer of 0 or more")]
_Name = Annotated[
    str, Meta(max_length=300, pattern=r"\A[^\x00-\x1f\x7f]*\Z", description="a short text")
]
_Step = Annotated[tuple[_Count, _Count], Meta(description="a list of two")]


class Phase(StrEnum):
    """The phase of a run, in the order of a run."""

    STORING = "storing the plan"
    THROTTLING = "writing throttles"
    MOVING = "moving"
    COPYING = "moving between log directories"
    ELECTING = "electing preferred leaders"
    RESTORING = "restoring throttles"


class Ending(StrEnum):
    """Why a run ends."""

    FINISHED = "finished"
    STOPPED = "stopped"
    REPLACED = "replaced"
    ROLLED_BACK = "rolled back"


class RateReason(StrEnum):
    """Why the throttle of a run has its present rate."""

    OUT_OF_SYNC = "OutOfSync"
    """Halved: partitions lost in-sync replicas."""
    FALLING_BEHIND = "FallingBehind"
    """Halved: in-sync replicas fell further and further behind their leaders."""
    INGEST = "Ingest"
    """Raised to what the moving partitions receive, so that they can arrive."""
    KEEPING_UP = "KeepingUp"
    """Raised: all replicas keep up."""
    NOT_LIMITING = "NotLimiting"
    """Left: the copies use less than half of it."""
    HIGHEST = "Highest"
    """Left: it is as high as it may get."""
    DECLARED = "Declared"
    """Set: the declared rate was changed during the run."""


@frozen
class Run:
    """The small part of a run's record, rewritten with every phase and request.

    Times are milliseconds since 1970, rates bytes per second.

    `concern`: what the rest of the run depends on (`planning.proposals.identity`).
    `digest`, `chunks`: of the document; empty and 0 until it is written.
    `step`: (move, index of the path's list) pairs of the request in flight, empty between stages.
    `rates`: the throttle in force and, while it is being changed, the one before; empty without.
    `returning`: the moves of `step` that are cancelled: they go back to the list that their step
    began with.
    `rate_reason`: why the throttle has its rate; `None` while that is the one it began with.
    `declared_rate`: the declared rate that the throttle began from; 0 without, or where an earlier
    release began the run.
    `ending`: why the run ends; `None` before that.
    `approved_by`: who allowed the plan, for people to read.
    `resumes`: the plan of the run whose lost record this one replaces (`planning.run_state.
    lost_runs`); empty otherwise.
    `lost`: what made it late, as of its last request.
    `version`: of the znode or object that holds the record, for a conditional write.
    """

    plan: _Name
    fingerprint: _Name
    concern: _Name
    phase: Phase
    digest: _Name
    chunks: Annotated[int, Meta(ge=0, le=CHUNKS_MAX)]
    started_ms: Milliseconds
    stage: _Count = 0
    step: tuple[_Step, ...] = ()
    requested_ms: Milliseconds = 0
    attempts: _Count = 0
    throttled_ms: Milliseconds = 0
    rates: tuple[_Count, ...] = ()
    ending: Ending | None = None
    version: int = 0
    returning: tuple[_Count, ...] = ()
    approved_by: str = ""
    rate_reason: RateReason | None = None
    declared_rate: _Count = 0
    resumes: _Name = ""
    lost: LostTime = NOTHING_LOST

    @property
    def plans(self) -> frozenset[str]:
        """The plans whose throttles this run accounts for: its own, and the one it resumes."""
        return frozenset({self.plan, self.resumes} - {""})

    def requested_moves(self, plan: Plan) -> tuple[Move, ...]:
        """Return the request in flight as moves from list to list; cancelled ones go back."""
        return tuple(
            self._one_step(plan.moves[m], index, m in self.returning) for m, index in self.step
        )

    @staticmethod
    def _one_step(move: Move, index: int, back: bool) -> Move:
        path = move.path[index - 1 : index + 1]
        size = move.replica_bytes * move.replicas_added[index - 1]
        return move._replace(path=path[::-1] if back else path, bytes=size)

    def requested(self, plan: Plan) -> tuple[ReassignmentEntry, ...]:
        """Return what the request in flight asks for: the next list, or the one before."""
        return tuple(
            ReassignmentEntry(
                plan.moves[m].topic,
                plan.moves[m].partition,
                plan.moves[m].path[index - 1 if m in self.returning else index],
            )
            for m, index in self.step
        )


@frozen
class StopRequest:
    """A person's request that the run ends.

    `at_once`: what is in flight is cancelled; otherwise it is finished first. `allow_failover`:
    another controller may be elected for it.
    """

    at_once: bool = False
    allow_failover: bool = False

    @property
    def ending(self) -> Ending:
        """How the run ends by it."""
        return Ending.ROLLED_BACK if self.at_once else Ending.STOPPED

    def added_to(self, before: "StopRequest | None") -> "StopRequest":
        """Return what is asked for after this request: nothing asked before is taken back."""
        if before is None:
            return self
        return StopRequest(
            before.at_once or self.at_once, before.allow_failover or self.allow_failover
        )


ThrottleValues = Mapping[str, str | None]
"""Throttle keys of one topic or broker; `None` means that the key is absent."""


@frozen
class Saved:
    """Throttle values before the run, for every entity that the run touches."""

    topics: Mapping[str, ThrottleValues] = field(default_factory=dict)
    brokers: Mapping[int, ThrottleValues] = field(default_factory=dict)


NOTHING_SAVED = Saved()
"""What is saved without a run, and by one that sets no throttles."""


@frozen
class UnreadableConfig:
    """A topic's or broker's config that cannot be read or written, and why not (`detail`)."""

    entity: str | int
    path: str
    detail: str


@frozen
class ThrottleConflicts:
    """Topics and brokers whose throttles somebody else set since the run began.

    `unset`: on how many topics and brokers the run's throttles were not set when they were read.
    `unreadable`: whose throttles nobody can tell or write; these are none of the others.
    `unwritable`: whose config may not be written, and has not all of ours.
    """

    topics: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()
    unset: int = 0
    unreadable: tuple[UnreadableConfig, ...] = ()
    unwritable: tuple[UnreadableConfig, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.topics or self.brokers)

    @property
    def unlimited(self) -> tuple[UnreadableConfig, ...]:
        """Whose throttles the run cannot set: whatever it moves of them is not limited."""
        return (*self.unreadable, *self.unwritable)


@frozen
class Health:
    """Partitions with too few in-sync replicas, by how severe that is."""

    under_replicated: frozenset[TopicPartition] = frozenset()
    under_min_isr: frozenset[TopicPartition] = frozenset()


@frozen
class RunDocument:
    """What any process needs to resume a run: plan, saved throttles, damage at its start."""

    plan: Plan
    saved: Saved
    baseline: Health

    @property
    def throttled(self) -> bool:
        """Whether the run sets throttles."""
        return bool(self.saved.topics or self.saved.brokers)


def contradiction(run: Run, document: RunDocument) -> str | None:
    """Return in what the run contradicts its document, None if in nothing."""
    moves = document.plan.moves
    strange = [
        [m, index] for m, index in run.step if m >= len(moves) or not 0 < index < len(moves[m].path)
    ]
    if strange:
        return f"step: {strange[:3]} are no steps of its plan"
    if run.plan != document.plan.hash:
        return f"plan: is not {document.plan.hash}, the stored one"
    if document.throttled and not run.rates:
        return "rates: is empty, and the run sets throttles"
    return None


@frozen
class StoredRun:
    """The recorded run as it was read, or nothing.

    `document` is None if it was not written completely. `damage`: why one of the two cannot be
    read; it is None then. `stop`: a person's request that the run ends.
    """

    run: Run | None = None
    document: RunDocument | None = None
    stop: StopRequest | None = None
    damage: NodeDamage | None = None

    @property
    def saved(self) -> Saved:
        """What the run saved of throttles; nothing without a run or its document."""
        return NOTHING_SAVED if self.document is None else self.document.saved

    @property
    def running(self) -> frozenset[str]:
        """The plans that the run accounts for if its document can be read; otherwise none."""
        return frozenset() if self.run is None or self.document is None else self.run.plans
