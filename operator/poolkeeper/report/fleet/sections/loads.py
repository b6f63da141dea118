"""The hottest partitions and topics, and the skew of pools."""

from collections.abc import Iterable, Sequence

from poolkeeper.report.document import (
    Cell,
    ReportTable,
    Section,
    byte_count,
    name,
    number,
    table,
)
from poolkeeper.report.values import FleetReport, Hot, Measured, Skew
from poolkeeper.text import decimal, size

_MEASURES = {
    Measured.REPLICAS: "replicas",
    Measured.LEADERS: "leaders",
    Measured.BYTES: "bytes",
    Measured.BYTES_IN: "written",
}
_RATIOS = (1.05, 1.1, 1.25, 1.5, 2.0)


def hottest(report: FleetReport, rows_max: int) -> Section | None:
    """What is written to most, and what is largest: partitions, then topics."""
    if not report.hottest:
        return None
    by_rate = [each for each in report.hottest if each.measured is Measured.BYTES_IN]
    by_size = [each for each in report.hottest if each.measured is Measured.BYTES]
    tables = (
        *_first("Partitions most written to", _ones(by_rate), rows_max),
        *_first("Topics most written to", _wholes(by_rate), rows_max),
        *_first("Largest partitions, one replica", _ones(by_size), rows_max),
        *_first("Largest topics, one replica of each partition", _wholes(by_size), rows_max),
    )
    note = "The write rate is the 95th percentile of the load history, else the snapshot's."
    if not by_rate:
        note = "No write rates are known: neither the snapshots nor the load history have any."
    return Section("Hottest", (note,), tables=tables)


def _ones(hot: Iterable[Hot]) -> list[Hot]:
    return [each for each in hot if each.partition >= 0]


def _wholes(hot: Iterable[Hot]) -> list[Hot]:
    return [each for each in hot if each.partition < 0]


def _first(caption: str, hot: Sequence[Hot], rows_max: int) -> tuple[ReportTable, ...]:
    ranked = sorted(hot, key=lambda each: (-each.value, each.cluster, each.topic, each.partition))
    single = bool(ranked) and ranked[0].partition >= 0
    rows = (
        (
            name(each.cluster),
            name(each.pool),
            name(each.topic),
            *((number(str(each.partition), order=each.partition),) if single else ()),
            _value(each.measured, each.value),
        )
        for each in ranked[:rows_max]
    )
    columns = ("Cluster", "Pool", "Topic", *(("Partition",) if single else ()))
    value = "Bytes a second" if ranked and ranked[0].measured is Measured.BYTES_IN else "Bytes"
    return table(caption, (*columns, value), rows, rows_max, "row", 0)


def _value(measured: Measured, value: float) -> Cell:
    match measured:
        case Measured.BYTES:
            return byte_count(value)
        case Measured.BYTES_IN:
            return number(f"{size(value)}/s", order=value)
        case Measured.REPLICAS | Measured.LEADERS:
            return number(decimal(value), order=value)


def skew(report: FleetReport, rows_max: int) -> Section | None:
    """The brokers furthest above their share, by pool and measure; none where none is above it."""
    ranked = sorted(
        (each for each in report.skews if each.ratio > 1),
        key=lambda each: (-each.ratio, each[:3]),
    )
    if not ranked:
        return None
    columns = ("Cluster", "Pool", "What", "Broker", "Holds", "Its share", "Times")
    rows = map(_skew_row, ranked)
    tables = table("The broker furthest above its share", columns, rows, rows_max, "row", 0)
    return Section("Skew by pool", ("Shares go by weight, before anything moves.",), tables=tables)


def _skew_row(each: Skew) -> tuple[Cell, ...]:
    return (
        name(each.cluster),
        name(each.pool),
        Cell(_MEASURES[each.measured]),
        number(str(each.broker), order=each.broker),
        _value(each.measured, each.held),
        _value(each.measured, each.share),
        number(f"{each.ratio:.2f}", sum(each.ratio >= limit for limit in _RATIOS), each.ratio),
    )
