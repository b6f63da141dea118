"""The difference to an earlier day."""

from collections.abc import Iterator

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
from poolkeeper.report.values import (
    ClusterDifference,
    Differences,
    FleetReport,
    Presence,
    ProblemKey,
)
from poolkeeper.text import count, more, size

_CAME = {Presence.CAME: "came", Presence.WENT: "went", Presence.STAYED: "changed"}
_COLUMNS = (
    *("Cluster", "What", "Partitions", "more", "Bytes held", "more", "To move", "more"),
    *("New problems", "Solved", "Off share, before", "now"),
)


def section(report: FleetReport, clusters_max: int, problems_max: int) -> Section | None:
    """The clusters that changed, the greatest change of bytes first; then the new problems."""
    found = report.differences
    if found is None:
        return None
    changed = sorted(found.clusters, key=_rank)
    tables = table(
        "Clusters that changed", _COLUMNS, map(_row, changed), clusters_max, "cluster", 0
    )
    new = [(each.cluster, key) for each in found.clusters for key in each.problems_new]
    return Section(
        f"Since {found.since}",
        (_summary(found),),
        tables=tables,
        items=tuple(_item(*each) for each in new[:problems_max]),
        more=more(len(new) - problems_max, "new problem"),
    )


def tiles(report: FleetReport) -> Iterator[Tile]:
    """How many problems are new."""
    found = report.differences
    if found is None:
        return
    new = sum(len(each.problems_new) for each in found.clusters)
    if new:
        yield Tile(f"{new:,}", f"problems new since {found.since}", "bad")


def _summary(found: Differences) -> str:
    if not found.clusters:
        return "Nothing changed."
    came = sum(each.presence is Presence.CAME for each in found.clusters)
    went = sum(each.presence is Presence.WENT for each in found.clusters)
    partitions = sum(_change(e.before.partitions, e.now.partitions) or 0 for e in found.clusters)
    held = sum(_change(e.before.held, e.now.held) or 0 for e in found.clusters)
    new = sum(len(each.problems_new) for each in found.clusters)
    solved = sum(len(each.problems_solved) for each in found.clusters)
    return (
        f"{count(len(found.clusters), 'cluster')} changed, of which {came:,} came and {went:,}"
        f" went; {partitions:+,} partitions, {_signed(held)};"
        f" {count(new, 'new problem')}, {solved:,} solved.{_unknown(found)}"
    )


def _unknown(found: Differences) -> str:
    """Of how many clusters the change of bytes is in no sum."""
    without = sum(_change(each.before.held, each.now.held) is None for each in found.clusters)
    if not without:
        return ""
    return (
        f" Bytes are without {count(without, 'cluster')} of which one of the days has no plan or"
        " no snapshot."
    )


def _signed(held: int) -> str:
    return f"{'-' if held < 0 else '+'}{size(abs(held))}"


def _rank(each: ClusterDifference) -> tuple[bool, int, str]:
    grown = abs(_change(each.before.held, each.now.held) or 0)
    return each.presence is Presence.STAYED, -grown, each.cluster


def _row(each: ClusterDifference) -> Row:
    before, now = each.before, each.now
    both = each.presence is Presence.STAYED and before.planned and now.planned
    return (
        name(each.cluster),
        Cell(_CAME[each.presence]),
        number("" if now.partitions is None else now.partitions),
        _more(_change(before.partitions, now.partitions)),
        byte_count(now.held, ""),
        _more_bytes(_change(before.held, now.held)),
        byte_count(now.move_bytes if now.planned else None, ""),
        _more_bytes(now.move_bytes - before.move_bytes) if both else number(""),
        number(len(each.problems_new)) if both else number(""),
        number(len(each.problems_solved)) if both else number(""),
        _off(before.imbalance if before.planned else None),
        _off(now.imbalance if now.planned else None),
    )


def _off(imbalance: float | None) -> Cell:
    return number("") if imbalance is None else share(imbalance)


def _change(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before


def _more(change: int | None) -> Cell:
    return number(f"{change:+,}" if change else "", order=change)


def _more_bytes(change: int | None) -> Cell:
    return number(_signed(change) if change else "", order=change)


def _item(cluster: str, key: ProblemKey) -> Row:
    places = (("new in cluster", cluster), ("pool", key.pool), ("topic", key.topic))
    place = [part for what, named in places if named for part in (Cell(what), name(named))]
    return (*place, *((Cell(f"(law: {key.law})"),) if key.law else ()))
