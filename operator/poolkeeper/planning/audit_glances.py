"""Moves that are lawful at a glance, so that only the others are looked at law by law.

Most moves of most plans are of one kind: one step, as many replicas as before, onto usable brokers
of the topic's pool, spread over its racks as evenly as can be. By the laws of its own the list that
such a move leads to has no excess at all, so that it makes nothing worse, whatever was before.

What is not of that kind is not unlawful for it: `audit_moves` says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from poolkeeper.model.plans import Move
from poolkeeper.model.specs import ReplicasAtATime
from poolkeeper.model.topology import Topic
from poolkeeper.planning.audit_laws import rack_excess
from poolkeeper.planning.audit_rules import Rules
from poolkeeper.planning.audit_violations import untouchable


@dataclass(frozen=True, slots=True)
class _Ground:
    """A topic whose replicas may be moved, the usable brokers of its pool with their racks."""

    topic: Topic
    racks: Mapping[int, str]
    sizes: Mapping[str, int]


def others(rules: Rules, moves: Sequence[Move]) -> Iterator[Move]:
    """The moves that are not lawful at a glance, in their order. No partition is moved twice."""
    one = rules.desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE
    live, requested = rules.cluster.brokers.keys(), rules.requested
    grounds: dict[str, _Ground | None] = {}
    for move in moves:
        name, topic_id, number, path, *_ = move
        if name not in grounds:
            grounds[name] = _ground(rules, name)
        ground = grounds[name]
        if ground is None or len(path) != 2 or topic_id not in (None, ground.topic.topic_id):
            yield move
            continue
        before, after = path
        partition = ground.topic.partition(number)
        if (
            partition is None
            or partition.replicas != before
            or partition.moving
            or (requested and (name, number) in requested)
            or live.isdisjoint(partition.isr or before)
            or not _leads_well(ground, before, after, one=one)
        ):
            yield move


def _ground(rules: Rules, name: str) -> _Ground | None:
    """None where moves of the topic must be looked at one by one."""
    if untouchable(rules, name):
        return None
    home = rules.home(name)
    if home.pool is None or home.pinned:
        return None
    return _Ground(
        rules.cluster.topics[name], rules.usable[home.pool], rules.usable_racks[home.pool]
    )


def _leads_well(
    ground: _Ground, before: tuple[int, ...], after: tuple[int, ...], *, one: bool
) -> bool:
    count = len(after)
    if len(before) != count or before == after or len(set(before)) != count:
        return False
    if one and len(set(after).difference(before)) > 1:
        return False
    racks = list(map(ground.racks.get, after))
    spread = set(racks)
    if None in spread:
        return False
    if len(spread) == count:
        return True
    return len(set(after)) == count and not rack_excess(racks, ground.sizes)
