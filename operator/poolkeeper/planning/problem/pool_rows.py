"""The rows of a pool's problem, and its background load.

Topics whose lists are as found are read by columns. The few topics whose lists this plan has
changed already (created, grown, moved to their manual assignment) are read one by one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import ResourcePoolSpec, Strategy
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, Ints, count_slots, take_rows
from poolkeeper.planning.problem.partitions import Lists, index_of
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole


@frozen
class PartitionRows:
    """Columns of a pool's problem, by row; see `pool_problem`."""

    topic: Ints
    number: Ints
    lists: Ints
    rf: Ints
    size: Ints
    rate: Ints
    leader: Ints
    placed: Bools
    fresh: Bools
    hold: Bools
    no_source: Bools
    duplicate: Bools
    lost: Bools


@frozen
class BackgroundLoad:
    """The load that does not move: replicas, preferred leaders, MiB and KiB/s by broker."""

    replicas: Ints
    leaders: Ints
    mib: Ints
    rate: Ints


def rows_of(
    names: Sequence[str], homes: Mapping[str, TopicHome], lists: Lists, hold: frozenset[str]
) -> PartitionRows:
    """The rows of these topics, ascending; existing partitions of those in `hold` stay."""
    plain, other = (
        _unchanged_rows(names, homes, lists, hold),
        _changed_rows(names, homes, lists, hold),
    )
    if not len(other.topic):
        return plain
    order = np.lexsort((np.append(plain.number, other.number), np.append(plain.topic, other.topic)))
    slots = max(plain.lists.shape[1], other.lists.shape[1])
    wide = np.concatenate([_widen(plain.lists, slots), _widen(other.lists, slots)])
    lost = np.concatenate([_widen(plain.lost, slots, 0), _widen(other.lost, slots, 0)])

    def both(name: str) -> Ints:
        column: Ints = np.append(getattr(plain, name), getattr(other, name))[order]
        return column

    return PartitionRows(
        topic=both("topic"),
        number=both("number"),
        lists=take_rows(wide, order),
        rf=both("rf"),
        size=both("size"),
        rate=both("rate"),
        leader=both("leader"),
        placed=both("placed").astype(bool),
        fresh=both("fresh").astype(bool),
        hold=both("hold").astype(bool),
        no_source=both("no_source").astype(bool),
        duplicate=both("duplicate").astype(bool),
        lost=take_rows(lost, order).astype(bool),
    )


def background_load(
    pool: ResourcePoolSpec,
    names: Sequence[str],
    homes: Mapping[str, TopicHome],
    lists: Lists,
    inside: Bools,
) -> BackgroundLoad:
    """The load on the pool's brokers of all topics that are not in its problem.

    `names`: the topics of the problem.
    """
    own = set(names)
    apart = [
        name
        for name, home in homes.items()
        if name not in own and not (home.role is TopicRole.PLACED and home.pool != pool.name)
    ]
    rows, size = lists.unchanged_rows(apart), len(inside)
    wide = lists.wide[rows]
    there = (wide >= 0) & inside[wide]
    row, slot = np.nonzero(there)
    broker = wide[row, slot]
    mib, rate = -(-lists.table.size[rows] // MIB), lists.table.rate[rows]
    load = BackgroundLoad(
        np.bincount(broker, minlength=size),
        np.bincount(broker[slot == 0], minlength=size),
        sums(broker, mib[row], size),
        sums(broker, rate[row], size),
    )
    for name in lists.changed:
        _add_changed_topic(load, name, own, pool, homes, lists, inside)
    for at, more_mib in repeated_brokers(homes, lists):
        if inside[at]:
            load.replicas[at] += 1
            load.mib[at] += more_mib
    return load


def repeated_brokers(homes: Mapping[str, TopicHome], lists: Lists) -> Iterator[tuple[int, int]]:
    """(broker, MiB) of each repeated broker in a list that stays as it is.

    The law of capacity counts a broker as often as a list names it. A list that the planner may
    change counts each broker once, because the plan removes the repetition.
    """
    table = lists.table
    for row in np.flatnonzero(lists.duplicate).tolist():
        topic = int(np.searchsorted(table.start, row, side="right")) - 1
        name = table.names[topic]
        if homes[name].role is not TopicRole.PLACED or lists.no_source[row]:
            named = Counter(lists[name][row - int(table.start[topic])])
            again = (named - Counter(set(named))).elements()
            for broker in again:
                yield broker, -(-int(table.size[row]) // MIB)


def sums(index: Ints, values: Ints, size: int) -> Ints:
    """The sum of the values by index, exactly."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, index, values)
    return total


def _add_changed_topic(
    load: BackgroundLoad,
    name: str,
    own: set[str],
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    lists: Lists,
    inside: Bools,
) -> None:
    home, assigned = homes[name], lists.changed[name]
    first = 0
    if name in own or (home.role is TopicRole.PLACED and home.pool != pool.name):
        first = _rows_in_problem(home, lists.found(name), len(assigned))
    known = lists.rows(name)
    for number, replicas in enumerate(assigned[first:], first):
        size, rate = lists.new_partition_load(name)
        if number < known.stop - known.start:
            size = int(lists.table.size[known.start + number])
            rate = int(lists.table.rate[known.start + number])
        for slot, broker in enumerate(dict.fromkeys(replicas)):
            if inside[broker]:
                load.replicas[broker] += 1
                load.leaders[broker] += slot == 0
                load.mib[broker] += -(-size // MIB)
                load.rate[broker] += rate


def _rows_in_problem(home: TopicHome, found: int, listed: int) -> int:
    """How many of a topic's lists are rows: new ones that Kafka places are background load."""
    as_kafka = home.spec is not None and home.spec.strategy is Strategy.KAFKA
    return found if as_kafka else listed


def _widen(lists: Ints | Bools, slots: int, empty: int = NONE) -> Ints:
    wide = np.full((len(lists), slots), empty, dtype=np.int64)
    wide[:, : lists.shape[1]] = lists[:, :slots]
    return wide


def _unchanged_rows(
    names: Sequence[str], homes: Mapping[str, TopicHome], lists: Lists, hold: frozenset[str]
) -> PartitionRows:
    table = lists.table
    rows = lists.unchanged_rows(names)
    place = np.full(len(table.names), NONE, dtype=np.int64)
    declared, unplaced, kept = np.zeros((3, len(table.names)), dtype=np.int64)
    for number, name in enumerate(names):
        rank = table.rank.get(name)
        if rank is not None:
            spec = homes[name].spec
            place[rank] = number
            declared[rank] = (spec.replication_factor if spec else None) or 0
            unplaced[rank] = homes[name].role is not TopicRole.PLACED
            kept[rank] = name in hold
    topic_of = np.repeat(np.arange(len(table.names)), np.diff(table.start))[rows]
    wide, lost = take_rows(lists.wide, rows), take_rows(lists.lost, rows)
    found_rf = count_slots(wide >= 0)
    rf = np.where(declared[topic_of] > 0, declared[topic_of], found_rf)
    slots = max(int(found_rf.max(initial=1)), int(rf.max(initial=1)))
    if slots != wide.shape[1]:
        wide = _widen(wide[:, :slots], slots)
        lost = _widen(lost[:, :slots], slots, 0).astype(bool)
    return PartitionRows(
        topic=place[topic_of],
        number=rows - table.start[topic_of],
        lists=wide,
        rf=rf,
        size=table.size[rows],
        rate=table.rate[rows],
        leader=index_of(table.leader[rows], lists.brokers),
        placed=unplaced[topic_of] == 0,
        fresh=np.zeros(len(rows), dtype=bool),
        hold=kept[topic_of] == 1,
        no_source=lists.no_source[rows],
        duplicate=lists.duplicate[rows],
        lost=lost,
    )


def _changed_rows(
    names: Sequence[str], homes: Mapping[str, TopicHome], lists: Lists, hold: frozenset[str]
) -> PartitionRows:
    flat: list[int] = []
    rows: list[tuple[int, ...]] = []
    for place, name in enumerate(names):
        if name in lists.changed:
            for replicas, row in _rows_of_changed(place, name, homes[name], lists, name in hold):
                flat += replicas
                rows.append(row)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 12).T
    topic, number, found_rf, rf, size, rate, leader, *marks = columns
    placed, fresh, stays, no_source, duplicate = (mark.astype(bool) for mark in marks)
    slots = int(max(found_rf.max(initial=1), rf.max(initial=1)))
    wide = np.full((len(rows), slots), NONE, dtype=np.int64)
    wide[np.arange(slots) < found_rf[:, None]] = flat
    leader = index_of(leader, lists.brokers)
    lost = np.zeros(wide.shape, dtype=bool)
    return PartitionRows(
        topic,
        number,
        wide,
        rf,
        size,
        rate,
        leader,
        placed,
        fresh,
        stays,
        no_source,
        duplicate,
        lost,
    )


def _rows_of_changed(
    place: int, name: str, home: TopicHome, lists: Lists, hold: bool
) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """(brokers, columns) of each partition whose list this plan has changed."""
    table, known, assigned = lists.table, lists.rows(name), lists.changed[name]
    declared = home.spec.replication_factor if home.spec else None
    found = known.stop - known.start
    for number, replicas in enumerate(assigned[: _rows_in_problem(home, found, len(assigned))]):
        brokers = list(dict.fromkeys(replicas))
        found_rf, fresh = len(brokers), number >= found
        at = known.start + number
        size, rate, leader = (
            (*lists.new_partition_load(name), NONE)
            if fresh
            else (int(table.size[at]), int(table.rate[at]), int(table.leader[at]))
        )
        placed, stays = home.role is TopicRole.PLACED, hold and not fresh
        no_source = not fresh and bool(lists.no_source[at])
        wanted = found_rf if fresh else declared or found_rf
        marks = placed, fresh, stays, no_source, found_rf < len(replicas)
        yield brokers, (place, number, found_rf, wanted, size, rate, leader, *map(int, marks))
