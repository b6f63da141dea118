"""A small cluster with its plan at rest, waiting, running: what statuses are told from."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from poolkeeper.model.execution.outcomes import LastObservation, Outcome, Progress, State
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.all_resources import statuses

NOW_MS = 1_700_000_000_000
NOW = "2023-11-14T22:13:20Z"
LATER_MS = NOW_MS + 3_600_000


def seen(cluster: Cluster, gone: Iterable[int] = (), **owners: str) -> LastObservation:
    records = Records("kafka-id", {name: TopicRecord(owner) for name, owner in owners.items()})
    return LastObservation(cluster, records, frozenset(gone))


def planned(assembly: Assembly, what: LastObservation) -> Plan:
    assert assembly.desired is not None
    wanted = resolve_conflicts(assembly.desired, what.records, what.cluster)
    return make_plan(wanted, what.cluster, what.records, what.gone)


def at_rest(assembly: Assembly, what: LastObservation, *waits: Wait) -> Outcome:
    """The outcome of a pass that only planned."""
    plan = planned(assembly, what)
    state = State.WAITING if waits or not plan.empty else State.CONVERGED
    return Outcome(state, waits=waits, plan=plan, last_observation=what)


def running(assembly: Assembly, what: LastObservation, arrived: int, **fields: Any) -> Outcome:
    """The outcome of a pass of a run in which the first moves have arrived."""
    plan = planned(assembly, what)
    progress = Progress(
        plan=plan.hash,
        phase=Phase.MOVING,
        stage=2,
        moves_done=arrived,
        moves_in_flight=len(plan.moves) - arrived,
        moves_total=len(plan.moves),
        bytes_done=sum(move.bytes for move in plan.moves[:arrived]),
        bytes_total=sum(move.bytes for move in plan.moves),
        seconds_left=700.0,
        arrived=frozenset(range(arrived)),
    )
    return Outcome(
        State.WAITING,
        waits=(Wait(WaitReason.STAGE_IN_FLIGHT, stage=2, count=arrived, of=len(plan.moves)),),
        plan=plan,
        progress=replace(progress, **fields),
        fresh=plan,
        last_observation=what,
    )


def with_statuses(
    objects: Iterable[CustomResource], found: dict[ObjectKey, dict[str, Any]]
) -> tuple[CustomResource, ...]:
    """The resources after these statuses were written."""
    return tuple(
        replace(each, status=found[each.key]) if each.key in found else each for each in objects
    )


def told(
    objects: Iterable[CustomResource],
    what: LastObservation | None,
    outcome: Outcome,
    now_ms: int = NOW_MS,
) -> dict[ObjectKey, dict[str, Any]]:
    """The statuses of all resources of the cluster `main`."""
    return dict(statuses(assemble(objects)["main"], what, outcome, now_ms))


def conditions(ready: str, reason: str, message: str, generation: int = 1) -> list[dict[str, Any]]:
    """Ready, and what goes with it: `ready` is True, Busy, Unsure or Stalled."""
    kinds = {
        "True": [("Ready", "True")],
        "Busy": [("Ready", "False"), ("Reconciling", "True")],
        "Unsure": [("Ready", "Unknown"), ("Reconciling", "True")],
        "Stalled": [("Ready", "False"), ("Stalled", "True")],
    }
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": NOW,
        }
        for kind, status in kinds[ready]
    ]
