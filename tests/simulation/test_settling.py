"""What is declared arrives piece by piece: nothing moves because of what is not there yet."""

from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import DeletionPolicy, UnmanagedTopics
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

SETTLING = Authority(steps=True, plans=None, settling=True)
CLUSTER = cluster_spec("c", unmanaged_topics=UnmanagedTopics.MANAGE, default_pool="general")
POOLS = (pool_spec("fast", 1, 2, cluster="c"), pool_spec("general", 3, 4, cluster="c"))
OLD = topic_spec("old", "fast")
NEW = topic_spec("new", "general", partitions=1, replication_factor=2)


@pytest.fixture
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(SimulationSpec(spread(4), kafka="2.8.2"))
    found.start()
    found.create_topic("old", [1, 2], [2, 1])
    return found


def waiting(outcome: Outcome) -> bool:
    return has(outcome.waits, WaitReason.SETTLING)


def test_a_topic_whose_resource_is_not_there_yet_stays_where_it_is(
    cluster: SimulatedCluster,
) -> None:
    early = Desired(CLUSTER, POOLS, (NEW,))
    executor = Executor(cluster, early, SETTLING, at_rest=waiting)
    executor.finish()
    assert cluster.exists("/brokers/topics/new")
    assert not cluster.exists("/poolkeeper/run")
    whole = replace(early, topics=(NEW, OLD))
    Executor(cluster, whole, replace(SETTLING, settling=False)).finish()
    assert cluster.replicas("old") == {"0": [1, 2], "1": [2, 1]}


def test_a_topic_whose_resource_went_a_moment_ago_is_not_deleted_yet(
    cluster: SimulatedCluster,
) -> None:
    mine = replace(OLD, deletion_policy=DeletionPolicy.DELETE)
    Executor(cluster, Desired(CLUSTER, POOLS, (mine,))).finish()
    gone = Desired(CLUSTER, POOLS, (), doomed=frozenset({Claim("old", "shop/old")}))
    Executor(cluster, gone, SETTLING, at_rest=waiting).finish()
    assert cluster.exists("/brokers/topics/old")
    assert not cluster.exists("/admin/delete_topics/old")
    Executor(cluster, gone, replace(SETTLING, settling=False)).finish()
    cluster.settle()
    assert not cluster.exists("/brokers/topics/old")


def test_a_plan_that_a_person_approved_does_not_wait(cluster: SimulatedCluster) -> None:
    desired = Desired(CLUSTER, POOLS)
    looking = Executor(cluster, desired, SETTLING, at_rest=waiting)
    looking.finish()
    plan = looking.seen[-1].plan
    assert plan is not None
    approved = Authority(steps=True, plans=frozenset((plan.hash,)), settling=True)
    Executor(cluster, desired, approved).finish()
    assert not cluster.exists(REQUEST)
    assert {id_ for ids in cluster.replicas("old").values() for id_ in ids} == {3, 4}
