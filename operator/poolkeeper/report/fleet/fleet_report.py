"""The report of a fleet: totals, when each cluster moves, capacity, loads, waves, problems.

Sections of their own are in `sections`; here are the whole and what is about the schedule.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from poolkeeper.report import balance, markdown
from poolkeeper.report import sections as report_sections
from poolkeeper.report.balance import PoolBalance
from poolkeeper.report.document import (
    Cell,
    Picture,
    Report,
    Row,
    Section,
    Tile,
    byte_count,
    name,
    number,
    span,
    table,
)
from poolkeeper.report.fleet.sections import capacity, clusters, loads, missing, since, snapshots
from poolkeeper.report.html import page, pictures, timelines
from poolkeeper.report.values import URGENCIES, Bar, ClusterReport, FleetReport, Timeline
from poolkeeper.text import count, fine_duration, more, part_of, size


class FleetReportLimits(NamedTuple):
    """The most rows of each table; `forecasts`: of pools, whose names readers look for."""

    clusters: int = 5000
    forecasts: int = 2000
    pools: int = 30
    problems: int = 50
    waves: int = 30
    hottest: int = 20
    pictures: int = 3


_PAGE = FleetReportLimits()
_COMMENT = FleetReportLimits(20, 15, 15, 20, 15, 5, pictures=0)


def fleet_page(report: FleetReport) -> str:
    """One self-contained HTML page, two megabytes for a thousand clusters."""
    return page.render(document(report, _PAGE))


def fleet_markdown(report: FleetReport) -> str:
    """Markdown short enough for a comment on a forge; what does not fit is counted."""
    return markdown.comment(lambda extent: document(report, extent), _COMMENT)


def document(report: FleetReport, extent: FleetReportLimits) -> Report:
    """The report before it is rendered."""
    planned = [cluster for cluster in report.clusters if not cluster.failed]
    pools = [
        pool for cluster in planned for pool in balance.pools_of(cluster.name, cluster.brokers)
    ]
    pools = [pool for pool in pools if pool.pool]
    # Sorted by name first, so that ties do not depend on the order of the input.
    pools.sort(key=lambda pool: (-pool.imbalances[0][0], pool.cluster, pool.pool))
    sections = (
        missing.section(report, extent.clusters),
        clusters.section(report, extent.clusters),
        since.section(report, extent.clusters, extent.problems),
        snapshots.section(report, extent.clusters),
        capacity.section(report, extent.forecasts, extent.pools),
        loads.hottest(report, extent.hottest),
        loads.skew(report, extent.pools),
        _waves(report.timeline, extent),
        _omitted(report.timeline, extent),
        _worst(pools, extent),
        _proofs(planned, extent),
        _problems(planned, extent),
    )
    return Report(
        f"Fleet of {count(len(report.clusters), 'cluster')}, {report.day}",
        _lead(report, planned),
        tuple(_tiles(report, planned, pools)),
        tuple(section for section in sections if section),
        "Plans go through stage and apply, which check them against the live clusters again.",
        filter="cluster",
    )


def _lead(report: FleetReport, planned: Sequence[ClusterReport]) -> str:
    moving = sum(1 for cluster in planned if cluster.moves)
    copied = size(sum(cluster.bytes for cluster in planned))
    told = f"{count(moving, 'cluster')} would move {copied}"
    if report.timeline and report.timeline.bars:
        told += f" in {fine_duration(report.timeline.makespan_s)}"
    failed = len(report.clusters) - len(planned)
    could = (
        f"{count(failed, 'cluster')} could not be planned"
        if failed
        else ("all clusters could be planned")
    )
    return f"{told}; {could}."


def _tiles(
    report: FleetReport, planned: Sequence[ClusterReport], pools: Sequence[PoolBalance]
) -> Iterator[Tile]:
    yield from missing.tiles(report)
    partitions = sum(cluster.partitions for cluster in planned)
    yield Tile(f"{partitions:,}", f"partitions in {count(len(pools), 'pool')}")
    yield from _proof_tiles(planned)
    if report.timeline and report.timeline.bars:
        bound = fine_duration(report.timeline.bound_s)
        yield Tile(fine_duration(report.timeline.makespan_s), f"to move, at least {bound}")
    risky = sum(cluster.destructive for cluster in planned)
    if risky:
        yield Tile(f"{risky:,}", "destructive steps to agree to", "bad")
    undone = sum(report_sections.left_undone(cluster.problems) for cluster in planned)
    yield from report_sections.problems_tile(undone)
    yield from since.tiles(report)
    yield from capacity.tiles(report)
    yield from snapshots.tiles(report)


def _proof_tiles(planned: Sequence[ClusterReport]) -> Iterator[Tile]:
    proofs = [proof for cluster in planned for proof in cluster.certificates]
    yield report_sections.moves_tile(proofs)
    total = sum(cluster.bytes for cluster in planned)
    least = sum(proof.bytes_lower_bound for proof in proofs)
    yield Tile(size(total), f"to copy, at least {size(least)} must")


def _waves(timeline: Timeline | None, extent: FleetReportLimits) -> Section | None:
    if timeline is None or not timeline.bars:
        return None
    by_wave: dict[int, list[Bar]] = defaultdict(list)
    by_class: dict[int, list[Bar]] = defaultdict(list)
    for bar in timeline.bars:
        by_wave[bar.wave].append(bar)
        by_class[_class(bar)].append(bar)
    heads = ("Clusters", "Stages", "Bytes", "Begins after", "Ends after")
    purposes = ((Cell(URGENCIES[n]), *_figures(mine)) for n, mine in sorted(by_class.items()))
    waves = ((number(wave), *_figures(mine)) for wave, mine in sorted(by_wave.items()))
    tables = (
        *table("By purpose", ("Purpose", *heads), purposes, len(URGENCIES), "purpose"),
        *table("By wave", ("Wave", *heads), waves, extent.waves, "wave"),
    )
    shown = (_timeline(timeline),) if extent.pictures else ()
    return Section("Waves", tuple(_timeline_text(timeline)), shown, tables)


def _figures(bars: Sequence[Bar]) -> Row:
    return (
        number(len({bar.cluster for bar in bars})),
        number(sum(bar.stages for bar in bars)),
        byte_count(sum(bar.bytes for bar in bars)),
        span(min(bar.begin_s for bar in bars)),
        span(max(bar.end_s for bar in bars)),
    )


def _class(bar: Bar) -> int:
    return min(max(bar.urgency, 0), len(URGENCIES) - 1)


def _timeline(timeline: Timeline) -> Picture:
    lanes = 1 + max(bar.lane for bar in timeline.bars)
    tells = (
        f"{count(len(timeline.bars), 'turn')} of"
        f" {count(len({bar.cluster for bar in timeline.bars}), 'cluster')}"
        f" in {count(lanes, 'lane')}, over {fine_duration(timeline.makespan_s)}."
    )
    if cut := more(lanes - timelines.LANES_MAX, "lane"):
        tells += f" The first lanes are shown, {cut} are not."
    return timelines.timeline_picture(timeline.bars, timeline.makespan_s, "Who moves when:", tells)


def _timeline_text(timeline: Timeline) -> Iterator[str]:
    if timeline.budget:
        yield f"Budget: {timeline.budget}."
    if timeline.bound_s:
        ratio, least = timeline.makespan_s / timeline.bound_s, fine_duration(timeline.bound_s)
        yield (
            f"From {timeline.begin:%Y-%m-%d %H:%M %Z} it takes"
            f" {fine_duration(timeline.makespan_s)}: {ratio:.2f} times the"
            f" {least} that no order can beat ({timeline.bound_cause})."
        )
    yield (
        "A turn is a cluster's stages without a pause; a lane has one turn at a time, and the n-th"
        " turns of all lanes are wave n. Urgent ones go first, then the most gain per byte."
    )


def _omitted(timeline: Timeline | None, extent: FleetReportLimits) -> Section | None:
    if timeline is None or not timeline.omitted:
        return None
    rows = (
        (
            name(each.cluster),
            number(each.stages),
            byte_count(each.bytes),
            Cell(each.reason),
        )
        for each in sorted(timeline.omitted, key=lambda each: (-each.bytes, each.cluster))
    )
    columns = ("Cluster", "Stages", "Bytes", "Why")
    caption = "Stages that no time was found for"
    tables = table(caption, columns, rows, extent.clusters, "cluster", 0)
    return Section("Not in the budget", tables=tables)


def _worst(pools: Sequence[PoolBalance], extent: FleetReportLimits) -> Section | None:
    if not pools:
        return None
    changing = sorted(
        (p for p in pools if p.changes), key=lambda p: (-p.changes, p.cluster, p.pool)
    )
    shown = [pictures.heat_picture(pools)] if extent.pictures else []
    for pool in changing[: extent.pictures]:
        shown.append(pictures.brokers_picture(pool, cluster=pool.cluster))
    tables = report_sections.balances_table(pools, extent.pools, clusters=True)
    return Section("Worst pools", pictures=tuple(shown), tables=tables)


def _proofs(planned: Sequence[ClusterReport], extent: FleetReportLimits) -> Section | None:
    proofs = [
        (cluster.name, proof)
        for cluster in planned
        for proof in cluster.certificates
        if proof.replica_moves or proof.bytes
    ]
    if not proofs:
        return None
    proofs.sort(key=lambda each: (-each[1].gap_percent, -each[1].bytes, each[0], each[1].pool))
    exact = sum(proof.replica_moves <= proof.replica_moves_lower_bound for _, proof in proofs)
    note = (
        f"{part_of(exact, len(proofs), 'pool')} move as few replicas as any plan could;"
        " the widest gaps first."
    )
    tables = report_sections.certificates_table(proofs, extent.pools, clusters=True)
    return Section("How close to the fewest moves", (note,), tables=tables)


def _problems(planned: Sequence[ClusterReport], extent: FleetReportLimits) -> Section | None:
    found = [
        report_sections.problem_item(cluster.name, problem)
        for cluster in sorted(planned, key=lambda each: each.name)
        for problem in cluster.problems
    ]
    if not found:
        return None
    cut = more(len(found) - extent.problems, "problem")
    return Section("Not done, and why", items=tuple(found[: extent.problems]), more=cut)
