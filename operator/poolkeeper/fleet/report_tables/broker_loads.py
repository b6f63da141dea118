"""What every broker of a cluster holds, how it grows, and what it can hold."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from poolkeeper.fleet.report_tables.cluster_tables import ClusterTables
from poolkeeper.fleet.report_tables.partition_loads import (
    Floats,
    Ints,
    PartitionLoads,
    zero_if_unknown,
)
from poolkeeper.fleet.storage.parquet import rows_of
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.report.values import BrokerLoad

DENSE = 1_000_000
"""Ids of brokers up to which a table of all numbers is made."""


def broker_loads(tables: ClusterTables, loads: PartitionLoads) -> tuple[BrokerLoad, ...]:
    """A load for each broker that is live, in a pool or in a replica list, by id."""
    live = {row["broker"]: row for row in rows_of(tables.brokers)}
    pools = tables.desired.pools if tables.desired else ()
    pool_of = {broker: pool for pool in pools for broker in pool.brokers}
    known = np.array([*live, *pool_of], dtype=np.int64)
    counts = _BrokerSums(*_ids_and_places(known, loads.replica), loads)
    return tuple(
        BrokerLoad(
            tables.cluster,
            pool_of[broker].name if broker in pool_of else "",
            broker,
            _rack(broker, live, pool_of),
            _weight(broker, live, pool_of),
            **figures,
            capacity=_capacity(broker, live, pool_of, int(figures["bytes"])),
        )
        for broker, figures in counts.rows()
    )


def _ids_and_places(known: Ints, replica: Ints) -> tuple[Ints, Ints]:
    """The ids of all brokers, ascending, and of each replica the place of its broker among them."""
    every = np.append(known, replica)
    if not len(every) or every.min() < 0 or every.max() > DENSE:
        ids = np.unique(every)
        return ids, np.searchsorted(ids, replica).astype(np.int64)
    # A table of all ids is several times as fast as sorting.
    there = np.zeros(int(every.max()) + 1, dtype=bool)
    there[every] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[replica]


class _BrokerSums:
    """Sums over replicas by broker."""

    def __init__(self, ids: Ints, place: Ints, loads: PartitionLoads) -> None:
        self.ids = ids
        self.place = place
        self.loads = loads
        self.size = loads.size[loads.row_of]
        self.growth = loads.growth[loads.row_of]
        self.rate = loads.rate[loads.row_of]

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """By broker: the sums as fields of its load."""
        grown = np.where(np.isnan(self.growth), np.nan, zero_if_unknown(self.size))
        leaders = self.place[self.loads.first[self._with_replicas()]]
        replicas = np.bincount(self.place, minlength=len(self.ids))
        columns = {
            "replicas": replicas,
            "leaders": np.bincount(leaders, minlength=len(self.ids)),
            "sized": self._known(self.size),
            "bytes": self._sum(self.size),
            "grown_bytes": self._sum(grown),
        }
        growths, grows = self._sum(self.growth), self._known(self.growth)
        rates, rated = self._sum(self.rate), self._known(self.rate)
        for row, broker in enumerate(self.ids.tolist()):
            figures = {name: int(column[row]) for name, column in columns.items()}
            growth = float(growths[row]) if grows[row] else None
            rate = float(rates[row]) if rated[row] else None
            yield broker, {**figures, "growth": growth, "bytes_in_per_s": rate}

    def _with_replicas(self) -> Any:
        lengths = np.bincount(self.loads.row_of, minlength=len(self.loads.first))
        return lengths > 0

    def _sum(self, values: Floats) -> Any:
        return np.bincount(self.place, weights=zero_if_unknown(values), minlength=len(self.ids))

    def _known(self, values: Floats) -> Any:
        return np.bincount(self.place[~np.isnan(values)], minlength=len(self.ids))


def _rack(
    broker: int, live: Mapping[int, Any], pool_of: Mapping[int, ResourcePoolSpec]
) -> str | None:
    rack: str | None = live[broker]["rack"] if broker in live else None
    if rack is None and broker in pool_of:
        return pool_of[broker].racks.get(broker)
    return rack


def _weight(broker: int, live: Mapping[int, Any], pool_of: Mapping[int, ResourcePoolSpec]) -> float:
    pool = pool_of.get(broker)
    if pool is None or broker not in live or broker in pool.drain:
        return 0.0
    return float(pool.capacity_for(broker).weight)


def _capacity(
    broker: int, live: Mapping[int, Any], pool_of: Mapping[int, ResourcePoolSpec], held: int
) -> int | None:
    """What is declared, else what its log directories can hold, if all are known.

    Where they tell what is free, that is what it holds and what is free: others, and what the file
    system keeps for itself, take of a disk as well.
    """
    pool = pool_of.get(broker)
    if pool is not None and (declared := pool.capacity_for(broker).disk_bytes) is not None:
        return declared
    log_dirs = (live.get(broker) or {}).get("log_dirs") or ()
    sizes = [each["total_bytes"] for each in log_dirs]
    if not sizes or None in sizes:
        return None
    total: int = sum(sizes)
    free = [each["usable_bytes"] for each in log_dirs]
    return total if None in free else min(total, held + sum(free))
