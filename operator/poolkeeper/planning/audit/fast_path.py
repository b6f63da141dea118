"""Finds moves that are plainly lawful, so that only the others need a check law by law.

Most moves of most plans are alike: one step, as many replicas as before, onto usable brokers of the
topic's pool, spread over its racks as evenly as possible. The list that such a move leads to has no
excess by the laws of its own. So the move makes nothing worse, whatever the list was before.

A move of another kind may be lawful too: `moves` decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from poolkeeper.model.plans import Move
from poolkeeper.model.specs import ReplicasAtATime
from poolkeeper.model.topology import Replicas, Topic
from poolkeeper.planning.audit.excess import rack_excess
from poolkeeper.planning.audit.violations import untouchable
from poolkeeper.planning.rules import Rules

_TOPIC = itemgetter(*map(Move._fields.index, ("topic", "topic_id")))


@dataclass(frozen=True, slots=True)
class _Ground:
    """A topic whose replicas may be moved: the usable brokers of its pool with their racks."""

    topic: Topic
    racks: Mapping[int, str]
    sizes: Mapping[str, int]


def others(rules: Rules, moves: Iterable[Move]) -> Iterator[Move]:
    """The moves that are not plainly lawful, in their order; no partition is moved twice."""
    for (name, topic_id), group in groupby(moves, key=_TOPIC):
        ground = _ground(rules, name)
        if ground is None or topic_id not in (None, ground.topic.topic_id):
            yield from group
        else:
            yield from _others_of_topic(rules, ground, group)


def _others_of_topic(rules: Rules, ground: _Ground, moves: Iterable[Move]) -> Iterator[Move]:
    one = rules.desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE
    gone, requested = rules.cluster.brokers.keys().isdisjoint, rules.requested
    partition_of = ground.topic.partition
    for move in moves:
        name, _, number, path, *_ = move
        partition = partition_of(number)
        if (
            len(path) != 2
            or partition is None
            or partition.replicas != path[0]
            or partition.moving
            or (requested and (name, number) in requested)
            or gone(partition.isr or partition.replicas)
            or not _is_lawful(ground, path[0], path[1], 1 if one else len(path[1]))
        ):
            yield move


def _is_lawful(ground: _Ground, before: Replicas, after: Replicas, added_max: int) -> bool:
    """Whether as many brokers as before hold it, all usable, as evenly over racks as can be."""
    count, racks = len(after), list(map(ground.racks.get, after))
    spread = set(racks)
    if len(before) != count or before == after or None in spread or len(set(before)) != count:
        return False
    if len(spread) != count and not _is_even(after, racks, ground.sizes):
        return False
    return added_max >= count or len(set(after).difference(before)) <= added_max


def _is_even(replicas: Replicas, racks: Sequence[str | None], sizes: Mapping[str, int]) -> bool:
    return len(set(replicas)) == len(replicas) and not rack_excess(racks, sizes)


def _ground(rules: Rules, name: str) -> _Ground | None:
    """`None` if moves of the topic must be checked one by one."""
    if untouchable(rules, name):
        return None
    home = rules.home(name)
    if home.pool is None or home.manual:
        return None
    topic = rules.cluster.topics[name]
    return _Ground(topic, rules.usable[home.pool], rules.usable_racks[home.pool])
