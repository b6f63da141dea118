"""Vectors, and the brokers that index them.

A broker is an index into `BrokerIndex.ids` (ascending), so that every count by broker is a plain
vector. A replica slot holds a broker's index or `NONE`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.model.topology import Cluster, Replicas

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Table = TypeVar("Table", Ints, Bools)

Rows = tuple[int, ...]
"""The brokers of one replica list, by row."""

NONE = -1
MIB = 1024 * 1024


@frozen
class BrokerIndex:
    """All brokers that the input names, by ascending id; `rack` is an index into `rack_names`.

    Brokers without a rack form one rack named "", because nothing says that they fail
    independently. `failed`: a log directory of the broker has failed.
    """

    ids: tuple[int, ...]
    index: Mapping[int, int]
    live: Bools
    gone: Bools
    rack: Ints
    rack_names: tuple[str, ...]
    failed: Bools

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, ids: Iterable[int]) -> list[int]:
        """The indices of these broker ids."""
        return [self.index[broker] for broker in ids]

    def row_lists(self, lists: Iterable[Replicas]) -> tuple[Rows, ...]:
        """These replica lists by row."""
        return tuple(tuple(self.rows(replicas)) for replicas in lists)

    def id_lists(self, lists: Iterable[Rows]) -> tuple[Replicas, ...]:
        """These replica lists by id."""
        return tuple(tuple(self.ids[row] for row in rows) for rows in lists)


def index_brokers(
    cluster: Cluster,
    desired: Desired,
    records: Records,
    gone: frozenset[int],
    named: Ints,
) -> BrokerIndex:
    """Index all brokers that are live, in a pool or named by a replica list."""
    ids = {*cluster.brokers, *distinct(named).tolist()}
    for pool in desired.pools:
        ids.update(pool.brokers)
    order = tuple(sorted(ids))
    racks = [rack_name(broker, desired, cluster, records) or "" for broker in order]
    names = tuple(sorted(set(racks)))
    return BrokerIndex(
        ids=order,
        index={broker: row for row, broker in enumerate(order)},
        live=np.array([broker in cluster.brokers for broker in order], dtype=bool),
        gone=np.array([b in gone and b not in cluster.brokers for b in order], dtype=bool),
        rack=np.array([names.index(rack) for rack in racks], dtype=np.int64),
        rack_names=names,
        failed=np.array([_has_failed(cluster, broker) for broker in order], dtype=bool),
    )


def _has_failed(cluster: Cluster, broker: int) -> bool:
    return broker in cluster.brokers and bool(cluster.brokers[broker].failed_log_dirs)


def rack_name(broker: int, desired: Desired, cluster: Cluster, records: Records) -> str | None:
    """The rack that the broker registered, else its pool's entry, else the last one recorded."""
    live = cluster.brokers.get(broker)
    if live is not None and live.rack is not None:
        return live.rack
    for pool in desired.pools:
        if broker in pool.racks:
            return pool.racks[broker]
    record = records.brokers.get(broker)
    return record.rack if record else None


def eligible_of(pool: ResourcePoolSpec, brokers: BrokerIndex) -> Bools:
    """Brokers of the pool that may be given replicas: live and not drained."""
    eligible = np.zeros(len(brokers), dtype=bool)
    eligible[brokers.rows(set(pool.brokers) - pool.drain)] = True
    return eligible & brokers.live


def take_rows(table: Table, rows: Ints) -> Table:
    """These rows of a table. An index takes four times as long where rows are short."""
    return table.take(rows, axis=0)


def weights_by(lists: Ints, value: Ints, brokers: int) -> Ints:
    """The sum of the rows' values by broker of their lists."""
    # `NONE` is counted at index 0, before the first broker.
    total = np.zeros(brokers + 1, dtype=np.int64)
    place = np.maximum(lists, NONE) + 1
    for slot in range(lists.shape[1]):
        np.add.at(total, place[:, slot], value)
    return total[1:]


def any_slot(mask: Bools) -> Bools:
    """By row, whether any column is true; much faster than numpy's reduction over a short axis."""
    found: Bools = mask[:, 0].copy()
    for column in range(1, mask.shape[1]):
        found |= mask[:, column]
    return found


def count_slots(mask: Bools) -> Ints:
    """By row, the number of columns that are true."""
    count = mask[:, 0].astype(np.int64)
    for column in range(1, mask.shape[1]):
        count += mask[:, column]
    return count


def concatenate(parts: Sequence[Ints]) -> Ints:
    """One array of all parts, in order."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
