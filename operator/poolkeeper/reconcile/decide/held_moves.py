"""Moves of a run whose next step must not begin, and why, while all others go on.

Some wait for what their new brokers say of their logs and directories. Some could not end, and
would be cancelled as soon as they begin. Others stay: the run ends without them, unless what holds
them is mended before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import disks, stray_logs
from poolkeeper.planning.run_state.progress.move_progress import OPEN_STATES, MoveState
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.planning.run_state.throttling.unlimited_moves import unlimited
from poolkeeper.reconcile.decide import unloadable_configs
from poolkeeper.reconcile.decide.cancelling import cancel_candidates
from poolkeeper.reconcile.decide.decisions import WAITS_MAX, RunSituation


def held_moves(
    at: RunSituation, places: Sequence[int | None], cluster: Cluster
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves whose next step must not begin.

    They wait for what their new brokers say of their logs, they would be cancelled at once
    (`waits_of_unending`), or they stay (`waits_of_staying`). `places`: where each move is, None for
    one that does not go on; `cluster` has sizes.
    """
    failed = disks.failed_targets(at.plan.moves, places, cluster)
    larger = stray_logs.endangered_by_moves(at.plan.moves, places, cluster, at.desired)
    left = [m for m, place in enumerate(places) if place is not None]
    stay = {m: (wait,) for m, wait in waits_of_staying(at, left, cluster).items()}
    never = {m: (wait,) for m, wait in waits_of_unending(at, places).items()}
    return {**failed, **larger, **never, **stay}


def waits_of_unending(at: RunSituation, places: Sequence[int | None]) -> dict[int, Wait]:
    """Return the moves that could not end for a dead broker which nobody waits for any more.

    A partition keeps such a broker where its pool has no other. Once begun, its move would be
    cancelled, and begun again.
    """
    live, moves, found = at.view.cluster.brokers, at.plan.moves, {}
    for m, place in enumerate(places):
        if place is None or at.view.progress[m].state is not MoveState.PENDING:
            continue
        dead = tuple([broker for broker in moves[m].path[place + 1] if broker not in live])
        if dead and cancel_candidates.are_targets_given_up(at, m, place + 1):
            name = moves[m].name
            found[m] = Wait(WaitReason.TARGET_NOT_LIVE, partitions=(name,), brokers=dead)
    return found


def lasting_waits(plan: Plan, held: Mapping[int, tuple[Wait, ...]]) -> tuple[Wait, ...]:
    """Return why moves are held, and which, without what brokers are about to tell of their logs.

    `held`: by the index of the move.
    """
    of_logs = (WaitReason.TARGET_LOG_LARGER, WaitReason.LOGS_NOT_TOLD)
    waits = [
        replace(wait, partitions=wait.partitions or (plan.moves[m].name,))
        for m, each in held.items()
        for wait in each
    ]
    larger = stray_logs.by_broker(w for w in waits if w.reason is WaitReason.TARGET_LOG_LARGER)
    return in_order((*larger, *(w for w in waits if w.reason not in of_logs)))[:WAITS_MAX]


def waits_of_staying(at: RunSituation, left: Iterable[int], cluster: Cluster) -> dict[int, Wait]:
    """Return the moves, of those `left`, that the run ends without unless something is mended.

    No throttle can limit them, or no broker can load the config of their topic.
    """
    pending = [m for m in left if at.view.progress[m].state is MoveState.PENDING]
    unloadable = unloadable_configs.unloadable(at.plan.moves, pending, cluster, at.desired)
    return {**unlimited_moves(at, pending, cluster), **unloadable}


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
    failed = disks.failed_targets(at.plan.moves, places, cluster)
    larger = stray_logs.endangered_by_moves(at.plan.moves, places, cluster, at.desired)
    return (
        *stray_logs.by_broker(wait for waits in larger.values() for wait in waits),
        *(wait for waits in failed.values() for wait in waits),
        *waits_of_unending(at, places).values(),
    )
