"""The status of every resource of a cluster, after a pass.

Pure, and a fixpoint: told of the same things again it gives the same statuses, so that comparing
them with the live ones tells what is to be written. Times appear only as those of transitions.
"""

from collections.abc import Mapping
from typing import Any

from poolkeeper.model.outcomes import Outcome, Seen, State
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.kafka_cluster import cluster_status
from poolkeeper.resources.status.resource_pool import pool_status
from poolkeeper.resources.status.status_inputs import Survey, survey, work_of
from poolkeeper.resources.status.topic import topic_status

NOT_YET = Outcome(State.WAITING)
"""Of a cluster that no pass was done for."""


def statuses(
    assembly: Assembly,
    seen: Seen | None,
    outcome: Outcome = NOT_YET,
    now_ms: int = 0,
    known: Survey | None = None,
) -> Mapping[ObjectKey, dict[str, Any]]:
    """All statuses; `known` is the survey of this assembly and observation, if it was kept."""
    found = known or survey(assembly, seen)
    work = None
    if found.desired is not None and found.seen is not None:
        work = work_of(found.desired, outcome)

    def status(each: CustomResource) -> dict[str, Any]:
        if each.kind == kafka_cluster.KIND:
            return cluster_status(found, work, outcome, each, now_ms)
        if each.kind == resource_pool.KIND:
            return pool_status(found, work, outcome, each, now_ms)
        return topic_status(found, work, outcome, each, now_ms)

    return {key: status(each) for key, each in assembly.objects.items()}
