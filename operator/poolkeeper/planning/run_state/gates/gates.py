"""When a stage may not start, and which moves must wait although others continue.

A *gate* stops the whole cluster: a foreign request or move, damage that did not exist when the plan
was made, no controller, a migration to KRaft. A *block* keeps one move back: a target that is not
live, a partition without a leader, a growth step whose predecessor is not in sync. So one partition
that is permanently out of sync does not stop the others.

Damage is measured against a *baseline*: the partitions that were under-replicated or below
`min.insync.replicas` when the run began. So a cluster with older damage may still be mended. Steps
that only reduce excess, healing and draining, pass a gate that the loss of a broker closes, because
they mend that very damage.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from poolkeeper.model.columns.partition_queries import missing_replicas, not_fully_in_sync
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.runs import Health
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, Urgency
from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Cluster, Partition, Replicas, TopicPartition
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.run_state.deletions import deletion_wait
from poolkeeper.planning.run_state.gates import windows
from poolkeeper.planning.run_state.progress.move_progress import (
    IN_FLIGHT_STATES,
    OPEN_STATES,
    MoveProgress,
    MoveState,
    classify,
)
from poolkeeper.planning.run_state.reassignments import orphans, requests
from poolkeeper.planning.run_state.reassignments.requests import Owned


def health(cluster: Cluster) -> Health:
    """Return every partition whose ISR is known and too small.

    While a partition moves, its origin replicas must be in sync until all new ones are
    (`missing_replicas`). What brokers say of `min.insync.replicas` counts for topics that do not
    (`default_min_insync`). A topic that is queued for deletion is not damaged: Kafka takes its
    leaders away first, and where a replica is not live, that lasts.
    """
    under_replicated = []
    under_min_isr = []
    default = default_min_insync(cluster)
    for topic in cluster.topics.values():
        if topic.name in cluster.deleting:
            continue
        needed = min_insync(topic, default)
        for partition in not_fully_in_sync(topic.partitions):
            if partition.isr is None or _is_whole(partition):
                continue
            in_sync = 0 if partition.leader == -1 else len(partition.isr)
            if missing_replicas(partition):
                under_replicated.append(TopicPartition(topic.name, partition.partition))
            if in_sync < min(needed, len(partition.replicas) - len(partition.adding)):
                under_min_isr.append(TopicPartition(topic.name, partition.partition))
    return Health(frozenset(under_replicated), frozenset(under_min_isr))


def closed_gates(
    cluster: Cluster, baseline: Health, moves: Sequence[Move], ours: Collection[TopicPartition]
) -> tuple[Wait, ...]:
    """Return why no stage may start now; empty if it may.

    `moves` are those that the stage could hold, `ours` the partitions whose request or damage is
    this run's own.
    """
    reasons = list(controller(cluster))
    reasons.extend(foreign(cluster, ours))
    mending = all(move.urgency in (Urgency.HEAL, Urgency.DRAIN) for move in moves)
    now = health(cluster)
    for sick, before, reason in (
        (now.under_replicated, baseline.under_replicated, WaitReason.UNDER_REPLICATED),
        (now.under_min_isr, baseline.under_min_isr, WaitReason.UNDER_MIN_ISR),
    ):
        damaged = sick - before
        own = frozenset(ours) | {move.name for move in moves} if damaged else frozenset()
        worse = sorted(damaged - own)
        if mending:
            worse = [name for name in worse if not _only_dead_missing(cluster, name)]
        if worse:
            reasons.append(Wait(reason, partitions=tuple(worse)))
    return tuple(reasons)


def own_partitions(moves: Sequence[Move], progress: Sequence[MoveProgress]) -> set[TopicPartition]:
    """Return the partitions that move because of these moves, as far as anything tells."""
    at_work = (*IN_FLIGHT_STATES, MoveState.ORPHANED, MoveState.UNENDED)
    return {move.name for move, p in zip(moves, progress, strict=True) if p.state in at_work}


def waits_before_stages(desired: Desired, cluster: Cluster, now_ms: int) -> tuple[Wait, ...]:
    """Return why nothing may start now: a restart lock, or no open maintenance window."""
    execution = desired.cluster.execution
    waits = []
    if cluster.restart_locked:
        waits.append(Wait(WaitReason.RESTART_LOCKED, path=execution.restart_lock or ""))
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if execution.windows and not windows.is_open(execution.windows, now):
        opening = windows.next_opening(execution.windows, now)
        waits.append(Wait(WaitReason.OUTSIDE_WINDOW, until=opening))
    return tuple(waits)


def controller(cluster: Cluster) -> tuple[Wait, ...]:
    """Return why the controller cannot be trusted with a request now."""
    if migrating := kraft_migration(cluster):
        return migrating
    if cluster.controller.broker is None:
        return (Wait(WaitReason.NO_CONTROLLER),)
    return epoch_behind(cluster)


def kraft_migration(cluster: Cluster) -> tuple[Wait, ...]:
    """Tell of a migration to KRaft, and of the broker that is the controller nevertheless.

    A KRaft controller has an id that no broker has.
    """
    if not cluster.controller.kraft:
        return ()
    elected = tuple(broker for broker in cluster.brokers if broker == cluster.controller.broker)
    return (Wait(WaitReason.KRAFT_MIGRATION, brokers=elected),)


def epoch_behind(cluster: Cluster) -> tuple[Wait, ...]:
    """Tell of states that were written under later epochs than the controller's (`LaterEpochs`)."""
    later = cluster.controller.later
    if later is None:
        return ()
    reason, named = WaitReason.CONTROLLER_EPOCH_BEHIND, (later.first,)
    return (Wait(reason, partitions=named, count=later.count, of=later.highest),)


def foreign(
    cluster: Cluster,
    ours: Collection[TopicPartition] | Owned,
    known: Collection[int] | None = None,
) -> tuple[Wait, ...]:
    """Name foreign reassignments, as the request node and the brokers' API list them.

    `known`: the brokers of which anything is known (`requests.known_brokers`).
    """
    owned = ours if isinstance(ours, Owned) else Owned(ours)
    reasons = list(requests.waits(cluster, owned, known))
    requested = {e.name for e in cluster.reassignment or ()}
    moving = _moving(cluster)
    strange = sorted(moving.keys() - set(owned.partitions) - requested)
    if strange:
        dead = {b for name in strange for b in moving[name] if b not in cluster.brokers}
        waited = tuple(sorted(dead))
        reasons.append(Wait(WaitReason.FOREIGN_MOVE, partitions=tuple(strange), brokers=waited))
    return tuple(reasons)


def _moving(cluster: Cluster) -> dict[TopicPartition, Replicas]:
    """Return the partitions that Kafka itself says are moving, each with what is added.

    Those of a topic that is being deleted are not: its replicas are deleted, and copied no more.
    """
    return {
        TopicPartition(topic.name, partition.partition): partition.adding
        for topic in cluster.topics.values()
        if topic.name not in cluster.deleting
        for partition in not_fully_in_sync(topic.partitions)
        if partition.moving
    }


def hazards(cluster: Cluster, moves: Sequence[Move] = ()) -> tuple[Wait, ...]:
    """Return what a controller failover would make worse.

    A topic node that cannot be decoded, or a partition without target replicas, stops every next
    controller while it starts; a request may make such nodes, or lose data. A replica in sync that
    is not in its list would be forgotten, and so, on 2.3 and earlier, would a move without its
    request. Where states are of later epochs, controllers fail over every move under way. `moves`:
    those of a plan whose request may be gone. Who replaces a KRaft controller has two at work.
    """
    reasons = list(kraft_migration(cluster))
    reasons += [
        Wait(WaitReason.TOPIC_DAMAGED, topic=name, detail=why)
        for name, why in sorted(cluster.damaged.items())
    ]
    reasons += epoch_behind(cluster)
    reasons += requests.hazards(cluster)
    reasons += isr_disagreements(cluster)
    empty = sorted(
        TopicPartition(topic.name, partition.partition)
        for topic in cluster.topics.values()
        for partition in not_fully_in_sync(topic.partitions)
        if not set(partition.replicas) - set(partition.removing)
    )
    if empty:
        reasons.append(Wait(WaitReason.NO_REPLICAS_WANTED, partitions=tuple(empty)))
    if lost := forgettable(cluster, moves):
        reasons.append(Wait(WaitReason.MOVES_WITHOUT_REQUEST, count=len(lost)))
    return tuple(reasons)


def forgettable(cluster: Cluster, moves: Sequence[Move] = ()) -> frozenset[TopicPartition]:
    """Return the partitions that may be moving without a request (2.3 and earlier).

    A controller that still remembered a move would have ended it, were all that is live in sync.
    """
    if records_moves(cluster.kafka_version) is True:
        return frozenset()
    orphaned = orphans.find(cluster)
    others = orphaned.found if orphaned.certain else ()
    ours = zip(moves, classify(moves, cluster), strict=True)
    names = {each.partition for each in others if set(each.behind) & set(cluster.brokers)}
    names |= {
        move.name
        for move, progress in ours
        if progress.state is MoveState.ORPHANED and _is_behind(cluster, move)
    }
    return frozenset(name for name in names if not lost_sources(cluster, name))


def _is_behind(cluster: Cluster, move: Move) -> bool:
    """Whether a live replica is out of sync, or that is not known."""
    partition = cluster.topics[move.topic].partition(move.partition)
    isr = () if partition is None else partition.isr or ()
    listed = () if partition is None else partition.replicas
    return bool(set(listed) & set(cluster.brokers) - set(isr))


def isr_disagreements(cluster: Cluster) -> tuple[Wait, ...]:
    """Name the partitions whose ISR has brokers that are not in their list of replicas.

    Kafka never leaves that behind, whenever both are read as one, unless two controllers wrote at
    the same time (2.0 and earlier) or somebody wrote by hand. The present controller goes by what
    it remembers; the next one by the list.
    """
    found = {
        TopicPartition(topic.name, partition.partition): outside
        for topic in cluster.topics.values()
        for partition in not_fully_in_sync(topic.partitions)
        if (outside := _in_sync_outside(partition))
    }
    if not found:
        return ()
    brokers = sorted({broker for outside in found.values() for broker in outside})
    reason = WaitReason.ISR_OUTSIDE_REPLICAS
    return (Wait(reason, partitions=tuple(sorted(found)), brokers=tuple(brokers)),)


def _in_sync_outside(partition: Partition) -> Replicas:
    """Return the in-sync replicas that are not in the list, by their ids."""
    if partition.isr is None or partition.isr == partition.replicas:
        return ()
    return tuple(sorted(b for b in partition.isr if b not in partition.replicas))


def blocks(
    moves: Sequence[Move], progress: Sequence[MoveProgress], cluster: Cluster
) -> dict[int, Wait]:
    """Return the moves that must wait, by index, each with what it waits for."""
    blocked = {}
    for i, (move, state) in enumerate(zip(moves, progress, strict=True)):
        if state.state in OPEN_STATES:
            if _may_plainly_go(move, state.at, cluster):
                continue
            wait = _block(move, state.at, cluster)
            if wait is not None:
                blocked[i] = wait
    return blocked


def waits_for_dead_brokers(
    step: Iterable[tuple[Move, int]], progress: Sequence[MoveProgress], cluster: Cluster
) -> tuple[Wait, ...]:
    """Name the brokers that died while replicas were being copied to them, or from them alone.

    And the topics that somebody deletes meanwhile. `step`: each move with the index of the list
    that it goes to; `progress` is that of the step. Up to 2.3 a list that only grows is there from
    the start, and its entry stays until its dead brokers are in sync as well. A controller that was
    elected later carries an entry out for a topic that was made again under its name.
    """
    gone = any(p.state is MoveState.GONE for p in progress)
    taken_up = requests.partitions_at_work(cluster) if gone else ()
    targets: dict[tuple[int, WaitReason], list[TopicPartition]] = {}
    sources: dict[Replicas, list[TopicPartition]] = {}
    doomed: dict[str, list[TopicPartition]] = {}
    for (move, index), p in zip(step, progress, strict=True):
        name = move.name
        is_taken_up = p.state is MoveState.GONE and name in taken_up
        if p.state not in IN_FLIGHT_STATES and not is_taken_up:
            continue
        if move.topic in cluster.deleting:
            doomed.setdefault(move.topic, []).append(name)
        if lost := lost_sources(cluster, name):
            sources.setdefault(lost, []).append(name)
        for broker in set(move.path[index]) - set(cluster.brokers) - set(lost):
            leaves = broker in move.path[index - 1] and broker not in move.target
            reason = WaitReason.LEAVING_BROKER_NOT_LIVE if leaves else WaitReason.BROKER_NOT_LIVE
            targets.setdefault((broker, reason), []).append(name)
    return (
        *(
            Wait(WaitReason.SOURCES_NOT_LIVE, brokers=brokers, partitions=tuple(names))
            for brokers, names in sorted(sources.items())
        ),
        *(
            Wait(reason, brokers=(broker,), partitions=tuple(names))
            for (broker, reason), names in sorted(targets.items())
        ),
        *(
            deletion_wait(cluster, topic, WaitReason.TOPIC_QUEUED_FOR_DELETION, names)
            for topic, names in sorted(doomed.items())
        ),
    )


def lost_sources(cluster: Cluster, name: TopicPartition) -> Replicas:
    """Return the brokers that held the partition in sync last, if none of them is live; else ()."""
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    return () if partition is None else lost_in_sync(cluster, partition)


def lost_in_sync(cluster: Cluster, partition: Partition) -> Replicas:
    """Return the partition's in-sync replicas, in ascending order, if none of them is live."""
    isr = partition.isr or ()
    for broker in isr:
        if broker in cluster.brokers:
            return ()
    return tuple(sorted(isr))


def _may_plainly_go(move: Move, at: int, cluster: Cluster) -> bool:
    """Whether all replicas before and after the step are live, and those before are in sync."""
    topic, live = cluster.topics[move.topic], cluster.brokers
    partition = topic.partition(move.partition)
    return (
        partition is not None
        and partition.isr == partition.replicas == move.path[at]
        and partition.leader != -1
        and move.topic not in cluster.deleting
        and all([broker in live for broker in (*partition.replicas, *move.path[at + 1])])
    )


def _block(move: Move, at: int, cluster: Cluster) -> Wait | None:
    named = (move.name,)
    if move.topic in cluster.deleting:
        reason = WaitReason.TOPIC_QUEUED_FOR_DELETION
        return deletion_wait(cluster, move.topic, reason, named)
    after = move.path[at + 1]
    dead = sorted(set(after) - set(move.path[at]) - set(cluster.brokers))
    if dead:
        return Wait(WaitReason.TARGET_NOT_LIVE, partitions=named, brokers=tuple(dead))
    partition = cluster.topics[move.topic].partition(move.partition)
    if partition is not None and (outside := _in_sync_outside(partition)):
        return Wait(WaitReason.ISR_OUTSIDE_REPLICAS, partitions=named, brokers=outside)
    if partition is None or partition.isr is None:
        return Wait(WaitReason.PARTITION_STATE_UNKNOWN, partitions=named)
    if partition.leader == -1:
        lost = lost_sources(cluster, named[0])
        return Wait(WaitReason.PARTITION_LEADERLESS, partitions=named, brokers=lost)
    grows = len(after) > len(move.path[at])
    behind = sorted((set(move.path[at]) & set(cluster.brokers)) - set(partition.isr))
    if grows and behind:
        return Wait(WaitReason.REPLICA_NOT_IN_SYNC, partitions=named, brokers=tuple(behind))
    if not set(partition.isr) & set(cluster.brokers):
        # A controller that finds no leader when it starts may leave the dead one in the state.
        lost = lost_sources(cluster, named[0])
        return Wait(WaitReason.NO_LIVE_REPLICA_IN_SYNC, partitions=named, brokers=lost)
    if move.urgency == Urgency.BALANCE and (dead := sorted(set(after) - set(cluster.brokers))):
        # No controller ends a step whose list has a dead broker. What is for balance alone is not
        # worth that a stage waits for one to start again, and all else with it.
        return Wait(WaitReason.TARGET_NOT_LIVE, partitions=named, brokers=tuple(dead))
    return None


def _is_whole(partition: Partition) -> bool:
    """Whether it plainly has all its replicas in sync, as nearly every partition has."""
    isr = partition.isr or ()
    if partition.leader == -1 or partition.adding:
        return False
    return isr == partition.replicas or all([broker in isr for broker in partition.replicas])


def _only_dead_missing(cluster: Cluster, name: TopicPartition) -> bool:
    partition = cluster.topics[name.topic].partition(name.partition)
    return partition is not None and not missing_replicas(partition) & frozenset(cluster.brokers)
