"""The observed partitions as the planner's columns, made once and then immutable.

They come from the columns of a snapshot in tables (`partition_columns`), or from a Cluster's
objects where it was read from ZooKeeper.

`make_plan` builds the table unless its caller passes one. A caller that plans the same observation
twice (what-if, a fleet) keeps the table and passes it on.

`PartitionTable` holds broker ids. `Lists` holds the same as indices into `BrokerIndex.ids`, rows ×
slots, and besides it the lists of the few topics that this plan creates, grows or has moved
already. Ids become indices here, and stay that until moves and steps are written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.list_lengths import list_length_max
from poolkeeper.model.columns.partition_columns import UNKNOWN as UNKNOWN_NUMBER
from poolkeeper.model.columns.partition_columns import PartitionColumns, columns_of
from poolkeeper.model.columns.replica_lists import ReplicaLists, distinct, places_of
from poolkeeper.model.columns.wide_lists import repeats
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, BrokerIndex, Ints, Rows
from poolkeeper.text import count

UNKNOWN = -2
_KIB = 1024


@frozen
class PartitionTable:
    """All partitions, topics by name; topic t has the rows `start[t]` to `start[t + 1]`.

    `columns`: all that was observed of them, as observed.
    `replicas`: the lists as found.
    `lengths`: the length of each list.
    `odd`: topics with a partition that is moving, misnumbered or without replicas.
    `size`: in bytes; an unknown size counts as the topic's median, else as 1 MiB.
    `rate`: in KiB/s; an unknown rate counts as the topic's median, else as 0.
    `unsized`, `unrated`: by topic, what its unknown values count as; 0 if all are known.
    `sized`: whether any size is known.
    `leader`: a broker id, -1 where there is none, or `UNKNOWN`.
    """

    names: tuple[str, ...]
    rank: Mapping[str, int]
    start: Ints
    columns: PartitionColumns
    replicas: ReplicaLists
    lengths: Ints
    odd: tuple[str, ...]
    leader: Ints
    size: Ints
    rate: Ints
    unsized: Ints
    unrated: Ints
    sized: bool


def table_of(cluster: Cluster) -> PartitionTable:
    """The table of all observed partitions."""
    names = tuple(sorted(cluster.topics))
    parts = [cluster.topics[name].partitions for name in names]
    found = columns_of(parts)
    start = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(list(map(len, parts)), out=start[1:])
    size, unsized = _fill_unknown(_known_or_none(found.bytes), start, MIB)
    rate, unrated = _fill_unknown(_rates_kib_per_s(found), start, 0)
    return PartitionTable(
        names=names,
        rank={name: number for number, name in enumerate(names)},
        start=start,
        columns=found,
        replicas=found.replicas,
        lengths=found.replicas.lengths,
        odd=tuple(names[topic] for topic in _odd(found, start)),
        leader=np.where(found.leader == UNKNOWN_NUMBER, UNKNOWN, found.leader),
        size=size,
        rate=rate,
        unsized=unsized,
        unrated=unrated,
        sized=bool((found.bytes != UNKNOWN_NUMBER).any()),
    )


def refuse_long_lists(table: PartitionTable) -> None:
    """Raise `Refused` for a list so long that rows × slots would take gigabytes, or minutes.

    Who reads from ZooKeeper or a snapshot takes its topic for damaged; tables may have such lists.
    """
    most = list_length_max(len(table.lengths))
    for what, lists in (("replicas", table.columns.replicas), ("ISR", table.columns.isr)):
        lengths = lists.lengths
        row = int(lengths.argmax()) if len(lengths) else 0
        if len(lengths) and lengths[row] > most:
            topic = table.names[int(np.searchsorted(table.start, row, side="right")) - 1]
            raise Refused(
                f"partition {topic}-{table.columns.number[row]} is damaged: its {what} name"
                f" {lengths[row]:,} brokers (expected at most {most:,} in a cluster of"
                f" {count(len(lengths), 'partition')})"
            )


def _known_or_none(values: Ints) -> Ints:
    return np.where(values == UNKNOWN_NUMBER, NONE, values)


def _rates_kib_per_s(found: PartitionColumns) -> Ints:
    """Rounded up; raises `OverflowError` for a rate that no 64 bits hold."""
    known = ~np.isnan(found.bytes_in_per_s)
    rates = np.where(known, found.bytes_in_per_s, 0.0)
    if (np.abs(rates) >= 2.0**63).any():
        raise OverflowError("a rate does not fit into 64 bits")
    return np.where(known, -(-rates.astype(np.int64) // _KIB), NONE)


def _odd(found: PartitionColumns, start: Ints) -> list[int]:
    """Topics with a partition that is moving, misnumbered or without replicas."""
    topic = np.repeat(np.arange(len(start) - 1), np.diff(start))
    wrong = found.number != np.arange(len(topic)) - start[topic]
    for lists in (found.adding, found.removing):
        wrong |= lists.lengths > 0
    wrong |= found.replicas.lengths == 0
    return list(distinct(topic[wrong]).tolist())


def _fill_unknown(column: Ints, start: Ints, otherwise: int) -> tuple[Ints, Ints]:
    """The values, with `NONE`s at their topic's median (the lower of two), else `otherwise`.

    Also returns, by topic, what its unknown values count as.
    """
    taken = np.zeros(len(start) - 1, dtype=np.int64)
    unknown = np.flatnonzero(column == NONE)
    for topic in distinct(np.searchsorted(start, unknown, side="right") - 1).tolist():
        own = column[start[topic] : start[topic + 1]]
        known = np.sort(own[own != NONE])
        taken[topic] = known[(len(known) - 1) // 2] if len(known) else otherwise
        own[own == NONE] = taken[topic]
    return column, taken


@frozen
class Lists:
    """Replica lists: of `changed` topics as given there, of all others as found.

    `wide`: rows of the table × slots; brokers by index, each once, with `NONE` behind the last.
    `duplicate`: rows whose list, as found, names a broker twice.
    `no_source`: rows that have no source to copy from (see `sources`).
    `lost`: by row and slot, replicas in a log directory that is lost for good.
    """

    table: PartitionTable
    brokers: BrokerIndex
    wide: Ints
    duplicate: Bools
    no_source: Bools
    lost: Bools
    changed: Mapping[str, tuple[Rows, ...]]

    def __getitem__(self, topic: str) -> tuple[Rows, ...]:
        if topic in self.changed:
            return self.changed[topic]
        rows = self.rows(topic)
        return self.brokers.row_lists(self.table.replicas.tuples(rows.start, rows.stop))

    def __contains__(self, topic: object) -> bool:
        return topic in self.changed or topic in self.table.rank

    def rows(self, topic: str) -> slice:
        """The topic's rows in the table; empty if the topic does not exist."""
        rank = self.table.rank.get(topic)
        return slice(0, 0) if rank is None else slice(*self.table.start[rank : rank + 2].tolist())

    def found(self, topic: str) -> int:
        """The topic's number of partitions; 0 if it does not exist."""
        rows = self.rows(topic)
        return int(rows.stop - rows.start)

    def new_partition_load(self, topic: str) -> tuple[int, int]:
        """The bytes and KiB/s that a new partition of the topic counts as.

        Both are 0, unless the topic has unknown sizes or rates; then
        the value of those is used. A new topic's partition counts 1 MiB if no size at all is known.
        """
        rank = self.table.rank.get(topic)
        if rank is None:
            return 0 if self.table.sized else MIB, 0
        return int(self.table.unsized[rank]), int(self.table.unrated[rank])

    def with_changed(self, changed: Mapping[str, Sequence[Rows]]) -> "Lists":
        """These lists, with those of the given topics replaced."""
        new = {name: tuple(lists) for name, lists in changed.items()}
        return replace(self, changed={**self.changed, **new})

    def unchanged_rows(self, topics: Iterable[str]) -> Ints:
        """The rows of those of the topics whose lists are as found, in ascending order."""
        rank = self.table.rank
        chosen = np.zeros(len(self.table.names), dtype=bool)
        chosen[[rank[name] for name in topics if name in rank and name not in self.changed]] = True
        return np.flatnonzero(np.repeat(chosen, np.diff(self.table.start)))

    def counts(self) -> tuple[Ints, Ints]:
        """Replicas and preferred leaders by broker."""
        kept = self.wide[self.unchanged_rows(self.table.names)] if self.changed else self.wide
        size = len(self.brokers)
        # `NONE` is counted at index 0, before the first broker.
        held = np.bincount(kept.ravel() - NONE, minlength=size + 1)[1:]
        leads = np.bincount(kept[:, 0] - NONE, minlength=size + 1)[1:]
        for assigned in self.changed.values():
            for replicas in assigned:
                rows = list(dict.fromkeys(replicas))
                held[rows] += 1
                leads[rows[:1]] += 1
        return held, leads

    def weighted_counts(self, weights: Ints) -> Ints:
        """The sum by broker of a weight by row of the table, of lists as found."""
        per_slot = np.repeat(weights, self.wide.shape[1])
        sums = np.bincount(self.wide.ravel() - NONE, per_slot, minlength=len(self.brokers) + 1)
        found: Ints = sums[1:].astype(np.int64)
        return found


def lists_of(table: PartitionTable, brokers: BrokerIndex, no_source: Bools | None = None) -> Lists:
    """All lists as found; `no_source`: by row; none if not given."""
    none = np.zeros(len(table.lengths), dtype=bool)
    wide, duplicate = _wide(table, brokers)
    unknown = none if no_source is None else no_source
    return Lists(table, brokers, wide, duplicate, unknown, np.zeros(wide.shape, dtype=bool), {})


def _wide(table: PartitionTable, brokers: BrokerIndex) -> tuple[Ints, Bools]:
    """The lists with each broker once, and by row whether the list found names a broker twice."""
    lengths = table.lengths
    wide = np.full((len(lengths), int(lengths.max(initial=1))), NONE, dtype=np.int64)
    wide[np.arange(wide.shape[1]) < lengths[:, None]] = index_of(table.replicas.ids, brokers)
    duplicate = repeats(wide, NONE)
    for row in np.flatnonzero(duplicate).tolist():
        once = brokers.rows(dict.fromkeys(table.replicas[row]))
        wide[row] = NONE
        wide[row, : len(once)] = once
    return wide, duplicate


def index_of(ids: Ints, brokers: BrokerIndex) -> Ints:
    """Brokers by index; `NONE`, which is `NOWHERE`, for ids that are not among them."""
    return places_of(ids, np.array(brokers.ids, dtype=np.int64))
