"""The steps `snapshot`, `features` and `plan` of `poolkeeper fleet`, from options to outcomes."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.output import left_alone, printing
from poolkeeper.errors import InvalidInput, Refused, wrong_field, wrong_file
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse.files import real_path
from poolkeeper.resources.parse.quantities import positive_duration_s
from poolkeeper.text import listed

if TYPE_CHECKING:
    from poolkeeper.fleet.engines.engines import Engine
    from poolkeeper.fleet.lake.filesystems import Storage
    from poolkeeper.fleet.lake.lake import Lake
    from poolkeeper.fleet.lake.objects import Objects, StoredObject
    from poolkeeper.fleet.stages.features.load_features import HistoryOptions
    from poolkeeper.fleet.stages.publishing import FleetOutcome
    from poolkeeper.fleet.stages.snapshot import SnapshotTask


YEAR_MIN, YEAR_MAX = 1970, 9899
"""Years of days and begins: what is counted from them is a time that a calendar has."""
FIRST_ZONE = timezone(timedelta(hours=14))
"""Where a day begins first."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@frozen
class FleetWork:
    """The engine of a step, where its tables are, and whether rows that exist are made again."""

    engine: "Engine"
    lake: "Lake"
    again: bool = False

    @property
    def storage(self) -> "Storage":
        """How tables are opened here; on this machine without Spark."""
        filesystems = snapshot_files.fleet("lake.filesystems")
        is_local = filesystems.local_path(self.lake.root) is not None
        found: Storage = filesystems.Storage() if is_local else self.engine.storage
        return found

    def objects(self, uri: str) -> "Objects":
        """Small objects below a URI or folder."""
        return self.engine.objects(snapshot_files.fleet("lake.filesystems").root_of(uri))


@frozen
class DeclaredFleet:
    """What manifests declare; `refused`: by name of clusters of which they do not, why."""

    desired: Sequence[Desired] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All clusters that are named."""
        return sorted([*(each.cluster.name for each in self.desired), *self.refused])


@frozen
class ReadingOptions:
    """The options of the step `snapshot` as given."""

    snapshots: str | None
    client_config: Path | None
    timeout_s: float
    deadline_s: float


def refuse_among_manifests(out: Path | None, folders: Sequence[Path]) -> None:
    """Raise `Refused` for tables in a folder of manifests: pages of plans would be read as such."""
    for each in folders:
        inside = out is not None and Path(real_path(out)).is_relative_to(real_path(each))
        if inside and os.path.isdir(each):
            said = f"lies in the manifests' folder {each}, which the next run would read"
            raise wrong_file(out, f"{said} (expected --out outside of all -f)")


def require_folder(where: str) -> None:
    """Raise `Refused` for a file, a device or a pipe of this machine where a folder is expected."""
    filesystems = snapshot_files.fleet("lake.filesystems")
    path = filesystems.local_path(filesystems.root_of(where))
    if path is not None and os.path.exists(path) and not os.path.isdir(path):
        raise wrong_file(where, "is a file (expected a folder)")


def load_manifests(paths: tuple[Path, ...]) -> DeclaredFleet:
    """Read manifests; raises for what is wrong with them."""
    if not paths:
        return DeclaredFleet()
    manifests, refused = folder.load_fleet(paths)
    if not manifests.clusters:
        raise Refused("the manifests hold no KafkaCluster (expected one or more)")
    left_alone.tell(manifests.others)
    return DeclaredFleet([manifests.desired(spec.name) for spec in manifests.clusters], refused)


def write_manifests(lake: "Lake", declared: DeclaredFleet) -> None:
    """Keep what is declared; of clusters that are refused, what was declared before."""
    if declared.desired:
        snapshot_files.fleet("lake.manifests").write(lake, declared.desired)


def snapshot(
    work: FleetWork, day: str | None, declared: DeclaredFleet, options: ReadingOptions
) -> list["FleetOutcome"]:
    """Read every cluster that is declared; by day, as files may be of several.

    Raises `Refused` for a ZooKeeper and another day than today: it would tell of that day what it
    holds now.
    """
    now_ms = time.time_ns() // 1_000_000
    now = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
    today = day or now
    if options.snapshots is None and today != now:
        said = f"a ZooKeeper tells of today alone, {now} in UTC"
        expected = "no --day, or --snapshots URI with snapshots of that day"
        raise wrong_field(f"--day {today}", f"{said} (expected {expected})")
    write_manifests(work.lake, declared)
    if options.snapshots is None:
        made = _Tasks(work, declared, options, today, now_ms)
        by_day = {today: [made.of_zookeeper(name) for name in declared.names]}
    else:
        by_day = _tasks_of_files(work, declared, options, (day, today), now_ms)
    pipeline = snapshot_files.fleet("stages.pipeline")
    return [
        pipeline.snapshot(work.engine, work.lake, each, tasks, again=work.again)
        for each, tasks in sorted(by_day.items())
    ]


def _tasks_of_files(
    work: FleetWork,
    declared: DeclaredFleet,
    options: ReadingOptions,
    days: tuple[str | None, str],
    now_ms: int,
) -> dict[str, list["SnapshotTask"]]:
    """The tasks of every day; `days`: the one that is asked for, if one is, and today."""
    where = str(options.snapshots)
    require_folder(where)
    objects = work.objects(where)
    files = _files_by_day(objects, where, *days)
    names = set(declared.names)
    printing.warn(
        f"{where}/{file.path}: nothing is declared for cluster {name}"
        for _, of_day in sorted(files.items())
        for name in sorted(set(of_day) - names)
        for file in of_day[name]
    )
    if not any(names & set(of_day) for of_day in files.values()):
        raise Refused("none of these snapshots is of a declared cluster")
    made = {day: _Tasks(work, declared, options, day, now_ms, objects.root) for day in files}
    # On the last day one that is declared and has no file is a cluster that cannot be read.
    return {
        day: [
            made[day].of_files(name, of_day[name])
            if name in of_day
            else made[day].without_file(name, of_day)
            for name in declared.names
            if name in of_day or day == max(files)
        ]
        for day, of_day in files.items()
        if names & set(of_day)
    }


def _files_by_day(
    objects: "Objects", where: str, asked: str | None, today: str
) -> dict[str, dict[str, list["StoredObject"]]]:
    """Files by day and cluster, only of the day that is asked for; those of no day are today's."""
    files: dict[str, dict[str, list[StoredObject]]] = {}
    found = snapshot_files.fleet("stages.snapshot").files_by_day(objects, where)
    for day, of_day in found.items():
        if day:
            folder_is = partial(wrong_file, f"{where}/day={day}")
            end_of(day, folder_is)
            refuse_days_to_come(day, folder_is)
        if asked in (None, day or today):
            for name, listed_files in of_day.items():
                files.setdefault(day or today, {}).setdefault(name, []).extend(listed_files)
    if not files:
        raise wrong_file(where, f"holds no snapshots of {asked}")
    return files


class _Tasks:
    """Makes the tasks of a day; `folder`: the URI of files."""

    def __init__(
        self,
        work: FleetWork,
        declared: DeclaredFleet,
        options: ReadingOptions,
        day: str,
        now_ms: int,
        folder: str = "",
    ) -> None:
        self._manifests = snapshot_files.fleet("lake.manifests").read(work.lake)
        self._declared, self._options = declared, options
        self._now_ms, self._folder = now_ms, folder
        self._end_ms = round(end_of(day).timestamp() * 1000)

    def of_zookeeper(self, name: str) -> "SnapshotTask":
        return self._task(name, now_ms=self._now_ms, input=self._input(name))

    def of_files(self, name: str, files: Sequence["StoredObject"]) -> "SnapshotTask":
        """Read the file; one that does not say when it was read was so on that day."""
        refused = ""
        if len(files) > 1:
            places = listed(f"{self._options.snapshots}/{file.path}" for file in files)
            refused = f"it has {len(files)} snapshots of a day, {places} (expected one)"
        file = files[0]
        return self._task(
            name,
            refused,
            now_ms=min(self._now_ms, self._end_ms - 1),
            day_end_ms=self._end_ms,
            folder=self._folder,
            file=file.path,
            bytes=file.bytes,
            input=self._input(name, file),
        )

    def without_file(
        self, name: str, of_day: Mapping[str, Sequence["StoredObject"]]
    ) -> "SnapshotTask":
        """Tell where the files of the others are, and how one of this cluster would be named."""
        paths = {file.path for files in of_day.values() for file in files}
        folders = sorted({f"{self._options.snapshots}/{path}".rpartition("/")[0] for path in paths})
        suffixes = snapshot_files.fleet("storage.snapshot_file").SUFFIXES
        names = listed((f"{name}{suffix}" for suffix in suffixes), "or")
        refused = f"{listed(folders)}: no snapshot of {name} is there (expected {names})"
        return self._task(name, refused, now_ms=min(self._now_ms, self._end_ms - 1))

    def _input(self, name: str, file: "StoredObject | None" = None) -> str:
        manifest = self._manifests.get(name)
        found: str = snapshot_files.fleet("stages.snapshot").input_of_snapshot(
            manifest.digest if manifest else "", self._folder, file
        )
        return found

    def _task(self, name: str, refused: str = "", **given: Any) -> "SnapshotTask":
        options, manifest = self._options, self._manifests.get(name)
        config = options.client_config
        task: SnapshotTask = snapshot_files.fleet("stages.snapshot").SnapshotTask(
            name,
            manifest.text if manifest else "",
            refused=self._declared.refused.get(name, refused),
            client_config=str(config.absolute()) if config else "",
            timeout_s=options.timeout_s,
            deadline_s=options.deadline_s,
            **given,
        )
        return task


@frozen
class FeatureOptions:
    """What features are made of: where samples lie, if anywhere, and how history is cut."""

    samples: str
    history: "HistoryOptions"


def feature_options(
    samples: str | None, history: str, step: str | None, coverage: float
) -> FeatureOptions:
    """The options of `fleet features`; raises `Refused` where they are wrong."""
    if samples is not None:
        require_folder(samples)
    window_s = _duration_s("--history", history)
    step_s = 0 if step is None else _duration_s("--step", step)
    if step_s > window_s:
        said = f"is longer than the history of {history} (expected a part of it)"
        raise wrong_field(f"--step {step}", said)
    cut = snapshot_files.fleet("stages.features.load_features").HistoryOptions(
        window_s=window_s, step_s=step_s, coverage_min=coverage
    )
    return FeatureOptions(samples or "", cut)


def features(work: FleetWork, day: str, options: FeatureOptions) -> "FleetOutcome":
    """Make the features of every cluster that was read that day."""
    _clusters(work.lake, day)
    outcome: FleetOutcome = snapshot_files.fleet("stages.pipeline").features(
        work.engine, work.lake, day, options.history, options.samples, again=work.again
    )
    return outcome


def _duration_s(option: str, words: str) -> int:
    try:
        return positive_duration_s(words)
    except Refused as unread:
        raise wrong_field(option, str(unread)) from unread


def plan(work: FleetWork, day: str, refused: Mapping[str, str]) -> "FleetOutcome":
    """Plan every cluster that has a snapshot of that day, or is declared in a wrong way."""
    names = sorted({*_clusters(work.lake, day), *refused})
    outcome: FleetOutcome = snapshot_files.fleet("stages.pipeline").plan(
        work.engine, work.lake, day, names, refused=refused, again=work.again
    )
    return outcome


Wrong = Callable[[str], InvalidInput]
"""The error of where a day was given."""
_WRONG_DAY: Wrong = partial(wrong_field, "day")


def end_of(day: str, wrong: Wrong = _WRONG_DAY) -> datetime:
    """The end of a day; raises what `wrong` makes of the reason for what is no day."""
    said = f"{day!r} cannot be a folder of tables (expected YYYY-MM-DD"
    try:
        begin = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as unread:
        raise wrong(f"{said})") from unread
    if not (_DAY.fullmatch(day) and YEAR_MIN <= begin.year <= YEAR_MAX):
        raise wrong(f"{said}, a year from {YEAR_MIN} to {YEAR_MAX})")
    return begin + timedelta(days=1)


def refuse_days_to_come(day: str, wrong: Wrong) -> None:
    """Raise for a day that has begun nowhere: later steps would take it for the latest."""
    latest = datetime.now(FIRST_ZONE).date().isoformat()
    if day > latest:
        raise wrong(f"that day has not begun anywhere (expected {latest} or earlier)")


def _clusters(lake: "Lake", day: str) -> tuple[str, ...]:
    names = tuple(sorted(lake.current("snapshot", day)))
    if not names:
        place = snapshot_files.fleet("lake.filesystems").place_of(lake.root)
        raise wrong_file(place, f"holds no snapshots of {day}")
    return names
