"""What a step does to the laws, kept current while a stage is packed.

A stage is lawful if the state after it is no worse than the state before, law by law in their
order. The vectors of the audit's `excess` compare lexicographically, and that order survives
addition. So if every step that joins changes the vector by no more than zero, given those that
joined before, the whole stage does so too. `Ledger.change` is that change of one step, in the terms
of the audit. Disks are no law: see `disks.disk_space`.
"""

import copy
from collections import Counter
from collections.abc import Iterable, Sequence

from poolkeeper.model.specs import LimitPolicy
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.audit.excess import Excesses, live_state, partition_excess
from poolkeeper.planning.audit.headroom_excess import room_left
from poolkeeper.planning.rules import MIB, Rules
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.lawful.list_changes import LAWFUL as LAWFUL
from poolkeeper.planning.staging.lawful.list_changes import list_changes
from poolkeeper.planning.staging.limits import Entry


class Ledger:
    """Replicas and MiB by broker, if a capacity or an enforced limit bounds them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._held: Counter[int] = Counter()
        self._mib: Counter[int] = Counter()
        self._left = {
            pool.name: room_left(pool, _usable(rules, pool.brokers), rules.racks)
            for pool in rules.desired.pools
        }
        limits = rules.desired.cluster.limits
        enforced = limits.policy is LimitPolicy.ENFORCE
        self._limit = limits.replicas_per_broker if enforced else None
        self._counts = self._limit is not None or any(
            capacity.replicas is not None or capacity.disk_bytes is not None
            for pool in rules.desired.pools
            for capacity in (pool.capacity, *pool.capacity_of.values())
        )
        if self._counts:
            for name, replicas in live_state(rules.cluster).items():
                self._add(replicas, 1, rules.mib.get(name, 0))

    def changes(self, table: EntryTable) -> Sequence[Excesses]:
        """How each step changes the laws, if no capacity or limit is counted; else nothing.

        Then the change does not depend on other steps.
        """
        if self._counts:
            return ()
        before, after = table.before.wide(), table.after.wide()
        return list_changes(self._rules, table.topics, table.topic, before, after)

    def clone(self) -> "Ledger":
        """An independent copy, to try a stage with."""
        other = copy.copy(self)
        other._held, other._mib = self._held.copy(), self._mib.copy()
        return other

    def change(self, entry: Entry) -> Excesses:
        """How the step changes the excess of every law; at most zero if it is lawful by itself."""
        home = self._rules.home(entry.topic)
        before = partition_excess(self._rules, home, entry.before)
        after = partition_excess(self._rules, home, entry.after)
        capacity = quotas = 0
        if self._counts:
            was = self._capacity(entry), self._above_limit(entry)
            self.apply(entry)
            capacity = self._capacity(entry) - was[0]
            quotas = self._above_limit(entry) - was[1]
            self.undo(entry)
        return Excesses(
            after[0] - before[0],
            after[1] - before[1],
            after[2] - before[2],
            after[3] - before[3],
            capacity,
            quotas,
        )

    def apply(self, entry: Entry) -> None:
        """Count the step as done."""
        self._shift(entry, 1)

    def undo(self, entry: Entry) -> None:
        """Count the step as not done."""
        self._shift(entry, -1)

    def _shift(self, entry: Entry, sign: int) -> None:
        if self._counts:
            mib = self._rules.mib.get((entry.topic, entry.partition), 0)
            self._add(entry.added, sign, sign * mib)
            self._add(_lost(entry), -sign, -sign * mib)

    def _add(self, brokers: Iterable[int], count: int, mib: int) -> None:
        for broker in brokers:
            self._held[broker] += count
            self._mib[broker] += mib

    def _capacity(self, entry: Entry) -> int:
        """The excess by the law of capacity, over the brokers and pools that the step touches."""
        excess = 0
        pools = set()
        for broker in dict.fromkeys((*entry.added, *_lost(entry))):
            pool = self._rules.pool_of.get(broker)
            if pool is None:
                continue
            pools.add(pool.name)
            capacity = pool.capacity_for(broker)
            if capacity.replicas is not None:
                excess += max(0, self._held[broker] - capacity.replicas)
            if capacity.disk_bytes is not None:
                excess += max(0, self._mib[broker] - capacity.disk_bytes // MIB)
        for name in pools:
            brokers = self._rules.pools[name].brokers
            for load, left in zip((self._held, self._mib), self._left[name], strict=True):
                if left is not None:
                    excess += max(0, sum(load[broker] for broker in brokers) - left)
        return excess

    def _above_limit(self, entry: Entry) -> int:
        if self._limit is None:
            return 0
        touched = dict.fromkeys((*entry.added, *_lost(entry)))
        return sum(max(0, self._held[broker] - self._limit) for broker in touched)


def _lost(entry: Entry) -> Replicas:
    """The replicas that the list loses, counted as often as the list names them, as the laws do."""
    if len(set(entry.before)) == len(entry.before):
        return entry.removed
    left = Counter(entry.before) - Counter(entry.after)
    return tuple(left.elements())


def _usable(rules: Rules, brokers: Iterable[int]) -> list[int]:
    return [b for b in brokers if b in rules.cluster.brokers and b not in rules.to_empty]
