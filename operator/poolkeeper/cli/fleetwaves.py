"""`poolkeeper fleet budget` and `report`: what their options mean, and what they write."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli import quantities, snapshotfiles, writing
from poolkeeper.errors import Refused
from poolkeeper.model.specs import Window
from poolkeeper.resources.quantities import positive_duration_s, size_bytes

Function = Callable[..., Any]

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
        metavar="'CRON DURATION'",
        multiple=True,
        help="When the fleet may move: '0 22 * * * 8h', in UTC. Repeatable.",
    ),
    click.option(
        "--clusters-at-once", "clusters_max", type=click.IntRange(min=1), metavar="N"
    ),
    click.option(
        "--begin", metavar="TIME", help="ISO 8601; default: the end of the day of the plans, UTC."
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a budget, as given."""

    rate: str | None = None
    site_rates: Sequence[str] = ()
    sites: Sequence[str] = ()
    windows: Sequence[str] = ()
    clusters_max: int | None = None
    begin: str | None = None


def budget(out: Path, day: str, wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """Make the waves of a day; return a sentence and the same as data."""
    values, waves = snapshotfiles.fleet("budgets_values"), snapshotfiles.fleet("waves")
    store = snapshotfiles.fleet("stores").Store(out)
    limits = values.Budget(
        bytes_per_s=size_bytes(wanted.rate) if wanted.rate else None,
        sites={site: size_bytes(rate) for site, rate in _pairs("--site-rate", wanted.site_rates)},
        windows=tuple(values.RatedWindow(_window(words)) for words in wanted.windows),
        clusters_max=wanted.clusters_max,
    )
    made = waves.budgeted(store, day, limits, sites_of(wanted.sites), _begin(day, wanted.begin))
    size = sum(turn.bytes for turn in made.turns)
    sentence = (
        f"budget {day}: {quantities.count(made.waves, 'wave')}, {quantities.size(size)} in"
        f" {quantities.duration(made.makespan_ms / 1000)}"
        f" (no schedule is shorter than {quantities.duration(made.bound.ms / 1000)}:"
        f" {made.bound.cause})"
    )
    for each in made.left_out:
        sentence += f"\n  not in the budget: {each.cluster}: {each.reason}"
    return sentence, {
        "step": "budget",
        "day": day,
        "waves": made.waves,
        "bytes": size,
        "makespanSeconds": made.makespan_ms / 1000,
        "lowerBoundSeconds": made.bound.ms / 1000,
        "leftOut": [{"cluster": each.cluster, "reason": each.reason} for each in made.left_out],
    }


def report(out: Path, day: str, sites: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Write the report of a day as HTML and Markdown below the tables."""
    waves = snapshotfiles.fleet("waves")
    from poolkeeper.report import fleets

    found = waves.reported(snapshotfiles.fleet("stores").Store(out), day, sites_of(sites))
    page, text = out / f"report-{day}.html", out / f"report-{day}.md"
    writing.text(page, fleets.fleet_page(found))
    writing.text(text, fleets.fleet_markdown(found))
    return f"report {day}: {page}, {text}", {
        "step": "report",
        "day": day,
        "files": [str(page), str(text)],
    }


def sites_of(words: Sequence[str]) -> dict[str, str]:
    """Site by cluster; a cluster in two sites is refused."""
    found: dict[str, str] = {}
    for site, names in _pairs("--site", words):
        for name in filter(None, (part.strip() for part in names.split(","))):
            if found.setdefault(name, site) != site:
                raise Refused(f"--site: cluster {name} is in {found[name]} and in {site}")
    return found


def _pairs(option: str, words: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        key, separator, value = word.partition("=")
        if not (key and separator and value):
            raise click.BadParameter(f"{word!r} (expected SITE=…)", param_hint=option)
        pairs.append((key, value))
    return pairs


def _window(words: str) -> Window:
    *cron, duration = words.split()
    if len(cron) != 5:
        expected = "five fields of cron and a duration"
        raise click.BadParameter(f"{words!r} (expected {expected})", param_hint="--window")
    return Window(" ".join(cron), positive_duration_s(duration))


def _begin(day: str, begin: str | None) -> datetime:
    if begin is None:
        return datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
    try:
        found = datetime.fromisoformat(begin)
    except ValueError as wrong:
        raise click.BadParameter(f"{begin!r} (expected ISO 8601)", param_hint="--begin") from wrong
    return found if found.tzinfo else found.replace(tzinfo=UTC)
