"""Clusters to rehearse on, small enough for a test: seven brokers of which the last is empty."""

from dataclasses import replace
from functools import partial

from builders import GIB, MIB, cluster, desired, pool_spec, topic
from poolkeeper.cli.commands.plans.plan import audited_plan
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, UnmanagedTopics
from poolkeeper.model.topology import Broker, Cluster, LogDir
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import Settings

SETTINGS = Settings()
FIXED = Execution(throttle=Throttle(ThrottleMode.FIXED, 50 * MIB))


def seven(
    rate: float = 0.0, partitions: int = 24, kafka_version: str = "3.9", **fields: object
) -> Cluster:
    """Topic `orders` of 2 GiB a partition on brokers 1 to 6; broker 7 is new and empty."""
    dirs = {"/d1": LogDir(100 * GIB, 70 * GIB)}
    brokers = [Broker(id_, "abc"[id_ % 3], log_dirs=dirs) for id_ in range(1, 8)]
    lists = [tuple((p + k) % 6 + 1 for k in range(3)) for p in range(partitions)]
    config = {"min.insync.replicas": "2"}
    orders = topic(
        "orders", *lists, size_bytes=2 * GIB, in_bytes_per_s=rate, config=config, **fields
    )
    placed = tuple(p._replace(log_dirs=dict.fromkeys(p.replicas, "/d1")) for p in orders.partitions)
    return cluster(
        brokers, replace(orders, partitions=placed), kafka_version=kafka_version, id="abc"
    )


def wanted(execution: Execution = FIXED, **pool: object) -> Desired:
    """One pool of all brokers, with every topic in it."""
    return desired(
        pool_spec("all", *range(1, 8), **pool),
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool="all",
        execution=execution,
    )


def subject(rate: float = 0.0, execution: Execution = FIXED, **fields: object) -> Subject:
    """The cluster with broker 7 to be filled."""
    return Subject(seven(rate, **fields), wanted(execution), partial(audited_plan, prune=False))
