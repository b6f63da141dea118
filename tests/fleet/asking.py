"""A question about real ZooKeepers, for tests of everything that answers one."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from builders import desired, pool_spec
from fleet import cases
from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.model.desired import Desired
from poolkeeper.rebalances.planning.request import (
    ClusterRequest,
    PlanningDeadlines,
    RebalanceRequest,
)
from poolkeeper.sandbox import Sandbox
from real.bare import bare_cluster, put_topic
from real.support import kazoo


def declared(name: str, connect: str) -> Desired:
    """Everything is one pool, and managed."""
    pool = pool_spec(f"{name}-pool", 1, 2, 3, cluster=name, claims=(".*",))
    return desired(pool, name=name, connect=connect)


def question(stack: ExitStack, zookeeper: Sandbox, folder: Path) -> RebalanceRequest:
    """About two clusters that have a crowded broker, and two that cannot be read."""
    connect = zookeeper.zookeeper
    for name in ("one", "two"):
        with kazoo(connect) as client:
            client.create(f"/asked-{name}")
            stack.callback(_remove, connect, f"/asked-{name}")
        bare = stack.enter_context(
            bare_cluster(zookeeper, f"{connect}/asked-{name}", folder / name)
        )
        put_topic(bare, "crowded", [[1]] * 6)
    locked = declared("locked", f"{connect}/asked-one")
    way = replace(locked.cluster.zookeeper, credentials_secret="zk")
    asked = (
        ClusterRequest(declared("closed", "127.0.0.1:1")),
        ClusterRequest(replace(locked, cluster=replace(locked.cluster, zookeeper=way))),
        ClusterRequest(declared("one", f"{connect}/asked-one")),
        ClusterRequest(declared("two", f"{connect}/asked-two"), ("two-pool",)),
    )
    return RebalanceRequest(
        asked, cases.NOW_MS, Budget(clusters_max=1), patience=PlanningDeadlines(3.0, 30.0)
    )


def _remove(connect: str, path: str) -> None:
    with kazoo(connect) as client:
        client.delete(path, recursive=True)
