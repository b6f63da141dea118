"""Clusters that a person can check by hand: what they are written with, and plans for them."""

from dataclasses import replace

from poolkeeper.model.plans import (
    Plan,
)
from poolkeeper.model.records import Records
from poolkeeper.model.specs import (
    Desired,
    Goal,
    GoalKind,
    KafkaClusterSpec,
    ResourcePoolSpec,
    TopicSpec,
    ZooKeeperSpec,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after

MIB = 1024**2
NOTHING_RECORDED = Records()
RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
COUNT_1 = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))


def topic(name: str, *lists: tuple[int, ...], config: dict[str, str] | None = None) -> Topic:
    partitions = (
        Partition(n, r, leader=r[0], isr=r, size_bytes=10 * MIB) for n, r in enumerate(lists)
    )
    return Topic(name, tuple(partitions), config=config or {})


def cluster(racks: dict[int, str | None], *topics: Topic) -> Cluster:
    brokers = {broker: Broker(broker, rack=rack) for broker, rack in racks.items()}
    return Cluster("main", brokers, {t.name: t for t in topics}, id="c1")


def flat(*ids: int) -> dict[int, str | None]:
    return dict.fromkeys(ids)


def pool(name: str, *ids: int, **fields: object) -> ResourcePoolSpec:
    return replace(ResourcePoolSpec(name, "main", ids), **fields)


def spec(name: str, pool_name: str, **fields: object) -> TopicSpec:
    return replace(TopicSpec(name, "shop", name, pool_name), **fields)


def desired(pools: list[ResourcePoolSpec], *specs: TopicSpec, **fields: object) -> Desired:
    whole = replace(KafkaClusterSpec("main", ZooKeeperSpec("zk:2181")), **fields)
    return Desired(whole, tuple(pools), specs)


def lawful(
    wanted: Desired,
    seen: Cluster,
    records: Records = NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
    prune: bool = False,
) -> Plan:
    """The plan, after it was audited and found to be final."""
    plan = make_plan(wanted, seen, records, gone, prune=prune)
    assert check_plan(plan, wanted, seen, records, gone) == ()
    assert make_plan(wanted, after(plan, seen), records, gone, prune=prune).moves == ()
    return plan


def paths(plan: Plan) -> dict[str, tuple[tuple[int, ...], ...]]:
    return {f"{move.topic}-{move.partition}": move.path for move in plan.moves}


def messages(plan: Plan) -> list[str]:
    return [f"{problem.topic}: {problem.message}" for problem in plan.problems]
