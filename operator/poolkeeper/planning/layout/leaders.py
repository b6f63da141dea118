"""Preferred leaders, balanced by reordering replica lists alone, with the fewest changes.

A partition's first replica is its preferred leader, and any of its replicas may come first. So
this is an assignment of partitions to brokers. It is solved as a minimum-cost flow like that of
`flow`:

- A class is (present leader, brokers that could lead instead).
- A changed partition costs one MOVE, or a tenth of that if its list changes anyway.
- The tiers of a broker rank its band above any number of changes.

A demoted broker leads no partition that another replica can lead. A partition whose first replica
is on a dead broker keeps its order, because that broker may return in a minute.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal
from poolkeeper.planning.constraints.bands import Band, BoundedGroup, band, shares
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints, any_slot, take_rows
from poolkeeper.planning.problem.grouping import number_groups, stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_CHANGE = 1_000
_FREE_CHANGE = 100
_CLASSES_MAX = 20_000
_CLASSED_ROWS_MAX = 40_000
_ROUNDS_MAX = 60


@frozen
class Leadership:
    """Lists with preferred leaders first, the leader counts, and the band that was aimed at."""

    lists: Ints
    leaders: Ints
    band: Band


def choose_leaders(
    problem: PoolProblem, lists: Ints, goal: Goal | None, *, balance: bool
) -> Leadership:
    """Reorder the lists of the pool's partitions, but for those that the plan holds in place."""
    lists = lists.copy()
    candidates = _candidates(problem, lists)
    leaders = leaders_by_broker(problem, lists)
    share = _share(problem, lists, candidates)
    candidates &= ~problem.hold[:, None]
    wide = band(share, goal if balance else None)
    narrow = band(share, goal if balance else None, half=True)
    forced = ~problem.leads[lists[:, 0]] & any_slot(candidates)
    if forced.any():
        trial = _rounds(problem, lists, candidates & forced[:, None], wide)
        if not has_avoidable_leader(problem, trial, candidates) and _is_balanced(
            problem, trial, wide
        ):
            return Leadership(trial, leaders_by_broker(problem, trial), wide)
    elif _is_balanced(problem, lists, wide):
        return Leadership(lists, leaders, wide)
    lists = _rounds(problem, lists, candidates, narrow)
    return Leadership(lists, leaders_by_broker(problem, lists), narrow)


def has_avoidable_leader(problem: PoolProblem, lists: Ints, candidates: Bools) -> bool:
    """Whether a broker that may not lead leads a partition that another replica could lead."""
    return bool((~problem.leads[lists[:, 0]] & any_slot(candidates)).any())


def leaders_by_broker(problem: PoolProblem, lists: Ints) -> Ints:
    """Preferred leaders by broker, of these lists and of the background load."""
    counts: Ints = np.bincount(lists[:, 0], minlength=len(problem.brokers))
    return problem.background_load.leaders + counts


def _candidates(problem: PoolProblem, lists: Ints) -> Bools:
    """By (row, slot), whether the reordering may put that replica first.

    It changes no partition without a source, no unmanaged one, and none with a dead preferred
    leader.
    """
    able = (lists >= 0) & problem.leads[lists]
    movable = (
        problem.placed & ~problem.no_source & (lists[:, 0] >= 0) & problem.brokers.live[lists[:, 0]]
    )
    return able & movable[:, None]


def _share(problem: PoolProblem, lists: Ints, candidates: Bools) -> Floats:
    rows = np.flatnonzero(any_slot(candidates))
    able = take_rows(candidates, rows)
    chosen = take_rows(lists, rows)
    could = np.bincount(chosen[able], minlength=len(problem.brokers))
    stays = leaders_by_broker(problem, lists) - np.bincount(
        lists[rows, 0], minlength=len(problem.brokers)
    )
    leads = np.flatnonzero(problem.leads)
    floor = stays.astype(np.float64)
    total = float(len(rows) + floor[leads].sum())
    everyone = BoundedGroup(leads, 0.0, float("inf"))
    return shares(total, problem.weight, floor, floor + could, (everyone,))


def _is_balanced(problem: PoolProblem, lists: Ints, target: Band) -> bool:
    return bool((target.outside(leaders_by_broker(problem, lists)) == 0)[problem.leads].all())


def _rounds(problem: PoolProblem, lists: Ints, candidates: Bools, target: Band) -> Ints:
    """Solve and reorder until no list changes; return at once if all brokers are in their bands."""
    able = np.where(candidates, lists, -1)
    eligible_rows = np.flatnonzero(any_slot(candidates))
    original = problem.lists[:, 0]
    lists = lists.copy()
    for _ in range(_ROUNDS_MAX):
        if _is_balanced(problem, lists, target) and problem.leads[lists[eligible_rows, 0]].all():
            break
        if not _round(problem, lists, able, eligible_rows, original, target):
            break
    return lists


def _round(
    problem: PoolProblem, lists: Ints, able: Ints, rows: Ints, original: Ints, target: Band
) -> int:
    """Solve one flow and reorder the lists in place; return the number of partitions changed."""
    leader = lists[rows, 0]
    others = able[rows]
    others[others == leader[:, None]] = -1
    if len(rows) > _CLASSED_ROWS_MAX:
        return _round_by_pairs(problem, lists, rows, leader, others, target)
    others.sort(axis=1)
    # Clients notice no difference if a list is reordered whose first replica is new anyway.
    unmoved = ((leader == original[rows]) & ~problem.fresh[rows]).astype(np.int64)
    number, first = number_groups([leader, unmoved, *others.T])
    if len(first) > _CLASSES_MAX:
        return _round_by_pairs(problem, lists, rows, leader, others, target)
    size = np.bincount(number, minlength=len(first))
    network = Network()
    broker = network.add_nodes(len(problem.brokers))
    classes = network.add_nodes(len(first))
    sink = network.add_nodes(1)
    cost = np.where(unmoved[first] == 1, _CHANGE, _FREE_CHANGE)
    network.add_arcs(broker[leader[first]], classes, size, cost)
    tail, slot = np.nonzero(others[first] >= 0)
    heads = others[first][tail, slot]
    arcs = network.add_arcs(classes[tail], broker[heads], size[tail], 0)
    flow = _solve(network, problem, lists, rows, broker, sink, target)[arcs]
    order = stable_order(number, len(first))
    next_of = np.searchsorted(number[order], np.arange(len(first)))
    changed = 0
    for arc in np.flatnonzero(flow):
        at = next_of[tail[arc]]
        members = rows[order[at : at + flow[arc]]]
        next_of[tail[arc]] += flow[arc]
        _put_first(lists, members, int(heads[arc]))
        changed += len(members)
    return changed


def _round_by_pairs(
    problem: PoolProblem, lists: Ints, rows: Ints, leader: Ints, others: Ints, target: Band
) -> int:
    """Do the same as `_round` with (leader, other broker) pairs as classes.

    This makes a smaller network, but a partition is then a member of several classes.
    """
    count = len(problem.brokers)
    place = np.flatnonzero(others >= 0)
    where = place // others.shape[1]
    pair = leader[where] * count + others.ravel()[place]
    order = stable_order(pair, count * count)
    size = np.bincount(pair, minlength=count * count)
    start = np.cumsum(size) - size
    kinds = np.flatnonzero(size)
    network = Network()
    broker = network.add_nodes(count)
    giver = network.add_nodes(count)
    sink = network.add_nodes(1)
    network.add_arcs(broker, giver, np.bincount(leader, minlength=count), _CHANGE)
    arcs = network.add_arcs(giver[kinds // count], broker[kinds % count], size[kinds], 0)
    flow = _solve(network, problem, lists, rows, broker, sink, target)[arcs]
    used = np.zeros(len(rows), dtype=bool)
    changed = 0
    for arc in np.flatnonzero(flow):
        kind = kinds[arc]
        members = where[order[start[kind] : start[kind] + size[kind]]]
        chosen = members[~used[members]][: flow[arc]]
        used[chosen] = True
        _put_first(lists, rows[chosen], int(kind % count))
        changed += len(chosen)
    return changed


def _solve(
    network: Network,
    problem: PoolProblem,
    lists: Ints,
    rows: Ints,
    broker: Ints,
    sink: Ints,
    target: Band,
) -> Ints:
    """Add all brokers' tiers and solve; a broker that may not lead pays for every partition."""
    leading = np.bincount(lists[rows, 0], minlength=len(problem.brokers))
    base = leaders_by_broker(problem, lists) - leading
    outside = 2 * _CHANGE * (len(broker) + 2)
    unlimited = np.full(len(base), np.iinfo(np.int32).max, dtype=np.int64)
    low = np.where(problem.leads, target.low, 0)
    high = np.where(problem.leads, target.high, 0)
    floor = np.floor(target.share + 1e-6).astype(np.int64)
    ceiling = np.ceil(target.share - 1e-6).astype(np.int64)
    begin = base
    wall = np.where(problem.leads, outside, outside * 1_000)
    ends = (low, np.minimum(floor, high), np.minimum(ceiling, high), high, unlimited)
    costs = (*(np.full(len(base), cost) for cost in (-outside, -1, 0, 1)), wall)
    for end, cost in zip(ends, costs, strict=True):
        bound = np.maximum(end, begin)
        wide = np.flatnonzero(bound > begin)
        network.add_arcs(
            broker[wide], np.repeat(sink, len(wide)), (bound - begin)[wide], cost[wide]
        )
        begin = bound
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[broker] = leading
    supply[sink] = -leading.sum()
    return network.solve(supply)


def _put_first(lists: Ints, rows: Ints, broker: int) -> None:
    """Swap the broker with the first replica of each list; the order of the others stays."""
    slot = np.argmax(lists[rows] == broker, axis=1)
    lists[rows, slot] = lists[rows, 0]
    lists[rows, 0] = broker
