"""`poolkeeper fleet`: many clusters at once, from tables to tables, by Spark."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper.cli import timing
from poolkeeper.cli.commands import fleet_answer, fleet_reading, fleet_waves
from poolkeeper.cli.input import options, snapshot_files
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.model.specs import Desired
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse.quantities import positive_duration_s
from poolkeeper.text import count

if TYPE_CHECKING:
    from poolkeeper.fleet.engines.engines import Engine
    from poolkeeper.fleet.lake.filesystems import Storage
    from poolkeeper.fleet.lake.lake import Lake
    from poolkeeper.fleet.lake.objects import Objects
    from poolkeeper.fleet.stages.publishing import FleetOutcome

Function = Callable[..., Any]
DEADLINE_S = 300.0


@click.group(
    epilog="""\b
    Every step reads tables below URI and writes tables below URI; what is there from the same
    input is not made again. URI is a folder, or what Spark reaches: s3a://, hdfs://, gs://,
    abfss://. Spark does the work, on this machine unless there is a --master:
      --master spark://HOST:PORT     a Spark cluster
      --master k8s://https://HOST    executors as pods (--conf for image, account, storage)
    """
)
def fleet() -> None:
    """Plan many clusters at once: snapshot, features, plan, budget, report."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Who does a step, and where its tables are."""

    engine: "Engine"
    lake: "Lake"

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


@dataclass(frozen=True, slots=True)
class _FleetCommand:
    """The options of all steps: where the tables are, Spark's, whether to redo all."""

    out: str
    day: str | None
    master: str | None
    processes: int | None
    conf: tuple[str, ...]
    again: bool
    output: str

    @contextmanager
    def begun(self) -> Iterator[_Work]:
        """Who does it, for the time of the block; Spark starts when it is needed."""
        engines = snapshot_files.fleet("engines.engines")
        lakes, filesystems = (snapshot_files.fleet(f"lake.{m}") for m in ("lake", "filesystems"))
        root = filesystems.root_of(self.out)
        conf = fleet_answer.settings(self.conf)
        with engines.open_engine(self.master, self.processes, conf) as engine:
            lake = lakes.Lake(engine.objects(root))
            lake.check()
            yield _Work(engine, lake)

    def latest(self, lake: "Lake") -> str:
        """The requested day, or the last day with a snapshot."""
        if self.day:
            return self.day
        days = lake.days("snapshot")
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
        metavar="URI",
        required=True,
        help="Where all tables are: a folder, or a URI that Spark reaches.",
    ),
    click.option("--day", metavar="YYYY-MM-DD", help="Default: today, or the latest snapshot's."),
    click.option("--master", metavar="URL", help="Spark's master; default: this machine."),
    click.option(
        "--processes",
        metavar="N",
        type=click.IntRange(min=1),
        help="Without --master: how many tasks at a time; default: as many as processors.",
    ),
    click.option(
        "--conf",
        metavar="KEY=VALUE",
        multiple=True,
        help="A setting of Spark's: spark.ui.enabled=true. Repeatable.",
    ),
    click.option("--again", is_flag=True, help="Make again what exists."),
    options.output(),
)

_READING = (
    click.option(
        "--snapshots",
        metavar="URI",
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
        metavar="URI",
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
def snapshot(work: _FleetCommand, folders: tuple[Path, ...], **reading: Any) -> None:
    """Read every declared cluster; one that cannot be read is a row with its reason."""
    declared = _load_manifests(folders)
    with work.begun() as begun:
        _print_outcomes(work, [_snapshot(work, begun, declared, **reading)])


@fleet.command()
@_with(_LOADING)
@_working
def features(work: _FleetCommand, **loading: Any) -> None:
    """Make load features: percentiles, growth and days to full, from the history of loads."""
    with work.begun() as begun:
        _print_outcomes(work, [_features(work, begun, work.latest(begun.lake), **loading)])


@fleet.command()
@options.folders()
@_working
def plan(work: _FleetCommand, folders: tuple[Path, ...]) -> None:
    """Plan every cluster that has a snapshot; the plans are those of `poolkeeper plan`.

    With -f, what is declared now counts; else what was when the snapshots were made.
    """
    declared = _load_manifests(folders)
    with work.begun() as begun:
        _write_manifests(begun.lake, declared)
        _print_outcomes(work, [_plan(work, begun, work.latest(begun.lake))])


@fleet.command()
@options.folders(required=True)
@_with(_READING)
@_with(_LOADING)
@_with(fleet_waves.BUDGET)
@_working
def run(work: _FleetCommand, folders: tuple[Path, ...], **given: Any) -> None:
    """Do all steps: snapshot, features, plan, budget, report."""
    loading = {name: given.pop(name) for name in ("samples", "history", "step", "coverage")}
    wanted = {each.name: given.pop(each.name) for each in fields(fleet_waves.BudgetOptions)}
    allowed = fleet_waves.fleet_budget(fleet_waves.BudgetOptions(**wanted))
    declared = _load_manifests(folders)
    with work.begun() as begun:
        read = _snapshot(work, begun, declared, **given)
        loaded = _features(work, begun, read.day, **loading)
        planned = _plan(work, begun, read.day)
        more = [
            fleet_waves.budget(begun.lake, begun.storage, read.day, allowed),
            fleet_waves.report(begun.lake, begun.storage, read.day, allowed.sites),
        ]
    _print_outcomes(work, [read, loaded, planned], more)


_OF_TABLES = (_OPTIONS[0], _OPTIONS[1], _OPTIONS[2], _OPTIONS[4], _OPTIONS[-1])


def _reading(function: Function) -> Function:
    """Add the options of steps that read small tables alone, as one argument `work`."""
    names = ("out", "day", "master", "conf", "output")

    def called(**given: Any) -> Any:
        shared = {name: given.pop(name) for name in names}
        return function(work=_FleetCommand(**shared, processes=1, again=False), **given)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    return _with(_OF_TABLES)(called)


@fleet.command()
@_with(fleet_waves.BUDGET)
@_reading
def budget(work: _FleetCommand, **wanted: Any) -> None:
    """Order all plans into waves under a budget that the clusters share."""
    allowed = fleet_waves.fleet_budget(fleet_waves.BudgetOptions(**wanted))
    with work.begun() as begun:
        day = work.latest(begun.lake)
        made = fleet_waves.budget(begun.lake, begun.storage, day, allowed)
    _print_outcomes(work, [], [made])


@fleet.command()
@_with(fleet_waves.BUDGET[2:3])
@_reading
def report(work: _FleetCommand, sites: Sequence[str]) -> None:
    """Write one page about the day: totals, worst pools, certificates, waves."""
    site_of = fleet_waves.sites_of(sites)
    with work.begun() as begun:
        day = work.latest(begun.lake)
        made = fleet_waves.report(begun.lake, begun.storage, day, site_of)
    _print_outcomes(work, [], [made])


@fleet.command(
    epilog="""\b
    Example:
      poolkeeper fleet show main --out s3a://bucket/fleet --plan plan.json
      poolkeeper apply -f clusters/ --plan plan.json
    """
)
@click.argument("cluster")
@click.option(
    "--plan",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the plan to this file, for `apply --plan FILE`.",
)
@_reading
def show(work: _FleetCommand, cluster: str, file: Path | None) -> None:
    """Show the plan of one cluster, as `fleet plan` made it; its hash is what is approved."""
    with work.begun() as begun:
        day = work.latest(begun.lake)
        plan = fleet_reading.plan_of(begun.lake, begun.storage, day, cluster)
    fleet_reading.show(plan, file, work.output)


@fleet.command()
@click.option(
    "--engine",
    type=click.Choice(fleet_reading.ENGINES),
    default=fleet_reading.ENGINES[0],
    show_default=True,
    help="Whose SQL.",
)
@_reading
def ddl(work: _FleetCommand, engine: str) -> None:
    """Print views over the rows that count, for SQL: `fleet_plans`, `fleet_moves` and so on."""
    with work.begun() as begun:
        printing.emit(fleet_reading.ddl(begun.lake, engine).rstrip("\n"))


def _snapshot(
    work: _FleetCommand,
    begun: _Work,
    declared: Sequence[Desired],
    snapshots: str | None,
    client_config: Path | None,
    timeout_s: float,
    deadline_s: float,
) -> "FleetOutcome":
    snapshot = snapshot_files.fleet("stages.snapshot")
    pipeline = snapshot_files.fleet("stages.pipeline")
    now_ms = time.time_ns() // 1_000_000
    day = work.day or datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
    _write_manifests(begun.lake, declared)
    manifests = snapshot_files.fleet("lake.manifests").read(begun.lake)
    names = [desired.cluster.name for desired in declared]
    objects = begun.objects(snapshots) if snapshots else None
    files = pipeline.snapshot_files(objects, snapshots) if objects else {}
    if undeclared := sorted(set(files) - set(names)):
        printing.warn(
            f"{snapshots}/{files[name].name}: nothing is declared for cluster {name}"
            for name in undeclared
        )
    if snapshots and not set(names) & set(files):
        raise Refused("none of these snapshots is of a declared cluster")
    folder = objects.root if objects else ""
    tasks = [
        snapshot.SnapshotTask(
            name,
            manifests[name].text,
            now_ms,
            folder=folder,
            # One that is declared and has no file is a cluster that cannot be read.
            file=(files[name].name if name in files else f"{name}.json") if objects else "",
            bytes=files[name].bytes if name in files else 0,
            input=pipeline.input_of_snapshot(manifests[name], folder, files.get(name)),
            client_config=str(client_config.absolute()) if client_config else "",
            timeout_s=timeout_s,
            deadline_s=deadline_s,
        )
        for name in names
    ]
    outcome: FleetOutcome = pipeline.snapshot(
        begun.engine, begun.lake, day, tasks, again=work.again
    )
    return outcome


def _features(
    work: _FleetCommand,
    begun: _Work,
    day: str,
    samples: str | None,
    history: str,
    step: str,
    coverage: float,
) -> "FleetOutcome":
    _clusters(work, begun.lake, day)
    chosen = snapshot_files.fleet("stages.load_features").HistoryOptions(
        window_s=positive_duration_s(history),
        step_s=positive_duration_s(step),
        coverage_min=coverage,
    )
    outcome: FleetOutcome = snapshot_files.fleet("stages.pipeline").features(
        begun.engine, begun.lake, day, chosen, samples or "", again=work.again
    )
    return outcome


def _plan(work: _FleetCommand, begun: _Work, day: str) -> "FleetOutcome":
    names = _clusters(work, begun.lake, day)
    outcome: FleetOutcome = snapshot_files.fleet("stages.pipeline").plan(
        begun.engine, begun.lake, day, names, again=work.again
    )
    return outcome


def _clusters(work: _FleetCommand, lake: "Lake", day: str) -> tuple[str, ...]:
    names = tuple(sorted(lake.current("snapshot", day)))
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


def _write_manifests(lake: "Lake", declared: Sequence[Desired]) -> None:
    if declared:
        snapshot_files.fleet("lake.manifests").write(lake, declared)


def _print_outcomes(
    work: _FleetCommand,
    outcomes: Sequence["FleetOutcome"],
    more: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> None:
    """Print the result of every cluster; raises if a step failed for all of them."""
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
