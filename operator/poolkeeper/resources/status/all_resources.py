"""The status of every resource of a cluster, after a pass.

Pure and idempotent: the same inputs give the same statuses. So comparing them with the live ones
tells which to write. The only times in a status are those of transitions.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from poolkeeper.model.execution.outcomes import LastObservation, Outcome, State
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.cluster_conditions import delay_text
from poolkeeper.resources.status.conditions import is_stalled
from poolkeeper.resources.status.kafka_cluster import cluster_status
from poolkeeper.resources.status.resource_pool import pool_status
from poolkeeper.resources.status.status_inputs import StatusInputs, planned_work, status_inputs_of
from poolkeeper.resources.status.topic.topic_status import topic_status

NOT_YET = Outcome(State.WAITING)
"""The outcome reported for a cluster before its first pass."""


def statuses(
    assembly: Assembly,
    observation: LastObservation | None,
    outcome: Outcome = NOT_YET,
    now_ms: int = 0,
    inputs: StatusInputs | None = None,
) -> Mapping[ObjectKey, dict[str, Any]]:
    """All statuses by resource.

    `inputs` are those of this assembly and observation, if the caller already has it.
    """
    found = inputs or status_inputs_of(assembly, observation)
    work = None
    if found.desired is not None and found.observation is not None:
        work = planned_work(found.desired, outcome, found.standings, delay_text(outcome))

    pools = {
        key: pool_status(found, work, outcome, each, now_ms)
        for key, each in assembly.objects.items()
        if each.kind == resource_pool.KIND
    }
    stalled = sorted(key.name for key, status in pools.items() if is_stalled(status))
    of_cluster = replace(found, stalled_pools=tuple(stalled)) if stalled else found

    def status(each: CustomResource) -> dict[str, Any]:
        if each.kind == kafka_cluster.KIND:
            return cluster_status(of_cluster, work, outcome, each, now_ms)
        if each.kind == resource_pool.KIND:
            return pools[each.key]
        return topic_status(found, work, outcome, each, now_ms)

    return {key: status(each) for key, each in assembly.objects.items()}
