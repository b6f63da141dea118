"""A cluster, what is declared for it, and one of each step: plans for the audit to judge."""

from dataclasses import replace

from builders import MIB, cluster, desired, move, pool_spec, topic, topic_spec
from poolkeeper.model import plans, specs, topology
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.planning.audit import audit

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c", 7: "a", 8: "b", 9: "c"}


def spec(name: str, pool: str = "fast", **details: object) -> specs.TopicSpec:
    return topic_spec(name, pool, **details)


LIVE = {"config": {"retention.ms": "1000"}, "size_bytes": MIB}
CLUSTER = cluster(
    RACKS,
    topic("orders", (1, 2, 3), (4, 5, 6), topic_id="orders-id", **LIVE),
    topic("keyed", (1, 2, 3), **LIVE),
    topic("paused", (7, 2, 3), **LIVE),
    topic("pinned", (7, 2, 3), **LIVE),
    topic("legacy.log", (4, 5, 6), **LIVE),
    topic("wild", (1, 8, 9), **LIVE),
    topic("old", (1, 2), topic_id="old-id", **LIVE),
    topic("stray", (7, 8), **LIVE),
    topic("twice", (1, 2), **LIVE),
    topic("__consumer_offsets", (1, 2, 3), **LIVE),
)
FAST = pool_spec("fast", 1, 2, 3, 4, 5, 6, claims=(r"legacy\..*", "tw.*"))
SLOW = pool_spec("slow", 7, 8, 9, claims=("twi.*",))
DESIRED = desired(
    (FAST, SLOW),
    spec("__consumer_offsets"),
    spec("fresh", partitions=2, replication_factor=3, config={"retention.ms": "5"}),
    spec("keyed", partitions=2, keyed=True),
    spec("orders", partitions=3, replication_factor=3, config={"retention.ms": "2000"}),
    spec("paused", paused=True),
    spec("pinned", strategy=specs.Strategy.MANUAL, assignment=((1, 2, 3),)),
    spec("stray"),
)
RECORDS = Records(
    topics={
        "old": TopicRecord("shop/old", deletion_policy=specs.DeletionPolicy.DELETE),
        "orders": TopicRecord("shop/orders", declared_keys=("segment.ms",)),
    }
)
DRAINED = replace(DESIRED, pools=(replace(FAST, drain=frozenset({1})), SLOW))


def found(
    one: plans.Plan,
    desired: Desired = DESIRED,
    cluster: topology.Cluster = CLUSTER,
    gone: tuple[int, ...] = (),
) -> list[str]:
    return list(map(str, audit.check_plan(one, desired, cluster, RECORDS, gone)))


def unmanaged(policy: specs.UnmanagedTopics, desired: Desired = DESIRED) -> Desired:
    cluster = replace(desired.cluster, unmanaged_topics=policy, default_pool="slow")
    return replace(desired, cluster=cluster)


SWAP = (move("orders", 0, (1, 2, 3), (4, 2, 3)), move("orders", 1, (4, 5, 6), (1, 5, 6)))
CREATION = plans.CreateTopic("fresh", "fast", ((1, 2, 3), (4, 5, 6)), {"retention.ms": "5"})
GROWTH = plans.AddPartitions("orders", 2, ((1, 5, 3),))
CONFIG = plans.SetConfig("orders", {"retention.ms": "2000"}, ("segment.ms",))
ELECTION = plans.ElectLeaders((("orders", 0), ("orders", 2), ("fresh", 1)))
DELETION = plans.DeleteTopic("old", "old-id")
LOG_DIR = plans.MoveLogDir("orders", 0, 1, "/d1", "/d2", 1)
