"""Moves of a run whose next step must not begin, and why, while all others go on.

Some wait for what their new brokers say of their logs and directories. Some could not end, and
would be cancelled as soon as they begin. Others stay: the run ends without them, unless what holds
them is mended before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import disks, stray_logs
from poolkeeper.planning.run_state.progress.move_progress import (
    OPEN_STATES,
    MoveProgress,
    MoveState,
)
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.planning.run_state.throttling.unlimited_moves import unlimited
from poolkeeper.planning.staging import large_nodes
from poolkeeper.reconcile.decide import unloadable_configs
from poolkeeper.reconcile.decide.cancelling import cancel_candidates
from poolkeeper.reconcile.decide.decisions import WAITS_MAX, RunSituation

_OF_LOGS = (WaitReason.TARGET_LOG_LARGER, WaitReason.LOGS_NOT_TOLD)


def held_moves(
    at: RunSituation, places: Sequence[int | None], cluster: Cluster
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves whose next step must not begin.

    They wait for what their new brokers say of their logs, they would be cancelled at once
    (`held_by_targets`), or they stay (`waits_of_staying`). `places`: where each move is, None for
    one that does not go on; `cluster` has sizes.
    """
    left = [m for m, place in enumerate(places) if place is not None]
    stay = {m: (wait,) for m, wait in waits_of_staying(at, left, cluster).items()}
    return {**_held_by_targets(at, places, cluster), **stay}


def _held_by_targets(
    at: RunSituation, places: Sequence[int | None], cluster: Cluster
) -> dict[int, tuple[Wait, ...]]:
    return held_by_targets(
        at.plan.moves, at.view.progress, places, cluster, at.desired, at.view.gone
    )


def held_by_targets(
    moves: Sequence[Move],
    progress: Sequence[MoveProgress],
    places: Sequence[int | None],
    cluster: Cluster,
    desired: Desired,
    gone: Collection[int],
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves that what is on their target brokers holds, or that one of these is dead.

    `gone`: the brokers that count as gone for good.
    """
    pending = tuple(
        place if p.state is MoveState.PENDING else None
        for place, p in zip(places, progress, strict=True)
    )
    return {
        **disks.failed_targets(moves, places, cluster),
        **stray_logs.endangered_by_moves(moves, places, cluster, desired),
        **_unending(moves, pending, cluster, desired, gone),
    }


def _unending(
    moves: Sequence[Move],
    places: Sequence[int | None],
    cluster: Cluster,
    desired: Desired,
    gone: Collection[int],
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves that could not end for a dead broker which nobody waits for any more.

    A partition keeps such a broker where its pool has no other. Once begun, its move would be
    cancelled, and begun again.
    """
    found: dict[int, tuple[Wait, ...]] = {}
    for m, (move, place) in enumerate(zip(moves, places, strict=True)):
        if place is None:
            continue
        dead = tuple([b for b in move.path[place + 1] if b not in cluster.brokers])
        if dead and cancel_candidates.are_given_up(dead, move, place + 1, desired, gone):
            wait = Wait(WaitReason.TARGET_NOT_LIVE, partitions=(move.name,), brokers=dead)
            found[m] = (wait,)
    return found


def lasting_waits(plan: Plan, held: Mapping[int, tuple[Wait, ...]]) -> tuple[Wait, ...]:
    """Return why moves are held, and which, without what brokers are about to tell of their logs.

    `held`: by the index of the move.
    """
    waits = [
        replace(wait, partitions=wait.partitions or (plan.moves[m].name,))
        for m, each in held.items()
        for wait in each
    ]
    larger = stray_logs.by_broker(w for w in waits if w.reason is WaitReason.TARGET_LOG_LARGER)
    return in_order((*larger, *(w for w in waits if w.reason not in _OF_LOGS)))[:WAITS_MAX]


def waits_of_staying(at: RunSituation, left: Iterable[int], cluster: Cluster) -> dict[int, Wait]:
    """Return the moves, of those `left`, that the run ends without unless something is mended.

    No throttle can limit them, no broker can load the config of their topic, or its node is too
    large.
    """
    pending = [m for m in left if at.view.progress[m].state is MoveState.PENDING]
    return {
        **large_nodes.too_large(at.plan.moves, pending, cluster, at.bounds),
        **unlimited_moves(at, pending, cluster),
        **unloadable_configs.unloadable(at.plan.moves, pending, cluster, at.desired),
    }


def unlimited_moves(at: RunSituation, left: Iterable[int], cluster: Cluster) -> dict[int, Wait]:
    """Return the moves that no throttle of the run can limit, of those `left`.

    What has begun already is ended.
    """
    if not at.run.rates:
        return {}
    left = [m for m in left if at.view.progress[m].state is MoveState.PENDING]
    rate = max(at.run.declared_rate, *at.run.rates)  # an adaptive one rises again
    saved = at.document.saved
    moves = [at.plan.moves[m] for m in left if any(at.plan.moves[m].replicas_added)]
    topics = {move.topic for move in moves} - saved.topics.keys()
    brokers = {*throttles.brokers_of(moves)} - saved.brokers.keys()
    unsaved = throttles.unsaved_entities((*topics, *brokers))
    return unlimited(at.plan.moves, left, cluster, rate, {**unsaved, **at.unwritable})


def waits_of_targets(at: RunSituation) -> tuple[Wait, ...]:
    """Name what is on target brokers and keeps moves back which could go on otherwise."""
    cluster = at.view.cluster_with_sizes or at.view.cluster
    places = tuple(p.at if p.state in OPEN_STATES else None for p in at.view.progress)
    waits = [wait for held in _held_by_targets(at, places, cluster).values() for wait in held]
    of_logs = stray_logs.by_broker(wait for wait in waits if wait.reason in _OF_LOGS)
    return (*of_logs, *(wait for wait in waits if wait.reason not in _OF_LOGS))
