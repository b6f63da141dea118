"""How a step becomes what counts: what is kept, what is made, what is published at once.

kept        entries made from the same input, whose files are whole
made        all others: jobs of Spark's, which write into folders of a new run
published   one object with the entries of all clusters: those made, and all others as they are
            by then
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.results import ClusterOutcome
from poolkeeper.fleet.lake.attempts import Destination
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.steps import (
    BUDGET,
    FEATURES,
    PLAN,
    REPORT,
    SNAPSHOT,
    STEP_OF,
    TABLES_OF,
)
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import parquet
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen
from poolkeeper.text import moment

__all__ = ["BUDGET", "FEATURES", "PLAN", "REPORT", "SNAPSHOT", "TABLES_OF"]

FLEET = ""
"""The cluster of the one entry of a budget and of a report, which are of all clusters."""
NO_FIGURES: Mapping[str, str] = MappingProxyType({})


@frozen
class Line:
    """What became of one cluster in a step; `made`: by this run, not by an earlier one."""

    cluster: str
    status: str
    reason: str = ""
    made: bool = True
    figures: Mapping[str, Any] = field(default_factory=dict)


@frozen
class FleetOutcome:
    """What became of all clusters, by name; `warnings`: of none of them alone."""

    step: str
    day: str
    lines: tuple[Line, ...]
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Line, ...]:
        """The clusters that the step failed for."""
        return tuple(line for line in self.lines if line.status == FAILED)

    @property
    def told(self) -> tuple[Line, ...]:
        """The clusters of which there is something to say: they failed, or miss something."""
        return tuple(line for line in self.lines if line.status == FAILED or line.reason)

    @property
    def made(self) -> tuple[Line, ...]:
        """The clusters that this run did something for."""
        return tuple(line for line in self.lines if line.made)

    def total(self, name: str) -> int:
        """The sum of a figure over all clusters."""
        return sum(int(line.figures.get(name, 0) or 0) for line in self.lines)


@frozen
class Step:
    """A step for a day: who does it, where its tables are, and of which clusters.

    `inputs`: by cluster, the digest of what its rows are made from.
    `again`: make also what is there from the same input.
    """

    engine: Engine
    lake: Lake
    name: str
    day: str
    inputs: Mapping[str, str]
    again: bool = False

    def tables(self, run: StepRun) -> Tables:
        """What tasks of the run need to open tables."""
        return Tables(self.lake.root, self.engine.storage, run.id)

    def destination(self, run: StepRun) -> Destination:
        """Where tasks of the run write."""
        return Destination(self.lake.root, self.engine.storage, run.id, run.day)


Make = Callable[[StepRun, Sequence[str]], Sequence[ClusterOutcome]]
"""Makes these clusters in a run."""


def make_and_publish(
    step: Step,
    make: Make,
    keep: Callable[[ClusterEntry], bool] = lambda entry: True,
    *,
    outlast: bool = False,
) -> FleetOutcome:
    """Make the rows that are missing, and publish all; `keep`: whether to keep an entry's rows.

    `outlast`: rows that are there still count where they cannot be made anew.
    """
    before = step.lake.readable(step.name, step.day)
    kept = {} if step.again else _kept(step, before, keep)
    todo = [name for name in step.inputs if name not in kept]
    made: dict[str, ClusterEntry] = {}
    if todo:
        run = step.lake.begin(step.name, step.day, TABLES_OF[step.name])
        outcomes = make(run, todo)
        made = entries_of_run(step, run, outcomes)
        succeed = partial(_outlasting, step) if outlast else None
        counting = step.lake.publish(run, made.values(), succeed)
        made = {name: _told(entry, counting.get(name)) for name, entry in made.items()}
        distrust(step.lake, (path for outcome in outcomes for path in outcome.damaged))
    entries = {name: (made.get(name) or kept[name], name in made) for name in step.inputs}
    lines = [_line(entry, new) for _, (entry, new) in sorted(entries.items())]
    return FleetOutcome(step.name, step.day, tuple(lines))


def _outlasting(step: Step, before: ClusterEntry, made: ClusterEntry) -> ClusterEntry:
    """What was made; or where that failed, what is there and whole, with the reason."""
    is_there = before.is_ok and before.input and before.versions == _versions(step)
    if made.is_ok or not is_there or not step.lake.whole({before.cluster: before}):
        return made
    return replace(before, later_failure=made.reason)


def _told(made: ClusterEntry, counting: ClusterEntry | None) -> ClusterEntry:
    """What was made; if that failed and what was there before still counts, it says so."""
    if made.is_ok or counting is None or not counting.later_failure:
        return made
    at = moment(int(counting.figures["read_ms"]))
    return replace(made, reason=f"{made.reason}; its snapshot of {at} still counts")


def entries_of_run(
    step: Step, run: StepRun, outcomes: Sequence[ClusterOutcome]
) -> dict[str, ClusterEntry]:
    """The entries of the rows that a run made."""
    step.lake.touch(run)
    versions = _versions(step)
    return {
        each.cluster: ClusterEntry(
            each.cluster,
            run.id,
            step.inputs[each.cluster] if each.status == OK or each.of_input else "",
            each.status,
            each.reason,
            dict(each.figures),
            versions,
            each.files,
        )
        for each in outcomes
    }


def _versions(step: Step) -> dict[str, str]:
    return {table.name: str(table.version) for table in TABLES_OF[step.name]}


def _kept(
    step: Step, before: Mapping[str, ClusterEntry], keep: Callable[[ClusterEntry], bool]
) -> dict[str, ClusterEntry]:
    versions = _versions(step)  # of others, this release reads nothing
    alike = {
        name: before[name]
        for name, digest in step.inputs.items()
        if name in before
        and before[name].input == digest
        and before[name].versions == versions
        and keep(before[name])
    }
    return step.lake.whole(alike)


def publish_tables(
    lake: Lake,
    step: str,
    day: str,
    made: Mapping[TableSchema, pa.Table],
    digest: str = "",
    figures: Mapping[str, str] = NO_FIGURES,
) -> ClusterEntry:
    """Write the small tables of a step of the whole fleet, and make them what counts."""
    run = lake.begin(step, day, TABLES_OF[step])
    files = tuple(_put(lake, run, table, content) for table, content in made.items())
    versions = {table.name: str(table.version) for table in made}
    entry = ClusterEntry(FLEET, run.id, digest, figures=figures, versions=versions, files=files)
    lake.publish(run, [entry])
    return entry


def _put(lake: Lake, run: StepRun, table: TableSchema, content: pa.Table) -> TableFile:
    sink = io.BytesIO()
    parquet.dump(content.cast(parquet.stored_schema(table)), sink)
    path = f"{run.folder(table)}/part-00000.parquet"
    lake.objects.put(path, sink.getvalue())
    return TableFile(table.name, path, len(sink.getvalue()))


def damaged_files(wrong: PoolkeeperError) -> tuple[str, ...]:
    """The file, by its path, that could not be read; none if it is something else."""
    return (wrong.path,) if isinstance(wrong, DamagedFile) else ()


def distrust(lake: Lake, damaged: Iterable[str]) -> None:
    """Have the steps that wrote these files, by their paths, make their clusters again."""
    places: dict[tuple[str, str], set[str]] = {}
    for path in damaged:
        table, day = path.split("/")[:2]
        if table in STEP_OF:
            places.setdefault((STEP_OF[table], day.removeprefix("day=")), set()).add(path)
    for (step, day), paths in places.items():
        lake.distrust(step, day, paths)


def _line(entry: ClusterEntry, new: bool) -> Line:
    figures = {
        name: value if name == "hash" else int(value)
        for name, value in entry.figures.items()
        if name != "read_ms"
    }
    return Line(entry.cluster, entry.status, entry.reason, new, figures)
