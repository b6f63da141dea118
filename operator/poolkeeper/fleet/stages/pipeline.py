"""The steps of a fleet: which clusters, what of them is there already, who makes the rest.

Each step takes an engine and a lake and returns a `FleetOutcome` with a line for every cluster.
What was made from the same input is not made again. A failure, of this run or of an earlier one, is
a line of the outcome and no error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.results import ClusterOutcome, Job
from poolkeeper.fleet.engines.task_groups import runs, runs_at_most
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.stages import snapshot as stages_snapshot
from poolkeeper.fleet.stages.features.day_features import DayFeatures
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.plan import PlanTask
from poolkeeper.fleet.stages.publishing import (
    FEATURES,
    PLAN,
    SNAPSHOT,
    FleetOutcome,
    Step,
    make_and_publish,
)
from poolkeeper.fleet.stages.snapshot import SnapshotTask
from poolkeeper.fleet.stages.whole_plan import PlanSources

SPLIT_FROM_PARTITIONS = 50_000
"""Clusters below this are never taken apart: reading them again for each part costs more."""
BYTES_PER_FILE = 512 * 1024**2
"""Bytes of the snapshots of several clusters that share files, about at most."""


def snapshot(
    engine: Engine,
    lake: Lake,
    day: str,
    tasks: Sequence[SnapshotTask],
    *,
    again: bool = False,
) -> FleetOutcome:
    """Read clusters; many of them in a task, as reading is waiting."""
    by_name = {task.cluster: task for task in tasks}
    inputs = {name: task.input for name, task in by_name.items()}
    step = Step(engine, lake, SNAPSHOT, day, inputs, again)

    def make(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        todo = [by_name[name] for name in names]
        of_files = any(task.file for task in todo)
        # Files take as long as they are; of a ZooKeeper nobody knows before.
        weights = [task.bytes if of_files else 1 for task in todo]
        at_most = 2 * engine.slots
        if of_files:
            at_most = runs_at_most(engine.slots, weights, BYTES_PER_FILE)
        job = Job(
            f"snapshot {day}",
            todo,
            runs(weights, at_most),
            partial(stages_snapshot.perform, storage=engine.storage),
            step.destination(run),
            threads=1 if of_files else stages_snapshot.CONNECTING_AT_A_TIME,
        )
        return engine.make(job)

    def keep(entry: ClusterEntry) -> bool:
        return entry.is_ok and bool(entry.input) and not entry.later_failure

    return make_and_publish(step, make, keep, outlast=True)


def features(
    engine: Engine,
    lake: Lake,
    day: str,
    options: HistoryOptions,
    samples: str = "",
    *,
    again: bool = False,
) -> FleetOutcome:
    """Make the features of all clusters of that day, from their histories."""
    history = DayFeatures(engine, lake, day, options, root_of(samples) if samples else "")
    inputs = history.inputs()
    step = Step(engine, lake, FEATURES, day, inputs, again)
    made = make_and_publish(step, partial(history.make, step), lambda entry: entry.is_ok)
    return replace(made, warnings=(*history.damaged_days, *history.unread_files))


def plan(
    engine: Engine,
    lake: Lake,
    day: str,
    clusters: Sequence[str],
    *,
    refused: Mapping[str, str] | None = None,
    again: bool = False,
    split_from: int = SPLIT_FROM_PARTITIONS,
) -> FleetOutcome:
    """Plan clusters; a task for each, or for each part of a giant one.

    `refused`: by name of clusters that are declared in a wrong way, what is wrong.
    """
    wrong = refused or {}
    declared, read = manifests.read(lake), lake.current(SNAPSHOT, day)
    loaded = lake.current(FEATURES, day)
    tasks = {
        name: PlanTask(
            name,
            declared[name].text if name in declared else "",
            read.get(name),
            loaded.get(name),
            weight=read[name].partitions if name in read else 0,
            refused=wrong.get(name, ""),
        )
        for name in clusters
    }
    inputs = {
        name: PlanSources(name, declared.get(name), read.get(name), loaded.get(name)).digest(
            wrong.get(name, "")
        )
        for name in clusters
    }
    step = Step(engine, lake, PLAN, day, inputs, again)

    def make(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        tables = step.tables(run)
        listed, merges = stages_plan.tasks_of(
            [tasks[name] for name in names], engine.slots, split_from
        )
        job = Job(
            f"plan {day}",
            listed,
            _slots_of_units(listed, runs_at_most(engine.slots, [task.weight for task in listed])),
            partial(stages_plan.perform, tables=tables),
            step.destination(run),
            merges=merges,
            merge=partial(stages_plan.merge, tables=tables),
        )
        return engine.make(job)

    return make_and_publish(step, make)


def _slots_of_units(tasks: Sequence[PlanTask], at_most: int) -> list[int]:
    """By task, the number of its run: units of clusters together, the heaviest first."""
    units = stages_plan.units_of(tasks, at_most)
    weights = [sum(tasks[place].weight for place in unit) for unit in units]
    slots = [0] * len(tasks)
    for unit, slot in zip(units, runs(weights, at_most), strict=True):
        for place in unit:
            slots[place] = slot
    return slots
