"""What must be true of the cluster for a loop to wait for a reason: one line for each reason."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.refusals import RefusalReason
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import ApprovalPolicy, Mode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.sandbox.simulation.broker.configs import is_loadable
from poolkeeper.sandbox.simulation.codecs import Tp
from poolkeeper.sandbox.simulation.profiles import Era
from simulation.campaign import tools
from simulation.campaign.damage import DAMAGE
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import DISK_BYTES, RESTART_LOCK, Situation
from simulation.campaign.tools import NOBODY
from simulation.kraft import MIGRATION

Truth = Callable[[Situation, Wait], bool]


def untrue(s: Situation, outcome: Outcome) -> list[str]:
    """Name the reasons to wait that are not true."""
    return [
        f"it waits for {brief(wait)}, which is not so"
        for wait in outcome.waits
        if wait.reason not in TRUTHS or not TRUTHS[wait.reason](s, wait)
    ]


def brief(wait: Wait) -> str:
    """Return the reason and the fields that are set."""
    plain = Wait(wait.reason)
    found = (
        f"{each.name}={getattr(wait, each.name)!r}"
        for each in fields(wait)
        if getattr(wait, each.name) != getattr(plain, each.name)
    )
    return f"{wait.reason.value}({', '.join(found)})"


def _dead(s: Situation, wait: Wait) -> bool:
    return set(wait.brokers) <= {*s.dead, NOBODY}


def _missing(s: Situation, wait: Wait) -> bool:
    """Whether each broker is dead or out of sync; one that is back has nobody to copy from."""
    return all(
        broker in s.dead or broker not in s.cluster.state(*name)[1]
        for name in wait.partitions
        for broker in wait.brokers
    )


def _stray(s: Situation, wait: Wait) -> bool:
    """Whether the brokers hold logs of partitions that are not theirs."""
    held = {tuple(name) for broker in wait.brokers for name in s.cluster.simulation.strays(broker)}
    return {tuple(name) for name in wait.partitions} <= held


def _requested(s: Situation, wait: Wait) -> bool:
    body = s.body(REQUEST) or {}
    names = {(e["topic"], e["partition"]) for e in body.get("partitions", ())}
    return {tuple(name) for name in wait.partitions} <= names


def _unreadable(s: Situation, wait: Wait) -> bool:
    return s.cluster.exists(REQUEST) and not (s.body(REQUEST) or {}).get("partitions")


def _moving(s: Situation, wait: Wait) -> bool:
    return all(
        str(number)
        in {**(body.get("adding_replicas") or {}), **(body.get("removing_replicas") or {})}
        for topic, number in wait.partitions
        for body in [s.body(f"/brokers/topics/{topic}") or {}]
    )


def _out_of_sync(s: Situation, wait: Wait) -> bool:
    return all(
        set(s.cluster.replicas(topic)[str(number)]) - set(s.cluster.state(topic, number)[1])
        for topic, number in wait.partitions
    )


def _disagree(s: Situation, wait: Wait) -> bool:
    return all(
        set(s.cluster.state(topic, number)[1]) - set(s.cluster.replicas(topic)[str(number)])
        for topic, number in wait.partitions
    )


def _too_few_in_sync(s: Situation, wait: Wait) -> bool:
    return all(
        len(set(s.cluster.state(*name)[1]) & set(wait.replicas)) == wait.count < wait.of
        for name in wait.partitions
    )


def _under_min(s: Situation, wait: Wait) -> bool:
    return all(
        s.cluster.state(*name)[0] == -1 or len(s.cluster.state(*name)[1]) < _min_isr(s, name[0])
        for name in wait.partitions
    )


def _min_isr(s: Situation, topic: str) -> int:
    return int(tools.config_of(s, f"topics/{topic}").get("min.insync.replicas", 1))


def _done(s: Situation, _: Wait) -> bool:
    """Whether all that a request asks for is so."""
    entries = (s.body(REQUEST) or {}).get("partitions", ())
    return bool(entries) and all(
        e["topic"] not in s.topics()
        or s.cluster.replicas(e["topic"]).get(str(e["partition"])) in (None, e["replicas"])
        for e in entries
    )


DEAFENING = (
    Trouble.REQUEST_EXTENDED,
    Trouble.REQUEST_DELETED,
    Trouble.REQUEST_REPLACED,
    Trouble.REQUEST_UNREADABLE,
    Trouble.TOPIC_DELETED,
    Trouble.TOPIC_DOOMED,
)
"""What may cost a controller its watch on the request."""


def _may_not_fail_over(s: Situation, _: Wait) -> bool:
    return not s.desired.cluster.execution.remedies.allow_controller_failover


TAKES_BACK = (
    Trouble.API_CANCEL,
    Trouble.API_MOVE,
    Trouble.FOREIGN_REQUEST,
    Trouble.REQUEST_EXTENDED,
    Trouble.REQUEST_REPLACED,
)
"""What may bring a partition that had moved back to where it was."""


def _stopped(s: Situation, _: Wait) -> bool:
    late = s.desired.cluster.execution.roll_back_on_deadline
    return s.has(Trouble.STOPPED, Trouble.ROLLED_BACK, *TAKES_BACK) or late


def _mode(mode: Mode) -> Truth:
    return lambda s, _: s.desired.cluster.mode is mode


def _is_there(s: Situation, _: Wait) -> bool:
    """Whether a request is there or Kafka moves something; up to 2.3 no node says that it does."""
    recorded = s.cluster.simulation.profile.era is Era.RECORDED
    return s.cluster.exists(REQUEST) or bool(_in_union(s)) or not recorded


def _in_union(s: Situation) -> list[str]:
    return [t for t in s.topics() if (s.body(f"/brokers/topics/{t}") or {}).get("adding_replicas")]


def _not_begun(s: Situation) -> bool:
    """Whether a partition does not move as the request says; one before may have moved it.

    Up to 2.3 the controller alone knows what it has begun: it may still hold another move of that
    partition, whose request was deleted, or the same move of a topic that was made again since:
    that one's list lacks who is to come. From 2.4 on topic nodes say it. A list that is to shrink
    to what is in sync, or to stand in another order, would have done so at once, had the controller
    heard of it.
    """
    entries = (s.body(REQUEST) or {}).get("partitions", ())
    if s.cluster.simulation.profile.era is not Era.RECORDED:
        begun, lists = s.cluster.simulation.begun_requests(), dict(s.partitions())

        def begins(topic: str, partition: int, replicas: list[int]) -> bool:
            there = {*replicas} <= {*lists.get((topic, partition), ())}
            return there and begun.get(Tp(topic, partition)) == tuple(replicas)

        return not all(begins(e["topic"], e["partition"], e["replicas"]) for e in entries)

    def moves(entry: dict[str, Any]) -> bool:
        body, number = s.body(f"/brokers/topics/{entry['topic']}") or {}, str(entry["partition"])
        replicas = body.get("partitions", {}).get(number, [])
        wanted, now = {*entry["replicas"]}, {*replicas}
        if not wanted <= now:
            return False
        in_sync = wanted <= {*s.cluster.state(entry["topic"], entry["partition"])[1]}
        if entry["replicas"] != replicas:
            return not in_sync
        return in_sync or number in (body.get("adding_replicas") or {})

    return not all(map(moves, entries))


def _ignored(s: Situation, _: Wait) -> bool:
    """Whether a controller begins nothing of a request, or drops it for what it remembers."""
    return _not_begun(s) if s.cluster.exists(REQUEST) else _remembered_otherwise(s)


def _remembered_otherwise(s: Situation) -> bool:
    """Whether a topic node has another list than the controller goes by."""
    found = ((s.cluster.simulation.assignment(Tp(*name)), ids) for name, ids in s.partitions())
    return any(known is None or list(known.replicas) != ids for known, ids in found)


def _unsafe(s: Situation, wait: Wait) -> bool:
    """Whether that by which a failover would do harm is so."""
    cause = wait.cause
    return cause is not None and cause.reason in TRUTHS and TRUTHS[cause.reason](s, cause)


def _unrequested(s: Situation, wait: Wait) -> bool:
    """Whether so many lists hold a live replica that is still being copied, and none names them.

    From 2.4 on topic nodes say what moves, so that no failover forgets it.
    """
    body = s.body(REQUEST) or {}
    requested = {(e["topic"], e["partition"]) for e in body.get("partitions", ())}
    copied = [
        name
        for name, ids in s.partitions()
        if name not in requested and {*ids} & {*s.live} - {*s.cluster.state(*name)[1]}
    ]
    return s.cluster.simulation.profile.era is not Era.RECORDED and len(copied) >= wait.count


def _damaged(s: Situation, wait: Wait) -> bool:
    """Whether a node was damaged; `poolkeeper repair` mends it before the next rest."""
    damaged = wait.refusal is not None and wait.refusal.reason is RefusalReason.DAMAGED_NODE
    return damaged and s.has(*DAMAGE)


def _marked(s: Situation, wait: Wait) -> bool:
    return all(s.cluster.exists(f"/admin/delete_topics/{topic}") for topic, _ in wait.partitions)


def throttled_by(wait: Wait) -> set[str]:
    """Return the config nodes, as `topics/t` and `brokers/1`, that a wait names."""
    return {*(f"topics/{t}" for t in wait.topics), *(f"brokers/{b}" for b in wait.brokers)}


def _left(s: Situation, wait: Wait) -> bool:
    """Whether throttles are there; who may not read a config cannot know that they are not."""
    unread = {path.removeprefix("/config/") for path in s.hidden}
    return throttled_by(wait) <= {*tools.throttled(s), *unread}


def _leaderless(s: Situation, wait: Wait) -> bool:
    return all(s.cluster.state(*name)[0] == -1 for name in wait.partitions)


def _without_log(s: Situation, wait: Wait) -> bool:
    disks = [s.cluster.simulation.brokers[id_].disk.logs for id_ in wait.brokers]
    return all(Tp(*name) not in logs for name in wait.partitions for logs in disks)


def _log_dir_failed(s: Situation, wait: Wait) -> bool:
    disks = [s.cluster.simulation.brokers[id_].disk for id_ in wait.brokers]
    return all(disk.index(wait.path) in disk.failed for disk in disks)


def _between_log_dirs(s: Situation, _: Wait) -> bool:
    return any(broker.disk.moving for broker in s.cluster.simulation.brokers.values())


TRUTHS: dict[WaitReason, Truth] = {
    WaitReason.STOPPED_BY_PERSON: _stopped,
    WaitReason.APPROVAL_REQUIRED: lambda s, _: (
        s.desired.cluster.approval.policy is ApprovalPolicy.MANUAL
    ),
    WaitReason.PAUSED: _mode(Mode.PAUSED),
    WaitReason.PLAN_ONLY: _mode(Mode.PLAN_ONLY),
    WaitReason.FOREIGN_REQUEST: _requested,
    WaitReason.UNREADABLE_REQUEST: _unreadable,
    WaitReason.FOREIGN_MOVE: _moving,
    WaitReason.THROTTLE_CONFLICT: lambda s, _: (
        bool(s.foreign_throttles) or s.has(Trouble.THROTTLE_REMOVED)
    ),
    WaitReason.THROTTLES_UNREADABLE: lambda s, _: s.has(*DAMAGE),
    WaitReason.THROTTLES_UNWRITABLE: lambda s, _: s.has(*DAMAGE),
    WaitReason.THROTTLES_YIELDED: lambda s, w: throttled_by(w) <= s.foreign_throttles,
    WaitReason.RESTART_LOCKED: lambda s, _: s.cluster.exists(RESTART_LOCK),
    WaitReason.KRAFT_MIGRATION: lambda s, _: s.cluster.exists(MIGRATION),
    WaitReason.NO_CONTROLLER: lambda s, _: not s.cluster.exists("/controller"),
    WaitReason.ISR_OUTSIDE_REPLICAS: _disagree,
    WaitReason.UNDER_REPLICATED: _out_of_sync,
    WaitReason.UNDER_MIN_ISR: _under_min,
    WaitReason.TOO_FEW_IN_SYNC: _too_few_in_sync,
    WaitReason.STAGE_IN_FLIGHT: _is_there,
    WaitReason.STAGE_DEADLINE: _is_there,
    WaitReason.MOVES_RETURNING: _is_there,
    WaitReason.RETURN_BEHIND: _missing,
    WaitReason.RETURN_NOT_LIVE: _dead,
    WaitReason.TARGET_LOG_LARGER: _stray,
    WaitReason.LOG_OF_NEW_PARTITION: _stray,
    WaitReason.CANCEL_NEEDS_FAILOVER: _dead,
    WaitReason.ORIGIN_NOT_IN_SYNC: _missing,
    WaitReason.BROKER_NOT_LIVE: _dead,
    WaitReason.LEAVING_BROKER_NOT_LIVE: _dead,
    WaitReason.SOURCES_NOT_LIVE: _dead,
    WaitReason.ORPHANED_MOVES_AWAITED: lambda s, _: (
        s.cluster.simulation.profile.era is not Era.RECORDED
    ),
    WaitReason.RUN_LOST: lambda s, _: s.has(Trouble.RUN_NODE_REMOVED, Trouble.RUN_DOCUMENT_CUT),
    WaitReason.TOPIC_DAMAGED: lambda s, w: (
        f"/brokers/topics/{w.topic}" in s.hidden or s.has(*DAMAGE)
    ),
    WaitReason.TOPIC_UNREADABLE: lambda s, _: s.has(*DAMAGE),
    WaitReason.TARGET_NOT_LIVE: _dead,
    WaitReason.PARTITION_LEADERLESS: _leaderless,
    WaitReason.REPLICA_NOT_IN_SYNC: _missing,
    WaitReason.NO_LIVE_REPLICA_IN_SYNC: lambda s, _: bool(s.dead),
    WaitReason.LAW_WORSENED: lambda s, _: bool(s.died_ms),
    WaitReason.NO_ROOM_ON_DISKS: lambda s, _: max(s.sizes.values()) > DISK_BYTES,
    WaitReason.REQUEST_STALE: lambda s, w: _done(s, w) or s.has(*DEAFENING),
    WaitReason.REQUEST_UNNOTICED: lambda s, _: _not_begun(s),
    WaitReason.ELECTION_IN_PROGRESS: lambda s, _: s.cluster.exists(tools.ELECTION),
    WaitReason.ELECTION_IGNORED: lambda s, _: s.cluster.exists(tools.ELECTION),
    WaitReason.CONTROLLER_UNNOTICING: _may_not_fail_over,
    WaitReason.ARRIVALS_FIRST: _is_there,
    WaitReason.REQUEST_EMPTY: _unreadable,
    WaitReason.REQUEST_DONE: _requested,
    WaitReason.REQUEST_NOT_BEGUN: _requested,
    WaitReason.REQUEST_PARTITION_UNKNOWN: _requested,
    WaitReason.REQUEST_BROKER_UNKNOWN: _dead,
    WaitReason.REQUEST_BROKER_NOT_LIVE: _dead,
    WaitReason.REQUEST_UNREACHABLE: lambda s, _: s.has(Trouble.REQUEST_FOR_NOBODY),
    WaitReason.FOREIGN_CANCEL_NEEDS_BROKERS: lambda s, _: not s.asks_brokers,
    WaitReason.FOREIGN_CANCEL_NEEDS_FAILOVER: _may_not_fail_over,
    WaitReason.REQUEST_IGNORED: _ignored,
    WaitReason.FAILOVER_UNSAFE: _unsafe,
    WaitReason.MOVES_WITHOUT_REQUEST: _unrequested,
    WaitReason.TOPIC_DELETING: lambda s, w: s.cluster.exists(f"/admin/delete_topics/{w.topic}"),
    WaitReason.FAILED: _damaged,
    WaitReason.UNAVAILABLE: lambda s, w: any(path in w.detail for path in s.hidden),
    WaitReason.THROTTLES_LEFT: _left,
    WaitReason.TOPIC_QUEUED_FOR_DELETION: _marked,
    WaitReason.DELETION_AWAITS_BROKERS: lambda s, w: (
        s.cluster.exists(f"/admin/delete_topics/{w.topic}") and _dead(s, w)
    ),
    WaitReason.CONFIG_UNLOADABLE: lambda s, w: (
        not is_loadable(tools.config_of(s, f"topics/{w.topic}"))
    ),
    WaitReason.COPY_NOT_BEGUN: _without_log,
    WaitReason.LOG_DIR_FAILED: _log_dir_failed,
    WaitReason.LOG_DIRS_BROKER_NOT_LIVE: _dead,
    WaitReason.LOG_DIR_MOVES_IN_FLIGHT: _between_log_dirs,
    WaitReason.LOG_DIR_MOVES_RETURNING: _between_log_dirs,
    WaitReason.REPLICA_COPYING: _between_log_dirs,
    WaitReason.LOG_DIR_MOVE_UNDONE: lambda s, _: s.has(Trouble.LOG_DIR_MOVED),
    WaitReason.LOG_DIRS_UNKNOWN: lambda s, w: not s.tells_logs or _dead(s, w),
    WaitReason.LEADERS_MISSING: lambda s, _: bool(s.dead),
}
