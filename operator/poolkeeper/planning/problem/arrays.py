"""Vectors, and the brokers that they are indexed by.

Brokers appear by index into `BrokerIndex.ids` (ascending), so that every count by broker is a plain
vector. A replica slot holds a broker's index or `NONE`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired, ResourcePoolSpec
from poolkeeper.model.topology import Cluster

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NONE = -1
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BrokerIndex:
    """All brokers that anything names, by ascending id; `rack` is a row of `rack_names`.

    Brokers without a rack are one rack together, named "": nothing says that they fail apart.
    """

    ids: tuple[int, ...]
    index: Mapping[int, int]
    live: Bools
    gone: Bools
    rack: Ints
    rack_names: tuple[str, ...]

    def rows(self, ids: Iterable[int]) -> list[int]:
        """The indices of brokers by id."""
        return [self.index[broker] for broker in ids]


def brokers_of(
    cluster: Cluster,
    desired: Desired,
    records: Records,
    gone: frozenset[int],
    named: Ints,
) -> BrokerIndex:
    """Columns of all brokers that are live, in a pool or among those that replica lists name."""
    ids = {*cluster.brokers, *_distinct(named).tolist()}
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
    )


def _distinct(ids: Ints) -> Ints:
    """Each id once; those of brokers are small enough to be ticked off."""
    if not len(ids) or ids.min() < 0 or ids.max() > len(ids):
        return np.unique(ids)
    return np.flatnonzero(np.bincount(ids))


def rack_name(broker: int, desired: Desired, cluster: Cluster, records: Records) -> str | None:
    """The broker's rack as it registers it, else as its pool says, else as it was last seen."""
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
    eligible = np.zeros(len(brokers.ids), dtype=bool)
    eligible[brokers.rows(set(pool.brokers) - pool.drain)] = True
    return eligible & brokers.live


def weights_by(lists: Ints, value: Ints, brokers: int) -> Ints:
    """The values of rows added up by broker of the lists, exactly up to 2^53."""
    total = np.zeros(brokers, dtype=np.int64)
    weights = value.astype(np.float64)
    for slot in range(lists.shape[1]):
        # What holds no replica is counted before the first broker.
        place = np.maximum(lists[:, slot], NONE) + 1
        total += np.bincount(place, weights=weights, minlength=brokers + 1)[1:].astype(np.int64)
    return total


def any_slot(mask: Bools) -> Bools:
    """By row, whether any column is true. Faster by far than a reduction over a short axis."""
    found: Bools = mask[:, 0].copy()
    for column in range(1, mask.shape[1]):
        found |= mask[:, column]
    return found


def count_slots(mask: Bools) -> Ints:
    """By row, how many columns are true."""
    count = mask[:, 0].astype(np.int64)
    for column in range(1, mask.shape[1]):
        count += mask[:, column]
    return count
