"""A plan of one cluster as a page, and as Markdown for a comment on a pull request."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import (
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Plan,
    SetConfig,
    Urgency,
)
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.proposals.identity import is_destructive
from poolkeeper.planning.rules import Rules
from poolkeeper.report import balance, changes, markdown, sections
from poolkeeper.report.changes import PlannedMoves, UnknownSizes
from poolkeeper.report.document import (
    Cell,
    Picture,
    Report,
    Row,
    Section,
    Tile,
    name,
    number,
    table,
)
from poolkeeper.report.holdings import holdings
from poolkeeper.report.html import page, pictures, timelines
from poolkeeper.report.values import Bar
from poolkeeper.studies.planned_groups import PlannedGroup
from poolkeeper.studies.planned_leader_load import planned_leader_loads
from poolkeeper.text import count, fine_duration, more, percent, size


class PlanReportLimits(NamedTuple):
    """The most rows of each table."""

    topics: int = 60
    moves: int = 200
    brokers: int = 500
    pictures: int = 6
    problems: int = 50
    stages: int = 40


_PAGE = PlanReportLimits()
_COMMENT = PlanReportLimits(topics=40, moves=20, brokers=40, pictures=0, problems=20, stages=10)


def plan_page(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    first: Section | None = None,
    groups: Sequence[PlannedGroup] = (),
    back: tuple[str, str] | None = None,
    records: Records = NOTHING_RECORDED,
) -> str:
    """One self-contained HTML page; `cluster` is the one that the plan was made from.

    `first`: a section before all others. `groups`: consumer groups before and after. `back`: text
    and path of the page that leads to this one. `records` tell which Topic each Kafka topic
    follows, and the racks of brokers that are gone.
    """
    return page.render(
        replace(page_document(plan, desired, cluster, first, groups, records), back=back)
    )


def page_document(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    first: Section | None = None,
    groups: Sequence[PlannedGroup] = (),
    records: Records = NOTHING_RECORDED,
    *,
    stored: bool = False,
) -> Report:
    """The page before it is rendered.

    `stored`: the plan was made before; of sizes, perhaps, that `cluster` does not tell.
    """
    made = document(plan, desired, cluster, _PAGE, groups, records, stored=stored)
    return replace(made, sections=(first, *made.sections)) if first else made


def plan_markdown(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    first: Section | None = None,
    groups: Sequence[PlannedGroup] = (),
    records: Records = NOTHING_RECORDED,
) -> str:
    """Markdown short enough for a comment on a forge; what does not fit is counted.

    `first`: a section before all others. `groups`: consumer groups before and after.
    """

    def made(extent: PlanReportLimits) -> Report:
        found = document(plan, desired, cluster, extent, groups, records)
        return replace(found, sections=(first, *found.sections)) if first else found

    return markdown.comment(made, _COMMENT)


def document(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    extent: PlanReportLimits,
    groups: Sequence[PlannedGroup] = (),
    records: Records = NOTHING_RECORDED,
    *,
    stored: bool = False,
) -> Report:
    """The report before it is rendered; `stored` as in `page_document`."""
    moved = changes.PlannedMoves.of(plan)
    sizes = UnknownSizes(0, 0) if stored else UnknownSizes.of(plan, cluster, moved)
    risks = _destructive(plan, moved)
    return Report(
        f"Plan for cluster {plan.cluster}",
        changes.summary(plan, moved),
        tuple(_tiles(plan, moved, risks, sizes)),
        tuple(
            section
            for section in (
                _agreement(risks, extent),
                _problems_section(plan, extent),
                _brokers(plan, desired, cluster, records, extent),
                _groups(groups, extent),
                _proof(plan, extent),
                _stages(plan, sizes, extent),
                _changes(plan, Rules(desired, cluster, frozenset(), records), moved, extent),
                _moves_section(plan, extent),
            )
            if section
        ),
        "" if plan.empty else f"Hash {plan.hash}, made from {plan.fingerprint}",
    )


def _tiles(
    plan: Plan, moved: PlannedMoves, risks: Sequence[Row], sizes: UnknownSizes
) -> Iterator[Tile]:
    if plan.moves:
        yield sections.moves_tile(plan.certificates)
        yield _bytes_tile(plan, moved.bytes)
    if sizes.unknown:
        what = "partition" if sizes.unknown == 1 else "partitions"
        yield Tile(f"{sizes.unknown:,}", f"{what} to copy of unknown size", "bad")
    if plan.makespan:
        least_s = fine_duration(plan.makespan.lower_bound_seconds)
        label = f"at least {least_s} at {size(plan.makespan.bytes_per_second_per_broker)}/s"
        yield Tile(fine_duration(plan.makespan.seconds), f"to move, {label} per broker")
    if plan.stages:
        yield Tile(f"{len(plan.stages):,}", "stage" if len(plan.stages) == 1 else "stages")
    if risks:
        yield Tile(f"{len(risks):,}", "to agree to", "bad")
    yield from sections.problems_tile(sections.left_undone(plan.problems))


def _bytes_tile(plan: Plan, total: int) -> Tile:
    least = sum(proof.bytes_lower_bound for proof in plan.certificates)
    fewest = "as little as possible" if total <= least else f"at least {size(least)} must"
    return Tile(size(total), f"to copy, {fewest}")


def _destructive(plan: Plan, moved: PlannedMoves) -> list[Row]:
    rows: list[Row] = []
    for step in plan.steps:
        if isinstance(step, DeleteTopic):
            rows.append((Cell("topic"), name(step.topic), Cell("is deleted with all of its data")))
        elif isinstance(step, SetConfig) and is_destructive(step):
            effects = "; ".join(step.destructive) or "its config loses data or safety"
            rows.append((Cell("topic"), name(step.topic), Cell(f"— {effects}")))
    for topic, partitions in sorted(moved.shrunk().items()):
        told = f"loses replicas of {count(partitions, 'partition')}"
        rows.append((Cell("topic"), name(topic), Cell(told)))
    return rows


def _agreement(rows: Sequence[Row], extent: PlanReportLimits) -> Section | None:
    if not rows:
        return None
    note = "These lose data or safety, and cannot be undone by another plan:"
    cut = more(len(rows) - extent.problems, "topic")
    return Section("To agree to", (note,), items=tuple(rows[: extent.problems]), more=cut)


def _changes(
    plan: Plan, rules: Rules, moved: PlannedMoves, extent: PlanReportLimits
) -> Section | None:
    of_topic = changes.TopicChanges(plan, rules.cluster, moved)
    pools = ((rules.home(topic).pool or "", topic) for topic in of_topic.topics)
    listed = sorted((not pool, pool, topic) for pool, topic in pools)
    elected = sum(len(s.partitions) for s in plan.steps if isinstance(s, ElectLeaders))
    notes = (f"Preferred replicas lead {count(elected, 'partition')}.",) if elected else ()
    if not listed:
        return Section("What changes", notes) if notes else None
    rows = (
        (name(pool), name(topic), *of_topic.row(topic))
        for _, pool, topic in listed[: extent.topics]
    )
    columns = ("Pool", "Topic", "What", "Why", "Bytes")
    tables = table("By topic", columns, rows, extent.topics, "topic")
    left = more(len(listed) - extent.topics, "topic")
    return Section("What changes", notes, tables=tuple(replace(t, more=left) for t in tables))


def _moves_section(plan: Plan, extent: PlanReportLimits) -> Section | None:
    rows = [
        (
            name(move.topic),
            number(str(move.partition)),
            Cell(" → ".join(map(_ids, move.path))),
            number(size(move.bytes)),
            Cell(move.reason),
        )
        for move in plan.moves[: extent.moves]
    ]
    columns = ("Topic", "Partition", "Replicas", "Bytes", "Why")
    tables = table("Moves", columns, rows, extent.moves, "move")
    left = more(len(plan.moves) - extent.moves, "move")
    tables = tuple(replace(each, more=left) for each in tables if each.rows)
    return Section("Moves one by one", tables=tables, folded="The moves") if tables else None


def _brokers(
    plan: Plan, desired: Desired, cluster: Cluster, records: Records, extent: PlanReportLimits
) -> Section | None:
    if not plan.moves and not any(isinstance(s, CreateTopic | DeleteTopic) for s in plan.steps):
        return None
    held = holdings(plan, desired, cluster, records)
    pools = balance.pools_of(plan.cluster, held)
    changing = sorted((p for p in pools if p.changes), key=lambda p: (-p.changes, p.pool))
    shown = changing[: extent.pictures]
    led = sections.leader_loads_table(planned_leader_loads(plan, cluster), extent.brokers)
    return Section(
        "Brokers before and after",
        pictures=tuple(map(pictures.brokers_picture, shown)),
        more=more(len(changing) - extent.pictures, "pool") if extent.pictures else "",
        tables=(*sections.brokers_table(held, extent.brokers), *led),
        folded="The same in figures",
    )


def _groups(groups: Sequence[PlannedGroup], extent: PlanReportLimits) -> Section | None:
    """What members read, and what a rebalance costs the groups that the plan makes rebalance."""
    notes = []
    for group in groups[: extent.topics]:
        if group.changed is None or group.stopped is None:
            notes.append(f"Group {group.name} has an assignor that is not known here.")
        elif group.changed or group.stopped:
            hands = "changes hands" if group.changed == 1 else "change hands"
            changed = f"{count(group.changed, 'partition')} of group {group.name} {hands}"
            stops = f"{percent(100 * group.stopped)} of what it reads stops while it rebalances"
            notes.append(f"{changed}, and {stops}.")
    tables = sections.groups_table(groups, extent.brokers)
    return Section("Consumer groups", tuple(notes), tables=tables) if tables or notes else None


def _proof(plan: Plan, extent: PlanReportLimits) -> Section | None:
    proofs = [("", proof) for proof in plan.certificates if proof.replica_moves or proof.bytes]
    tables = sections.certificates_table(proofs, extent.topics, clusters=False)
    return Section("How close to the fewest moves", tables=tables) if tables else None


def _stages(plan: Plan, sizes: UnknownSizes, extent: PlanReportLimits) -> Section | None:
    if not plan.stages:
        return None
    bars, rows, at = [], [], 0.0
    for place, stage in enumerate(plan.stages):
        urgency = min(
            (plan.moves[index].urgency for index, _ in stage.moves), default=Urgency.BALANCE
        )
        end = at + stage.seconds
        bars.append(Bar(f"{place + 1}", "", urgency, 1, stage.bytes, at, end, 0, 1))
        moves = count(len(stage.moves), "move")
        when = number(fine_duration(at)), number(fine_duration(end))
        rows.append((number(place + 1), Cell(moves), number(size(stage.bytes)), *when))
        at = end
    shown: tuple[Picture, ...] = ()
    if extent.pictures and at:
        tells = f"{count(len(bars), 'stage')}, one after the other, coloured by urgency."
        shown = (timelines.timeline_picture(bars, at, "When:", tells),)
    columns = ("Stage", "What", "Bytes", "Begins after", "Ends after")
    tables = table("Stages", columns, rows, extent.stages, "stage")
    notes = [str(sizes)] if sizes.unknown else []
    if not plan.makespan:
        notes.append("Not all moves can go yet: see what is left undone.")
    return Section("Stages", tuple(notes), shown, tables, folded="The same in figures")


def _problems_section(plan: Plan, extent: PlanReportLimits) -> Section | None:
    if not plan.problems:
        return None
    items = tuple(
        sections.problem_item("", problem) for problem in plan.problems[: extent.problems]
    )
    cut = more(len(plan.problems) - extent.problems, "problem")
    return Section("Not done, and why", items=items, more=cut)


def _ids(replicas: Replicas) -> str:
    return " ".join(map(str, replicas))
