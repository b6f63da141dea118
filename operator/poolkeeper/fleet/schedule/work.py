"""A plan as work for the budget: its stages with bytes, least time, urgency and gain.

The stages are those that the plan predicts. Plans of a fleet predict none, because that takes
longer than planning. Then the plan's moves are cut in their order: neighbours of one urgency share
a stage within `Cut`, and each step of a longer move has a stage of its own. This is for scheduling
only: the executor makes its own stages by the state that it finds.

Gain is imbalance removed, in replicas: how much nearer all brokers come to their shares. A share is
a broker's part of its pool's replicas, by weight. Drained and dead brokers have a share of 0, so
replicas that leave them are gain. Brokers of no pool are not counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from poolkeeper.fleet.schedule.budget import ClusterWork, ScheduledStage
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import MoveColumns, MoveSteps, columns_of_moves
from poolkeeper.model.columns.replica_lists import NOBODY, NOWHERE, Ints, places_of
from poolkeeper.model.plans import Plan, PlannedStage
from poolkeeper.model.specs import Execution, ThrottleMode, Window
from poolkeeper.report.values import Holding


@frozen
class Cut:
    """How moves are cut into stages: the most bytes and moves of each, and a broker's rate."""

    bytes_max: int = 1024**4
    moves_max: int = 200
    bytes_per_s_per_broker: int = 100 * 1024**2


DEFAULT_CUT = Cut()


def cut_of(execution: Execution) -> Cut:
    """The cut by a cluster's own limits and throttle."""
    throttled = execution.throttle.mode is not ThrottleMode.NONE
    rate = execution.throttle.rate_bytes_per_s if throttled else DEFAULT_CUT.bytes_per_s_per_broker
    return Cut(execution.max_bytes, execution.max_moves, rate)


def work_of(
    plan: Plan,
    brokers: Iterable[Holding],
    site: str = "",
    windows: tuple[Window, ...] = (),
    cut: Cut = DEFAULT_CUT,
    columns: MoveColumns | None = None,
) -> ClusterWork:
    """The cluster's work; `brokers`: what they hold before the plan, and after it.

    `columns`: of the plan's moves, if the caller has them.
    """
    columns = columns_of_moves(plan.moves) if columns is None else columns
    steps = columns.steps()
    entries = _predicted(plan.stages, steps) if plan.stages else _cut(columns, steps, cut)
    if not len(entries.step):
        return ClusterWork(plan.cluster, (), site, windows)
    copied = steps.copies
    size = _replica_bytes(columns, steps, copied)
    first = np.flatnonzero(np.diff(entries.stage, prepend=-1))
    sizes = np.add.reduceat((size * copied)[entries.step], first)
    urgencies = np.minimum.reduceat(columns.urgency[steps.move[entries.step]], first)
    gains = _gains(steps, entries, tuple(brokers))
    least_ms: Iterable[int] = (round(stage.seconds * 1000) for stage in plan.stages)
    if not plan.stages:
        rate = max(1, cut.bytes_per_s_per_broker)
        least_ms = (-(-busiest * 1000 // rate) for busiest in _busiest_bytes(steps, entries, size))
    stages = map(ScheduledStage, sizes.tolist(), least_ms, urgencies.tolist(), gains.tolist())
    return ClusterWork(plan.cluster, tuple(stages), site, windows)


def shares_of(brokers: Sequence[Holding]) -> Mapping[int, float]:
    """Replicas by broker if its pool's were spread by weight alone; of pools' brokers only."""
    weight: defaultdict[str, float] = defaultdict(float)
    replicas: Counter[str] = Counter()
    for each in brokers:
        weight[each.pool] += each.weight
        replicas[each.pool] += each.replicas_after
    return {
        each.broker: replicas[each.pool] * each.weight / weight[each.pool]
        for each in brokers
        if each.pool and weight[each.pool]
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """What is requested, in its order: the number of the stage, and the row of the step."""

    stage: Ints
    step: Ints


def _predicted(stages: Sequence[PlannedStage], steps: MoveSteps) -> _Entries:
    row_of = {
        place: row
        for row, place in enumerate(zip(steps.move.tolist(), steps.number.tolist(), strict=True))
    }
    rows = [row_of[place] for place in chain.from_iterable(stage.moves for stage in stages)]
    counts = [len(stage.moves) for stage in stages]
    return _Entries(np.repeat(np.arange(len(stages)), counts), np.array(rows, dtype=np.int64))


def _cut(columns: MoveColumns, steps: MoveSteps, cut: Cut) -> _Entries:
    """The moves in their order, cut into runs; the first steps of a run, then the second ones."""
    runs = list(_runs(columns, cut))
    run_of = np.repeat(np.arange(len(runs)), [last - first for first, last in runs])
    run = run_of[steps.move]
    order = np.lexsort((steps.move, steps.number, run))
    if not len(order):
        return _Entries(order, order)
    run, number = run[order], steps.number[order]
    new = (np.diff(run, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    return _Entries(np.cumsum(new) - 1, order)


def _runs(columns: MoveColumns, cut: Cut) -> Iterator[tuple[int, int]]:
    """Neighbours of one urgency within the cut; a move that is larger is alone."""
    ends = np.cumsum(columns.bytes)
    changes = [*(np.flatnonzero(np.diff(columns.urgency)) + 1).tolist(), len(columns)]
    first = 0
    for change in changes:
        while first < change:
            before = int(ends[first] - columns.bytes[first])
            within = int(np.searchsorted(ends, before + cut.bytes_max, side="right"))
            last = min(change, first + max(1, cut.moves_max), max(first + 1, within))
            yield first, last
            first = last


def _replica_bytes(columns: MoveColumns, steps: MoveSteps, copied: Ints) -> Ints:
    """By step, the bytes of one replica of the partition: those of the move over what it adds."""
    added = np.bincount(steps.move, copied, len(columns)).astype(np.int64)
    size: Ints = np.where(added > 0, columns.bytes // np.maximum(added, 1), 0)
    return size[steps.move]


def _gains(steps: MoveSteps, entries: _Entries, brokers: Sequence[Holding]) -> np.ndarray:
    """By stage, imbalance removed, as brokers empty and fill one replica after the other."""
    share_of = shares_of(brokers)
    ids = np.array(sorted(share_of), dtype=np.int64)
    share = np.array([share_of[broker] for broker in ids.tolist()])
    known = {each.broker: each.replicas_before for each in brokers}
    held = np.array([known[broker] for broker in ids.tolist()], dtype=np.int64)
    # What each entry removes, then what it adds, brokers ascending: the order of all changes.
    changed = np.concatenate([steps.removed, steps.added], axis=1)[entries.step]
    signs = np.repeat([-1, 1], [steps.removed.shape[1], steps.added.shape[1]])
    places = places_of(changed, ids)
    entry, slot = np.nonzero(places != NOWHERE)
    sign, place = signs[slot], places[entry, slot]
    before = held[place] + _sum_before(place, sign)
    gain = np.abs(before - share[place]) - np.abs(before + sign - share[place])
    # `bincount` adds in the order of the rows: the same sums on every machine.
    by_entry = np.bincount(entry, gain, len(entries.step))
    return np.bincount(entries.stage, by_entry)


def _sum_before(group: Ints, values: Ints) -> Ints:
    """By row, the sum of the values of earlier rows of its group."""
    order = np.argsort(group, kind="stable")
    sums = np.cumsum(values[order]) - values[order]
    new = np.diff(group[order], prepend=-1) != 0
    sums -= np.repeat(sums[new], np.diff(np.append(np.flatnonzero(new), len(order))))
    found = np.empty_like(sums)
    found[order] = sums
    return found


def _busiest_bytes(steps: MoveSteps, entries: _Entries, size: Ints) -> list[int]:
    """By stage, the bytes into or out of the busiest broker; the first replica is copied from."""
    added, source = steps.added[entries.step], steps.leader[entries.step]
    size = size[entries.step]
    entry, slot = np.nonzero(added != NOBODY)
    copied = np.bincount(entry, minlength=len(entries.step))
    received = _most_by_stage(entries.stage[entry], added[entry, slot], size[entry])
    sent = _most_by_stage(entries.stage, source, size * copied)
    most = np.zeros(int(entries.stage[-1]) + 1, dtype=np.int64)
    for stage, amount in (received, sent):
        most[stage] = np.maximum(most[stage], amount)
    return list(most.tolist())


def _most_by_stage(stage: Ints, broker: Ints, amount: Ints) -> tuple[Ints, Ints]:
    """The stages that have any amount, and the largest sum of one broker in each."""
    order = np.lexsort((broker, stage))
    stage, broker = stage[order], broker[order]
    new_stage = np.diff(stage, prepend=-1) != 0
    first = np.flatnonzero(new_stage | (np.diff(broker, prepend=NOBODY) != 0))
    if not len(first):
        return stage, amount
    sums = np.add.reduceat(amount[order], first)
    return stage[new_stage], np.maximum.reduceat(sums, np.flatnonzero(new_stage[first]))
