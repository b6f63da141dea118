"""In which racks a topic's replicas are once it lives in another pool, by the planner itself."""

from dataclasses import replace

from poolkeeper.errors import Refused
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.run_state.progress.after_plan import after_plan
from poolkeeper.studies.group_events import PartitionRacks
from poolkeeper.text import one_of


def racks_in_pool(desired: Desired, cluster: Cluster, topic: str, pool: str) -> PartitionRacks:
    """The racks of each partition's replicas, were the Topic declared in that pool and its owner.

    Raises `Refused` for an unknown pool, a topic that no Topic declares, and a plan that does not
    move it.
    """
    pools = {each.name: each for each in desired.pools}
    if pool not in pools:
        raise Refused(f"there is no pool {pool} ({one_of(sorted(pools))})")
    declared = next((spec for spec in desired.topics if spec.topic == topic), None)
    if declared is None:
        raise Refused(f"no Topic declares {topic}")
    specs = tuple(
        replace(spec, pool=pool) if spec.topic == topic else spec for spec in desired.topics
    )
    owned = Records(topics={topic: TopicRecord(declared.owner)})
    plan = make_plan(replace(desired, topics=specs), cluster, owned, frozenset())
    placed = dict(after_plan(plan, cluster)).get(topic, ())
    racks = {id_: broker.rack for id_, broker in cluster.brokers.items()}
    members = pools[pool].brokers
    if not placed or any(id_ not in members for each in placed for id_ in each.replicas):
        told = next((str(p) for p in plan.problems if p.topic == topic), "its plan leaves it")
        raise Refused(f"topic {topic} does not get to pool {pool}: {told}")
    return tuple(
        tuple(rack for id_ in each.replicas if (rack := racks.get(id_)) is not None)
        for each in placed
    )
