"""The disks of brokers while a stage is packed: what is free, with both copies of every move.

Disks are physics and no law: both copies exist until a move is finished, so the space that a stage
frees counts only after it. `Disks` has only brokers whose disk is known, by their pool's capacity
or by their log directories; the smaller of the two counts. The high-water mark is the declared
capacity itself, because a plan may fill it and a margin would stop what the plan needs. For log
directories it is a margin below their size.
"""

import copy
from collections import Counter
from collections.abc import Mapping

from poolkeeper.model.execution.waits import RoomNeed
from poolkeeper.model.plans import Urgency
from poolkeeper.model.topology import Broker, Replicas
from poolkeeper.planning.audit.excess import ReplicasByPartition, live_state
from poolkeeper.planning.rules import MIB, Rules
from poolkeeper.planning.staging.disks.disk_order import CopyStep
from poolkeeper.planning.staging.limits import Bounds, Entry


class Disks:
    """Free bytes of every broker whose disk is known, below the high-water mark."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self._free: dict[int, int] = {}
        self._sizes = {name: mib * MIB for name, mib in rules.mib.items()}
        self._topics = rules.cluster.topics
        for broker in rules.cluster.brokers.values():
            free = _free_log_dirs(broker, bounds.disk_margin_percent)
            if free is not None:
                self._free[broker.id] = free
        declared = {
            id: disk
            for id, pool in rules.pool_of.items()
            if (disk := pool.capacity_for(id).disk_bytes) is not None
        }
        used = _used_bytes(live_state(rules.cluster), self._sizes) if declared else Counter()
        for id, disk in declared.items():
            left = disk - used[id]
            self._free[id] = min(left, self._free.get(id, left))

    def clone(self) -> "Disks":
        """An independent copy, to try a stage with."""
        other = copy.copy(self)
        other._free = self._free.copy()
        return other

    def need(self, entry: Entry) -> RoomNeed | None:
        """What its copy lacks on a broker, if there is one; an empty replica needs nothing."""
        if self._free and (size := self._size(entry)):
            for broker in entry.added:
                free = self._free.get(broker, size)
                if free < size:
                    return RoomNeed(entry.name, broker, size, max(0, free))
        return None

    def _size(self, entry: Entry) -> int:
        """Bytes of one copy as those are counted that a disk holds, in whole MiB.

        What leaves a broker would else free less than it was counted with.
        """
        if not entry.size:
            return 0
        return self._sizes.get((entry.topic, entry.partition), entry.size)

    @property
    def free(self) -> Mapping[int, int]:
        """The bytes that each broker may still take in; negative if it is above the mark."""
        return self._free

    def step(self, entry: Entry) -> CopyStep:
        """The entry as a step of `disk_order`."""
        size = self._size(entry)
        into = tuple(b for b in entry.added if b in self._free) if size else ()
        out_of = tuple(b for b in entry.removed if b in self._free)
        heals = entry.urgency == Urgency.HEAL
        return CopyStep(entry.move, entry.step, into, out_of, size, self._freed_bytes(entry), heals)

    def _freed_bytes(self, entry: Entry) -> int:
        """The bytes of each old copy; for a step that only removes, the observed size."""
        if entry.added:
            return self._size(entry)
        observed = self._topics[entry.topic].partition(entry.partition)
        known = 0 if observed is None else observed.size_bytes or 0
        return self._sizes.get((entry.topic, entry.partition), known)

    def copy(self, entry: Entry) -> None:
        """Count the copies of the step as being made."""
        self._change(entry.added, -self._size(entry))

    def cancel(self, entry: Entry) -> None:
        """Take back that the copies of the step are being made."""
        self._change(entry.added, self._size(entry))

    def release(self, entry: Entry) -> None:
        """Count the step as finished and its old copies as deleted."""
        if self._free:
            self._change(entry.removed, self._freed_bytes(entry))

    def _change(self, brokers: Replicas, size: int) -> None:
        if self._free:
            for broker in brokers:
                if broker in self._free:
                    self._free[broker] += size


def _free_log_dirs(broker: Broker, margin_percent: int) -> int | None:
    """Usable bytes above the margin; `None` if the size of a directory is unknown."""
    free = 0
    for log_dir in (broker.log_dirs or {}).values():
        if log_dir.total_bytes is None or log_dir.usable_bytes is None:
            return None
        free += log_dir.usable_bytes - log_dir.total_bytes * margin_percent // 100
    return free if broker.log_dirs else None


def _used_bytes(state: ReplicasByPartition, sizes: dict[tuple[str, int], int]) -> Counter[int]:
    used: Counter[int] = Counter()
    for name, replicas in state.items():
        for broker in dict.fromkeys(replicas):  # a broker that the list names twice has one replica
            used[broker] += sizes.get(name, 0)
    return used
