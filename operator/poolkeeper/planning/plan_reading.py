"""From `plan.json` back to a plan: every value checked, all problems reported at once.

Only the shape is checked here and that the document is whole (`hash`, `from`, `to`, the indexes of
its stages); whether the plan is lawful is asked of `audit`, on the live cluster.
"""

from collections.abc import Callable, Mapping

from poolkeeper import errors
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
    Urgency,
)
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.planning.identities import plan_hash
from poolkeeper.planning.json_views import ABSENT, Complaints, View

VERSION = 1


def from_json(data: object, file: str = "") -> Plan:
    """The plan of a document; raises `InvalidInput` with every problem of it.

    `file` names the document in messages.
    """
    complaints = Complaints(file)
    view = View(data, "", complaints)
    if not view.mapping():
        raise errors.InvalidInput(complaints.problems)
    if view.get("version").value != VERSION:
        view.get("version").wrong(f"{VERSION}")
    plan = Plan(
        cluster=view.get("cluster").text(),
        hash=view.get("hash").text(),
        fingerprint=view.get("fingerprint").text(),
        steps=tuple(step for item in view.get("steps", []).items() if (step := _step(item))),
        moves=view.get("moves", []).each(_move),
        certificates=view.get("certificate", {}).get("pools", []).each(_certificate),
        stages=view.get("stages", []).each(_stage),
        makespan=_makespan(view.get("makespan", None)),
        problems=view.get("problems", []).each(_problem),
    )
    if not complaints.problems:
        _check_whole(plan, view)
    if complaints.problems:
        raise errors.InvalidInput(complaints.problems)
    return plan


def _check_whole(plan: Plan, view: View) -> None:
    """What only the whole document can tell: the hash, and the stages' references."""
    computed = plan_hash(plan.moves, plan.steps)
    if plan.hash != computed:
        view.complaints.add(
            "hash", f"the document was changed: it says {plan.hash}, its content is {computed}"
        )
    for view_of_stage, stage in zip(view.get("stages", []).items(), plan.stages, strict=True):
        for index, step in stage.moves:
            if index >= len(plan.moves) or not 0 < step < len(plan.moves[index].path):
                place = f"{view_of_stage.place}.moves"
                view.complaints.add(place, f"[{index}, {step}] names no step of a move")


def _move(view: View) -> Move:
    path = view.get("path").each(View.replicas)
    if len(path) < 2 and isinstance(view.get("path").value, list):
        view.get("path").wrong("at least two replica lists")
    for key, end in (("from", path[:1]), ("to", path[-1:])):
        told = view.get(key)
        if told.value is not ABSENT and end and told.replicas() != end[0]:
            told.wrong(f"the path's end, {list(end[0])}")
    return Move(
        topic=view.get("topic").text(),
        topic_id=view.get("topicId", None).optional_text(),
        partition=view.get("partition").whole(),
        path=path,
        bytes=view.get("bytes").whole(),
        reason=view.get("reason", "").text(),
        urgency=view.get("urgency", Urgency.BALANCE.value).whole(),
    )


def _step(view: View) -> Step | None:
    if not view.mapping():
        return None
    kind = view.get("kind")
    read = _STEPS.get(kind.value) if isinstance(kind.value, str) else None
    if read is None:
        kind.wrong("one of " + ", ".join(_STEPS))
        return None
    return read(view)


def _create_topic(view: View) -> Step:
    return CreateTopic(
        topic=view.get("topic").text(),
        pool=view.get("pool").text(),
        replicas=view.get("replicas").each(View.replicas),
        config=view.get("config", {}).texts_by_key(),
        reason=view.get("reason", "").text(),
    )


def _add_partitions(view: View) -> Step:
    return AddPartitions(
        topic=view.get("topic").text(),
        first=view.get("first").whole(),
        replicas=view.get("replicas").each(View.replicas),
        reason=view.get("reason", "").text(),
    )


def _set_config(view: View) -> Step:
    return SetConfig(
        topic=view.get("topic").text(),
        set=view.get("set", {}).texts_by_key(),
        unset=view.get("unset", []).each(View.text),
        destructive=view.get("destructive", []).each(View.text),
        reason=view.get("reason", "").text(),
    )


def _elect_leaders(view: View) -> Step:
    pairs = (item.pair() for item in view.get("partitions").items())
    return ElectLeaders(
        partitions=tuple((pair[0].text(), pair[1].whole()) for pair in pairs if pair),
        reason=view.get("reason", "").text(),
    )


def _delete_topic(view: View) -> Step:
    return DeleteTopic(
        topic=view.get("topic").text(),
        topic_id=view.get("topicId", None).optional_text(),
        reason=view.get("reason", "").text(),
    )


def _move_log_dir(view: View) -> Step:
    return MoveLogDir(
        topic=view.get("topic").text(),
        partition=view.get("partition").whole(),
        broker=view.get("broker").whole(),
        source=view.get("from").text(),
        target=view.get("to").text(),
        bytes=view.get("bytes").whole(),
        reason=view.get("reason", "").text(),
    )


_STEPS: Mapping[str, Callable[[View], Step]] = {
    "CreateTopic": _create_topic,
    "AddPartitions": _add_partitions,
    "SetConfig": _set_config,
    "MoveLogDir": _move_log_dir,
    "ElectLeaders": _elect_leaders,
    "DeleteTopic": _delete_topic,
}


def _certificate(view: View) -> PoolCertificate:
    return PoolCertificate(
        pool=view.get("pool").text(),
        replica_moves=view.get("replicaMoves").whole(),
        replica_moves_lower_bound=view.get("replicaMovesLowerBound").whole(),
        bytes=view.get("bytes").whole(),
        bytes_lower_bound=view.get("bytesLowerBound").whole(),
        gap_percent=view.get("gapPercent").number(),
        witness=view.get("witness", "").text(),
    )


def _stage(view: View) -> PlannedStage:
    pairs = (item.pair() for item in view.get("moves").items())
    return PlannedStage(
        moves=tuple((pair[0].whole(), pair[1].whole()) for pair in pairs if pair),
        bytes=view.get("bytes").whole(),
        seconds=view.get("seconds").number(),
    )


def _makespan(view: View) -> Makespan | None:
    if view.value is None or not view.mapping():
        return None
    return Makespan(
        seconds=view.get("seconds").number(),
        lower_bound_seconds=view.get("lowerBoundSeconds").number(),
        bytes_per_second_per_broker=view.get("bytesPerSecondPerBroker").whole(),
    )


def _problem(view: View) -> PlanProblem:
    return PlanProblem(
        pool=view.get("pool").text(),
        law=view.get("law").text(),
        facts=Recorded(view.get("message").text(), _reason(view.get("reason", "").text())),
        topic=view.get("topic", "").text(),
    )


def _reason(name: str) -> ProblemReason:
    """The reason of that name; an older release gives none, a newer one may have others."""
    return ProblemReason(name) if name in set(ProblemReason) else ProblemReason.UNTOLD
