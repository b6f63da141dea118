"""Which resources need our finalizer, and until when.

| kind | has it | until |
|---|---|---|
| Topic | with deletionPolicy Delete | its Kafka topic is gone, or is not its own |
| ResourcePool | while a Topic names it | no Topic names it |
| KafkaCluster | while a run is recorded or may begin | the run has ended, nothing is to move |

Some Topics cannot be worked on: the pool or cluster is gone, the Topic is invalid, or the cluster
or the CRD is being deleted. Such a Topic loses the finalizer and its Kafka topic is kept: deleted
data cannot be restored. While a cluster cannot be read, or is on hold, finalizers stay as they are.
"""

from collections.abc import Mapping

from poolkeeper.model.specs import DeletionPolicy, TopicSpec
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.status_inputs import Survey, owned


def finalizers_wanted(found: Survey, run_looms: bool | None) -> Mapping[ObjectKey, bool]:
    """Whether each resource needs our finalizer; `run_looms` is None if that is unknown."""
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
    """The finalizers to add (True) or remove (False).

    None is added to a resource that is being deleted.
    """
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
