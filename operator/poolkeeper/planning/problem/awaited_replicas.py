"""`min.insync.replicas` is set once as many replicas of every partition are in sync.

Before that Kafka refuses what producers with acks=all write to the partitions that have fewer, and
cannot write to a topic of its own. A Topic that asks for more replicas and for more in sync has the
replicas copied first. One that asks for more in sync than it asks for replicas would wait for ever:
it gets its config, unless it is a topic of Kafka's own.
"""

from collections.abc import Iterator, Mapping

from poolkeeper.algorithms.internal_topics import commits_need, is_declarable
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topic_config.min_insync import MIN_INSYNC
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.facts.topics import AwaitsReplicas


def awaits_replicas(spec: TopicSpec, topic: Topic, key: str, value: str) -> bool:
    """Whether that value would keep producers or Kafka from writing with its present replicas.

    One that is lower than the present value never does.
    """
    if key != MIN_INSYNC:
        return False
    needed = commits_need({key: value})
    if needed <= max(commits_need(topic.config or {}), _fewest_in_sync(topic)):
        return False
    return is_declarable(topic.name) or needed <= (declared_replicas(spec, topic) or 0)


def postponed_configs(
    specs: Mapping[str, TopicSpec | None], cluster: Cluster
) -> Iterator[PlanProblem]:
    """Problems for configs that wait until enough replicas are in sync; `specs` by topic."""
    for name, spec in sorted(specs.items()):
        value = None if spec is None else spec.config.get(MIN_INSYNC)
        topic = cluster.topics.get(name)
        if spec is None or value is None or topic is None:
            continue
        live = None if topic.config is None else topic.config.get(MIN_INSYNC)
        if value != live and awaits_replicas(spec, topic, MIN_INSYNC, value):
            facts = AwaitsReplicas(MIN_INSYNC, value, _fewest_in_sync(topic))
            yield PlanProblem(spec.pool, "", facts, name)


def _fewest_in_sync(topic: Topic) -> int:
    return min((len(p.replicas if p.isr is None else p.isr) for p in topic.partitions), default=0)


def declared_replicas(spec: TopicSpec | None, topic: Topic | None) -> int | None:
    """How many replicas each partition has at least once the topic is as declared, if that tells.

    Whatever is not declared stays as the topic has it.
    """
    if spec is not None and spec.manual is not None:
        return min(map(len, spec.manual), default=None)
    if spec is not None and spec.replication_factor is not None:
        return spec.replication_factor
    if topic is None:
        return None
    return min((len(each.replicas) - len(each.adding) for each in topic.partitions), default=None)
