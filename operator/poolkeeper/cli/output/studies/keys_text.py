"""What more partitions do to keys, as text and as JSON values."""

from collections.abc import Iterator
from fractions import Fraction

from poolkeeper.algorithms.key_remap import moved_share
from poolkeeper.cli.output.ink import Ink
from poolkeeper.studies.key_growth import KeyCounts, PartitionGrowth, skew
from poolkeeper.text import count, percent

ROWS_MAX = 64
"""The most partitions of the table; JSON has all of them."""


def lines(growth: PartitionGrowth, counts: KeyCounts | None, file: str, ink: Ink) -> Iterator[str]:
    """The lines about one topic; `file` is where the counted keys come from."""
    head = f"{growth.before} → {growth.after} partitions"
    yield ink.bold(f"Topic {growth.topic}: {head}" if growth.topic else head)
    yield from ink.fold(f"  {_arithmetic(growth)}", 2)
    if counts is not None:
        yield from ink.fold(f"  {_measured(counts, file)}", 2)
    for sentence in _consequences(growth, counts):
        yield from ink.fold(f"  {sentence}", 2)
    if counts is not None:
        yield ""
        yield from _table(counts, ink)
        yield from ink.fold(f"  {_skew(counts)}", 2)


def _arithmetic(growth: PartitionGrowth) -> str:
    said = f"{_percent(growth.moved)} of evenly hashed keys change partition."
    if growth.better is None:
        return said
    fewer = _percent(moved_share(growth.before, growth.better))
    return f"{said} With {growth.better} partitions it would be {fewer}."


def _percent(share: Fraction | float) -> str:
    return percent(100 * float(share))


def _measured(counts: KeyCounts, file: str) -> str:
    file = f"{file}, by the hash of Java's producers (murmur2)"
    if counts.keys is None or counts.keys_moved is None:
        moved = _percent(counts.records_moved / counts.records)
        return (
            f"{file}: {moved} of {count(counts.records, 'record')} (too many keys to tell apart)."
        )
    moved = f"{_percent(counts.keys_moved / counts.keys)} of {count(counts.keys, 'key')}"
    if counts.keys == counts.records:
        return f"{file}: {moved}."
    return f"{file}: {moved}, {_percent(counts.records_moved / counts.records)} of" + (
        f" {count(counts.records, 'record')}."
    )


def _consequences(growth: PartitionGrowth, counts: KeyCounts | None) -> Iterator[str]:
    yield (
        "Their older records stay where they are: a consumer may read a newer record of a key"
        " before an older one, until it has read the old partitions to where they were."
    )
    moved = None if counts is None else counts.keys_moved
    stale = count(moved, "key") if moved else "each such key"  # of the file perhaps none moves
    kept = (
        f"the last value of {stale} stays in its old partition for good,"
        " beside the newer one in another: whoever reads the topic into a table finds both"
    )
    if growth.compacted:
        yield f"The topic is compacted: {kept}."
    elif growth.compacted is None:
        yield f"If the topic is compacted, {kept}."
    if growth.keyed is False:
        yield "The Topic does not say keyed: true; if its records have keys, all of this holds."


def _table(counts: KeyCounts, ink: Ink) -> Iterator[str]:
    rows = [_row(counts, each) for each in range(min(len(counts.records_after), ROWS_MAX))]
    heading = ("PARTITION", "RECORDS", "THEN", *(("KEYS THAT LEAVE",) if counts.left else ()))
    yield from ink.table([heading, *rows], names=0)
    if len(counts.records_after) > ROWS_MAX:
        yield f"  … and {len(counts.records_after) - ROWS_MAX:,} more partitions"


def _row(counts: KeyCounts, partition: int) -> tuple[str, ...]:
    is_new = partition >= len(counts.records_before)
    before = "-" if is_new else f"{counts.records_before[partition]:,}"
    row = (str(partition), before, f"{counts.records_after[partition]:,}")
    if counts.left is None:
        return row
    return (*row, "-" if is_new else f"{counts.left[partition]:,}")


def _skew(counts: KeyCounts) -> str:
    before, after = skew(counts.records_before), skew(counts.records_after)
    return f"The fullest partition has {before:.2f} times the mean, then {after:.2f} times."


def as_data(growth: PartitionGrowth, counts: KeyCounts | None) -> dict[str, object]:
    """Return the study of one topic as JSON values."""
    return {
        "topic": growth.topic or None,
        "partitions": growth.before,
        "partitionsThen": growth.after,
        "movedShare": round(float(growth.moved), 6),
        "betterPartitions": growth.better,
        "keyed": growth.keyed,
        "compacted": growth.compacted,
        "measured": None if counts is None else _counts_data(counts),
    }


def _counts_data(counts: KeyCounts) -> dict[str, object]:
    return {
        "hash": "murmur2",
        "records": counts.records,
        "recordsMoved": counts.records_moved,
        "keys": counts.keys,
        "keysMoved": counts.keys_moved,
        "recordsByPartition": list(counts.records_before),
        "recordsByPartitionThen": list(counts.records_after),
        "keysThatLeave": None if counts.left is None else list(counts.left),
        "skew": round(skew(counts.records_before), 4),
        "skewThen": round(skew(counts.records_after), 4),
    }
