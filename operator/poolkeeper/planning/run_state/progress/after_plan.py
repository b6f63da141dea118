"""Where all replicas are after a plan; the audit counts that with code of its own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.topology import Cluster, Replicas


class PlacedPartition(NamedTuple):
    """A partition's replicas, and its size: 0 if it is new, `None` if it is unknown."""

    replicas: Replicas
    size_bytes: int | None


def after_plan(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, Sequence[PlacedPartition]]]:
    """Every topic with its partitions, without deleted topics."""
    targets = {(move.topic, move.partition): move.target for move in plan.moves}
    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    added = {step.topic: step.replicas for step in plan.steps if isinstance(step, AddPartitions)}
    for name, topic in cluster.topics.items():
        if name not in deleted:
            found = [
                PlacedPartition(targets.get((name, p.partition), p.replicas), p.size_bytes)
                for p in topic.partitions
            ]
            yield name, [*found, *_new(added.get(name, ()))]
    for step in plan.steps:
        if isinstance(step, CreateTopic):
            yield step.topic, _new(step.replicas)


def after_moves(cluster: Cluster, moves: Iterable[Move]) -> Cluster:
    """The cluster once these moves are done: what moved is in sync and led as preferred."""
    targets: dict[str, dict[int, Replicas]] = {}
    for move in moves:
        targets.setdefault(move.topic, {})[move.partition] = move.target
    moved = {
        name: replace(
            cluster.topics[name],
            partitions=tuple(
                p._replace(replicas=to, isr=to, leader=to[0])
                if (to := lists.get(p.partition))
                else p
                for p in cluster.topics[name].partitions
            ),
        )
        for name, lists in targets.items()
    }
    return replace(cluster, topics={**cluster.topics, **moved})


def _new(lists: Sequence[Replicas]) -> list[PlacedPartition]:
    return [PlacedPartition(replicas, 0) for replicas in lists]
