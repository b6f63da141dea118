"""Finds moves that are plainly lawful, so that only the others need a check law by law.

Most moves of most plans are alike: one step, as many replicas as before, onto usable brokers of the
topic's pool, spread over its racks as evenly as possible. The list that such a move leads to has no
excess by the laws of its own. So the move makes nothing worse, whatever the list was before.

All moves are looked at together, by column: what the plan says of a move beside what was observed
of its partition. A move of another kind may be lawful too: `moves` decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from poolkeeper.model.columns.move_columns import MoveColumns, columns_of_moves
from poolkeeper.model.columns.partition_columns import Bools, PartitionColumns, partitions_of
from poolkeeper.model.columns.replica_lists import NOBODY, Ints, distinct, places_of
from poolkeeper.model.columns.wide_lists import is_in_row, repeats
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import ReplicasAtATime
from poolkeeper.planning.audit.excess import rack_excess
from poolkeeper.planning.audit.violations import untouchable
from poolkeeper.planning.rules import Rules


def others(rules: Rules, moves: Sequence[Move]) -> Iterator[Move]:
    """The moves that are not plainly lawful, in their order; no partition is moved twice."""
    try:
        columns = columns_of_moves(moves)
    except (OverflowError, TypeError):  # replicas that are no broker ids
        return iter(moves)
    lawful = _plainly_lawful(rules, columns)
    return iter(()) if lawful.all() else compress(moves, (~lawful).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """Topics by number, and whose replicas may be moved: the pool of each, by number, or -1."""

    topics: tuple[str, ...]
    topic: Ints
    pools: tuple[str, ...]
    pool: Ints


def _plainly_lawful(rules: Rules, columns: MoveColumns) -> Bools:
    """By move, whether it is plainly lawful."""
    ground = _ground(rules, columns)
    found: Bools = (
        (ground.pool[ground.topic] >= 0) & (columns.counts == 2) & (columns.partition >= 0)
    )
    topics = [rules.cluster.topics.get(name) for name in ground.topics]
    parts = [topic.partitions if topic else () for topic in topics]
    found &= columns.partition < np.array(list(map(len, parts)), dtype=np.int64)[ground.topic]
    rows = np.flatnonzero(found)
    if len(rows):
        topic = ground.topic[rows]
        live = partitions_of(parts, topic, columns.partition[rows])
        found[rows] = _still(rules, columns, rows, live)
        found[rows] &= _is_lawful(rules, columns, rows, ground)
    return found


def _ground(rules: Rules, columns: MoveColumns) -> _Ground:
    """The topics that may be moved, as the ones that the plan means."""
    pools = tuple(rules.pools)
    homes = [_home(rules, *each) for each in columns.topics]
    pool = np.array([-1 if home is None else pools.index(home) for home in homes], dtype=np.int64)
    return _Ground(tuple(name for name, _ in columns.topics), columns.topic, pools, pool)


def _home(rules: Rules, name: str, topic_id: str | None) -> str | None:
    """The pool; `None` if moves of the topic must be checked one by one."""
    if untouchable(rules, name) or rules.cluster.topics[name].is_another(topic_id):
        return None
    home = rules.home(name)
    return None if home.manual else home.pool


def _still(rules: Rules, columns: MoveColumns, rows: Ints, live: PartitionColumns) -> Bools:
    """Whether the partition is where the path starts, does not move, and can be copied."""
    found: Bools = live.number == columns.partition[rows]
    found &= (live.adding.lengths == 0) & (live.removing.lengths == 0)
    found &= _equal(columns.sources.take(rows).wide(), live.replicas.wide())
    if rules.requested:
        topics = (columns.topics[topic][0] for topic in columns.topic[rows].tolist())
        names = zip(topics, live.number.tolist(), strict=True)
        found &= np.array([name not in rules.requested for name in names], dtype=bool)
    brokers = np.array(sorted(rules.cluster.brokers), dtype=np.int64)
    in_sync = _any(np.isin(live.isr.wide(), brokers))
    untold = ~live.isr_known | (live.isr.lengths == 0)
    found &= np.where(untold, _any(np.isin(live.replicas.wide(), brokers)), in_sync)
    return found


def _is_lawful(rules: Rules, columns: MoveColumns, rows: Ints, ground: _Ground) -> Bools:
    """Whether as many brokers as before hold it, all usable, as evenly over racks as can be."""
    before, after = columns.sources.take(rows), columns.targets.take(rows)
    count, olds, news = after.lengths, before.wide(), after.wide()
    found: Bools = (before.lengths == count) & ~_equal(olds, news) & ~repeats(olds) & ~repeats(news)
    pool_of = ground.pool[ground.topic[rows]]
    for number in distinct(pool_of).tolist():
        pool = ground.pools[number]
        own = np.flatnonzero(pool_of == number)
        racks = _racks(rules.usable[pool], news[own])
        known = (racks >= 0) | (news[own] == NOBODY)
        found[own] &= _all(known) & _is_even(racks, rules.usable_racks[pool])
    if rules.desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE:
        found &= _added(olds, news) <= 1
    return found


def _racks(usable: Mapping[int, str], lists: Ints) -> Ints:
    """By slot, the number of the broker's rack among sorted racks; -1 for other brokers."""
    names = sorted(set(usable.values()))
    ids = np.array(sorted(usable), dtype=np.int64)
    racks = [names.index(usable[broker]) for broker in ids.tolist()]
    found: Ints = np.array([*racks, -1], dtype=np.int64)[places_of(lists, ids)]
    return found


def _is_even(racks: Ints, sizes: Mapping[str, int]) -> Bools:
    """Whether no rack has too many replicas; `racks`: -1 where there is no replica."""
    even = ~repeats(np.where(racks < 0, NOBODY, racks))
    crowded = np.flatnonzero(~even)
    if len(crowded):
        names = sorted(sizes)
        kinds, kind = np.unique(np.sort(racks[crowded], axis=1), axis=0, return_inverse=True)
        excess = [
            rack_excess([names[rack] for rack in racks_of if rack >= 0], sizes)
            for racks_of in kinds.tolist()
        ]
        even[crowded] = np.array(excess)[kind.reshape(-1)] == 0
    return even


def _equal(these: Ints, those: Ints) -> Bools:
    """By row, whether two lists are the same."""
    slots = min(these.shape[1], those.shape[1])
    found: Bools = these[:, 0] == those[:, 0]
    for slot in range(1, slots):
        found &= these[:, slot] == those[:, slot]
    for longer in (these[:, slots:], those[:, slots:]):
        for slot in range(longer.shape[1]):
            found &= longer[:, slot] == NOBODY
    return found


def _added(olds: Ints, news: Ints) -> Ints:
    """By row, how many slots of the new list hold a broker that the old one does not name."""
    new = (news != NOBODY) & ~is_in_row(news, olds)
    found: Ints = new.sum(axis=1)
    return found


def _any(slots: Bools) -> Bools:
    """By row; much faster than numpy's reduction over a short axis."""
    found: Bools = slots[:, 0].copy()
    for slot in range(1, slots.shape[1]):
        found |= slots[:, slot]
    return found


def _all(slots: Bools) -> Bools:
    return ~_any(~slots)
