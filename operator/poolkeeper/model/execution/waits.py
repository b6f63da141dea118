"""What a pass waits for, as values: a reason of `wait_reasons` and its numbers."""

from collections.abc import Iterable
from dataclasses import replace

from poolkeeper.errors import HolderActive, NodeDamage, PoolkeeperError, Refused, Stale, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.refusals import Refusal, refusal_of
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.specs import Mode
from poolkeeper.model.topology import TopicPartition

NO_CANCEL_API = "Kafka before 2.4 has no API for it"
BEGUN_BEFORE_API = "Kafka before 2.4 began it, and the API of later ones would take it back in part"
"""The `detail` of a wait: why brokers cannot cancel moves."""


@frozen
class RoomNeed:
    """A step that lacks space: what it needs on a broker, and what is free below its mark."""

    partition: TopicPartition
    broker: int
    needed_bytes: int
    left_bytes: int


@frozen
class RoomShortage:
    """The steps that lack space on disks: the first few, how many `more` there are, what helps.

    Each of `ways` is enough by itself: (broker, bytes) of space to free on several brokers
    together.
    """

    needs: tuple[RoomNeed, ...] = ()
    more: int = 0
    ways: tuple[tuple[tuple[int, int], ...], ...] = ()


Kind = tuple[WaitReason, str, tuple[str, ...], str]


@frozen
class Wait:
    """One thing that a pass waits for; the reason says which fields are set.

    `detail`: the words of a broker, a server or an error, unchanged.
    """

    reason: WaitReason
    name: str = ""
    names: tuple[str, ...] = ()
    mode: Mode | None = None
    topic: str = ""
    topics: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    brokers: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    replicas: tuple[int, ...] = ()
    stage: int = 0
    count: int = 0
    of: int = 0
    hash: str = ""
    until: str = ""
    path: str = ""
    law: str = ""
    ending: Ending | None = None
    detail: str = ""
    action: Action | None = None
    cause: "Wait | None" = None
    room: RoomShortage | None = None
    consequence: Consequence | None = None
    refusal: Refusal | None = None

    @property
    def kind(self) -> Kind:
        """The reason without its numbers: a number that counts down is no change."""
        topics = {self.topic, *self.topics, *(name.topic for name in self.partitions)}
        return self.reason, self.hash or self.name, tuple(sorted(topics)), self.detail


_R = WaitReason
_AWAITED = frozenset(
    (
        *(_R.PREDECESSORS_NOT_APPROVED, _R.APPROVAL_UNMATCHED),
        *(_R.APPROVAL_REQUIRED, _R.PAUSED, _R.PLAN_ONLY, _R.STOPPED_BY_PERSON, _R.SETTLING),
        *(_R.OUTSIDE_WINDOW, _R.RESTART_LOCKED, _R.FOREIGN_REQUEST, _R.FOREIGN_MOVE),
        *(_R.ORPHANED_MOVES, _R.ORPHANED_MOVES_AWAITED, _R.RUN_LOST),
        *(_R.LEFT_ALONE, _R.RUN_RECORDED, _R.REPLICA_NOT_IN_SYNC, _R.PARTITION_STATE_UNKNOWN),
        *(_R.THROTTLES_YIELDED, _R.THROTTLES_NOT_KEPT, _R.THROTTLES_UNACCOUNTED),
        *(_R.CONFIG_REFUSED, _R.BROKERS_UNREACHABLE),
    )
)
"""What a person has chosen, and what others will end by themselves."""
_IN_COURSE = frozenset(
    (
        *(_R.STAGE_IN_FLIGHT, _R.MOVES_RETURNING, _R.THROTTLE_SETTLING, _R.TOPICS_CHANGING),
        *(_R.ELECTION_IN_PROGRESS, _R.TOPIC_CHANGING, _R.TOPIC_REASSIGNED, _R.LEADERS_MISSING),
        *(_R.TOPIC_STILL_DELETING, _R.TOPIC_DELETING, _R.REPLICA_COPYING),
        *(_R.LOG_DIR_MOVES_IN_FLIGHT, _R.LOG_DIR_MOVES_RETURNING, _R.LOGS_NOT_TOLD),
        *(_R.STALE_WRITE, _R.PLAN_BEING_READ, _R.NOT_OBSERVED_YET),
    )
)
"""What passes in the normal course of the work."""


def blocks(wait: Wait) -> bool:
    """Whether somebody or something must change before the wait ends."""
    return wait.reason not in _AWAITED and wait.reason not in _IN_COURSE


def hold_up(waits: Iterable[Wait], *, copying: bool) -> bool:
    """Whether work stands still until one of the waits ends.

    What a person or a window has so keeps the next stage from starting, and stops no copy; a config
    that cannot be read does so too.
    """
    if copying:
        unlimited = (_R.THROTTLES_UNREADABLE, _R.THROTTLES_UNWRITABLE)
        return any(blocks(wait) and wait.reason not in unlimited for wait in waits)
    return any(wait.reason not in _IN_COURSE for wait in waits)


def in_order(waits: Iterable[Wait]) -> tuple[Wait, ...]:
    """Return what blocks first, then what is awaited, then what passes; each thing once.

    Waits that differ in their partitions alone become one.
    """
    alike: dict[Wait, list[TopicPartition]] = {}
    for wait in waits:
        alike.setdefault(replace(wait, partitions=()), []).extend(wait.partitions)
    found = (replace(wait, partitions=tuple(dict.fromkeys(names))) for wait, names in alike.items())
    return tuple(sorted(found, key=_rank))


def _rank(wait: Wait) -> int:
    return 0 if blocks(wait) else 1 + (wait.reason in _IN_COURSE)


def after_error(error: PoolkeeperError) -> Wait:
    """Return the wait after an error."""
    match error:
        case HolderActive():
            return Wait(WaitReason.EXECUTOR_ACTIVE, detail=error.holder)
        case Refused():
            return Wait(WaitReason.FAILED, detail=str(error), refusal=refusal_of(error))
        case Stale():
            return Wait(WaitReason.STALE_WRITE, detail=str(error))
        case Unavailable():
            return Wait(WaitReason.UNAVAILABLE, detail=str(error))
        case _:
            return Wait(WaitReason.FAILED, detail=str(error))


def damage_wait(damage: NodeDamage) -> Wait:
    """Return the wait for a node of ours that cannot be read."""
    return Wait(WaitReason.NODE_DAMAGED, path=damage.path, detail=str(damage))


def has(waits: tuple[Wait, ...], reason: WaitReason) -> bool:
    """Whether one of the waits has this reason."""
    return any(wait.reason is reason for wait in waits)
