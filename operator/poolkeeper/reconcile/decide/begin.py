"""Whether a run of a plan begins now, and which of its moves it would leave where they are."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.runs import UnreadableConfig
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.planning.run_state.progress.move_progress import (
    ENDED_STATES,
    OPEN_STATES,
    MoveState,
    classify,
)
from poolkeeper.planning.run_state.progress.staying_moves import StayingMoves
from poolkeeper.planning.run_state.throttling.unlimited_moves import unlimited, unlimited_copies
from poolkeeper.planning.staging import large_nodes
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS, Bounds
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide import held_moves, unloadable_configs
from poolkeeper.reconcile.decide.decisions import WAITS_MAX, BeginRun, DoNothing

_TRIED_FIRST = 64
"""Moves that are looked at before all others are: of most plans one of these may go on."""


def decide_begin(
    plan: Plan,
    desired: Desired,
    authority: Authority,
    cluster: Cluster,
    now_ms: int,
    *,
    stopped: bool,
) -> BeginRun | DoNothing:
    """Decide whether a run of the plan begins; `stopped`: a person stopped a run of this plan."""
    if stopped:
        return DoNothing((Wait(WaitReason.STOPPED_BY_PERSON),))
    if not authority.covers(plan):
        return DoNothing((Wait(WaitReason.APPROVAL_REQUIRED, hash=plan.hash),))
    waits = waits_before_run(desired, authority, cluster, now_ms)
    if waits:
        return DoNothing(waits)
    return BeginRun()


def waits_of_held(
    plan: Plan, desired: Desired, cluster: Cluster, gone: Collection[int]
) -> tuple[Wait, ...]:
    """Return what all moves between brokers wait for that are left; empty if one may go on.

    A run has throttles from its beginning to its end. They slow whoever is not in sync of the
    partitions that it moves, such as a broker that restarts. So no run has them while it waits for
    a person, or for a broker that may be dead for days. What brokers are about to tell of their
    logs comes soon. `cluster` has what they told so far; `gone`: the brokers that count as gone.
    """
    waits: list[Wait] = []
    for part in (slice(_TRIED_FIRST), slice(_TRIED_FIRST, None)):
        for found in _waits_of_moves(plan.moves[part], desired, cluster, gone):
            if all(wait.reason is WaitReason.LOGS_NOT_TOLD for wait in found):
                return ()
            waits += found
    return in_order(waits)[:WAITS_MAX]


def _waits_of_moves(
    moves: Sequence[Move], desired: Desired, cluster: Cluster, gone: Collection[int]
) -> Iterator[tuple[Wait, ...]]:
    """Return what each of these moves waits for that is left."""
    progress = classify(moves, cluster)
    places = tuple(p.at if p.state in OPEN_STATES else None for p in progress)
    held = held_moves.held_by_targets(moves, progress, places, cluster, desired, gone)
    held.update({m: (wait,) for m, wait in gates.blocks(moves, progress, cluster).items()})
    idle = {*ENDED_STATES, MoveState.UNREADABLE}
    return (held.get(m, ()) for m, p in enumerate(progress) if p.state not in idle)


def waits_before_run(
    desired: Desired, authority: Authority, cluster: Cluster, now_ms: int
) -> tuple[Wait, ...]:
    """Return why no move may begin at this time."""
    if authority.awaits_settling:
        return (Wait(WaitReason.SETTLING),)
    return gates.waits_before_stages(desired, cluster, now_ms)


def staying_at_begin(
    plan: Plan,
    left: Iterable[int],
    copies: Iterable[int],
    desired: Desired,
    cluster: Cluster,
    unwritable: Mapping[str | int, UnreadableConfig],
    bounds: Bounds = DEFAULT_BOUNDS,
) -> StayingMoves:
    """Return what would stay, of the moves `left` and of `copies`.

    No throttle can limit it as declared, no broker can load the config of its topic, or the node of
    that is too large, by what the ZooKeeper servers take (`bounds`).
    """
    left = tuple(left)
    large = large_nodes.too_large(plan.moves, left, cluster, bounds)
    unloadable = unloadable_configs.unloadable(plan.moves, left, cluster, desired)
    throttle = desired.cluster.execution.throttle
    if throttle.mode is ThrottleMode.NONE:
        return StayingMoves({**large, **unloadable})
    rate = throttle.rate_bytes_per_s
    return StayingMoves(
        {**large, **unlimited(plan.moves, left, cluster, rate, unwritable), **unloadable},
        unlimited_copies(copies_of(plan), copies, unwritable),
    )
