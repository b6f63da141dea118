"""`poolkeeper fleet`: many clusters at once, from Parquet to Parquet."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper.cli import timing
from poolkeeper.cli.commands import fleet_answer, fleet_waves
from poolkeeper.cli.input import options, snapshot_files
from poolkeeper.cli.output import left_undone, printing
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.model.specs import Desired
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse.quantities import positive_duration_s
from poolkeeper.text import count

if TYPE_CHECKING:
    from poolkeeper.fleet.engines.engines import TaskEngine
    from poolkeeper.fleet.stages.pipeline import FleetOutcome
    from poolkeeper.fleet.storage.store import Store

Function = Callable[..., Any]
DEADLINE_S = 300.0


@click.group(
    epilog="""\b
    Every step reads tables below DIR and writes tables below DIR; what is there from the same
    input is not made again. Without --master this machine's processes do the work; with it, Spark:
      --master 'local[*]'            Spark on this machine
      --master spark://HOST:PORT     a Spark cluster that sees DIR under the same path
      --master k8s://https://HOST    executors as pods (--conf for image, volumes, account)
    """
)
def fleet() -> None:
    """Plan many clusters at once: snapshot, features, plan, budget, report."""


@dataclass(frozen=True, slots=True)
class _FleetCommand:
    """The options of all steps: where the tables are, the task engine, whether to redo all."""

    out: Path
    day: str | None
    master: str | None
    processes: int | None
    conf: tuple[str, ...]
    again: bool
    output: str

    @property
    def store(self) -> "Store":
        store: Store = snapshot_files.fleet("storage.store").Store(self.out)
        return store

    def engine(self) -> Any:
        engines = snapshot_files.fleet("engines.engines")
        return engines.open_engine(self.master, self.processes, fleet_answer.settings(self.conf))

    def latest(self) -> str:
        """The requested day, or the last day with a snapshot."""
        if self.day:
            return self.day
        days = self.store.days(snapshot_files.fleet("storage.schemas").CLUSTERS)
        if not days:
            raise Refused(f"{self.out}: holds no snapshots (poolkeeper fleet snapshot makes them)")
        return days[-1]


def _working(function: Function) -> Function:
    """Add the options that all steps share, as one argument `work`."""
    names = ("out", "day", "master", "processes", "conf", "again", "output")

    def called(**given: Any) -> Any:
        shared = {name: given.pop(name) for name in names}
        return function(work=_FleetCommand(**shared), **given)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        called = option(called)
    return called


_OPTIONS = (
    click.option(
        "--out",
        metavar="DIR",
        required=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder of all tables.",
    ),
    click.option("--day", metavar="YYYY-MM-DD", help="Default: today, or the latest snapshot's."),
    click.option("--master", metavar="URL", help="Do it with Spark, at this master."),
    click.option(
        "--processes", metavar="N", type=click.IntRange(min=1), help="Without --master: how many."
    ),
    click.option("--conf", metavar="KEY=VALUE", multiple=True, help="For Spark. Repeatable."),
    click.option("--again", is_flag=True, help="Make again what exists."),
    options.output(),
)

_READING = (
    click.option(
        "--snapshots",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Take snapshot files instead of reading ZooKeeper: NAME.json, .json.gz, .parquet.",
    ),
    click.option(
        "--client-config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Credentials and TLS, in the same place on every executor.",
    ),
    click.option("--timeout", "timeout_s", type=float, default=timing.TIMEOUT_S, metavar="S",
                 show_default=True, help="To connect, and for every answer."),
    click.option("--deadline", "deadline_s", type=float, default=DEADLINE_S, metavar="S",
                 show_default=True, help="For one cluster."),
)  # fmt: skip

_LOADING = (
    click.option(
        "--samples",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Load history: Parquet below cluster=NAME/.",
    ),
    click.option(
        "--history",
        metavar="DURATION",
        default="168h",
        show_default=True,
        help="How far it reaches back.",
    ),
    click.option(
        "--step",
        metavar="DURATION",
        default="1h",
        show_default=True,
        help="Samples closer count as one.",
    ),
    click.option(
        "--coverage",
        type=click.FloatRange(0, 1),
        default=0.5,
        show_default=True,
        help="Part of the steps below which percentiles are unknown.",
    ),
)


def _with(many: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(many):
            function = option(function)
        return function

    return decorate


@fleet.command()
@options.folders(required=True)
@_with(_READING)
@_working
def snapshot(work: _FleetCommand, folders: tuple[Path, ...], **reading: Any) -> int:
    """Read every declared cluster; one that cannot be read is a row with its reason."""
    with work.engine() as engine:
        return _print_outcomes(work, [_snapshot(work, engine, folders, **reading)])


@fleet.command()
@_with(_LOADING)
@_working
def features(work: _FleetCommand, **loading: Any) -> int:
    """Make load features: percentiles, growth and days to full, from the history of loads."""
    with work.engine() as engine:
        return _print_outcomes(work, [_features(work, engine, work.latest(), **loading)])


@fleet.command()
@options.folders()
@_working
def plan(work: _FleetCommand, folders: tuple[Path, ...]) -> int:
    """Plan every cluster that has a snapshot; the plans are those of `poolkeeper plan`.

    With -f, what is declared now counts; else what was when the snapshots were made.
    """
    _write_manifests(work, _load_manifests(folders))
    with work.engine() as engine:
        return _print_outcomes(work, [_plan(work, engine, work.latest())])


@fleet.command()
@options.folders(required=True)
@_with(_READING)
@_with(_LOADING)
@_with(fleet_waves.BUDGET)
@_with(fleet_waves.REPORT)
@_working
def run(work: _FleetCommand, folders: tuple[Path, ...], **given: Any) -> int:
    """Do all steps: snapshot, features, plan, budget, report.

    Exit code 4: done, and something is missing; the report says what.
    """
    shown = fleet_waves.report_options(given.pop("until"), given.pop("pages"))
    loading = {name: given.pop(name) for name in ("samples", "history", "step", "coverage")}
    wanted = {each.name: given.pop(each.name) for each in fields(fleet_waves.BudgetOptions)}
    allowed = fleet_waves.fleet_budget(fleet_waves.BudgetOptions(**wanted))
    with work.engine() as engine:
        read = _snapshot(work, engine, folders, **given)
        loaded = _features(work, engine, read.day, **loading)
        planned = _plan(work, engine, read.day)
    more = [
        fleet_waves.budget(work.out, read.day, allowed),
        fleet_waves.report(work.out, read.day, allowed.sites, shown),
    ]
    return _print_outcomes(work, [read, loaded, planned], more)


_OF_TABLES = (_OPTIONS[0], _OPTIONS[1], _OPTIONS[-1])


@fleet.command()
@_with(fleet_waves.BUDGET)
@_with(_OF_TABLES)
def budget(out: Path, day: str | None, output: str, **wanted: Any) -> None:
    """Order all plans into waves under a budget that the clusters share."""
    work = _FleetCommand(out, day, None, 1, (), False, output)
    allowed = fleet_waves.fleet_budget(fleet_waves.BudgetOptions(**wanted))
    _print_outcomes(work, [], [fleet_waves.budget(out, work.latest(), allowed)])


@fleet.command()
@_with(fleet_waves.BUDGET[2:3])
@_with(fleet_waves.REPORT)
@_with(_OF_TABLES)
def report(
    out: Path,
    day: str | None,
    output: str,
    sites: Sequence[str],
    until: datetime | None,
    pages: int,
) -> int:
    """Write the page about the day, and the page of each plan beside it.

    Exit code 4: something is missing, such as a cluster's snapshot or plan; the page says what.
    """
    work = _FleetCommand(out, day, None, 1, (), False, output)
    shown = fleet_waves.report_options(until, pages)
    told = fleet_waves.report(out, work.latest(), fleet_waves.sites_of(sites), shown)
    return _print_outcomes(work, [], [told])


def _snapshot(
    work: _FleetCommand,
    engine: "TaskEngine",
    manifests: tuple[Path, ...],
    snapshots: Path | None,
    client_config: Path | None,
    timeout_s: float,
    deadline_s: float,
) -> "FleetOutcome":
    snapshot = snapshot_files.fleet("stages.snapshot")
    pipeline = snapshot_files.fleet("stages.pipeline")
    declared = _load_manifests(manifests)
    _write_manifests(work, declared)
    now_ms = time.time_ns() // 1_000_000
    day = work.day or datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
    names = [desired.cluster.name for desired in declared]
    files = pipeline.snapshot_files(snapshots) if snapshots else {}
    if undeclared := sorted(set(files) - set(names)):
        printing.warn(
            f"{files[name]}: nothing is declared for cluster {name}" for name in undeclared
        )
    tasks = [
        snapshot.SnapshotTask(
            str(work.out.absolute()),
            day,
            name,
            now_ms,
            file=str(files[name].absolute()) if name in files else "",
            client_config=str(client_config.absolute()) if client_config else "",
            timeout_s=timeout_s,
            deadline_s=deadline_s,
        )
        for name in (sorted(set(names) & set(files)) if snapshots else names)
    ]
    if not tasks:
        raise Refused("none of these snapshots is of a declared cluster")
    outcome: FleetOutcome = pipeline.snapshot(engine, work.store, tasks, again=work.again)
    return outcome


def _features(
    work: _FleetCommand,
    engine: "TaskEngine",
    day: str,
    samples: Path | None,
    history: str,
    step: str,
    coverage: float,
) -> "FleetOutcome":
    load_features = snapshot_files.fleet("stages.load_features")
    pipeline = snapshot_files.fleet("stages.pipeline")
    tasks = [
        load_features.FeaturesTask(
            str(work.out.absolute()),
            day,
            name,
            samples=str(samples.absolute()) if samples else "",
            window_s=positive_duration_s(history),
            step_s=positive_duration_s(step),
            coverage_min=coverage,
        )
        for name in _clusters(work, day)
    ]
    outcome: FleetOutcome = pipeline.features(engine, work.store, tasks, again=work.again)
    return outcome


def _plan(work: _FleetCommand, engine: "TaskEngine", day: str) -> "FleetOutcome":
    pipeline = snapshot_files.fleet("stages.pipeline")
    store = snapshot_files.fleet("storage.store").Store(work.out.absolute())
    names = _clusters(work, day)
    outcome: FleetOutcome = pipeline.plan(engine, store, day, names, again=work.again)
    return outcome


def _clusters(work: _FleetCommand, day: str) -> tuple[str, ...]:
    names = work.store.clusters(snapshot_files.fleet("storage.schemas").CLUSTERS, day)
    if not names:
        raise Refused(f"{work.out}: holds no snapshots of {day}")
    return names


def _load_manifests(paths: tuple[Path, ...]) -> list[Desired]:
    if not paths:
        return []
    manifests = folder.load(paths)
    if not manifests.clusters:
        raise Refused("the manifests hold no KafkaCluster (expected one or more)")
    return [manifests.desired(spec.name) for spec in manifests.clusters]


def _write_manifests(work: _FleetCommand, declared: Iterable[Desired]) -> None:
    snapshot_files.fleet("stages.pipeline").write_manifests(work.store, declared)


def _print_outcomes(
    work: _FleetCommand,
    outcomes: Sequence["FleetOutcome"],
    more: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> int:
    """Print the result of every cluster and return the exit code.

    Raises if a step failed for all clusters.
    """
    if work.output == printing.JSON:
        data = [*map(_outcome_data, outcomes), *(told for _, told in more)]
        printing.emit_json({"steps": data})
    else:
        for line in (*map(_sentence, outcomes), *(sentence for sentence, _ in more)):
            printing.emit(line)
    for outcome in outcomes:
        printing.warn(f"{outcome.step} {line.cluster}: {line.reason}" for line in outcome.failed)
    for outcome in outcomes:
        if outcome.lines and len(outcome.failed) == len(outcome.lines):
            kind = Unavailable if outcome.step == "snapshot" else Refused
            raise kind(f"{outcome.step} failed for every cluster")
    told = {line.cluster for outcome in outcomes for line in outcome.failed}
    missing = [each for _, data in more for each in data.get("missing", ())]
    printing.warn(_missing(each) for each in missing if each["cluster"] not in told)
    return left_undone.EXIT_CODE if told or missing else 0


def _missing(told: Mapping[str, Any]) -> str:
    return f"report {told['cluster']}: {told['message']}" if told["cluster"] else told["message"]


def _outcome_data(outcome: "FleetOutcome") -> Mapping[str, Any]:
    return {
        "step": outcome.step,
        "day": outcome.day,
        "clusters": [
            {
                "cluster": line.cluster,
                "status": line.status,
                "reason": line.reason or None,
                "made": line.made,
                **line.figures,
            }
            for line in outcome.lines
        ],
    }


def _sentence(outcome: "FleetOutcome") -> str:
    well = len(outcome.lines) - len(outcome.failed)
    kept = len(outcome.lines) - len(outcome.made)
    parts = [f"{well} of {count(len(outcome.lines), 'cluster')}"]
    for name in ("partitions", "samples", "features", "moves"):
        if total := outcome.total(name):
            parts.append(count(total, name.removesuffix("s")))
    if kept:
        parts.append(f"{kept} as they were")
    return f"{outcome.step} {outcome.day}: {', '.join(parts)}"


fleet.add_command(fleet_answer.answer)
