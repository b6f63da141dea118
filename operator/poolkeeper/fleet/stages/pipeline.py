"""The steps of a fleet: which clusters, which results exist already, who makes the rest.

Each step takes a `Store` and a `TaskEngine` and returns a `FleetOutcome` with a line for every
cluster. A result that was made from the same input is not made again. A failure, of this run or of
an earlier one, is a line of the outcome and no error.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.engines import TaskEngine
from poolkeeper.fleet.stages import load_features
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.stages import snapshot as stages_snapshot
from poolkeeper.fleet.storage import codecs, parquet, schemas, snapshot_file
from poolkeeper.fleet.storage.store import FAILED, OK, Store
from poolkeeper.model.specs import Desired

T = TypeVar("T")
SPLIT_FROM_PARTITIONS = 50_000
"""Clusters below this are never taken apart: reading them again for each part costs more."""


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one cluster in a step; `made`: by this run, not by an earlier one."""

    cluster: str
    status: str
    reason: str = ""
    made: bool = True
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """What became of all clusters, by name."""

    step: str
    day: str
    lines: tuple[Line, ...]

    @property
    def failed(self) -> tuple[Line, ...]:
        """The clusters that the step failed for."""
        return tuple(line for line in self.lines if line.status == FAILED)

    @property
    def made(self) -> tuple[Line, ...]:
        """The clusters that this run did something for."""
        return tuple(line for line in self.lines if line.made)

    def total(self, name: str) -> int:
        """The sum of a figure over all clusters."""
        return sum(int(line.figures.get(name, 0) or 0) for line in self.lines)


def write_manifests(store: Store, desired_states: Iterable[Desired]) -> None:
    """Keep what is declared; a cluster's file changes only with what is declared for it."""
    for desired in desired_states:
        text = codecs.to_text(desired)
        digest = codecs.digest(text)
        name = desired.cluster.name
        if not store.is_made(schemas.MANIFESTS, "", name, digest):
            row = parquet.table_of(schemas.MANIFESTS, {"desired": [text], "digest": [digest]})
            store.write(schemas.MANIFESTS, "", name, row, digest)


def snapshot_files(folder: Path) -> dict[str, Path]:
    """Snapshot files by cluster: `main.json.gz` is of cluster `main`; raises `Refused`."""
    found: dict[str, Path] = {}
    try:
        entries = sorted(folder.iterdir())
    except OSError as failed:
        raise Refused(f"{folder}: cannot be read: {failed.strerror}") from failed
    for file in entries:
        suffix = next((s for s in snapshot_file.SUFFIXES if file.name.endswith(s)), None)
        if suffix is None:
            continue
        name = file.name.removesuffix(suffix)
        if name in found:
            raise Refused(f"{file}: cluster {name} has another snapshot, {found[name].name}")
        found[name] = file
    if not found:
        raise Refused(
            f"{folder}: holds no snapshots (expected {', '.join(snapshot_file.SUFFIXES)})"
        )
    return found


def snapshot(
    engine: TaskEngine,
    store: Store,
    tasks: Sequence[stages_snapshot.SnapshotTask],
    *,
    again: bool = False,
) -> FleetOutcome:
    """Read clusters; a task for each."""
    done, kept = _do(
        engine,
        tasks,
        stages_snapshot.perform,
        stages_snapshot.SnapshotResult,
        made=lambda task: not again and stages_snapshot.is_made(store, task),
    )
    lines = [
        Line(d.cluster, d.status, d.reason, figures={"partitions": d.partitions}) for d in done
    ]
    for task in kept:
        head = store.head(schemas.CLUSTERS, task.day, task.cluster) or {}
        lines.append(_made_before(task.cluster, head))
    return _outcome("snapshot", tasks, lines)


def features(
    engine: TaskEngine,
    store: Store,
    tasks: Sequence[load_features.FeaturesTask],
    *,
    again: bool = False,
) -> FleetOutcome:
    """Make the features of clusters; a task for each."""
    readable = [task for task in tasks if _is_ok(store, task.day, task.cluster)]
    done, kept = _do(
        engine,
        readable,
        load_features.perform,
        load_features.FeaturesResult,
        made=lambda task: not again and load_features.is_made(store, task),
    )
    lines = [
        Line(d.cluster, d.status, d.reason, figures={"samples": d.samples, "features": d.features})
        for d in done
    ]
    lines += [Line(task.cluster, OK, made=False) for task in kept]
    return _outcome("features", tasks, lines)


def plan(
    engine: TaskEngine,
    store: Store,
    day: str,
    clusters: Sequence[str],
    *,
    again: bool = False,
    split_from: int = SPLIT_FROM_PARTITIONS,
) -> FleetOutcome:
    """Plan clusters; a task for each, or for each part of a giant one."""
    kept = [
        name
        for name in clusters
        if not again
        and store.is_made(schemas.PLANS, day, name, stages_plan.input_of(store, day, name))
    ]
    todo = [name for name in clusters if name not in set(kept)]
    tasks, merges = stages_plan.tasks_of(store, day, todo, engine.slots, split_from)
    # Parts are joined once all of them exist; that takes little time compared to planning them.
    done = [each for each in _perform(engine, tasks) if not each.pool] + _perform(engine, merges)
    lines = [_plan_lines(each) for each in done]
    lines += [_made_before(name, store.head(schemas.PLANS, day, name) or {}) for name in kept]
    return FleetOutcome("plan", day, tuple(sorted(lines, key=lambda line: line.cluster)))


def _perform(
    engine: TaskEngine, tasks: Sequence[stages_plan.PlanTask]
) -> list[stages_plan.PlanResult]:
    return engine.do(
        tasks, stages_plan.perform, stages_plan.PlanResult, [task.weight for task in tasks]
    )


def _plan_lines(done: stages_plan.PlanResult) -> Line:
    figures = {"partitions": done.partitions, "moves": done.moves, "hash": done.hash}
    return Line(done.cluster, done.status, done.reason, figures=figures)


def _do(
    engine: TaskEngine,
    tasks: Sequence[Any],
    perform: Callable[[Any], Any],
    done: type[T],
    made: Callable[[Any], bool],
) -> tuple[list[T], list[Any]]:
    kept = [task for task in tasks if made(task)]
    there = {task.cluster for task in kept}
    todo = [task for task in tasks if task.cluster not in there]
    return engine.do(todo, perform, done, [1] * len(todo)), kept


def _made_before(cluster: str, head: Mapping[str, Any]) -> Line:
    figures = {name: head.get(name) for name in ("partitions", "moves", "hash") if name in head}
    return Line(cluster, head.get("status", FAILED), head.get("reason") or "", False, figures)


def _is_ok(store: Store, day: str, cluster: str) -> bool:
    head = store.head(schemas.CLUSTERS, day, cluster)
    return head is not None and head["status"] == OK


def _outcome(step: str, tasks: Sequence[Any], lines: Iterable[Line]) -> FleetOutcome:
    day = tasks[0].day if tasks else ""
    ordered = tuple(sorted(lines, key=lambda line: line.cluster))
    return FleetOutcome(step, day, ordered)
