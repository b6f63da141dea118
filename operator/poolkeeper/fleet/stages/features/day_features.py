"""The features of a day: from which histories they are made, and the jobs that make them.

A cluster with few samples is held by one task. Samples of larger ones are read as rows; those of
the largest are exchanged between tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.histories import HistoryJob
from poolkeeper.fleet.engines.results import ClusterOutcome, Job
from poolkeeper.fleet.engines.task_groups import TASKS_PER_SLOT, runs, runs_at_most
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.lake import Lake, StepRun, digest_of_file, input_digest
from poolkeeper.fleet.lake.objects import StoredObject
from poolkeeper.fleet.stages.features import load_features
from poolkeeper.fleet.stages.features.feature_rows import METRICS
from poolkeeper.fleet.stages.features.history_sources import SourceTask
from poolkeeper.fleet.stages.features.load_features import FeaturesTask, HistoryOptions, HistoryTask
from poolkeeper.fleet.stages.publishing import SNAPSHOT, Step, entries_of_run
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.stages.whole_plan import made_in
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.text import few

HELD_SAMPLES = 2_000_000
"""Samples of a cluster that one task holds, at most: some 150 bytes each."""
SHARE_SAMPLES = 1_000_000
"""Samples of larger clusters that are exchanged into one partition, about."""
BYTES_OF_SIZE, BYTES_OF_SAMPLE = 4, 8
"""What a partition's size takes in a snapshot, and a sample in a file, about."""


class DayFeatures:
    """The histories from which the features of a day are made, and the making."""

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
        return {
            name: input_digest(
                "features",
                str((self._options.window_s, self._step_s(name), self._options.coverage_min)),
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
                name, self._declared[name].text, self._read[name], self._read[name].partitions
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
        at_most = runs_at_most(self._engine.slots, [task.weight for task in tasks.values()])
        job = Job(
            f"features {self._day}",
            whole,
            runs([_weight(each) for each in whole], at_most),
            partial(load_features.perform, tables=tables, storage=storage, at_most=HELD_SAMPLES),
            step.destination(run),
        )
        return self._with_rows(step, run, whole, self._engine.make(job))

    def _with_rows(
        self,
        step: Step,
        run: StepRun,
        whole: Sequence[HistoryTask],
        made: Sequence[ClusterOutcome],
    ) -> Sequence[ClusterOutcome]:
        """The outcomes; clusters whose samples no task holds are made again, from rows."""
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
        slots = runs(weights, runs_at_most(self._engine.slots, weights))
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
                if file.is_hidden:
                    continue
                names = [p for p in file.path.split("/")[:-1] if p.startswith("cluster=")]
                if names and file.name.endswith(".parquet"):
                    found.setdefault(names[-1].removeprefix("cluster="), []).append(file)
                else:
                    others.append(file.path)
            if not found:
                raise Refused(
                    f"{self._samples}: holds no samples (expected .parquet files below"
                    " cluster=NAME/; names that begin with . or _ are left out)"
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
        return load_features.window_of(
            self._declared[task.cluster].desired,
            read_ms,
            self._options,
            has_samples=self._has_samples(task.cluster),
        )

    def _step_s(self, name: str) -> int:
        return load_features.step_of(self._options, has_samples=self._has_samples(name))

    def _has_samples(self, name: str) -> bool:
        """Whether there is more of a cluster than its snapshots."""
        desired = self._declared[name].desired
        return name in self._files or load_features.asks_prometheus(desired)

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
        return entries_of_run(step, run, self._engine.make(job))

    def _sources(self, name: str, kept: ClusterEntry | None) -> Iterator[SourceTask]:
        for file in self._files.get(name, ()):
            yield SourceTask(name, self._samples, file.path, file.bytes)
        for day, found in self._by_day.items():
            entry = found.get(name)
            if entry is not None and entry.is_ok:
                yield SourceTask(
                    name,
                    bytes=BYTES_OF_SIZE * entry.partitions,
                    snapshot=entry,
                    is_earlier=day != self._day,
                )
        if kept is not None:
            yield SourceTask(name, samples=kept)


def _weight(task: HistoryTask) -> int:
    """How much work the features of a cluster are: a row for each partition, and its samples."""
    stored = sum(source.bytes for source in task.sources)
    return task.cluster.weight + stored // BYTES_OF_SAMPLE
