"""`poolkeeper fleet`: many clusters at once, from tables to tables, by Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper.cli import timing
from poolkeeper.cli.commands.fleet import answer, outcomes, steps, tables, waves
from poolkeeper.cli.input import options
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.errors import wrong_field, wrong_file
from poolkeeper.frozen import frozen

if TYPE_CHECKING:
    from poolkeeper.fleet.lake.lake import Lake

Function = Callable[..., Any]
DEADLINE_S = 300.0
FORGETS = "forget"


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


@frozen
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
    def begin(self, folders: Sequence[Path] = ()) -> Iterator[steps.FleetWork]:
        """Who does it, for the time of the block; Spark starts when it is needed.

        Raises `Refused` where tables would lie among the manifests of these folders.
        """
        engines = snapshot_files.fleet("engines.engines")
        lakes, filesystems = (snapshot_files.fleet(f"lake.{m}") for m in ("lake", "filesystems"))
        root = filesystems.root_of(self.out)
        steps.require_folder(self.out)
        steps.refuse_among_manifests(filesystems.local_path(root), folders)
        conf = answer.settings(self.conf)
        with engines.open_engine(self.master, self.processes, conf) as engine:
            lake = lakes.Lake(engine.objects(root))
            lake.check()
            yield steps.FleetWork(engine, lake, self.again)

    def latest(self, lake: "Lake") -> str:
        """The requested day, or the last day with a snapshot."""
        if self.day:
            return self.day
        latest = next(lake.latest_days("snapshot"), None)
        if latest is None:
            raise wrong_file(
                self.out, "holds no snapshots (`poolkeeper fleet snapshot` makes them)"
            )
        return latest


def _day(context: click.Context, _option: click.Parameter, day: str | None) -> str | None:
    if day is not None:
        steps.end_of(day, partial(wrong_field, "--day"))
        if context.command.name != FORGETS:  # it takes away what should never have been there
            steps.refuse_days_to_come(day, partial(wrong_field, f"--day {day}"))
    return day


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
    click.option(
        "--day",
        metavar="YYYY-MM-DD",
        callback=_day,
        help="The day of the tables. [default: today, or the latest snapshot's]",
    ),
    click.option(
        "--master",
        metavar="URL",
        callback=answer.check_master,
        help="Spark's master. [default: this machine]",
    ),
    click.option(
        "--processes",
        metavar="N",
        type=click.IntRange(min=1),
        help="Without --master: how many tasks at a time. [default: as many as processors]",
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
    click.option("--timeout", "timeout_s", type=options.Number(min=0, min_open=True),
                 default=timing.TIMEOUT_S, metavar="S", show_default=True,
                 help="To connect, and for every answer."),
    click.option("--deadline", "deadline_s", type=options.Number(min=0, min_open=True),
                 default=DEADLINE_S, metavar="S", show_default=True, help="For one cluster."),
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
        show_default="1h, and 24h where snapshots are all there is",
        help="Samples closer count as one.",
    ),
    click.option(
        "--coverage",
        metavar="PART",
        type=options.Number(0, 1),
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
    declared = steps.load_manifests(folders)
    options = steps.ReadingOptions(**reading)
    with work.begin(folders) as begun:
        read = steps.snapshot(begun, work.day, declared, options)
    return outcomes.print_outcomes(work.output, read)


@fleet.command()
@_with(_LOADING)
@_working
def features(work: _FleetCommand, **loading: Any) -> int:
    """Make load features: percentiles, growth and days to full, from the history of loads."""
    made_of = steps.feature_options(**loading)
    with work.begin() as begun:
        made = steps.features(begun, work.latest(begun.lake), made_of)
    return outcomes.print_outcomes(work.output, [made])


@fleet.command()
@options.folders()
@_working
def plan(work: _FleetCommand, folders: tuple[Path, ...]) -> int:
    """Plan every cluster that has a snapshot; the plans are those of `poolkeeper plan`.

    With -f, what is declared now counts; else what was when the snapshots were made.
    """
    declared = steps.load_manifests(folders)
    with work.begin(folders) as begun:
        steps.write_manifests(begun.lake, declared)
        made = steps.plan(begun, work.latest(begun.lake), declared.refused)
    return outcomes.print_outcomes(work.output, [made])


@fleet.command()
@options.folders(required=True)
@_with(_READING)
@_with(_LOADING)
@_with(waves.BUDGET)
@_with(waves.REPORT)
@_working
def run(work: _FleetCommand, folders: tuple[Path, ...], **given: Any) -> int:
    """Do all steps: snapshot, features, plan, budget, report.

    Exit code 4: done, and something is missing; the report says what.
    """
    shown = waves.report_options(given.pop("until"), given.pop("pages"))
    loading = {name: given.pop(name) for name in ("samples", "history", "step", "coverage")}
    made_of = steps.feature_options(**loading)
    wanted = {each.name: given.pop(each.name) for each in fields(waves.BudgetOptions)}
    allowed = waves.fleet_budget(waves.BudgetOptions(**wanted))
    declared = steps.load_manifests(folders)
    options = steps.ReadingOptions(**given)
    with work.begin(folders) as begun:
        read = steps.snapshot(begun, work.day, declared, options)
        day = read[-1].day
        loaded = steps.features(begun, day, made_of)
        planned = steps.plan(begun, day, declared.refused)
        waves.warn_of_sites(begun.lake, day, allowed.sites)
        more = [
            waves.budget(begun.lake, begun.storage, day, allowed),
            waves.report(begun, day, allowed.sites, shown),
        ]
    return outcomes.print_outcomes(work.output, [*read, loaded, planned], more)


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
@_with(waves.BUDGET)
@_reading
def budget(work: _FleetCommand, **wanted: Any) -> int:
    """Order all plans into waves under a budget that the clusters share.

    Exit code 4: the plan of a cluster, or a part of it, is not in it: there is no time for it under
    this budget, or it cannot be read.
    """
    allowed = waves.fleet_budget(waves.BudgetOptions(**wanted))
    with work.begin() as begun:
        day = work.latest(begun.lake)
        waves.warn_of_sites(begun.lake, day, allowed.sites)
        made = waves.budget(begun.lake, begun.storage, day, allowed)
    return outcomes.print_outcomes(work.output, [], [made])


@fleet.command()
@_with(waves.BUDGET[2:3])
@_with(waves.REPORT)
@_reading
def report(work: _FleetCommand, sites: Sequence[str], until: datetime | None, pages: int) -> int:
    """Write the page about the day, and the page of each plan beside it.

    Exit code 4: something is missing, such as a cluster's snapshot or plan; the page says what.
    """
    site_of = waves.sites_of(sites)
    shown = waves.report_options(until, pages)
    with work.begin() as begun:
        day = work.latest(begun.lake)
        waves.warn_of_sites(begun.lake, day, site_of)
        made = waves.report(begun, day, site_of, shown)
    return outcomes.print_outcomes(work.output, [], [made])


@fleet.command(
    epilog="""\b
    Example:
      poolkeeper fleet show main --out s3a://bucket/fleet --plan plan.json
      poolkeeper apply -f clusters/ --cluster main --plan plan.json
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
def show(work: _FleetCommand, cluster: str, file: Path | None) -> int:
    """Show the plan of one cluster, as `fleet plan` made it; its hash is what is approved.

    Exit code 4: without its stages and parts, as what it was made from has changed or is damaged.
    """
    with work.begin() as begun:
        day = work.latest(begun.lake)
        plan = tables.plan_of(begun.lake, begun.storage, day, cluster)
    return tables.show(plan, file, work.output)


@fleet.command(
    epilog="""\b
    Example:
      poolkeeper fleet forget west --out s3a://bucket/fleet
    """
)
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@_reading
def forget(work: _FleetCommand, clusters: tuple[str, ...]) -> None:
    """Have clusters declared no more, and none of the latest day; earlier days stay.

    A cluster that is still in the manifests is declared again by the next run. With --day, only the
    rows of that day are forgotten.
    """
    with work.begin() as begun:
        tables.forget(begun.lake, clusters, work.day, work.output)


@fleet.command()
@click.option(
    "--engine",
    type=click.Choice(tables.ENGINES),
    default=tables.ENGINES[0],
    show_default=True,
    help="Whose SQL.",
)
@_reading
def ddl(work: _FleetCommand, engine: str) -> None:
    """Print views over the rows that count, for SQL: `fleet_plans`, `fleet_moves` and so on.

    The views have the rows of all days, in column `day`; --day is refused.
    """
    if work.day:
        raise click.UsageError("--day: views have the rows of all days (expected: where day = …)")
    with work.begin() as begun:
        tables.ddl(begun.lake, begun.storage, engine, work.output)


fleet.add_command(answer.answer)
