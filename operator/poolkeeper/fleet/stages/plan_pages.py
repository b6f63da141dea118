"""The page of each cluster's plan beside a fleet's report, with the lines that approve it.

At most so many as are asked for, of the plans that begin first: a page is made from the cluster's
whole snapshot, so that a thousand of them would take longer than the report is worth waiting for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.stages.plan import plan_input_of
from poolkeeper.fleet.stages.waves import plan_of_day
from poolkeeper.fleet.storage.store import Store
from poolkeeper.planning.proposals import plan_json
from poolkeeper.report.fleet_sections import clusters
from poolkeeper.report.plan_report import plan_page
from poolkeeper.report.values import ClusterReport, FleetReport, Gap, Missing


@dataclass(frozen=True, slots=True)
class PlanPage:
    """A cluster's plan as a page and as `plan.json`; or `missing`, why there is none."""

    cluster: str
    page: str = ""
    plan: plan_json.Json | None = None
    missing: Missing | None = None


def folder_of(day: str) -> str:
    """The folder of the pages, beside the report."""
    return f"report-{day}"


def report_of(day: str) -> str:
    """The report's file."""
    return f"report-{day}.html"


def chosen(report: FleetReport, pages_max: int) -> tuple[str, ...]:
    """The clusters whose plans have a page, the first to move first."""
    begins: dict[str, float] = {}
    for bar in report.timeline.bars if report.timeline else ():
        begins[bar.cluster] = min(bar.begin_s, begins.get(bar.cluster, bar.begin_s))
    named = sorted(
        filter(_does_something, report.clusters),
        key=lambda each: (begins.get(each.name, float("inf")), -each.bytes, each.name),
    )
    return tuple(each.name for each in named[: max(0, pages_max)])


def plan_pages(store: Store, report: FleetReport, names: tuple[str, ...]) -> Iterator[PlanPage]:
    """The pages one after the other, as each may be large."""
    for name in names:
        try:
            yield _page(store, report.day, name)
        except PoolkeeperError as wrong:
            yield PlanPage(name, missing=Missing(Gap.DAMAGED, name, wrong.line))


def with_pages(report: FleetReport, made: frozenset[str], missing: list[Missing]) -> FleetReport:
    """The report with links to the pages that were made, and how many plans have none."""
    linked = tuple(
        replace(each, page=f"{folder_of(report.day)}/{each.name}.html")
        if each.name in made
        else each
        for each in report.clusters
    )
    without = sum(1 for each in linked if _does_something(each) and not each.page)
    gaps = tuple(sorted((*report.missing, *missing)))
    return replace(report, clusters=linked, pages_left_out=without, missing=gaps)


def _does_something(cluster: ClusterReport) -> bool:
    return not cluster.failed and bool(cluster.moves or cluster.steps)


def _page(store: Store, day: str, name: str) -> PlanPage:
    plan, made_from = plan_of_day(store, day, name), plan_input_of(store, day, name)
    page = plan_page(
        plan,
        made_from.desired,
        made_from.cluster,
        clusters.approval(name, plan.hash, f"{name}.json"),
        (f"Fleet of {day}", f"../{report_of(day)}"),
    )
    return PlanPage(name, page, plan_json.to_json(plan))
