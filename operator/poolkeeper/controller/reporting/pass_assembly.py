"""What a pass can report on: the resources as they were when it began.

Resources are edited while a pass works, and while a cluster cannot be read; and a Topic that has
just been edited is placed as before until it has been still for a while. No plan of such a pass
knows of the edit: what it would say of the resource as edited, that it is in place or cannot be
placed, would be of the resource as it was. So nothing is told of it. Its status names an earlier
generation, and whoever waits for that of the edit waits for the first pass that knows of it.
"""

from collections.abc import Iterator
from dataclasses import replace

from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey


def assembly_of_pass(began_with: Assembly, now: Assembly) -> Assembly:
    """Return the assembly to report on after a pass that began with another one.

    It is that of now if nothing that is worked towards has changed, or nothing may be worked
    towards. Statuses are those of now.
    """
    if began_with is now or now.desired is None or now.desired == began_with.desired:
        return now
    objects = {
        key: replace(each, status=now.objects[key].status)
        if key in now.objects and now.objects[key].uid == each.uid
        else each
        for key, each in began_with.objects.items()
    }
    cluster = began_with.cluster
    own = None if cluster is None else objects[cluster.key]
    return replace(began_with, cluster=own, objects=objects)


def unchanged_resources(then: Assembly, now: Assembly) -> Iterator[ObjectKey]:
    """The resources of an assembly that nobody has edited, deleted or found fault with since."""
    for key, each in then.objects.items():
        live = now.objects.get(key)
        if live is not None and key not in now.verdicts and _declared(each) == _declared(live):
            yield key


def _declared(resource: CustomResource) -> tuple[object, ...]:
    return resource.uid, resource.deleting, resource.generation, resource.spec
