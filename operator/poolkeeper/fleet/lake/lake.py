"""Runs, which of them count, and what is swept.

A run writes files into folders of its own: `ROOT/TABLE/day=D/run=ID`. Nobody looks there until the
run is published: by one object, `ROOT/current/step=S/day=D/VERSION.parquet`, with a row for every
cluster of the day. It is put whole, under a new name; the largest version counts (`versions`).
So a run that was killed leaves nothing that is seen, and hides nothing. Rows are never changed:
what a run does not make again stays where an earlier run wrote it, and the new object says so.

**Sweeping.** `ROOT/runs/ID.json` says that a run has begun. It is removed when the run is
published, and put again for a run that another one replaces altogether. What is older than the
grace time, and is not named by the object that counts, is deleted with all of the run's folders. A
run touches its object while it works, so that it never looks old. An object that counted may be
damaged or gone, and then names no runs: a publication puts `ROOT/runs/ID.json` for each folder of
its step and day that no entry names and that has none. So every folder of a run is named by what
counts, or has an object in `ROOT/runs`, or gets one with the next publication. A task that was
given up may put rows down after its run is over: they go once they are older than the grace time.
"""

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from poolkeeper import __version__
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake import entries as lake_entries
from poolkeeper.fleet.lake.attempts import ATTEMPTS, folder_of_run
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.objects import PART, Objects, StoredObject, replace_object
from poolkeeper.fleet.lake.steps import STEP_OF, TABLES_OF
from poolkeeper.fleet.lake.versions import RowVersions, list_versions
from poolkeeper.fleet.storage import codecs
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen
from poolkeeper.text import few

GRACE_S = 24 * 3600.0
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
"""How a day is written, in folders and in options."""
_RUN_ID = re.compile(r"\d{8}T\d{9}-[0-9a-f]{6}", re.ASCII)
_RUNS, _CURRENT = "runs", "current"
_OLD_LAYOUT = ("manifests", "clusters")
Prepare = Callable[[Mapping[str, ClusterEntry], Mapping[str, ClusterEntry]], None]
Succeed = Callable[[ClusterEntry, ClusterEntry], ClusterEntry]
"""What counts of a cluster of which this counted, and that was made."""


@frozen
class StepRun:
    """A run of a step for a day; `tables` are those that it may write."""

    id: str
    step: str
    day: str
    tables: tuple[str, ...]

    def folder(self, table: TableSchema | str) -> str:
        """The folder, below the root, to which the run writes the table."""
        name = table if isinstance(table, str) else table.name
        return folder_of_run(name, self.day, self.id)


@frozen
class Lake:
    """The tables below a root; `now_ms` returns the time."""

    objects: Objects
    grace_s: float = GRACE_S
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    @property
    def root(self) -> str:
        """The URI of the root."""
        return self.objects.root

    def check(self) -> None:
        """Raise `Refused` for a folder of tables of an earlier layout."""
        for table in _OLD_LAYOUT:
            if any(each.name.startswith("cluster=") for each in self.objects.children(table)):
                raise Refused(
                    f"{self.root}: holds tables of an earlier layout (one folder for each cluster):"
                    " choose another folder"
                )

    def days(self, step: str) -> tuple[str, ...]:
        """The days with a folder of a step, ascending; nothing may count in it."""
        found = self.objects.children(f"{_CURRENT}/step={step}")
        names = [each.name.removeprefix("day=") for each in found if each.is_folder]
        return tuple(sorted(name for name in names if DAY.fullmatch(name)))

    def latest_days(self, step: str, before: str = "") -> Iterator[str]:
        """The days on which something of a step counts, the latest first.

        `before`: only days before that one. A day whose version cannot be read is among them, so
        that whoever asks for it is told.
        """
        for day in reversed(self.days(step)):
            if not before or day < before:
                try:
                    if self.current(step, day):
                        yield day
                except DamagedFile:
                    yield day

    def current(self, step: str, day: str) -> dict[str, ClusterEntry]:
        """What counts of a step and a day, by cluster; empty where there is nothing.

        Raises `Refused` for what is no day, `DamagedFile` for what cannot be read.
        """
        if not DAY.fullmatch(day):
            raise Refused(f"day {day!r} cannot be a folder of tables (expected YYYY-MM-DD)")
        return self._versions(step, day).current()

    def readable(self, step: str, day: str) -> dict[str, ClusterEntry]:
        """The latest readable version of what counts, from which the next version is made."""
        return self._versions(step, day).readable()

    def begin(self, step: str, day: str, tables: Iterable[TableSchema]) -> StepRun:
        """Begin a run, and sweep what earlier ones left."""
        self.sweep()
        at = datetime.fromtimestamp(self.now_ms() / 1000, UTC)
        name = f"{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03d}-{secrets.token_hex(3)}"
        run = StepRun(name, step, day, tuple(table.name for table in tables))
        self._mark(run)
        return run

    def publish(
        self,
        run: StepRun,
        made: Iterable[ClusterEntry],
        succeed: Succeed | None = None,
    ) -> dict[str, ClusterEntry]:
        """Make these rows what counts of the run's step and day, at once; returns what counts.

        `succeed`: what counts of a cluster that was there; what was made, if it is not given.
        Those of other clusters stay as they are by then, whoever has made them. See `versions` for
        several runs at once. Raises `Unavailable` where files of the run are gone: it stood still
        for so long that another one has swept it, and what counts is better.
        """
        own = {entry.cluster: entry for entry in made}
        if gone := sorted(own.keys() - self.whole(own).keys()):
            raise Unavailable(
                f"{self.root}: what this run has written of {few(gone)} is gone, as another run has"
                " deleted it (expected no run to stand still for a day): run the step again"
            )

        def prepare(before: Mapping[str, ClusterEntry], after: Mapping[str, ClusterEntry]) -> None:
            used = _runs(after)
            replaced = _runs(before) - used - {run.id}
            for each in replaced | self._lost(run, used):
                self._mark(replace(run, id=each))

        def changed(before: Mapping[str, ClusterEntry]) -> dict[str, ClusterEntry]:
            both = own.keys() & before.keys()
            known = {name: succeed(before[name], own[name]) for name in both} if succeed else {}
            return {**before, **own, **known}

        after = self._change(run.step, run.day, changed, prepare)
        if run.id in _runs(after):
            self.objects.delete(f"{_RUNS}/{run.id}.json")
        return after

    def drop(
        self, step: str, day: str, clusters: Container[str], tables: Iterable[TableSchema]
    ) -> None:
        """Let no rows of these clusters count any more; `sweep` deletes their files in time."""
        names = tuple(table.name for table in tables)

        def kept(before: Mapping[str, ClusterEntry]) -> dict[str, ClusterEntry]:
            return {name: entry for name, entry in before.items() if name not in clusters}

        def prepare(before: Mapping[str, ClusterEntry], after: Mapping[str, ClusterEntry]) -> None:
            for run in _runs(before) - _runs(after):
                self._mark(StepRun(run, step, day, names))

        found = self.current(step, day)
        if kept(found) != found:
            self._change(step, day, kept, prepare)

    def distrust(self, step: str, day: str, paths: Iterable[str]) -> tuple[str, ...]:
        """Have the next run make again what these files hold; returns the clusters concerned."""
        wrong = set(paths)

        def hit(entry: ClusterEntry) -> bool:
            return any(file.path in wrong for file in entry.files)

        def distrusted(before: Mapping[str, ClusterEntry]) -> dict[str, ClusterEntry]:
            return {name: e.without_input() if hit(e) else e for name, e in before.items()}

        try:
            found = self.current(step, day)
        except DamagedFile:
            return ()  # all of it is made again
        concerned = tuple(sorted(name for name, entry in found.items() if hit(entry)))
        if concerned:
            self._change(step, day, distrusted)
        return concerned

    def whole(self, entries: Mapping[str, ClusterEntry]) -> dict[str, ClusterEntry]:
        """The entries whose files are all there, with the lengths that they were written with."""
        folders = {
            file.path.rpartition("/")[0] for entry in entries.values() for file in entry.files
        }
        there = {
            each.path: each.bytes for folder in folders for each in self.objects.children(folder)
        }
        return {
            name: entry
            for name, entry in entries.items()
            if all(there.get(file.path) == file.bytes for file in entry.files)
        }

    def sweep(self) -> tuple[str, ...]:
        """Delete runs that do not count and are older than the grace time; returns their ids."""
        oldest = self._oldest_ms()
        swept = []
        self._sweep_attempts(oldest)
        for marked in self.objects.children(_RUNS):
            if marked.is_folder or marked.modified_ms > oldest:
                continue
            if marked.name.endswith(PART):
                self.objects.delete(marked.path)
                continue
            run = self._marked(marked.path)
            counting = self._counting(run.step, run.day) if run else None
            if run is None or counting is None:
                continue
            if run.id not in counting:
                for table in run.tables:
                    self.objects.delete(run.folder(table))
                swept.append(run.id)
            self.objects.delete(f"{ATTEMPTS}/{run.id}")
            self.objects.delete(marked.path)
        return tuple(swept)

    def _sweep_attempts(self, oldest_ms: float) -> None:
        """Delete what tasks have put down for runs that are over, once all of it is old."""
        found = self.objects.children(ATTEMPTS)  # before the marks: a run puts its mark first
        # What other tools have left there, such as .DS_Store or .snapshot, is not ours to list.
        put_down = [each for each in found if each.is_folder and _RUN_ID.fullmatch(each.name)]
        marks = {marked.name for marked in self.objects.children(_RUNS)}
        for folder in put_down:
            files = self.objects.files(folder.path)
            is_old = all(file.modified_ms <= oldest_ms for file in files)
            if is_old and f"{folder.name}.json" not in marks:
                self.objects.delete(folder.path)

    def touch(self, run: StepRun) -> None:
        """Say that a run is under way."""
        self._mark(run)

    def _oldest_ms(self) -> float:
        """What was changed before that time, and does not count, is not kept any longer."""
        return self.now_ms() - self.grace_s * 1000

    def _lost(self, run: StepRun, used: Container[str]) -> set[str]:
        """Runs of the same step and day that nothing names: neither an entry nor a mark."""
        there = {
            each.name.removeprefix("run=")
            for table in run.tables
            for each in self.objects.children(f"{table}/day={run.day}")
            if each.name.startswith("run=")
        }
        unused = {each for each in there if each not in used and each != run.id}
        return {each for each in unused if self._marked(f"{_RUNS}/{each}.json") is None}

    def _mark(self, run: StepRun) -> None:
        said = {"id": run.id, "step": run.step, "day": run.day, "tables": list(run.tables)}
        body = json.dumps(said, sort_keys=True).encode()
        replace_object(self.objects, f"{_RUNS}/{run.id}.json", body)

    def _marked(self, path: str) -> StepRun | None:
        """The run that an object in `runs` tells of; None for what is none of ours, or damaged."""
        try:
            said = json.loads(self.objects.read(path) or b"")
            run = StepRun(said["id"], said["step"], said["day"], tuple(said["tables"]))
            written = {table.name for table in TABLES_OF[run.step]}
            is_ours = path == f"{_RUNS}/{run.id}.json" and DAY.fullmatch(run.day)
            return run if is_ours and written.issuperset(run.tables) else None
        except (ValueError, KeyError, TypeError, RecursionError, DamagedFile):
            return None

    def _counting(self, step: str, day: str) -> set[str] | None:
        """The runs that count; None if that cannot be read."""
        try:
            return _runs(self.current(step, day))
        except DamagedFile:
            return None

    def _versions(self, step: str, day: str) -> RowVersions[ClusterEntry]:
        folder = f"{_CURRENT}/step={step}/day={day}"
        return RowVersions(
            self.objects,
            folder,
            lambda body, file: _own(lake_entries.from_bytes(body, file), step, day, file),
            lambda rows, published: lake_entries.to_bytes(rows.values(), published),
            self.now_ms,
        )

    def _change(
        self,
        step: str,
        day: str,
        changed: Callable[[Mapping[str, ClusterEntry]], dict[str, ClusterEntry]],
        prepare: Prepare = lambda old, new: None,
    ) -> dict[str, ClusterEntry]:
        """Publish a change; remove versions that were replaced a grace time ago.

        What was half written by a process that was killed goes as well.
        """
        versions = self._versions(step, day)
        after = versions.change(changed, prepare)
        replaced = list_versions(self.objects, versions.folder)[:-1]
        parts = [e for e in self.objects.children(versions.folder) if e.name.endswith(PART)]
        oldest = self._oldest_ms()
        for each in (*replaced, *parts):
            if each.modified_ms < oldest:
                self.objects.delete(each.path)
        return after


def _own(
    entries: dict[str, ClusterEntry], step: str, day: str, file: str
) -> dict[str, ClusterEntry]:
    """The same entries; raises `DamagedFile` where one names rows of another step, day or run.

    So does an object that somebody copied from another day: its plans would count as that day's.
    """
    for entry in entries.values():
        for table, path, _ in entry.files:
            is_of_step = STEP_OF.get(table, step) == step  # a later release may have more tables
            if not is_of_step or path.rpartition("/")[0] != folder_of_run(table, day, entry.run):
                raise DamagedFile(file, f"{path} is none of {entry.cluster} in {step} of {day}")
    return entries


def _runs(entries: Mapping[str, ClusterEntry]) -> set[str]:
    return {entry.run for entry in entries.values()}


def input_digest(*said: str) -> str:
    """`sha256:` and the digest of what a step is made from, our release among it."""
    return codecs.digest(__version__, *said)


def digest_of_file(file: StoredObject, root: str) -> str:
    """What tells a foreign file from what it was: its place, length, time and tag."""
    said = f"{root}/{file.path}", file.bytes, file.modified_ms, file.tag
    return hashlib.sha256(repr(said).encode()).hexdigest()
