"""Deletions that nobody approves one by one: a few go, a storm of them waits for a person."""

from dataclasses import replace

import pytest

from poolkeeper.model.outcomes import Outcome, State
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Claim,
    DeletionPolicy,
    Desired,
    KafkaClusterSpec,
    Mode,
    ResourcePoolSpec,
    TopicSpec,
    ZooKeeperSpec,
)
from poolkeeper.reconcile import DELETIONS_MAX, authority_of
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.clusters import SimulatedCluster
from simulation.executors import Executor

NAMES = tuple(f"t-{n:02}" for n in range(DELETIONS_MAX + 2))
AUTO = KafkaClusterSpec(
    "c", ZooKeeperSpec("unused"), mode=Mode.APPLY, approval=Approval(ApprovalPolicy.AUTO)
)


def topic(name: str) -> TopicSpec:
    return TopicSpec(
        name,
        "shop",
        name,
        "p",
        partitions=1,
        replication_factor=1,
        deletion_policy=DeletionPolicy.DELETE,
    )


@pytest.fixture
def executor() -> Executor:
    """All topics exist and are recorded as their Topics' own."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="2.8.2"))
    cluster.start()
    desired = Desired(AUTO, (ResourcePoolSpec("p", "c", (1, 2, 3)),), tuple(map(topic, NAMES)))
    executor = Executor(cluster, desired, authority_of(desired))
    executor.finish()
    return executor


def doomed(desired: Desired, *names: str) -> Desired:
    kept = tuple(each for each in desired.topics if each.topic not in names)
    claims = frozenset(Claim(name, f"shop/{name}") for name in names) | desired.doomed
    return replace(desired, topics=kept, doomed=claims)


def at_rest(outcome: Outcome) -> bool:
    asks = any(wait.startswith("waits for approval") for wait in outcome.waits)
    return asks or outcome.state is State.CONVERGED


def doom(executor: Executor, *names: str) -> None:
    executor.desired = doomed(executor.desired, *names)
    executor.at_rest = at_rest
    executor.finish()


def left(executor: Executor) -> list[str]:
    executor.cluster.settle()
    return sorted(executor.cluster.client.children("/brokers/topics") or ())


def test_a_few_deletions_need_nobody_under_auto(executor: Executor) -> None:
    doom(executor, *NAMES[:DELETIONS_MAX])
    assert left(executor) == list(NAMES[DELETIONS_MAX:])


def test_many_at_once_wait_and_go_once_their_plan_is_named(executor: Executor) -> None:
    doom(executor, *NAMES)
    assert left(executor) == list(NAMES)
    plan = executor.seen[-1].plan
    assert plan is not None
    named = replace(AUTO, approval=Approval(ApprovalPolicy.AUTO, (plan.hash,)))
    executor.desired = replace(executor.desired, cluster=named)
    executor.authority = authority_of(executor.desired)
    executor.finish()
    assert left(executor) == []


def test_many_one_after_the_other_are_as_many(executor: Executor) -> None:
    """One process sees three deletions, and the others when those are done."""

    def more(outcome: Outcome) -> bool:
        if at_rest(outcome) and len(executor.desired.doomed) == 3:
            executor.desired = doomed(executor.desired, *NAMES[3:])
            return False
        return at_rest(outcome)

    executor.desired = doomed(executor.desired, *NAMES[:3])
    executor.at_rest = more
    executor.finish()
    assert left(executor) == list(NAMES[3:])
