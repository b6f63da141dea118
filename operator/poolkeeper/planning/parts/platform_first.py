"""The platform's parts, planned before what tenants declare is taken into account.

A plan lays out everything at once: a topic that is about to be created changes which brokers the
replicas of a drained one go to, and with that what the platform is asked about. So where a plan
heals or drains and also does what tenants declare, it is planned in that order:

1. healing and draining, as if all other topics stayed as they are found;
2. everything else, on top of the cluster as that leaves it.

Topics with replicas on brokers that shall be empty are taken as declared: their moves belong to the
first parts, and go to where they shall be in the end. The plan stays as it was laid out

* where the two together would break a law;
* where everything else would have to move a replica of the first parts again, as long as what the
  platform is asked about is the same.
"""

from dataclasses import replace

from poolkeeper.model.columns.move_columns import columns_of_moves
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    MoveLogDir,
    PartKind,
    Plan,
    Urgency,
)
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.facts.pools import AwaitsOwnMoves
from poolkeeper.planning.parts.choose import plan_of
from poolkeeper.planning.parts.keep import with_shown_parts
from poolkeeper.planning.parts.split import Circumstances, with_parts
from poolkeeper.planning.planner import Planner

_PLATFORM = (PartKind.HEAL.value, PartKind.DRAIN.value)
_OF_TENANTS = (PartKind.POOL.of(""), PartKind.FACTOR.value)


def platform_first(fresh: Plan, given: Circumstances, planner: Planner) -> Plan:
    """The plan in its parts; those of the platform do not depend on what tenants declare."""

    def planned(desired: Desired, cluster: Cluster) -> Plan:
        return planner(desired, cluster, given.records, given.gone)

    whole = with_parts(fresh, given)
    if not _is_mixed(whole):
        return whole
    alone = replace(given, desired=_as_found(given))
    first = with_parts(planned(alone.desired, given.cluster), alone)
    found = with_shown_parts(
        plan_of(first, _PLATFORM), fresh, given, lambda after: planned(given.desired, after)
    )
    if found is None or audit.check_plan(
        found, given.desired, given.cluster, given.records, given.gone
    ):
        return whole
    unfinished = any(isinstance(each.facts, AwaitsOwnMoves) for each in found.problems)
    return whole if unfinished and _hashes(whole) == _hashes(found) else found


def may_be_mixed(plan: Plan, given: Circumstances) -> bool:
    """Whether the plan could need `platform_first`, as columns tell; its parts cost more."""
    urgencies = set(distinct(columns_of_moves(plan.moves).urgency).tolist())
    kinds = {type(step) for step in plan.steps}
    platform = urgencies & {Urgency.HEAL, Urgency.DRAIN} or MoveLogDir in kinds
    tenants = urgencies & {Urgency.POOL, Urgency.FACTOR} or kinds & {CreateTopic, AddPartitions}
    return bool((platform or given.rules.to_empty) and tenants)


def _hashes(plan: Plan) -> list[tuple[str, str]]:
    """What the platform is asked about."""
    return [(part.name, part.hash) for part in plan.parts if part.name in _PLATFORM]


def _is_mixed(plan: Plan) -> bool:
    """Whether the plan heals or drains, and does what tenants declare, too."""
    platform = any(part.name in _PLATFORM for part in plan.parts)
    tenants = any(part.name.startswith(_OF_TENANTS) for part in plan.parts)
    added = any(isinstance(step, CreateTopic | AddPartitions) for step in plan.steps)
    return platform and (tenants or added)


def _as_found(given: Circumstances) -> Desired:
    """What is declared, with all topics as they are found that no broker must be rid of."""
    rules, topics = given.rules, given.cluster.topics
    leaving = {
        name
        for name, topic in topics.items()
        if any(not rules.to_empty.isdisjoint(p.replicas) for p in topic.partitions)
    }
    specs = (
        spec if spec.topic in leaving else _spec_as_found(spec, given)
        for spec in given.desired.topics
        if spec.topic in topics
    )
    return replace(given.desired, topics=tuple(specs))


def _spec_as_found(spec: TopicSpec, given: Circumstances) -> TopicSpec:
    partitions = given.cluster.topics[spec.topic].partitions
    used = {broker for partition in partitions for broker in partition.replicas}
    homes = [pool.name for pool in given.desired.pools if used <= set(pool.brokers)]
    factor = given.rules.usual_factor(spec.topic) if partitions else None
    return replace(
        spec,
        partitions=None,
        pool=homes[0] if len(homes) == 1 else spec.pool,
        replication_factor=None if spec.replication_factor != factor else factor,
    )
