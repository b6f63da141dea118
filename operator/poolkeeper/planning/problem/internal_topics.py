"""Kafka's internal topics in a plan: placed like other topics, but never made less available.

- A Topic that asks for fewer replicas than its internal topic has, or pins another number of
  partitions, is not followed. The topic stays as it is, and a problem says why.
- The plan never creates an internal topic, because brokers create it at its first use.
"""

from collections.abc import Collection, Mapping

from poolkeeper.algorithms.internal_topics import DECLARABLE_TOPICS
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import Strategy, TopicSpec
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.facts.new_partitions import InternalTopicAbsent
from poolkeeper.planning.facts.topics import (
    InternalTopicResized,
    InternalTopicShrunk,
)


def refusals(
    specs: Mapping[str, TopicSpec], cluster: Cluster, left_out: Collection[str]
) -> dict[str, PlanProblem]:
    """The problems of internal topics whose Topics are not followed.

    `left_out` topics are not judged: some of their replicas may be about to be removed.
    """
    found = {}
    for name in sorted(DECLARABLE_TOPICS & specs.keys() & cluster.topics.keys()):
        facts = None if name in left_out else _refusal(specs[name], cluster.topics[name])
        if facts is not None:
            found[name] = PlanProblem(specs[name].pool, "", facts, name)
    return found


def absent_topic(spec: TopicSpec) -> PlanProblem:
    """The problem of an internal topic that does not exist."""
    return PlanProblem(spec.pool, "", InternalTopicAbsent(), spec.topic)


def _refusal(spec: TopicSpec, topic: Topic) -> Facts | None:
    lists = spec.assignment if spec.strategy is Strategy.MANUAL else None
    if lists is not None and len(lists) != len(topic.partitions):
        return InternalTopicResized(len(lists), len(topic.partitions))
    for p in topic.partitions:
        wanted = spec.replication_factor if lists is None else len(lists[p.partition])
        if wanted is not None and wanted < len(p.replicas):
            return InternalTopicShrunk(p.partition, len(p.replicas))
    return None
