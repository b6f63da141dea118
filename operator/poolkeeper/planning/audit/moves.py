"""Whether every path of a plan is lawful, step by step.

A path starts at the live list. A step between two of its lists either grows the partition by one
replica and removes none, or replaces, removes or reorders. In a migration it replaces one replica
at a time if the cluster says so. Only brokers that may hold the topic receive replicas. No step
makes the partition worse by the laws of its own list. Partitions that are paused, pinned, unmanaged
or moving already are left alone.
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from poolkeeper.algorithms.names import is_internal
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import ReplicasAtATime, Strategy, TopicSpec
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.audit.excess import LAWS, partition_excess, rack_excess
from poolkeeper.planning.audit.violations import (
    Violation,
    fault_of_list,
    untouchable,
    unusable_targets,
)
from poolkeeper.planning.rules import Rules
from poolkeeper.text import count as counted

Wrong = Iterator[tuple[str, str]]
"""Pairs of a law and a sentence."""


def move_violations(rules: Rules, moves: Sequence[Move]) -> Iterator[Violation]:
    """Every violation of the moves, each checked by itself."""
    for move in moves:
        reason = _unmovable(rules, move)
        wrong = iter([("untouched", reason)]) if reason else _wrong_path(rules, move)
        for law, message in wrong:
            yield Violation(law, message, move.topic, move.partition)


def _unmovable(rules: Rules, move: Move) -> str:
    """Why this partition may not be moved at all, or an empty text."""
    reason = untouchable(rules, move.topic)
    if reason:
        return reason
    topic = rules.cluster.topics[move.topic]
    if topic.is_another(move.topic_id):
        return f"its topic id is {topic.identity}, the plan was made for {move.topic_id}"
    partition = topic.partition(move.partition)
    if partition is None:
        return "the partition does not exist"
    if partition.moving or (move.topic, move.partition) in rules.requested:
        return "another reassignment moves it"
    if rules.cluster.brokers.keys().isdisjoint(partition.isr or partition.replicas):
        return "no live broker holds it in sync: nothing can be copied"
    if not move.path or move.path[0] != partition.replicas:
        return f"its replicas are {list(partition.replicas)}, not where the path starts"
    return ""


def _wrong_path(rules: Rules, move: Move) -> Wrong:
    if len(move.path) < 2:
        yield "path", "the path has no step"
    wrong = [reason for replicas in move.path[1:] if (reason := fault_of_list(replicas))]
    if wrong:
        yield from (("list", reason) for reason in wrong)
        return
    for before, after in itertools.pairwise(move.path):
        yield from _wrong_step(rules, move.topic, before, after)
    yield from _wrong_end(rules, move)


def _wrong_step(rules: Rules, topic: str, before: Replicas, after: Replicas) -> Wrong:
    added, removed = set(after) - set(before), set(before) - set(after)
    one = rules.desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE
    step = f"{list(before)} to {list(after)}"
    if before == after:
        yield "path", f"the step from {step} changes nothing"
    elif len(after) > len(before) and (len(added) > 1 or removed):
        yield "path", f"the step from {step} does more than to grow by one replica"
    elif one and len(added) > 1:
        yield "path", f"the step from {step} replaces {len(added)} replicas, one is allowed"
    for reason in unusable_targets(rules, topic, added):
        yield "target", reason
    home = rules.home(topic)
    worse = _worse(partition_excess(rules, home, before), partition_excess(rules, home, after))
    if worse:
        yield "step", f"the step from {step} makes it worse by the law {worse}"


def _worse(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """The law by which `after` is lexicographically worse, or an empty text."""
    for law, was, becomes in zip(LAWS, before, after, strict=False):
        if was != becomes:
            return law if becomes > was else ""
    return ""


def _wrong_end(rules: Rules, move: Move) -> Wrong:
    """Why this topic may not be brought to the last list, if it may not."""
    found, aim = set(move.source), len(move.target)
    spec = rules.specs.get(move.topic)
    if spec is not None and spec.strategy is Strategy.MANUAL:
        manual = dict(enumerate(spec.assignment or ())).get(move.partition)
        if move.target != manual:
            yield "untouched", "its replicas are pinned by a manual assignment"
    usual = _usual_factors(rules, move, spec)
    if not min(usual | {len(found)}) <= aim <= max(usual | {len(found)}):
        yield "replicas", f"it ends with {counted(aim, 'replica')}, expected {_either(usual)}"
    if aim < len(found) and is_internal(move.topic):
        yield "internal", "an internal topic of Kafka must not lose replicas"
    if _brings_together(rules, move):
        yield "racks", f"{list(move.target)} share more racks than {list(move.source)} do"
    if rules.home(move.topic).evacuate:
        left = found - set(move.target)
        if aim != len(found) or not left or left - rules.to_empty:
            yield "untouched", "an unmanaged topic may only leave drained and gone brokers"


def _brings_together(rules: Rules, move: Move) -> bool:
    """Whether replicas of racks of their own come to share one, and the pool has more racks.

    A move into a pool may do so by the order of the laws, and the planner never does. But racks may
    have been declared, or registered, after it planned. A broker that is down for a while takes a
    place in its rack: what drained brokers give to the live ones there is as even as it will be.
    """
    home = rules.home(move.topic)
    was, becomes = (partition_excess(rules, home, r) for r in (move.source, move.target))
    if becomes >= was or not becomes[-1] or home.pool is None:  # or one of its steps is worse
        return False
    staying = Counter(rules.racks[b] for b in rules.members[home.pool] - rules.to_empty)
    held = [rules.racks.get(broker) for broker in set(move.target)]
    uneven = min(becomes[-1], rack_excess(held, staying))
    before = [rules.racks.get(broker, f"broker {broker}") for broker in set(move.source)]
    return uneven > len(before) - len(set(before))


def _usual_factors(rules: Rules, move: Move, spec: TopicSpec | None) -> set[int]:
    """How many replicas the partition may end with: as pinned, as declared, else as found."""
    if spec is not None and spec.strategy is Strategy.MANUAL:
        return {len(move.target)}
    if spec is not None and spec.replication_factor is not None:
        return {spec.replication_factor}
    return {len(set(move.source)), rules.usual_factor(move.topic)}


def _either(numbers: Collection[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))
