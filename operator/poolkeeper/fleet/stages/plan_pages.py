"""The page of each cluster's plan beside a fleet's report, with the lines that approve it.

At most so many as are asked for, of the plans that begin first: a page is made from the cluster's
whole snapshot, so that a thousand of them would take longer than the report is worth waiting for.
"""

import secrets
from collections.abc import Iterator
from dataclasses import replace

from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages.plan import PlanTask, plan_input_of
from poolkeeper.fleet.stages.publishing import FEATURES, PLAN, SNAPSHOT, damaged_files, distrust
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.stages.waves import plan_of_day
from poolkeeper.frozen import frozen
from poolkeeper.planning.proposals import plan_json
from poolkeeper.report.fleet_sections import clusters
from poolkeeper.report.plan_report import plan_page
from poolkeeper.report.values import ClusterReport, FleetReport, Gap, Missing


@frozen
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


def plan_pages(
    lake: Lake, storage: Storage, report: FleetReport, names: tuple[str, ...]
) -> Iterator[PlanPage]:
    """The pages one after the other, as each may be large.

    A plan that cannot be read has none; the next run makes it again.
    """
    sources = _Sources(lake, storage, report.day)
    for name in names:
        try:
            yield sources.page(name)
        except PoolkeeperError as wrong:
            distrust(lake, damaged_files(wrong))
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


class _Sources:
    """What the pages of a day are made from."""

    def __init__(self, lake: Lake, storage: Storage, day: str) -> None:
        self._day = day
        self._declared = manifests.read(lake)
        steps = (SNAPSHOT, FEATURES, PLAN)
        self._snapshots, self._features, self._plans = (lake.current(s, day) for s in steps)
        self._tables = Tables(lake.root, storage, secrets.token_hex(4))

    def page(self, name: str) -> PlanPage:
        """The page of a cluster that has a plan; raises `Refused` where it cannot be read."""
        plan = plan_of_day(self._tables.reader(), self._plans[name])
        declared = self._declared[name].text if name in self._declared else ""
        task = PlanTask(name, declared, self._snapshots.get(name), self._features.get(name))
        made_from = plan_input_of(task, self._tables)
        page = plan_page(
            plan,
            made_from.desired,
            made_from.cluster,
            clusters.approval(name, plan.hash, f"{name}.json"),
            back=(f"Fleet of {self._day}", f"../{report_of(self._day)}"),
        )
        return PlanPage(name, page, plan_json.to_json(plan))
