"""The predicted stages of a plan, with ideal progress.

Every stage is packed as it will be when its time comes, and then counts as done: lists, leaders,
loads and disks are updated. A leader that stays in the list keeps leading; if it leaves, the first
replica of the target takes over. A stage lasts as long as its busiest broker needs at the
throttle's rate, in or out.

The bound is that of `makespan_bound`: the busiest broker's bytes over the whole plan, as if it
never waited, or more where the limits make it wait; or that of `capped_topics`, if one topic needs
longer. Without a throttle a rate is assumed, and the
makespan names it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Makespan, Plan, PlannedStage
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.staging.candidates import entry_for, packer_for
from poolkeeper.planning.staging.capped_topics import CappedTopics
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS, Bounds, Entry
from poolkeeper.planning.staging.makespan_bound import busiest_bytes, shortest_bytes
from poolkeeper.planning.staging.packer import StagePacker
from poolkeeper.planning.staging.queues import Backlog

ASSUMED_RATE_BYTES_PER_S = 100 * 1024**2


class Forecast(NamedTuple):
    """The predicted stages of a plan, and how long they take.

    `makespan`: `None` if there is nothing to move, or if the stages stop before the end.
    `halt`: what the remaining steps wait for, if the stages stop. `stages` are then those that can
    go.
    """

    stages: tuple[PlannedStage, ...] = ()
    makespan: Makespan | None = None
    halt: Wait | None = None


PREDICTED_MOVES_MAX = 100_000
"""Runs of more moves begin without a prediction, which takes seconds that others wait for.

So many take one to three, once in a run of hours.
"""


def with_stages(
    plan: Plan,
    cluster: Cluster,
    desired: Desired,
    at: Sequence[int | None] | None = None,
    *,
    records: Records = NOTHING_RECORDED,
    gone: Collection[int] = (),
) -> Plan:
    """Return the plan with its predicted stages, unless it has them, or too many moves for that.

    `at`: as in `predict`.
    """
    if plan.stages or not 0 < len(plan.moves) <= PREDICTED_MOVES_MAX:
        return plan
    found = predict(plan, cluster, desired, at, records=records, gone=gone)
    return replace(plan, stages=found.stages, makespan=found.makespan)


def predict(
    plan: Plan,
    cluster: Cluster,
    desired: Desired,
    at: Sequence[int | None] | None = None,
    *,
    records: Records = NOTHING_RECORDED,
    gone: Collection[int] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Forecast:
    """Predict all stages of the plan from the present cluster, and how long they take.

    `at[i]`: the index of move i's path where its live list is, or `None` to leave the move out; if
    `at` is not given, no move has begun.
    """
    throttle = desired.cluster.execution.throttle
    fixed = throttle.mode is not ThrottleMode.NONE
    rate = throttle.rate_bytes_per_s if fixed else ASSUMED_RATE_BYTES_PER_S
    table = EntryTable(plan.moves, cluster, at)
    backlog = Backlog(table)
    rules = Rules(desired, cluster, frozenset(gone), records)
    packer = packer_for(rules, bounds, plan.moves, table)
    stages: list[PlannedStage] = []
    span_bytes = 0
    within = True
    longer = table.has_further_steps
    packer.set_aside(backlog)
    while backlog.queues or backlog.aside:
        room, wait = packer.pack(backlog)
        if wait is not None:
            return Forecast(tuple(stages), halt=wait)
        steps = tuple(table.steps(room.taken))
        stages.append(PlannedStage(steps, room.bytes, room.span_used_bytes / rate))
        span_bytes += room.span_used_bytes
        within = within and room.within_limits
        if packer.checks.disks.free:
            for row in room.taken:
                packer.checks.disks.release(table.entry(row))
        for row in room.taken if longer else ():
            if not table.is_last(row):
                backlog.add(_following(plan, cluster, table.entry(row)))
    if not stages:
        return Forecast()
    shortest = _shortest_bytes(packer, within=within)
    return Forecast(tuple(stages), Makespan(span_bytes / rate, shortest / rate, rate))


def _following(plan: Plan, cluster: Cluster, entry: Entry) -> Entry:
    """The next step of a move, once this one is done."""
    leader = entry.leader if entry.leader in entry.after else entry.after[0]
    move = plan.moves[entry.move]
    return entry_for(cluster.topics, cluster.brokers, entry.move, move, entry.step + 1, leader)


def _shortest_bytes(packer: StagePacker, *, within: bool) -> int:
    """The bound on the makespan; `within`: every stage is within the limits, so these count."""
    table, limits = packer.table, packer.execution
    copies = table.copies()
    if not within:
        return busiest_bytes(copies)
    shortest = shortest_bytes(
        copies,
        in_flight_max=limits.max_moves,
        replicas_max=limits.max_moves_per_broker,
        bytes_max=limits.max_bytes,
    )
    nothing_gone = bytearray(len(table))
    return CappedTopics(table).longest_bytes(packer.most_of_topic, nothing_gone, shortest)
