"""`plan.json` as declared types, and from them to a plan; all problems are reported at once.

Only the shape is checked here, and that the document is whole: `hash`, `from`, `to`, the indexes of
its stages. The audit decides whether the plan is lawful on the live cluster.

If a field has another name in the document, its declaration says so. A field with a plain default
is left out when it is empty (msgspec does that). A field with a `default_factory` is always
written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, field

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.model import plans
from poolkeeper.model.file_kinds import FileKind, told_by_kind
from poolkeeper.model.plans import Move, Part, Plan, PlanProblem, Urgency
from poolkeeper.model.problems import Recorded, reason_named
from poolkeeper.planning.proposals.identity import plan_hash
from poolkeeper.typed_json import (
    BrokerId,
    ByteSum,
    Finite,
    FormatVersion,
    JsonObject,
    Natural,
    PartitionNumber,
    ReplicaList,
)

VERSION: Final = 1

T = TypeVar("T")
_Path = Annotated[
    tuple[ReplicaList, ...], Meta(min_length=2, description="at least two replica lists")
]
_Pair = Annotated[tuple[Natural, Natural], Meta(description="a list of two")]
_TopicPair = Annotated[tuple[str, PartitionNumber], Meta(description="a list of two")]
_Texts = dict[str, str]


class MoveJson(JsonObject, kw_only=True):
    """One of `moves`."""

    topic: str
    topic_id: str | None = None
    partition: PartitionNumber
    path: _Path
    source: ReplicaList | None = field(name="from", default=None)
    target: ReplicaList | None = field(name="to", default=None)
    bytes: ByteSum
    reason: str = ""
    urgency: Natural = Urgency.BALANCE.value


class StepJson(JsonObject, tag_field="kind", omit_defaults=True):
    """One of `steps`; its class is named by its key `kind`."""


class CreateTopicJson(StepJson, tag="CreateTopic"):
    """Creates a topic."""

    topic: str
    pool: str
    replicas: tuple[ReplicaList, ...]
    config: _Texts = field(default_factory=lambda: {})
    reason: str = ""


class AddPartitionsJson(StepJson, tag="AddPartitions"):
    """Adds partitions to a topic."""

    topic: str
    first: PartitionNumber
    replicas: tuple[ReplicaList, ...]
    reason: str = ""


class SetConfigJson(StepJson, tag="SetConfig"):
    """Sets and unsets keys of a topic's config."""

    topic: str
    set: _Texts = field(default_factory=lambda: {})
    unset: tuple[str, ...] = field(default_factory=lambda: ())
    destructive: tuple[str, ...] = ()
    reason: str = ""


class MoveLogDirJson(StepJson, tag="MoveLogDir"):
    """Moves a replica between directories of its broker."""

    topic: str
    partition: PartitionNumber
    broker: BrokerId
    source: str = field(name="from")
    target: str = field(name="to")
    bytes: Natural
    reason: str = ""


class ElectLeadersJson(StepJson, tag="ElectLeaders"):
    """Elects the preferred leaders of partitions."""

    partitions: tuple[_TopicPair, ...]
    reason: str = ""


class DeleteTopicJson(StepJson, tag="DeleteTopic"):
    """Deletes a topic."""

    topic: str
    topic_id: str | None = None
    reason: str = ""


Step = (
    CreateTopicJson
    | AddPartitionsJson
    | SetConfigJson
    | MoveLogDirJson
    | ElectLeadersJson
    | DeleteTopicJson
)
STEPS: Mapping[type[Step], type[plans.Step]] = {
    CreateTopicJson: plans.CreateTopic,
    AddPartitionsJson: plans.AddPartitions,
    SetConfigJson: plans.SetConfig,
    MoveLogDirJson: plans.MoveLogDir,
    ElectLeadersJson: plans.ElectLeaders,
    DeleteTopicJson: plans.DeleteTopic,
}
"""What a step of a document is in a plan; fields have the same names."""


class CertificateJson(JsonObject):
    """One of `certificate.pools`."""

    pool: str
    replica_moves: Natural
    replica_moves_lower_bound: Natural
    bytes: ByteSum
    bytes_lower_bound: ByteSum
    gap_percent: Finite
    witness: str = ""


class CertificatesJson(JsonObject):
    """The key `certificate`."""

    pools: tuple[CertificateJson, ...] = field(default_factory=lambda: ())


class StageJson(JsonObject):
    """One of `stages`."""

    moves: tuple[_Pair, ...]
    bytes: ByteSum
    seconds: Finite


class MakespanJson(JsonObject):
    """The key `makespan`."""

    seconds: Finite
    lower_bound_seconds: Finite
    bytes_per_second_per_broker: Natural


class ProblemJson(JsonObject, omit_defaults=True):
    """One of `problems`."""

    pool: str
    law: str
    message: str
    topic: str = ""
    reason: str = ""


class PartJson(JsonObject):
    """One of `parts`."""

    name: str
    hash: str
    fingerprint: str
    after: tuple[str, ...] = ()
    moves: tuple[Natural, ...] = ()
    steps: tuple[Natural, ...] = ()


class PlanJson(JsonObject):
    """The document."""

    version: FormatVersion
    cluster: str
    hash: str
    fingerprint: str
    steps: tuple[Step, ...] = ()
    moves: tuple[MoveJson, ...] = ()
    certificate: CertificatesJson = field(default_factory=lambda: CertificatesJson(pools=()))
    stages: tuple[StageJson, ...] = ()
    makespan: MakespanJson | None = None
    problems: tuple[ProblemJson, ...] = ()
    parts: tuple[PartJson, ...] | msgspec.UnsetType = msgspec.UNSET


def decode(data: bytes, file: str = "") -> Plan:
    """The plan of a JSON text; raises `InvalidInput` with every problem of it."""
    try:
        return plan_of(typed_json.decode(data, PlanJson, file, repeats=False), file)
    except InvalidInput as wrong:
        raise told_by_kind(wrong, data, file, FileKind.PLAN) from None


def from_json(data: object, file: str = "") -> Plan:
    """The plan of a document; raises `InvalidInput` with every problem of it.

    `file` names the document in messages.
    """
    return plan_of(read_json(data, file), file)


def read_json(data: object, file: str = "") -> PlanJson:
    """The document with its declared types; raises `InvalidInput` with every problem of it."""
    return typed_json.convert(data, PlanJson, file)


def plan_of(read: PlanJson, file: str = "", moves: Sequence[Move] = ()) -> Plan:
    """The plan of a document of declared types; raises `InvalidInput` with every problem of it.

    `moves`: all of them, if they are not in the document.
    """
    _refuse(_ends(read), file)
    plan = Plan(
        cluster=read.cluster,
        hash=read.hash,
        fingerprint=read.fingerprint,
        steps=tuple(_same(STEPS[type(step)], step) for step in read.steps),
        moves=tuple(map(_move, read.moves)) or moves,
        certificates=tuple(_same(plans.PoolCertificate, pool) for pool in read.certificate.pools),
        stages=tuple(_same(plans.PlannedStage, stage) for stage in read.stages),
        makespan=None if read.makespan is None else _same(plans.Makespan, read.makespan),
        problems=tuple(map(_problem, read.problems)),
        parts=tuple(_same(plans.Part, part) for part in read.parts or ()),
    )
    _refuse(_broken(plan), file)
    return plan


def _refuse(problems: Iterator[tuple[str, str]], file: str) -> None:
    if found := [Problem(file, 0, place, message) for place, message in problems]:
        raise InvalidInput(found)


def _ends(read: PlanJson) -> Iterator[tuple[str, str]]:
    """Moves whose `from` and `to` are not the ends of their paths."""
    for number, move in enumerate(read.moves):
        for key, told, end in (
            ("from", move.source, move.path[0]),
            ("to", move.target, move.path[-1]),
        ):
            if told is not None and told != end:
                wrong = f"is {list(told)} (expected the path's end, {list(end)})"
                yield f"moves[{number}].{key}", wrong


def _broken(plan: Plan) -> Iterator[tuple[str, str]]:
    """Faults of the document as a whole: the hash, and the stages' references."""
    computed = plan_hash(plan.moves, plan.steps)
    if plan.hash != computed:
        yield "hash", f"the document was changed: it says {plan.hash}, its content is {computed}"
    for number, stage in enumerate(plan.stages):
        for index, step in stage.moves:
            if index >= len(plan.moves) or not 0 < step < len(plan.moves[index].path):
                yield f"stages[{number}].moves", f"[{index}, {step}] names no step of a move"
    for number, part in enumerate(plan.parts):
        yield from _broken_part(plan, part, f"parts[{number}]")


def _broken_part(plan: Plan, part: Part, place: str) -> Iterator[tuple[str, str]]:
    """Faults of one part: its positions and its hash."""
    for key, found, there in (
        ("moves", part.moves, len(plan.moves)),
        ("steps", part.steps, len(plan.steps)),
    ):
        if any(index >= there for index in found):
            yield f"{place}.{key}", f"names position {max(found)} of {there}"
            return
    computed = plan_hash(map(plan.moves.__getitem__, part.moves), _steps_of(plan, part))
    if part.hash != computed:
        wrong = f"the document was changed: it says {part.hash}, its content is {computed}"
        yield f"{place}.hash", wrong


def _steps_of(plan: Plan, part: Part) -> list[plans.Step]:
    return [plan.steps[index] for index in part.steps]


def _move(read: MoveJson) -> Move:
    return Move(
        read.topic,
        read.topic_id,
        read.partition,
        read.path,
        read.bytes,
        read.reason,
        read.urgency,
    )


def _problem(read: ProblemJson) -> PlanProblem:
    return PlanProblem(
        pool=read.pool,
        law=read.law,
        facts=Recorded(read.message, reason_named(read.reason)),
        topic=read.topic,
    )


def _same(kind: type[T], read: JsonObject) -> T:
    """The plan's value with the fields of the same names."""
    return kind(**msgspec.structs.asdict(read))
