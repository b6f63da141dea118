"""`poolkeeper fleet budget` and `fleet report`: their options and their output files."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper import output_files
from poolkeeper.cli.commands.fleet import steps
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused, wrong_field
from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Window
from poolkeeper.report.fleet.forecast import HORIZON_DAYS
from poolkeeper.report.values import Gap, Missing
from poolkeeper.resources.parse.quantities import positive_duration_s, size_bytes
from poolkeeper.resources.parse.schedules import cron_problem, time_zone_problem
from poolkeeper.text import count, duration, size

if TYPE_CHECKING:
    from poolkeeper.cli.commands.fleet.steps import FleetWork
    from poolkeeper.fleet.lake.filesystems import Storage
    from poolkeeper.fleet.lake.lake import Lake
    from poolkeeper.fleet.schedule.budget import Schedule

_WINDOW_FIELDS = 6

BUDGET = (
    click.option("--rate", metavar="SIZE", help="Bytes per second of the whole fleet: 2Gi."),
    click.option(
        "--site-rate",
        "site_rates",
        metavar="SITE=SIZE",
        multiple=True,
        help="Bytes per second of a site. Repeatable.",
    ),
    click.option(
        "--site",
        "sites",
        metavar="SITE=CLUSTER,…",
        multiple=True,
        help="Which clusters a site has. Repeatable.",
    ),
    click.option(
        "--window",
        "windows",
        metavar="'CRON DURATION [ZONE] [SIZE]'",
        multiple=True,
        help="When the fleet may move, in UTC without a zone, and with which rate if another than"
        " --rate: '0 22 * * * 8h Europe/Zurich 1Gi'. Repeatable.",
    ),
    click.option(
        "--clusters-at-once",
        "clusters_max",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many clusters move at one time.",
    ),
    click.option(
        "--begin",
        metavar="TIME",
        help="When the first wave begins, in ISO 8601."
        " [default: the end of the day of the plans, UTC]",
    ),
)  # fmt: skip


REPORT = (
    click.option(
        "--until",
        metavar="YYYY-MM-DD",
        type=click.DateTime(["%Y-%m-%d"]),
        help="The day until which brokers to add are counted. [default: 90 days on]",
    ),
    click.option(
        "--pages",
        metavar="N",
        type=click.IntRange(min=0),
        default=50,
        show_default=True,
        help="For how many plans, the first to move, a page is written.",
    ),
)


@frozen
class ReportOptions:
    """The options of a report as given."""

    until: date | None = None
    pages: int = 50


def report_options(until: datetime | None, pages: int) -> ReportOptions:
    """Read the options."""
    return ReportOptions(until.date() if until else None, pages)


@frozen
class BudgetOptions:
    """The options of a budget as given."""

    rate: str | None = None
    site_rates: Sequence[str] = ()
    sites: Sequence[str] = ()
    windows: Sequence[str] = ()
    clusters_max: int | None = None
    begin: str | None = None


@frozen
class FleetBudget:
    """The options parsed: the budget, the site of each cluster, the begin if given."""

    limits: Any
    sites: Mapping[str, str]
    begin: datetime | None


def fleet_budget(options: BudgetOptions) -> FleetBudget:
    """Read the options; raises for what cannot be read."""
    sites = sites_of(options.sites)
    limits = snapshot_files.fleet("schedule.budget").Budget(
        bytes_per_s=None if options.rate is None else _rate("--rate", options.rate),
        sites=_site_rates(options.site_rates, sites),
        windows=tuple(map(_window, options.windows)),
        clusters_max=options.clusters_max,
    )
    return FleetBudget(limits, sites, _begin(options.begin))


def budget(
    lake: "Lake", storage: "Storage", day: str, fleet_budget: FleetBudget
) -> tuple[str, dict[str, Any]]:
    """Make the waves of a day; return a sentence and the same as data."""
    waves = snapshot_files.fleet("stages.waves")
    begin = fleet_budget.begin or steps.end_of(day)
    found = waves.schedule_day(lake, storage, day, fleet_budget.limits, fleet_budget.sites, begin)
    made = found.schedule
    total = sum(turn.bytes for turn in made.turns)
    gaps = [
        *(Missing(Gap.DAMAGED, cluster, reason) for cluster, reason in found.damaged.items()),
        *(Missing(Gap.NO_TIME, each.cluster, each.reason) for each in made.left_out),
    ]
    return _sentence(day, made, total), {
        "step": "budget",
        "day": day,
        "waves": made.waves,
        "bytes": total,
        "makespanSeconds": made.makespan_ms / 1000,
        "lowerBoundSeconds": made.bound.ms / 1000,
        "leftOut": [{"cluster": each.cluster, "reason": each.reason} for each in made.left_out],
        "missing": list(map(_as_data, gaps)),
    }


def _sentence(day: str, made: "Schedule", total: int) -> str:
    left = sum(each.bytes for each in made.left_out)
    without = f"no time for {size(left)} of {count(len(made.left_out), 'cluster')}"
    if made.left_out and not made.turns:
        return f"budget {day}: {without}: nothing moves"
    return (
        f"budget {day}: {count(made.waves, 'wave')}, {size(total)} in"
        f" {duration(made.makespan_ms / 1000)}"
        f" (no schedule is shorter than {duration(made.bound.ms / 1000)}:"
        f" {made.bound.cause})" + (f"; {without}" if made.left_out else "")
    )


def _as_data(gap: Missing) -> dict[str, Any]:
    from poolkeeper.report.fleet import gaps

    return {
        "reason": gap.gap,
        "cluster": gap.cluster or None,
        "message": gaps.sentence(gap),
    }


def report(
    work: "FleetWork", day: str, sites: Mapping[str, str], options: ReportOptions
) -> tuple[str, dict[str, Any]]:
    """Write the report of a day, the pages of its plans and its tables below the tables."""
    day_clusters = snapshot_files.fleet("stages.day_clusters")
    day_report = snapshot_files.fleet("stages.day_report")
    plan_pages = snapshot_files.fleet("stages.plan_pages")
    from poolkeeper.report.fleet import fleet_report

    lake, storage = work.lake, work.storage
    made_ms = time.time_ns() // 1_000_000
    until = options.until or steps.end_of(day).date() + timedelta(days=HORIZON_DAYS - 1)
    if until < date.fromisoformat(day):
        raise wrong_field(
            f"--until {until}", f"is before the day of the report (expected {day} or later)"
        )
    shown = day_report.ReportInputs(sites, made_ms, until)
    found = day_report.day_report(work.engine, day_clusters.day_of(lake, storage, day), shown)
    names = plan_pages.choose_clusters(found, options.pages)
    pages = plan_pages.write_pages(work.engine, lake, storage, found, names)
    made = [each.cluster for each in pages if each.missing is None]
    missing = [each.missing for each in pages if each.missing is not None]
    found = plan_pages.with_pages(found, frozenset(made), missing)
    day_report.publish(lake, day, found)
    page = _put(lake, plan_pages.report_of(day), fleet_report.fleet_page(found))
    text = _put(lake, f"report-{day}.md", fleet_report.fleet_markdown(found))
    return f"report {day}: {page}, {text}", {
        "step": "report",
        "day": day,
        "files": [page, text],
        "pages": len(made),
        "missing": list(map(_as_data, found.missing)),
    }


def _put(lake: "Lake", name: str, body: str) -> str:
    """Write a page over the one that was there; return where."""
    folder = snapshot_files.fleet("lake.filesystems").local_path(lake.root)
    if folder is not None:
        file: Path = folder / name
        output_files.make_folder(file.parent)
        output_files.write(file, body)
        return str(file)
    snapshot_files.fleet("lake.objects").replace_object(lake.objects, name, body.encode())
    return f"{lake.root}/{name}"


def sites_of(words: Sequence[str]) -> dict[str, str]:
    """The site of each cluster; a cluster with two sites is refused, as is a site without any."""
    found: dict[str, str] = {}
    for site, word in _pairs("--site", words):
        names = [name for part in word.split(",") if (name := part.strip())]
        if not names:
            raise wrong_field(f"--site {site}={word}", "names no cluster (expected one or more)")
        for name in names:
            if found.setdefault(name, site) != site:
                said = f"cluster {name} is in {found[name]} and in {site} (expected one)"
                raise wrong_field("--site", said)
    return found


def warn_of_sites(lake: "Lake", day: str, sites: Mapping[str, str]) -> None:
    """Tell the clusters of sites that are not declared and have no snapshot of that day."""
    if not sites:
        return
    known = {*snapshot_files.fleet("lake.manifests").read(lake), *lake.readable("snapshot", day)}
    printing.warn(
        f"--site {site}: cluster {name} is not declared and has no snapshot of {day}"
        " (expected the name of its KafkaCluster)"
        for name, site in sites.items()
        if name not in known
    )


def _site_rates(words: Sequence[str], sites: Mapping[str, str]) -> dict[str, int]:
    """The rate of each site; one that has no clusters would limit nothing, and is refused."""
    found: dict[str, int] = {}
    for site, word in _pairs("--site-rate", words):
        if site not in sites.values():
            known = "".join(f"{name}, " for name in sorted(set(sites.values())))
            said = f"no --site names {site} (expected {known}or --site {site}=CLUSTER,… as well)"
            raise wrong_field(f"--site-rate {site}={word}", said)
        if site in found:
            raise wrong_field("--site-rate", f"site {site} has two rates (expected one)")
        found[site] = _rate("--site-rate", word)
    return found


def _rate(option: str, word: str) -> int:
    try:
        return size_bytes(word)
    except Refused as unread:
        raise wrong_field(option, str(unread)) from unread


def _pairs(option: str, words: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        key, separator, value = word.partition("=")
        if not (key and separator and value):
            raise click.BadParameter(f"{word!r} (expected SITE=…)", param_hint=option)
        pairs.append((key, value))
    return pairs


def _window(words: str) -> Any:
    """Parse a window: five cron fields, a duration, and optionally a time zone and a rate."""
    fields = words.split()
    if not _WINDOW_FIELDS <= len(fields) <= _WINDOW_FIELDS + 2:
        raise _wrong_window(words, "expected five fields of cron, a duration, a time zone, a rate")
    cron, (length, *more) = " ".join(fields[: _WINDOW_FIELDS - 1]), fields[_WINDOW_FIELDS - 1 :]
    # A time zone begins with a letter, a size with a digit.
    zone = more.pop(0) if more and more[0][0].isalpha() else "UTC"
    if wrong := cron_problem(cron) or time_zone_problem(zone):
        raise _wrong_window(words, wrong)
    try:
        window = Window(cron, positive_duration_s(length), zone)
        rate = size_bytes(more.pop(0)) if more else None
    except Refused as unread:
        raise _wrong_window(words, str(unread)) from unread
    if more:
        raise _wrong_window(words, f"{more[0]} is too much (expected a time zone before a rate)")
    return snapshot_files.fleet("schedule.budget").RatedWindow(window, rate)


def _wrong_window(words: str, why: str) -> click.BadParameter:
    return click.BadParameter(f"{words!r}: {why}", param_hint="--window")


def _begin(begin: str | None) -> datetime | None:
    if begin is None:
        return None
    try:
        found = datetime.fromisoformat(begin)
    except ValueError as wrong:
        raise click.BadParameter(f"{begin!r} (expected ISO 8601)", param_hint="--begin") from wrong
    if not steps.YEAR_MIN <= found.year <= steps.YEAR_MAX:
        raise click.BadParameter(
            f"{begin!r} (expected a year from {steps.YEAR_MIN} to {steps.YEAR_MAX})",
            param_hint="--begin",
        )
    return found if found.tzinfo else found.replace(tzinfo=UTC)
