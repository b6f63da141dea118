"""Which resources must not go before we are done with them.

| kind | is kept | until |
|---|---|---|
| Topic | with deletionPolicy Delete | its Kafka topic is gone, or is not its own |
| ResourcePool | while a Topic names it | no Topic does |
| KafkaCluster | while a run is recorded or may begin | the run has ended, nothing is to move |

A Topic that nothing can be done for (its pool or its cluster is gone, it is invalid, its cluster is
being deleted, or the definition of its kind is) is let go, and its Kafka topic kept: what is lost
cannot be had back. Where a cluster cannot be looked at, or is held, things stay as they are.
"""

from collections.abc import Mapping

from poolkeeper.model.specs import DeletionPolicy, TopicSpec
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.status_inputs import Survey, owned


def finalizers_wanted(found: Survey, run_looms: bool | None) -> Mapping[ObjectKey, bool]:
    """Whether each resource shall have our finalizer; `run_looms` is None where not known."""
    wanted = {}
    for key, each in found.assembly.objects.items():
        if each.kind == kafka_cluster.KIND:
            wanted[key] = each.guarded if run_looms is None else run_looms
        elif each.kind == resource_pool.KIND:
            going = each.deleting and found.assembly.abandoned
            wanted[key] = each.name in found.users and not going
        else:
            wanted[key] = _topic(found, each)
    return wanted


def finalizer_changes(found: Survey, run_looms: bool | None) -> Mapping[ObjectKey, bool]:
    """Those to be added (True) or taken off (False). None is added to what is being deleted."""
    return {
        key: wanted
        for key, wanted in finalizers_wanted(found, run_looms).items()
        if wanted != found.assembly.objects[key].guarded
        and not (wanted and found.assembly.objects[key].deleting)
    }


def _topic(found: Survey, each: CustomResource) -> bool:
    spec = each.spec
    if not isinstance(spec, TopicSpec) or each.key in found.assembly.verdicts:
        return each.guarded and not each.deleting
    if spec.deletion_policy is not DeletionPolicy.DELETE:
        return False
    if not each.deleting:
        return True
    if found.assembly.cluster is None or found.assembly.leaving or found.assembly.abandoned:
        return False
    if found.seen is None or found.desired is None:
        return each.guarded
    return owned(found, spec)
