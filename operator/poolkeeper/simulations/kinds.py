"""The kinds of simulations: what each takes, and what makes its output."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from poolkeeper.frozen import frozen
from poolkeeper.simulations import cluster_kinds, group_kinds, producer_kinds


@frozen
class SimulationKind:
    """A kind: the type of its input, and the function from that to JSON values."""

    input: type[Struct]
    output: Callable[[Any], object]


KINDS: Mapping[str, SimulationKind] = {
    "assign_replicas": SimulationKind(cluster_kinds.NewTopic, cluster_kinds.assign_replicas),
    "rack_alternated": SimulationKind(cluster_kinds.BrokerRacks, cluster_kinds.rack_alternated),
    "add_partitions": SimulationKind(cluster_kinds.MorePartitions, cluster_kinds.add_partitions),
    "range": SimulationKind(group_kinds.ConsumerGroup, group_kinds.range_),
    "roundrobin": SimulationKind(group_kinds.ConsumerGroup, group_kinds.round_robin),
    "sticky": SimulationKind(group_kinds.StickyGroup, group_kinds.sticky),
    "cooperative_sticky": SimulationKind(
        group_kinds.CooperativeGroup, group_kinds.cooperative_sticky
    ),
    "member_order": SimulationKind(group_kinds.NamedMembers, group_kinds.member_order),
    "rack_aware_enabled": SimulationKind(group_kinds.GroupRacks, group_kinds.rack_aware_enabled),
    "murmur2": SimulationKind(producer_kinds.RecordKey, producer_kinds.murmur2),
    "key_partition": SimulationKind(producer_kinds.KeyedRecord, producer_kinds.key_partition),
    "rr_partitioner": SimulationKind(producer_kinds.RoundRobinRecords, producer_kinds.round_robin),
    "adaptive_cft": SimulationKind(producer_kinds.QueueSizes, producer_kinds.adaptive_cft),
    "topic_name": SimulationKind(cluster_kinds.TopicName, cluster_kinds.topic_name),
    "topic_collision": SimulationKind(cluster_kinds.TopicNames, cluster_kinds.topic_collision),
    "throttled_replica_list": SimulationKind(
        cluster_kinds.ThrottledReplicaList, cluster_kinds.throttled_replica_list
    ),
    "throttles": SimulationKind(cluster_kinds.ThrottledReassignment, cluster_kinds.throttles),
    "reassign_to": SimulationKind(cluster_kinds.ReassignmentRequest, cluster_kinds.reassign_to),
    "leader_election": SimulationKind(cluster_kinds.LeaderElection, cluster_kinds.leader_election),
}
