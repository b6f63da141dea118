"""How many replicas of each topic every broker should end with: one flow, exact except for racks.

    topics ──(kept, added)── brokers ──(band of counts)── sink

Mostly all bands can be met, those of topics and those of brokers. What a (topic, broker) must hold
in any case is left out of the network then. An arc stands for what it may hold besides: what it has
keeps its place, and each replica that it gets costs one move. A replica that is copied in any case,
as its slot was open, has no place to keep, so it costs the same wherever it goes. Where a broker
may give one of several topics, the topic goes whose next replica there is the smallest, which costs
less than any move. The result has no replica outside a band, so it is the best of all with the
fewest moves.

If no such flow exists, or replicas of all sizes shall go, another network is solved, in which the
arcs of a (topic, broker) are tiers: below the topic's band each replica is rewarded and above it
charged, with more than any chain of moves costs. Brokers have tiers for the goal of replicas, which
comes first. So the flow comes as near to both goals as they can be met together.

Racks are ignored. They rarely matter where a replica may go to several of them.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, take_rows
from poolkeeper.planning.problem.grouping import stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_OUTSIDE = 10_000
_UNEVEN = 40_000
_SIZES = 64
"""So many sizes of replicas are told apart."""

_LARGE = 0.95
"""The part of all partitions that are smaller than what counts as the largest size."""


@frozen
class _MovableCounts:
    """Movable replicas by (topic, eligible broker): what is there, and what may be.

    `held`: those of `free` that cost a move if they go elsewhere.
    `most`: what there may be at all; `low` and `high` bound it if all bands are met.
    `least`, `enough`: by broker, how many the band of replicas wants.
    """

    free: Ints
    held: Ints
    low: Ints
    high: Ints
    most: Ints
    least: Ints
    enough: Ints


def target_counts(
    problem: PoolProblem,
    lists: Ints,
    movable: Bools,
    topics: TopicCounts,
    brokers: Band,
    *,
    all_sizes: bool,
    added: Bools | None = None,
) -> Ints:
    """The wanted number of movable replicas by (topic, broker).

    `movable`: which replicas of these lists may move. `added`: which of all are copied in any case.
    `all_sizes`: replicas of all sizes go, so that no topic is preferred.
    """
    eligible = np.flatnonzero(problem.eligible)
    free = replicas_by_topic(problem, np.where(movable, lists, NONE))
    old = movable if added is None else movable & ~added
    held = free if added is None else replicas_by_topic(problem, np.where(old, lists, NONE))
    staying = replicas_by_topic(problem, np.where(movable, NONE, lists))[:, eligible]
    most = np.bincount(problem.topic, minlength=len(problem.topics))[:, None] - staying
    low = np.clip(topics.low[:, eligible] - staying, 0, most)
    high = np.clip(topics.high[:, eligible] - staying, low, most)
    other = problem.background_load.replicas[eligible] + staying.sum(axis=0)
    least, enough = (np.maximum(end[eligible] - other, 0) for end in (brokers.low, brokers.high))
    counts = free[:, eligible], held[:, eligible]
    wanted = _MovableCounts(*counts, low, high, most, least, enough)
    inside = None
    if not all_sizes:
        above = np.zeros_like(held)
        above[:, eligible] = np.maximum(wanted.held - high, 0)
        size = _next_size(problem, lists, old, held, above)[:, eligible]
        inside = _inside_bands(wanted, size)
    target = np.zeros_like(free)
    target[:, eligible] = _near_bands(wanted) if inside is None else inside
    return target


def _next_size(problem: PoolProblem, lists: Ints, movable: Bools, free: Ints, above: Ints) -> Ints:
    """By (topic, broker), the size of the next replica that goes once `above` of them have gone.

    `free`: movable replicas by (topic, broker). The smallest go first. Sizes are coarse: from 0 to
    `_SIZES`.
    """
    large = max(int(np.quantile(problem.mib, _LARGE)), 1) if len(problem) else 1
    size = np.minimum(problem.mib * _SIZES // large, _SIZES)
    row = stable_order(size, _SIZES + 1)
    place = np.flatnonzero(take_rows(movable, row))
    row, broker = row[place // lists.shape[1]], take_rows(lists, row).ravel()[place]
    order = stable_order(problem.topic[row] * free.shape[1] + broker, free.size)
    ends = np.cumsum(free.ravel()).reshape(free.shape)
    at = np.minimum(ends - free + above, np.maximum(ends - 1, 0))
    found: Ints = np.append(size[row[order]], 0)[at]
    return found


def _inside_bands(wanted: _MovableCounts, size: Ints) -> Ints | None:
    """The counts of fewest moves with all bands met, and of these the one of the smallest sizes.

    `None` if not all bands can be met.
    """
    low, high = wanted.low, wanted.high
    every = wanted.free.sum(axis=1)
    supply = every - low.sum(axis=1)
    if (supply < 0).any() or (every > high.sum(axis=1)).any():
        return None
    kept = np.clip(wanted.held, low, high)
    network = Network()
    topic, broker = network.add_nodes(len(low)), network.add_nodes(low.shape[1])
    sink = network.add_nodes(1)
    # A move costs more than all that a chain of moves can save in sizes.
    move = 2 * low.shape[1] * (_SIZES + 1)
    arcs = []
    for capacity, cost in ((kept - low, -size), (high - kept, np.full_like(size, move))):
        of, at = np.nonzero(capacity > 0)
        block = network.add_arcs(topic[of], broker[at], capacity[of, at], cost[of, at])
        arcs.append((block, of, at))
    in_any_case, total = low.sum(axis=0), int(supply.sum())
    least, enough = (np.maximum(end - in_any_case, 0) for end in (wanted.least, wanted.enough))
    if (in_any_case > wanted.enough).any():
        return None
    into = np.repeat(sink, len(broker))
    outside = 2 * (len(broker) + 2) * move
    needed = network.add_arcs(broker, into, np.minimum(least, total), -outside)
    network.add_arcs(broker, into, np.clip(enough - least, 0, total), 0)
    surplus = network.add_arcs(broker, into, total, outside)
    flow = network.solve(np.concatenate([supply, np.zeros(len(broker), dtype=np.int64), [-total]]))
    if flow[surplus].any() or (flow[needed] < least).any():
        return None
    target = low.copy()
    for block, of, at in arcs:
        target[of, at] += flow[block]
    return target


def _near_bands(wanted: _MovableCounts) -> Ints:
    """The counts as near to all bands as possible, with the fewest moves."""
    held, low, high, most = wanted.held, wanted.low, wanted.high, wanted.most
    network = Network()
    topic = network.add_nodes(len(held))
    broker = network.add_nodes(held.shape[1])
    sink = network.add_nodes(1)
    kept_low = np.minimum(held, low)
    kept_high = np.clip(held, low, high)
    kept_most = np.clip(held, high, most)
    tiers = (
        (kept_low, -_OUTSIDE),
        (low - kept_low, 1 - _OUTSIDE),
        (kept_high - low, 0),
        (high - kept_high, 1),
        (kept_most - high, _OUTSIDE),
        (most - kept_most, 1 + _OUTSIDE),
    )
    arcs = []
    for capacity, cost in tiers:
        of, at = np.nonzero(capacity > 0)
        arcs.append((network.add_arcs(topic[of], broker[at], capacity[of, at], cost), of, at))
    everything = int(wanted.free.sum())
    into = np.repeat(sink, held.shape[1])
    network.add_arcs(broker, into, np.minimum(wanted.least, everything), -_UNEVEN)
    between = np.clip(wanted.enough - wanted.least, 0, everything)
    network.add_arcs(broker, into, between, 0)
    network.add_arcs(broker, into, everything, _UNEVEN)
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[topic] = wanted.free.sum(axis=1)
    supply[sink] = -everything
    flow = network.solve(supply)
    target = np.zeros_like(held)
    for block, of, at in arcs:
        np.add.at(target, (of, at), flow[block])
    return target
