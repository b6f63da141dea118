"""Whether a run of a plan begins now, and which of its moves it would leave where they are."""

from collections.abc import Iterable, Mapping

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.runs import UnreadableConfig
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.planning.run_state.progress.staying_moves import StayingMoves
from poolkeeper.planning.run_state.throttling.unlimited_moves import unlimited, unlimited_copies
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide import unloadable_configs
from poolkeeper.reconcile.decide.decisions import BeginRun, DoNothing


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
) -> StayingMoves:
    """Return what would stay, of the moves `left` and of `copies`.

    No throttle can limit it as declared, or no broker can load the config of its topic.
    """
    left = tuple(left)
    unloadable = unloadable_configs.unloadable(plan.moves, left, cluster, desired)
    throttle = desired.cluster.execution.throttle
    if throttle.mode is ThrottleMode.NONE:
        return StayingMoves(unloadable)
    rate = throttle.rate_bytes_per_s
    return StayingMoves(
        {**unlimited(plan.moves, left, cluster, rate, unwritable), **unloadable},
        unlimited_copies(copies_of(plan), copies, unwritable),
    )
