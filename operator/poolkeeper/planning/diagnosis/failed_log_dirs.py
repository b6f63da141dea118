"""Failed log directories: which replicas stay offline, and what lets them be rebuilt elsewhere."""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Move, PlanProblem
from poolkeeper.model.topology import Broker, Cluster, TopicPartition
from poolkeeper.planning.facts.log_dirs import LogDirFailed, NotEvacuated
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.problem.offline_replicas import brokers_with_failures, offline_on

_NAMED_MAX = 3


def problems(
    desired: Desired, cluster: Cluster, records: Records, moves: Collection[Move]
) -> Iterator[PlanProblem]:
    """One problem for each broker with a failed log directory; `moves`: of the plan."""
    failed = brokers_with_failures(cluster)
    if not failed:
        return
    pool_of = {broker: pool.name for pool in desired.pools for broker in pool.brokers}
    offline = _offline(cluster, failed, moves)
    missing = {b for b, record in records.brokers.items() if record.missing_since_s is not None}
    troubled = len(pool_of.keys() & (missing | failed.keys()))
    for id_, broker in failed.items():
        names = offline[id_]
        replicas = Names.of(names, _NAMED_MAX) if names else None
        why = _why(desired, broker, troubled)
        paths = tuple(sorted(broker.failed_log_dirs))
        after_s = desired.cluster.heal.after_s
        facts = LogDirFailed(id_, paths, replicas, why, troubled, after_s)
        yield PlanProblem(pool_of.get(id_, ""), "", facts)


def _why(desired: Desired, broker: Broker, troubled: int) -> NotEvacuated:
    heal = desired.cluster.heal
    if not heal.enabled:
        return NotEvacuated.NOT_ALLOWED
    if broker.lost_log_dirs >= set(broker.failed_log_dirs):
        return NotEvacuated.NO_PLACE
    return NotEvacuated.TOO_MANY if troubled > heal.max_brokers else NotEvacuated.NOT_YET


def _offline(
    cluster: Cluster, failed: Mapping[int, Broker], moves: Collection[Move]
) -> dict[int, list[TopicPartition]]:
    """The replicas by broker that are offline and that no move takes away."""
    leaving = {
        (move.name, broker) for move in moves for broker in set(move.source) - set(move.target)
    }
    found: dict[int, list[TopicPartition]] = {id_: [] for id_ in failed}
    for name, topic in sorted(cluster.topics.items()):
        for partition in topic.partitions:
            each = TopicPartition(name, partition.partition)
            for broker in offline_on(partition, failed):
                if (each, broker) not in leaving:
                    found[broker].append(each)
    return found
