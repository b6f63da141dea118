"""Kafka's internal topics in a plan: placed like other topics, but never made less available.

- A Topic that asks for fewer replicas than its internal topic has, or pins another number of
  partitions, is not followed. The topic stays as it is, and a problem says why.
- `min.insync.replicas` is set once as many replicas are in sync. Before that Kafka could not write
  to the topic.
- The plan never creates an internal topic, because brokers create it at its first use.
"""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.algorithms.internal_topics import DECLARABLE_TOPICS, commits_need, is_declarable
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import Strategy, TopicSpec
from poolkeeper.model.topic_config.min_insync import MIN_INSYNC
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.facts.new_partitions import InternalTopicAbsent
from poolkeeper.planning.facts.topics import (
    AwaitsReplicas,
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


def awaits_replicas(topic: Topic, key: str, value: str) -> bool:
    """Whether that value would keep Kafka from writing to the topic with its present replicas."""
    return (
        key == MIN_INSYNC
        and is_declarable(topic.name)
        and commits_need({key: value}) > _fewest_in_sync(topic)
    )


def postponed_configs(
    specs: Mapping[str, TopicSpec | None], cluster: Cluster
) -> Iterator[PlanProblem]:
    """Problems for configs that wait until enough replicas are in sync; `specs` by topic."""
    for name in sorted(DECLARABLE_TOPICS & specs.keys() & cluster.topics.keys()):
        spec, topic = specs[name], cluster.topics[name]
        value = None if spec is None else spec.config.get(MIN_INSYNC)
        live = None if topic.config is None else topic.config.get(MIN_INSYNC)
        if spec is None or value is None or value == live:
            continue
        if awaits_replicas(topic, MIN_INSYNC, value):
            facts = AwaitsReplicas(MIN_INSYNC, value, _fewest_in_sync(topic))
            yield PlanProblem(spec.pool, "", facts, name)


def _refusal(spec: TopicSpec, topic: Topic) -> Facts | None:
    lists = spec.assignment if spec.strategy is Strategy.MANUAL else None
    if lists is not None and len(lists) != len(topic.partitions):
        return InternalTopicResized(len(lists), len(topic.partitions))
    for p in topic.partitions:
        wanted = spec.replication_factor if lists is None else len(lists[p.partition])
        if wanted is not None and wanted < len(p.replicas):
            return InternalTopicShrunk(p.partition, len(p.replicas))
    return None


def _fewest_in_sync(topic: Topic) -> int:
    return min((len(p.replicas if p.isr is None else p.isr) for p in topic.partitions), default=0)
