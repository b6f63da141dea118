"""When pools and brokers are full, and the brokers to add until a day."""

from collections.abc import Iterator, Sequence

from poolkeeper.report.document import (
    Cell,
    Row,
    Section,
    Tile,
    byte_count,
    name,
    number,
    share,
    table,
)
from poolkeeper.report.fleet.forecast import TO_ADD_MAX
from poolkeeper.report.values import BrokerForecast, FleetReport, PoolForecast
from poolkeeper.text import count

_SOON_DAYS = (0, 7, 30, 60, 90)
"""Days to full from which a cell is cooler, hottest first."""
_FORECAST = ("Growth a day", "Growth known", "Sizes known")
_UNKNOWN, _NEVER = "unknown", "never"


def section(report: FleetReport, pools_max: int, brokers_max: int) -> Section | None:
    """Pools by the day they are full, then the brokers that are full first."""
    if not report.pools:
        return None
    pools = sorted(report.pools, key=lambda each: (*_rank(_first(each)), each.cluster, each.pool))
    brokers = [each for each in report.brokers if each.days_to_full is not None]
    brokers.sort(key=lambda each: (*_rank(each.days_to_full), each.load[:3]))
    until = f" until {report.until:%Y-%m-%d}" if report.until else ""
    heads = ("Brokers", "Bytes", "Limit", "Full at limit", *_FORECAST)
    columns = (
        "Cluster",
        "Pool",
        *heads,
        "At the limit in days",
        "A broker full in days",
        f"To add{until}",
    )
    tables = (
        *table("Pools, the first at their limit first", columns, map(_pool_row, pools), pools_max,
               "pool", 0),
        *table("Brokers that fill up, the first first",
               ("Cluster", "Pool", "Broker", "Bytes", "Capacity", *_FORECAST, "Full in days"),
               map(_broker_row, brokers), brokers_max, "broker", 0),
    )  # fmt: skip
    return Section("Capacity", tuple(_notes(report)), tables=tables)


def tiles(report: FleetReport) -> Iterator[Tile]:
    """How many brokers to add, and how many pools nothing is known of."""
    adding = [each for each in report.pools if each.brokers_to_add]
    if adding and report.until:
        total = sum(each.brokers_to_add or 0 for each in adding)
        label = f"to add in {count(len(adding), 'pool')} until {report.until:%Y-%m-%d}"
        yield Tile(count(total, "broker"), label, "bad")
    unknown = sum(1 for each in report.pools if each.limit is None or each.growth is None)
    if unknown:
        yield Tile(f"{unknown:,}", "pools of unknown growth or capacity")


def _notes(report: FleetReport) -> Iterator[str]:
    yield (
        "The limit is what a pool's brokers hold after the failures that its headroom asks for."
        " Growth known: the part of the bytes whose growth is known; the rest counts as not"
        " growing, so that the need may be greater and is not smaller."
    )
    if unknown := sum(1 for each in report.pools if each.growth is None):
        yield (
            f"The growth of {count(unknown, 'pool')} is unknown. It takes sizes from half of"
            " the window of fleet features (--history, --coverage), as snapshots on four days of"
            " seven are."
        )
    if report.until:
        yield (
            "To add: the fewest brokers of the pool's usual (median) capacity that keep it below"
            f" its limit until {report.until:%Y-%m-%d}."
        )


def _first(pool: PoolForecast) -> float | None:
    known = [d for d in (pool.days_to_limit, pool.first_broker_days) if d is not None]
    return min(known, default=None)


def _rank(days: float | None) -> tuple[bool, float]:
    return days is None, days or 0.0


def _pool_row(pool: PoolForecast) -> Row:
    used = None if not pool.limit else pool.bytes / pool.limit
    return (
        name(pool.cluster),
        name(pool.pool),
        number(pool.brokers),
        byte_count(pool.bytes),
        byte_count(pool.limit),
        number("") if used is None else share(used),
        *_known(pool.growth, pool.coverage.growth, pool.coverage.sizes),
        _days(pool.days_to_limit, pool.limit, pool.growth),
        _days(pool.first_broker_days, pool.capacity, pool.growth),
        _adding(pool),
    )


def _broker_row(each: BrokerForecast) -> Row:
    load = each.load
    return (
        name(load.cluster),
        name(load.pool),
        number(str(load.broker), order=load.broker),
        byte_count(load.bytes),
        byte_count(load.capacity),
        *_known(load.growth, each.coverage.growth, each.coverage.sizes),
        _days(each.days_to_full, load.capacity, load.growth),
    )


def _known(growth: float | None, grown: float, sized: float) -> Sequence[Cell]:
    return byte_count(growth), share(grown), share(sized)


def _days(days: float | None, capacity: int | None, growth: float | None) -> Cell:
    """Days with the heat of their nearness, or why there are none."""
    if days is not None:
        later = sum(days > limit for limit in _SOON_DAYS)
        shown = f"{days:,.1f}".removesuffix(".0") if days < 10 else f"{days:,.0f}"
        return number(shown, 5 - later, days)
    return number(_UNKNOWN if capacity is None or growth is None else _NEVER)


def _adding(pool: PoolForecast) -> Cell:
    if pool.brokers_to_add is not None:
        return number(pool.brokers_to_add, 4 if pool.brokers_to_add else -1)
    if pool.limit is None:
        return number("unknown capacity")
    if pool.growth is None:
        return number("unknown growth")
    return number(f"above {TO_ADD_MAX:,}", 5, TO_ADD_MAX + 1)
