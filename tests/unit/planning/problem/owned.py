"""Topics of two pools, who declares them, and who is recorded as their owner."""

from dataclasses import replace

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.specs import TopicSpec, UnmanagedTopics
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.model.topology import Cluster, Topic

FAST = pool_spec("fast", 1, 2)
SLOW = pool_spec("slow", 3, 4)
OURS = topic_spec("orders", "slow")
OTHERS = TopicSpec("mine", "bank", "orders", "fast", config={"retention.ms": "1"})


def cluster(*topics: Topic) -> Cluster:
    return builders.cluster((1, 2, 3, 4), *topics)


def desired(
    *specs: TopicSpec,
    unmanaged: UnmanagedTopics = UnmanagedTopics.MANAGE,
    **claims: tuple[Claim, ...],
) -> Desired:
    policy = {"unmanaged_topics": unmanaged, "default_pool": "slow"}
    return builders.desired((FAST, SLOW), *specs, **policy, **claims)


def recorded(**owners: str) -> Records:
    return Records("c1", {name.replace("__", "."): TopicRecord(o) for name, o in owners.items()})


ON_FAST = cluster(topic("orders", (1, 2), (2, 1)), topic("audit", (1,), (2,)))
ASKED = builders.cluster_spec(
    adoption=Adoption(AdoptionPolicy.APPROVE),
    unmanaged_topics=UnmanagedTopics.EVACUATE_ONLY,
    default_pool="slow",
)


def asked(*specs: TopicSpec, **claims: tuple[Claim, ...]) -> Desired:
    """What is declared where a person approves of who takes over what exists."""
    return replace(desired(*specs, **claims), cluster=ASKED)
