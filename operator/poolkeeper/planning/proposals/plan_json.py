"""A plan as a document: `plan.json`, and Kafka's own reassignment files.

`to_json` and `from_json` are inverse to each other, as are `encode` and `decode`. Empty keys (no
reason, no destructive effects, no parts) are left out when writing and may be absent when reading.
Unknown keys are ignored.
`hash` is computed again when reading. An edited document is refused, because nobody approved its
contents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import fields

from poolkeeper.model.columns.move_columns import ColumnMoves
from poolkeeper.model.plans import Move, Plan, PlanProblem, Step
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.proposals import plan_reading as declared
from poolkeeper.planning.proposals.identity import concern as concern
from poolkeeper.planning.proposals.identity import fingerprint as fingerprint
from poolkeeper.planning.proposals.identity import is_destructive as is_destructive
from poolkeeper.planning.proposals.identity import lost_log_dirs as lost_log_dirs
from poolkeeper.planning.proposals.identity import plan_hash as plan_hash
from poolkeeper.planning.proposals.plan_reading import VERSION
from poolkeeper.planning.proposals.plan_reading import PlanJson as PlanJson
from poolkeeper.planning.proposals.plan_reading import decode as decode
from poolkeeper.planning.proposals.plan_reading import from_json as from_json
from poolkeeper.planning.proposals.plan_reading import plan_of as plan_of
from poolkeeper.typed_json import JsonObject

T = TypeVar("T", bound=JsonObject)
_MoveRow: Any = msgspec.defstruct(
    "MoveRow",
    [(each.name, each.type) for each in fields(declared.MoveJson)],
    rename={each.name: each.encode_name for each in fields(declared.MoveJson)},
    gc=False,
)
"""`MoveJson` by position: there may be 100,000 of them."""
Json = dict[str, Any]
_STEPS: Mapping[type[Step], type[declared.Step]] = {
    ours: written for written, ours in declared.STEPS.items()
}


def to_json(plan: Plan) -> Json:
    """The plan as JSON values, with keys in the order that suits people."""
    json: Json = msgspec.to_builtins(document(plan))
    return json


def encode(plan: Plan) -> bytes:
    """The same as JSON text without spaces, in UTF-8."""
    return msgspec.json.encode(document(plan))


def document(plan: Plan) -> PlanJson:
    """The plan by type: what `msgspec` writes as JSON, and what a reader makes a plan of."""
    return PlanJson(
        version=VERSION,
        cluster=plan.cluster,
        hash=plan.hash,
        fingerprint=plan.fingerprint,
        steps=tuple(_same(_STEPS[type(step)], step) for step in plan.steps),
        moves=tuple(_moves(plan.moves)),
        certificate=declared.CertificatesJson(
            pools=_each(declared.CertificateJson, plan.certificates)
        ),
        stages=_each(declared.StageJson, plan.stages),
        makespan=None if plan.makespan is None else _same(declared.MakespanJson, plan.makespan),
        problems=tuple(map(_problem, plan.problems)),
        parts=_each(declared.PartJson, plan.parts) or msgspec.UNSET,
    )


def reassign_json(plan: Plan) -> list[Json]:
    """Kafka's own file, `{"version": 1, "partitions": […]}`, one per stage, to be run in order.

    What no stage can take, as disks lack room for example, is in none.
    """
    return [
        {"version": 1, "partitions": [_entry(plan.moves[i], step) for i, step in stage.moves]}
        for stage in plan.stages
    ]


def _entry(move: Move, step: int) -> Json:
    return {"topic": move.topic, "partition": move.partition, "replicas": list(move.path[step])}


def _moves(moves: Sequence[Move]) -> list[Any]:
    """Moves as the document declares them; of columns, without the moves themselves."""
    if not isinstance(moves, ColumnMoves):
        return [_MoveRow(*move[:4], move.source, move.target, *move[4:]) for move in moves]
    columns = moves.columns
    paths = columns.paths()
    return list(
        map(
            _MoveRow,
            columns.names,
            [columns.topics[topic][1] for topic in columns.topic.tolist()],
            columns.partition.tolist(),
            paths,
            [path[0] for path in paths],
            [path[-1] for path in paths],
            columns.bytes.tolist(),
            [columns.reasons[reason] for reason in columns.reason.tolist()],
            columns.urgency.tolist(),
        )
    )


def _problem(problem: PlanProblem) -> declared.ProblemJson:
    told = problem.reason is not ProblemReason.UNTOLD
    return declared.ProblemJson(
        pool=problem.pool,
        law=problem.law,
        message=problem.message,
        topic=problem.topic,
        reason=problem.reason.value if told else "",
    )


def _each(kind: type[T], values: Iterable[object]) -> tuple[T, ...]:
    return tuple(_same(kind, value) for value in values)


def _same(kind: type[T], value: object) -> T:
    """The document's value with the fields of the same names."""
    return kind(**{name: getattr(value, name) for name in kind.__struct_fields__})
