"""Configs that have leaders elected at once which are not in sync, and what is lost by it."""

from collections.abc import Iterable, Iterator

from poolkeeper.algorithms import elections
from poolkeeper.model.plans import PlanProblem, SetConfig, Step
from poolkeeper.model.topic_config.values import flag
from poolkeeper.model.topology import Cluster, Partition, TopicPartition
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.topics import UncleanElection
from poolkeeper.planning.run_state.unclean_elections import KEY


def problems(steps: Iterable[Step], cluster: Cluster) -> Iterator[PlanProblem]:
    """Yield one problem for each topic whose partitions without a leader get one uncleanly."""
    for step in steps:
        if not isinstance(step, SetConfig) or flag(step.set.get(KEY, "")) is not True:
            continue
        topic = cluster.topics.get(step.topic)
        found = [p for p in (() if topic is None else topic.partitions) if _elects(p, cluster)]
        if found:
            names = Names.of([TopicPartition(step.topic, p.partition) for p in found])
            held = sorted({broker for p in found for broker in p.isr or ()})
            yield PlanProblem("", "", UncleanElection(tuple(held), names), step.topic)


def _elects(partition: Partition, cluster: Cluster) -> bool:
    live = cluster.brokers
    if partition.leader is None or partition.leader in live or not partition.isr:
        return False  # the state may still name a leader that is dead
    clean = elections.offline(partition.replicas, partition.isr, live)
    return clean is None and (
        elections.offline(partition.replicas, partition.isr, live, unclean=True) is not None
    )
