"""Whether a plan leaves a pool worse off, decided by what the plan changes alone.

`excess` counts whole states, list by list. This module counts only lists that change. Vectors
compare lexicographically, and that order survives subtraction. So a pool is worse off exactly if
the difference of its two vectors is above zero.

| law | what is counted |
|---|---|
| distinct, pool, drained, racks | lists that change: those that stay count as much afterwards |
| capacity | what each broker holds, before and after; nothing where no pool declares any |
| quotas | topics and partitions, where their number changes; brokers, where limits are enforced |

So a plan of few moves for a large cluster costs one count of its replicas at most. If a pool is
worse off, the caller counts whole states to say by how much.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.specs import LimitPolicy
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.audit import fast_path
from poolkeeper.planning.audit.excess import (
    LAWS,
    Excesses,
    capacity_excess,
    partition_excess,
    quota_excess,
)
from poolkeeper.planning.rules import Rules


class _Change(NamedTuple):
    """One list that becomes another; empty before a creation and after a deletion."""

    topic: str
    partition: int
    before: Replicas | None = None
    after: Replicas | None = None


@frozen
class _ClusterCounts:
    """Counts of the whole cluster: replicas and MiB by broker, partitions by topic."""

    held: Counter[int]
    mib: Counter[int]
    partitions: Mapping[str, int]


def leaves_worse(
    rules: Rules,
    plan: Plan,
    others: Sequence[Move],
    forgiven: Sequence[tuple[str, int]] = (),
) -> bool:
    """Whether any pool's laws, in their order, are worse once the whole plan is done.

    The plan's moves and steps must each be lawful by themselves.
    `others`: its moves except those whose last list has no excess by the laws of its own.
    `forgiven`: as in `worse_pools` of `audit`.
    """
    steps = list(_of_steps(rules, plan))
    whole = _of_the_whole(rules, plan, steps)
    # Lists without excess remove none at worst: if nothing is worse so, nothing is at all.
    gained = _gains(rules, [*_of_moves(others), *steps], whole, forgiven)
    if max(map(max, gained)) <= 0:
        return False
    if len(others) < len(plan.moves):
        gained = _gains(rules, [*_of_moves(plan.moves), *steps], whole, forgiven)
    return max(gained) > Excesses()


def lists_leave_worse(rules: Rules, after: Mapping[tuple[str, int], Replicas]) -> bool:
    """Whether the whole cluster's laws, in their order, are worse once some lists change.

    `after`: the lists that change. No partition comes or goes.
    """
    changes = []
    for (topic, number), replicas in after.items():
        live = rules.cluster.topics[topic].partition(number)
        assert live is not None, "no partition comes"
        changes.append(_Change(topic, number, live.replicas, replicas))
    growth: list[Counter[str]] = [Counter(), Counter()]
    if _is_bounded(rules, Plan("", "", "")):
        counts = _count(rules)
        for sign, each in ((-1, counts), (1, _count_after(rules, counts, changes))):
            for name in rules.pools:
                growth[0][name] += sign * capacity_excess(rules, name, each.held, each.mib)
            for name, excess in quota_excess(rules, each.partitions, each.held).items():
                growth[1][name] += sign * excess
    common, *pools = _gains(rules, changes, (growth[0], growth[1]), ())
    nothing = Excesses(*(-excess for excess in common))
    total = common
    for gained in pools:  # each of them has what no pool owns in it
        total = total.plus(gained).plus(nothing)
    return total > Excesses()


_Excess = Counter[str]


@frozen
class MovesInTurn:
    """Groups of a plan's moves, carried out one after the other: is a pool worse off between them.

    Each partition is moved once, so that what a group changes in lists is counted from the
    observed lists. Only capacity depends on the groups before. No group may exceed it further than
    it is exceeded before the group, or after the last one: not even to meet a higher law, because
    the groups together do without.

    `counts`: what brokers hold before the next group; `None` where no capacity is declared.
    `excess`, `at_last`: the excess of capacity by pool, before it and after the last group.
    """

    rules: Rules
    counts: _ClusterCounts | None = None
    excess: _Excess = field(default_factory=Counter)
    at_last: _Excess = field(default_factory=Counter)

    @classmethod
    def of(cls, rules: Rules, moves: Sequence[Move]) -> "MovesInTurn":
        """Before the first group of these moves."""
        if not moves or not _is_bounded(rules, Plan("", "", "", moves=moves)):
            return cls(rules)
        now = _count(rules)
        then = _count_after(rules, now, _of_moves(moves))
        return cls(rules, now, _over_capacity(rules, now), _over_capacity(rules, then))

    def after(self, moves: Iterable[Move]) -> "MovesInTurn":
        """After one more group."""
        if self.counts is None:
            return self
        then = _count_after(self.rules, self.counts, _of_moves(moves))
        return replace(self, counts=then, excess=_over_capacity(self.rules, then))

    def leave_worse(self, moves: Sequence[Move]) -> bool:
        """Whether this group leaves any pool worse off than it is before the group."""
        then = self.after(moves)
        if any(
            excess > max(self.excess[pool], self.at_last[pool])
            for pool, excess in then.excess.items()
        ):
            return True
        growth = Counter(then.excess)
        growth.subtract(self.excess)
        others = list(fast_path.others(self.rules, moves))
        gained = _gains(self.rules, _of_moves(others), (growth, Counter()), ())
        if max(map(max, gained)) <= 0:
            return False
        return max(_gains(self.rules, _of_moves(moves), (growth, Counter()), ())) > Excesses()


def _over_capacity(rules: Rules, counts: _ClusterCounts) -> _Excess:
    """Replicas and MiB above what brokers may hold, by pool; enforced limits count."""
    excess = Counter(
        {name: capacity_excess(rules, name, counts.held, counts.mib) for name in rules.pools}
    )
    if rules.desired.cluster.limits.policy is LimitPolicy.ENFORCE:
        excess.update(quota_excess(rules, {}, counts.held))
    return excess


def _gains(
    rules: Rules,
    changes: Iterable[_Change],
    whole: tuple[Counter[str], Counter[str]],
    forgiven: Iterable[tuple[str, int]],
) -> list[Excesses]:
    """The change of the vector of what no pool owns, and of every pool together with that.

    `whole`: by how much the excess of capacity and quotas grows.
    """
    totals = {name: [0, 0, 0, 0] for name in ("", *rules.pools)}
    for topic, _, before, after in changes:
        home = rules.home(topic)
        total = totals[home.pool or ""]
        for sign, replicas in ((-1, before), (1, after)):
            for law, excess in enumerate(partition_excess(rules, home, replicas or ())):
                total[law] += sign * excess
    for pool, excess in forgiven:
        totals[pool][LAWS.index("racks")] -= excess
    capacity, quotas = whole
    gained = {
        name: Excesses._make((*total, capacity[name], quotas[name]))
        for name, total in totals.items()
    }
    common = gained.pop("")
    return [common, *(each.plus(common) for each in gained.values())]


def _of_moves(moves: Iterable[Move]) -> Iterator[_Change]:
    return (_Change(move.topic, move.partition, move.path[0], move.path[-1]) for move in moves)


def _of_steps(rules: Rules, plan: Plan) -> Iterator[_Change]:
    for step in plan.steps:
        if isinstance(step, CreateTopic | AddPartitions):
            first = step.first if isinstance(step, AddPartitions) else 0
            for number, replicas in enumerate(step.replicas, first):
                yield _Change(step.topic, number, after=replicas)
        elif isinstance(step, DeleteTopic):
            for each in rules.cluster.topics[step.topic].partitions:
                yield _Change(step.topic, each.partition, before=each.replicas)


def _of_the_whole(
    rules: Rules, plan: Plan, steps: Sequence[_Change]
) -> tuple[Counter[str], Counter[str]]:
    """By how much the excess of capacity and quotas grows, by pool."""
    capacity: Counter[str] = Counter()
    quotas: Counter[str] = Counter()
    if not (plan.moves or steps) or not _is_bounded(rules, plan):
        return capacity, quotas
    before = _count(rules)
    after = _count_after(rules, before, chain(_of_moves(plan.moves), steps))
    for sign, counts in ((-1, before), (1, after)):
        for name in rules.pools:
            capacity[name] += sign * capacity_excess(rules, name, counts.held, counts.mib)
        for name, excess in quota_excess(rules, counts.partitions, counts.held).items():
            quotas[name] += sign * excess
    return capacity, quotas


def _is_bounded(rules: Rules, plan: Plan) -> bool:
    """Whether a law that counts over many lists is declared, and the plan may change its count."""
    if rules.declares_disks or rules.desired.cluster.limits.policy is LimitPolicy.ENFORCE:
        return True
    quoted = any(isinstance(s, CreateTopic | AddPartitions | DeleteTopic) for s in plan.steps)
    return any(
        (quoted and pool.quotas)
        or any(c.replicas is not None for c in (pool.capacity, *pool.capacity_of.values()))
        for pool in rules.pools.values()
    )


def _count(rules: Rules) -> _ClusterCounts:
    topics = rules.cluster.topics
    lists = chain.from_iterable(topic.partitions for topic in topics.values())
    held = Counter(chain.from_iterable(partition.replicas for partition in lists))
    mib: Counter[int] = Counter()
    for topic in topics.values() if rules.declares_disks else ():
        sizes = rules.sizes_mib(topic.name)
        for partition in topic.partitions:
            size = sizes[partition.partition]
            for broker in partition.replicas:
                mib[broker] += size
    partitions = {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}
    return _ClusterCounts(held, mib, partitions)


def _count_after(
    rules: Rules, before: _ClusterCounts, changes: Iterable[_Change]
) -> _ClusterCounts:
    held, mib, partitions = Counter(before.held), Counter(before.mib), Counter(before.partitions)
    disks = rules.declares_disks
    for topic, number, old, new in changes:
        # a partition that does not exist yet is empty
        size = rules.sizes_mib(topic)[number] if disks and old is not None else 0
        for sign, replicas in ((-1, old), (1, new)):
            for broker in replicas or ():
                held[broker] += sign
                if size:
                    mib[broker] += sign * size
        if old is None or new is None:
            partitions[topic] += (old is None) - (new is None)
    return _ClusterCounts(held, mib, {name: count for name, count in partitions.items() if count})
