"""What the stages of a plan are predicted to be, with ideal progress.

Every stage is packed as it will be when its time comes, then counts as done: lists, leaders, loads
and disks move on. A leader that stays keeps leading; where it goes, the first replica of the target
takes over. A stage lasts as long as its busiest broker needs at the throttle's rate, in or out;
the bound is the busiest broker's bytes over the whole plan at that rate, as if it never waited.
Without a throttle a rate is assumed, and named in the makespan.
"""

from collections import Counter
from collections.abc import Collection

from poolkeeper.model.plans import Makespan, Plan, PlannedStage
from poolkeeper.model.specs import Desired, ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit_rules import Rules
from poolkeeper.planning.stage_backlog import Backlog
from poolkeeper.planning.stage_entries import entry_for, packer_for
from poolkeeper.planning.stage_limits import DEFAULT_BOUNDS, Bounds

ASSUMED_RATE_BYTES_PER_S = 100 * 1024**2


def predict(
    plan: Plan,
    cluster: Cluster,
    desired: Desired,
    *,
    gone: Collection[int] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> tuple[tuple[PlannedStage, ...], Makespan | None]:
    """All stages of the plan from the cluster as it is, and how long they take.

    No makespan if there is nothing to move, or if the stages come to a halt before the end: then
    they hold what can go until something else changes.
    """
    throttle = desired.cluster.execution.throttle
    fixed = throttle.mode is not ThrottleMode.NONE
    rate = throttle.rate_bytes_per_s if fixed else ASSUMED_RATE_BYTES_PER_S
    packer = packer_for(Rules(desired, cluster, frozenset(gone)), bounds)
    backlog = Backlog(
        entry_for(cluster.topics, cluster.brokers, index, move, 1)
        for index, move in enumerate(plan.moves)
        if len(move.path) > 1
    )
    stages: list[PlannedStage] = []
    span_bytes = 0
    load_in: Counter[int] = Counter()
    load_out: Counter[int] = Counter()
    while backlog.queues:
        entries, room, _ = packer.pack(backlog)
        if not entries:
            return tuple(stages), None
        steps = tuple(sorted((entry.move, entry.step) for entry in entries))
        stages.append(PlannedStage(steps, room.bytes, room.span_used_bytes / rate))
        span_bytes += room.span_used_bytes
        load_in.update(room.bytes_in)
        load_out.update(room.bytes_out)
        for entry in entries:
            packer.disks.release(entry)
            move = plan.moves[entry.move]
            if entry.step + 1 < len(move.path):
                leader = entry.leader if entry.leader in entry.after else entry.after[0]
                following = entry.move, move, entry.step + 1, leader
                backlog.add(entry_for(cluster.topics, cluster.brokers, *following))
    if not stages:
        return (), None
    busiest = max(0, *load_in.values(), *load_out.values(), 0)
    return tuple(stages), Makespan(span_bytes / rate, busiest / rate, rate)
