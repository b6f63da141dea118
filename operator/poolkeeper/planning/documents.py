"""A plan as a document: `plan.json`, and Kafka's own reassignment files.

`to_json` and `from_json` are inverse to each other. Keys that hold nothing (a reason that was not
given, no destructive effects) are left out when writing and may be absent when reading; unknown
keys are ignored. `hash` is computed again when reading: a document that was edited is refused, as
nobody approved what it says now.
"""

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Makespan,
    Move,
    MoveLogDir,
    Plan,
    PlannedStage,
    PlanProblem,
    PoolCertificate,
    SetConfig,
    Step,
)
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.identities import concern as concern
from poolkeeper.planning.identities import fingerprint as fingerprint
from poolkeeper.planning.identities import is_destructive as is_destructive
from poolkeeper.planning.identities import plan_hash as plan_hash
from poolkeeper.planning.plan_reading import VERSION
from poolkeeper.planning.plan_reading import from_json as from_json

Json = dict[str, object]


def to_json(plan: Plan) -> Json:
    """The plan as JSON values, in the order of keys that people read best."""
    return {
        "version": VERSION,
        "cluster": plan.cluster,
        "hash": plan.hash,
        "fingerprint": plan.fingerprint,
        "steps": [_step(step) for step in plan.steps],
        "moves": [_move(move) for move in plan.moves],
        "certificate": {"pools": [_certificate(pool) for pool in plan.certificates]},
        "stages": [_stage(stage) for stage in plan.stages],
        "makespan": _makespan(plan.makespan),
        "problems": [_problem(problem) for problem in plan.problems],
    }


def reassign_json(plan: Plan) -> list[Json]:
    """Kafka's own file, `{"version": 1, "partitions": […]}`, one per stage, to be run in order.

    A plan without predicted stages gives one file per step of its longest path.
    """
    steps = max((len(move.path) - 1 for move in plan.moves), default=0)
    stages = [stage.moves for stage in plan.stages] or [
        tuple((i, step) for i, move in enumerate(plan.moves) if step < len(move.path))
        for step in range(1, steps + 1)
    ]
    return [
        {"version": 1, "partitions": [_entry(plan.moves[i], step) for i, step in stage]}
        for stage in stages
    ]


def _entry(move: Move, step: int) -> Json:
    return {"topic": move.topic, "partition": move.partition, "replicas": list(move.path[step])}


def _move(move: Move) -> Json:
    return {
        "topic": move.topic,
        "topicId": move.topic_id,
        "partition": move.partition,
        "path": [list(replicas) for replicas in move.path],
        "from": list(move.source),
        "to": list(move.target),
        "bytes": move.bytes,
        "reason": move.reason,
        "urgency": move.urgency,
    }


def _step(step: Step) -> Json:
    """One step under its kind; `reason` and the like only where there is one."""
    body: Json = {"kind": type(step).__name__, **_body(step)}
    if step.reason:
        body["reason"] = step.reason
    return body


def _body(step: Step) -> Json:
    match step:
        case CreateTopic():
            return {
                "topic": step.topic,
                "pool": step.pool,
                "replicas": [list(replicas) for replicas in step.replicas],
                "config": dict(step.config),
            }
        case AddPartitions():
            lists = [list(replicas) for replicas in step.replicas]
            return {"topic": step.topic, "first": step.first, "replicas": lists}
        case SetConfig():
            body: Json = {"topic": step.topic, "set": dict(step.set), "unset": list(step.unset)}
            return body | ({"destructive": list(step.destructive)} if step.destructive else {})
        case ElectLeaders():
            return {"partitions": [[topic, partition] for topic, partition in step.partitions]}
        case DeleteTopic():
            identity = {} if step.topic_id is None else {"topicId": step.topic_id}
            return {"topic": step.topic, **identity}
        case MoveLogDir():
            return {
                "topic": step.topic,
                "partition": step.partition,
                "broker": step.broker,
                "from": step.source,
                "to": step.target,
                "bytes": step.bytes,
            }


def _certificate(pool: PoolCertificate) -> Json:
    return {
        "pool": pool.pool,
        "replicaMoves": pool.replica_moves,
        "replicaMovesLowerBound": pool.replica_moves_lower_bound,
        "bytes": pool.bytes,
        "bytesLowerBound": pool.bytes_lower_bound,
        "gapPercent": pool.gap_percent,
        "witness": pool.witness,
    }


def _stage(stage: PlannedStage) -> Json:
    return {
        "moves": [[index, step] for index, step in stage.moves],
        "bytes": stage.bytes,
        "seconds": stage.seconds,
    }


def _makespan(makespan: Makespan | None) -> Json | None:
    if makespan is None:
        return None
    return {
        "seconds": makespan.seconds,
        "lowerBoundSeconds": makespan.lower_bound_seconds,
        "bytesPerSecondPerBroker": makespan.bytes_per_second_per_broker,
    }


def _problem(problem: PlanProblem) -> Json:
    named: Json = {"pool": problem.pool, "law": problem.law, "message": problem.message}
    if problem.topic:
        named["topic"] = problem.topic
    if problem.reason is not ProblemReason.UNTOLD:
        named["reason"] = problem.reason.value
    return named
