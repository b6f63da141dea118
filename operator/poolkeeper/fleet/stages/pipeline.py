"""The steps of a fleet: which clusters, what of them is there already, who makes the rest.

Each step takes an engine and a lake and returns a `FleetOutcome` with a line for every cluster.
What was made from the same input is not made again. A failure, of this run or of an earlier one, is
a line of the outcome and no error.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.histories import HistoryJob
from poolkeeper.fleet.engines.results import ClusterOutcome, Job
from poolkeeper.fleet.engines.task_groups import runs
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import DAY, Lake, StepRun, digest_of_file, input_digest
from poolkeeper.fleet.lake.objects import Objects, StoredObject
from poolkeeper.fleet.stages import plan as stages_plan
from poolkeeper.fleet.stages import snapshot as stages_snapshot
from poolkeeper.fleet.stages.features import load_features
from poolkeeper.fleet.stages.features.feature_rows import METRICS
from poolkeeper.fleet.stages.features.history_sources import SourceTask
from poolkeeper.fleet.stages.features.load_features import FeaturesTask, HistoryOptions, HistoryTask
from poolkeeper.fleet.stages.plan import PlanTask
from poolkeeper.fleet.stages.publishing import (
    FEATURES,
    PLAN,
    SNAPSHOT,
    FleetOutcome,
    Step,
    carry_out,
    entries_of,
)
from poolkeeper.fleet.stages.snapshot import SnapshotTask
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.stages.whole_plan import PlanSources, made_in
from poolkeeper.fleet.storage import snapshot_file
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.text import few

SPLIT_FROM_PARTITIONS = 50_000
"""Clusters below this are never taken apart: reading them again for each part costs more."""
TASKS_PER_SLOT = 16
ROWS_PER_FILE = 4_000_000
BYTES_PER_FILE = 512 * 1024**2
"""Partitions of several clusters that share files, and bytes of their snapshots, about at most."""
HELD_SAMPLES = 2_000_000
"""Samples of a cluster that one task holds, at most: some 150 bytes each."""
SHARE_SAMPLES = 1_000_000
"""Samples of larger clusters that are exchanged into one partition, about."""
BYTES_OF_SIZE, BYTES_OF_SAMPLE = 4, 8
"""What a partition's size takes in a snapshot, and a sample in a file, about."""


SnapshotFiles = dict[str, list[StoredObject]]
"""Files of one day by cluster; a cluster should have one."""


def snapshot_files(objects: Objects, folder: str) -> dict[str, SnapshotFiles]:
    """Snapshot files by day, those of no day under ""; raises `Refused` where there are none.

    `main.json.gz` is of cluster `main`; files in `day=2026-03-01/` are of that day.
    """
    found: dict[str, SnapshotFiles] = {}
    for file in objects.children(""):
        day = file.name.removeprefix("day=") if file.is_folder else ""
        if file.is_folder and not DAY.fullmatch(file.name.removeprefix("day=")):
            continue
        for each in objects.children(file.path) if file.is_folder else (file,):
            suffix = next((s for s in snapshot_file.SUFFIXES if each.name.endswith(s)), None)
            if suffix is not None and not each.is_folder:
                of_day = found.setdefault(day, {})
                of_day.setdefault(each.name.removesuffix(suffix), []).append(each)
    if not found:
        raise Refused(
            f"{folder}: holds no snapshots (expected {', '.join(snapshot_file.SUFFIXES)})"
        )
    return found


def input_of_snapshot(declared: str, folder: str, file: StoredObject | None) -> str:
    """The digest of what is to be read of a cluster; `folder`: of files, empty: its ZooKeeper.

    `declared`: the digest of what is declared of it.
    """
    if folder and file is None:
        return ""
    if file is None:
        return input_digest("snapshot", "zookeeper", declared)
    return input_digest("snapshot", "file", digest_of_file(file, folder))


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
        at_most = _at_most(engine, weights, BYTES_PER_FILE) if of_files else 2 * engine.slots
        job = Job(
            f"snapshot {day}",
            todo,
            runs(weights, at_most),
            partial(stages_snapshot.perform, storage=engine.storage),
            step.destination(run),
            threads=1 if of_files else stages_snapshot.CONNECTING_AT_A_TIME,
        )
        return engine.make(job)

    return carry_out(step, make, lambda entry: entry.is_ok and bool(entry.input))


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
    history = _History(engine, lake, day, options, root_of(samples) if samples else "")
    inputs = history.inputs()
    step = Step(engine, lake, FEATURES, day, inputs, again)
    made = carry_out(step, partial(history.make, step), lambda entry: entry.is_ok)
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
            weight=_partitions(read.get(name)),
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
            _slots_of_units(listed, _at_most(engine, [task.weight for task in listed])),
            partial(stages_plan.perform, tables=tables),
            step.destination(run),
            merges=merges,
            merge=partial(stages_plan.merge, tables=tables),
        )
        return engine.make(job)

    return carry_out(step, make)


class _History:
    """What the features of a day are made from."""

    def __init__(
        self, engine: Engine, lake: Lake, day: str, options: HistoryOptions, samples: str
    ) -> None:
        self._engine, self._lake, self._day, self._options = engine, lake, day, options
        self._samples = samples
        self._declared = manifests.read(lake)
        self._by_day, self.damaged_days = self._snapshots()
        self._read = {
            name: entry
            for name, entry in self._by_day.get(day, {}).items()
            if entry.is_ok and name in self._declared
        }
        self._files, self.unread_files = self._sample_files()

    def inputs(self) -> dict[str, str]:
        """By cluster, the digest of its history; answers of Prometheus are not part of it."""
        options = (self._options.window_s, self._options.step_s, self._options.coverage_min)
        return {
            name: input_digest(
                "features",
                str(options),
                self._declared[name].digest,
                *(f"{day}: {made_in(found.get(name))}" for day, found in self._by_day.items()),
                *(digest_of_file(file, self._samples) for file in self._files.get(name, ())),
            )
            for name in self._read
        }

    def make(self, step: Step, run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        """The features of these clusters."""
        tables, storage = step.tables(run), self._engine.storage
        tasks = {
            name: FeaturesTask(
                name, self._declared[name].text, self._read[name], _partitions(self._read[name])
            )
            for name in names
        }
        windows = {name: self._window(task, tables) for name, task in tasks.items()}
        kept = self._ask(step, run, list(tasks.values()), windows)
        whole = [
            HistoryTask(
                replace(task, samples=kept.get(name)),
                tuple(self._sources(name, kept.get(name))),
                windows[name],
            )
            for name, task in tasks.items()
        ]
        at_most = _at_most(self._engine, [task.weight for task in tasks.values()])
        job = Job(
            f"features {self._day}",
            whole,
            runs([_weight(each) for each in whole], at_most),
            partial(load_features.perform, tables=tables, storage=storage, at_most=HELD_SAMPLES),
            step.destination(run),
        )
        made = self._engine.make(job)
        counts = {
            each.cluster: int(each.figures[load_features.AS_ROWS])
            for each in made
            if load_features.AS_ROWS in each.figures
        }
        found = [each for each in made if each.cluster not in counts]
        for exchanged in (False, True):
            todo = [
                each
                for each in whole
                if each.cluster.cluster in counts
                and (counts[each.cluster.cluster] > HELD_SAMPLES) == exchanged
            ]
            if todo:
                samples = sum(counts[each.cluster.cluster] for each in todo)
                parts = -(-samples // SHARE_SAMPLES) if exchanged else 0
                found += self._engine.make_features(self._as_rows(step, run, todo, parts))
        return found

    def _as_rows(
        self, step: Step, run: StepRun, todo: Sequence[HistoryTask], parts: int
    ) -> HistoryJob:
        """How features are made of samples that are rows; `parts`: see `HistoryJob`."""
        tables, storage = step.tables(run), self._engine.storage
        windows = {each.cluster.cluster: each.window for each in todo}
        weights = [_weight(each) for each in todo]
        slots = runs(weights, _at_most(self._engine, weights))
        sources = [task for each in todo for task in (each.cluster, *each.sources)]
        if parts:
            sizes = [task.bytes if isinstance(task, SourceTask) else 0 for task in sources]
            source_slots = runs(sizes, TASKS_PER_SLOT * self._engine.slots)
        else:
            source_slots = [
                slot
                for each, slot in zip(todo, slots, strict=True)
                for _ in (each.cluster, *each.sources)
            ]
        return HistoryJob(
            f"features {self._day}",
            sources,
            source_slots,
            partial(load_features.read, tables=tables, storage=storage, windows=windows),
            METRICS,
            min(window.begin_ms for window in windows.values()),
            max(window.end_ms for window in windows.values()),
            parts,
            partial(load_features.figures, windows=windows),
            partial(load_features.gather, tables=tables),
            dict(zip(windows, slots, strict=True)),
            step.destination(run),
        )

    def _snapshots(self) -> tuple[dict[str, dict[str, ClusterEntry]], tuple[str, ...]]:
        """The snapshots of this day and days before it, and what is damaged of those before.

        Days count whether or not they lie in the window. Raises `DamagedFile` for this day.
        """
        found: dict[str, dict[str, ClusterEntry]] = {}
        damaged = []
        for day in reversed([each for each in self._lake.days(SNAPSHOT) if each <= self._day]):
            if len(found) == 2 + self._options.window_s // 86_400:
                break
            try:
                if entries := self._lake.current(SNAPSHOT, day):
                    found[day] = entries
            except DamagedFile as wrong:
                if day == self._day:
                    raise
                damaged.append(load_features.LEFT_OUT + wrong.line)
        return dict(sorted(found.items())), tuple(reversed(damaged))

    def _sample_files(self) -> tuple[Mapping[str, Sequence[StoredObject]], tuple[str, ...]]:
        """Files of samples by cluster, sorted; and what is said of files that are not read."""
        found: dict[str, list[StoredObject]] = {}
        others = []
        if self._samples:
            for file in self._engine.objects(self._samples).files(""):
                names = [p for p in file.path.split("/")[:-1] if p.startswith("cluster=")]
                if names and file.name.endswith(".parquet"):
                    found.setdefault(names[-1].removeprefix("cluster="), []).append(file)
                elif not file.name.startswith((".", "_")):  # Spark's own
                    others.append(file.path)
            if not found:
                raise Refused(
                    f"{self._samples}: holds no samples (expected .parquet files below"
                    " cluster=NAME/)"
                )
        return found, tuple(self._unread(found, others))

    def _unread(self, found: Mapping[str, object], others: Sequence[str]) -> Iterator[str]:
        """What is said of files that are of no cluster of the day, or no Parquet."""
        if unknown := sorted(set(found) - set(self._read)):
            told = few(f"cluster={name}" for name in unknown)
            yield f"{self._samples}: of no cluster that was read on {self._day}: {told}"
        if others:
            files = few(sorted(others))
            yield f"{self._samples}: not read (expected .parquet below cluster=NAME/): {files}"

    def _window(self, task: FeaturesTask, tables: Tables) -> HistoryWindow:
        read_ms = int(task.snapshot.figures["read_ms"])
        return load_features.window_of(self._declared[task.cluster].desired, read_ms, self._options)

    def _ask(
        self,
        step: Step,
        run: StepRun,
        tasks: Sequence[FeaturesTask],
        windows: Mapping[str, HistoryWindow],
    ) -> Mapping[str, ClusterEntry]:
        """Samples of clusters with a Prometheus, kept as rows of the run."""
        todo = [
            task
            for task in tasks
            if load_features.asks_prometheus(self._declared[task.cluster].desired)
        ]
        if not todo:
            return {}
        ask = partial(load_features.ask, windows=windows, deadline_s=self._options.deadline_s)
        slots = runs([1] * len(todo), 2 * self._engine.slots)
        job = Job(f"samples {self._day}", todo, slots, ask, step.destination(run), threads=8)
        return entries_of(step, run, self._engine.make(job))

    def _sources(self, name: str, kept: ClusterEntry | None) -> Iterator[SourceTask]:
        for file in self._files.get(name, ()):
            yield SourceTask(name, self._samples, file.path, file.bytes)
        for day, found in self._by_day.items():
            entry = found.get(name)
            if entry is not None and entry.is_ok:
                yield SourceTask(
                    name,
                    bytes=BYTES_OF_SIZE * _partitions(entry),
                    snapshot=entry,
                    is_earlier=day != self._day,
                )
        if kept is not None:
            yield SourceTask(name, samples=kept)


def _at_most(engine: Engine, weights: Sequence[int], per_file: int = ROWS_PER_FILE) -> int:
    """How many partitions a job has: many for each slot, so that the last ones end together."""
    return max(TASKS_PER_SLOT * engine.slots, -(-sum(weights) // per_file))


def _slots_of_units(tasks: Sequence[PlanTask], at_most: int) -> list[int]:
    """By task, the number of its run: units of clusters together, the heaviest first."""
    units = stages_plan.units_of(tasks, at_most)
    weights = [sum(tasks[place].weight for place in unit) for unit in units]
    slots = [0] * len(tasks)
    for unit, slot in zip(units, runs(weights, at_most), strict=True):
        for place in unit:
            slots[place] = slot
    return slots


def _weight(task: HistoryTask) -> int:
    """How much work the features of a cluster are: a row for each partition, and its samples."""
    stored = sum(source.bytes for source in task.sources)
    return task.cluster.weight + stored // BYTES_OF_SAMPLE


def _partitions(entry: ClusterEntry | None) -> int:
    return int(entry.figures.get("partitions", 0)) if entry else 0
