"""What a pass can report on: the resources as they were when it began.

Resources are edited while a pass works, and while a cluster cannot be read. No plan of that pass
knows of the edit: what it would say of the resource as edited, that it is in place or cannot be
placed, would be of the resource as it was. A status names the generation that it is of, so whoever
waits for that of the edit waits for the next pass, which follows at once.
"""

from collections.abc import Iterator
from dataclasses import replace

from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey


def assembly_of_pass(began_with: Assembly, now: Assembly) -> Assembly:
    """Return the assembly to report on after a pass that began with another one.

    It is that of now if nothing that is worked towards has changed, or nothing may be worked
    towards. Else a resource that is gone since, or is being deleted since, is left out.
    """
    if began_with is now or now.desired is None or now.desired == began_with.desired:
        return now
    objects = {
        key: replace(each, status=now.objects[key].status)
        for key, each in began_with.objects.items()
        if key in now.objects and _is_same(each, now.objects[key])
    }
    cluster = began_with.cluster
    own = None if cluster is None else objects.get(cluster.key)
    return replace(began_with, cluster=own, objects=objects)


def unchanged(then: Assembly, now: Assembly) -> Iterator[ObjectKey]:
    """The resources of an assembly that nobody has edited, or found fault with, since."""
    for key, each in then.objects.items():
        live = now.objects.get(key)
        if live is None or key in now.verdicts or not _is_same(each, live):
            continue
        if (each.generation, each.spec) == (live.generation, live.spec):
            yield key


def _is_same(before: CustomResource, now: CustomResource) -> bool:
    return (before.uid, before.deleting) == (now.uid, now.deleting)
