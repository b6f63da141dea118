"""The page of each cluster's plan beside a fleet's report, with the lines that approve it.

At most so many as are asked for, of the plans that begin first: a page is made from the cluster's
whole snapshot, so that a thousand of them would take longer than the report is worth waiting for.
Where Spark runs already, its tasks write them; it is not started for them.
"""

import hashlib
import secrets
from dataclasses import replace
from functools import lru_cache, partial

from poolkeeper.errors import PoolkeeperError
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.stages.publishing import FEATURES, PLAN, SNAPSHOT, damaged_files, distrust
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.stages.waves import plan_of_day
from poolkeeper.fleet.stages.whole_plan import PlanIsOld, PlanSources, whole_plan
from poolkeeper.frozen import frozen
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.report.fleet.sections import clusters
from poolkeeper.report.plan_report import plan_page
from poolkeeper.report.values import ClusterReport, FleetReport, Gap, Missing
from poolkeeper.zk.client.gc_pause import collector_paused

STEM_MAX = 200
"""Letters of a cluster's name in those of files, which may have 255, suffixes included."""


@frozen
class PageTask:
    """A cluster whose page is to be written."""

    cluster: str


@frozen
class PlanPage:
    """A cluster with a page; or `missing`, why it has none, and the damaged files."""

    cluster: str
    missing: Missing | None = None
    damaged: tuple[str, ...] = ()


def folder_of(day: str) -> str:
    """The folder of the pages, beside the report."""
    return f"report-{day}"


def report_of(day: str) -> str:
    """The report's file."""
    return f"report-{day}.html"


def file_stem(cluster: str) -> str:
    """The beginning of the names of a page's files: the cluster's name, cut if it is too long."""
    if len(cluster) <= STEM_MAX:
        return cluster
    return f"{cluster[:STEM_MAX]}-{hashlib.sha256(cluster.encode()).hexdigest()[:16]}"


def choose_clusters(report: FleetReport, pages_max: int) -> tuple[str, ...]:
    """The clusters whose plans have a page, the first to move first."""
    begins: dict[str, float] = {}
    for bar in report.timeline.bars if report.timeline else ():
        begins[bar.cluster] = min(bar.begin_s, begins.get(bar.cluster, bar.begin_s))
    named = sorted(
        filter(_does_something, report.clusters),
        key=lambda each: (begins.get(each.name, float("inf")), -each.bytes, each.name),
    )
    return tuple(each.name for each in named[: max(0, pages_max)])


def write_pages(
    engine: Engine, lake: Lake, storage: Storage, report: FleetReport, names: tuple[str, ...]
) -> list[PlanPage]:
    """Write the pages, and `plan.json` beside each; raises `Unavailable` where that cannot be.

    A plan that cannot be read has none; the next run makes it again.
    """
    tasks = [PageTask(name) for name in names]
    write = partial(_write, where=_DayOfLake(lake.root, storage, report.day, secrets.token_hex(4)))
    if engine.is_running:
        moves = {each.name: each.moves for each in report.clusters}
        made = engine.do(tasks, write, PlanPage, [moves[name] for name in names])
    else:
        made = list(map(write, tasks))
    distrust(lake, (path for page in made for path in page.damaged))
    return made


@frozen
class _DayOfLake:
    """Where a day is; what tasks keep of it is not used for another report."""

    root: str
    storage: Storage
    day: str
    token: str


def _write(task: PageTask, where: _DayOfLake) -> PlanPage:
    name = task.cluster
    try:
        with collector_paused():
            page, plan = _sources(where).page(name)
            written = plan_json.encode(plan) + b"\n"
    except PlanIsOld as old:
        return PlanPage(name, Missing(Gap.OLD_PLAN, name, old.line))
    except PoolkeeperError as wrong:
        return PlanPage(name, Missing(Gap.DAMAGED, name, wrong.line), damaged_files(wrong))
    objects = ArrowObjects(where.root, where.storage)
    file = f"{folder_of(where.day)}/{file_stem(name)}"
    objects.put(f"{file}.html", page.encode())
    objects.put(f"{file}.json", written)
    return PlanPage(name)


@lru_cache(maxsize=1)
def _sources(where: _DayOfLake) -> "_Sources":
    return _Sources(where)


def with_pages(report: FleetReport, made: frozenset[str], missing: list[Missing]) -> FleetReport:
    """The report with links to the pages that were made, and how many plans have none."""
    linked = tuple(
        replace(each, page=f"{folder_of(report.day)}/{file_stem(each.name)}.html")
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

    def __init__(self, where: _DayOfLake) -> None:
        self._day = where.day
        lake = Lake(ArrowObjects(where.root, where.storage))
        self._declared = manifests.read(lake)
        steps = (SNAPSHOT, FEATURES, PLAN)
        self._snapshots, self._features, self._plans = (lake.current(s, where.day) for s in steps)
        self._tables = Tables(where.root, where.storage, where.token)

    def page(self, name: str) -> tuple[str, Plan]:
        """The page of a cluster that has a plan, and the plan; raises where it cannot be read."""
        entry = self._plans[name]
        plan = plan_of_day(self._tables.reader(), entry)
        read, loaded = self._snapshots.get(name), self._features.get(name)
        sources = PlanSources(name, self._declared.get(name), read, loaded)
        found = whole_plan(plan, entry, sources, self._tables, staged=False)
        page = plan_page(
            found.plan,
            found.made_from.desired,
            found.made_from.cluster,
            clusters.approval(name, plan.hash, f"{file_stem(name)}.json"),
            back=(f"Fleet of {self._day}", f"../{report_of(self._day)}"),
            records=found.made_from.records,
        )
        return page, found.plan
