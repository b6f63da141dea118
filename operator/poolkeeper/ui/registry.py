"""The pages that there are: of each cluster, of all clusters, and files of a fleet.

A page shows what a watch has seen, as a report. Another page of a cluster is one more `LivePage` in
its `LiveCluster`; the server, the places above each page and the events follow from that. Several
pages may share a watch.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from poolkeeper.frozen import frozen
from poolkeeper.report.document import Cell, CellKind, Report, Row, Section, Tile, table
from poolkeeper.report.html import page
from poolkeeper.report.html.frame import Frame, PageLink
from poolkeeper.ui.watch import Looking, Seen, SharedLook

PATIENCE_S = 1.5
"""How long a page waits for the first look before it says that there was none yet."""
FIRST_S = 5
"""How often a browser without the script loads a page of which nothing was seen yet."""
OVERVIEW_EVERY_S = 2.0
CLUSTERS_MAX = 200


@frozen
class LivePage:
    """A page of a cluster, and how it is kept up to date.

    `name` is the last part of its address. `report` makes it of what the watch has seen.
    `in_place`: news replace what is shown, else a link says that there are any. `refresh_s`: how
    often a browser without the script loads it.
    """

    name: str
    label: str
    watch: SharedLook[Any]
    report: Callable[[Any], Report]
    in_place: bool = True
    refresh_s: int = 5


@frozen
class LiveCluster:
    """A cluster's pages, the first of which is shown first; `line` is that one in a sentence."""

    name: str
    pages: tuple[LivePage, ...]
    line: Callable[[Any], str]


class File(NamedTuple):
    """A file of a fleet's reports: its content and its type."""

    body: bytes
    content_type: str


@frozen
class FleetFiles:
    """Reports of a fleet that were written before; both functions raise where they cannot read.

    `latest` returns the path of the latest report, None without any. `read` returns None for a path
    that is no page of a report.
    """

    latest: Callable[[], str | None]
    read: Callable[[str], File | None]


class Shown(NamedTuple):
    """A page at one time: the number of its look, its report, `told` beside the places.

    `mark` tells contents apart; it is empty before the first look.
    """

    number: int
    report: Report
    content: str
    told: str

    @property
    def mark(self) -> str:
        """A short digest of the content."""
        return sha256(self.content.encode("utf-8", "replace")).hexdigest()[:16] * bool(self.number)


class View:
    """A page at its address; what is made of a look is made once for all viewers."""

    def __init__(self, live: LivePage, path: str, places: tuple[PageLink, ...], whose: str) -> None:
        self.live = live
        self.path = path
        self._whose = whose
        self._places = tuple(place._replace(is_here=place.href == path) for place in places)
        self._lock = Lock()
        self._shown: Shown | None = None

    def whole(self) -> tuple[str, str]:
        """The page now, and its content security policy."""
        shown = self._of(self.live.watch.fresh(PATIENCE_S))
        events = f"{self.path}/events?shown={shown.mark}"
        # What shows nothing yet is loaded again as soon as any page, by a browser without scripts.
        refresh_s = self.live.refresh_s if shown.mark else min(FIRST_S, self.live.refresh_s)
        frame = Frame(self._places, events, refresh_s, shown.told)
        return page.render(shown.report, frame), page.policy(shown.report, frame)

    def newer(self, than: int, patience_s: float) -> Shown:
        """The page after look number `than`, or as it is after `patience_s`."""
        return self._of(self.live.watch.newer(than, patience_s))

    def _of(self, seen: Seen[Any]) -> Shown:
        with self._lock:
            if self._shown is None or self._shown.number != seen.number:
                report = self._report(seen)
                content = page.content(report)
                self._shown = Shown(seen.number, report, content, last_look_text(seen))
            return self._shown

    def _report(self, seen: Seen[Any]) -> Report:
        lost = Section("Not readable now", items=((Cell(seen.trouble),),))
        if seen.value is None:
            title = f"{self.live.label}: {self._whose}" if self._whose else self.live.label
            if seen.trouble:
                return Report(title, "Nothing could be read yet.", sections=(lost,))
            return Report(title, "The first look is under way.")
        made = self.live.report(seen.value)
        if not seen.trouble:
            return made
        before = f"Below is what was seen at {clock_time(seen.value_ms)}."
        lost = Section(lost.title, (before,), items=lost.items)
        lead = f"Not readable now. At {clock_time(seen.value_ms)}: {made.lead}"
        tiles = (Tile("not readable", f"since {clock_time(seen.value_ms)}", "bad"), *made.tiles)
        return replace(made, lead=lead, tiles=tiles, sections=(lost, *made.sections))


def last_look_text(seen: Seen[Any]) -> str:
    """The line that tells when the cluster was looked at last."""
    if not seen.number:
        return "looking"
    if seen.trouble:
        return f"not readable at {clock_time(seen.at_ms)}; tried again"
    return f"seen at {clock_time(seen.at_ms)}"


def clock_time(time_ms: int) -> str:
    """The time of day of milliseconds since 1970: 22:13:20 UTC."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%H:%M:%S UTC")


class LivePages:
    """All pages by address. `close` ends all looks."""

    def __init__(self, clusters: tuple[LiveCluster, ...], fleet: FleetFiles | None = None) -> None:
        self.fleet = fleet
        beside = (PageLink("Fleet", "/fleet"),) if fleet else ()
        overview = _overview(clusters) if len(clusters) != 1 else None
        first = (PageLink("Clusters", "/clusters"),) if overview else ()
        self.views: dict[str, View] = {}
        self._watches = {page.watch for cluster in clusters for page in cluster.pages}
        if overview:
            self.views["/clusters"] = View(overview, "/clusters", (*first, *beside), "")
            self._watches.add(overview.watch)
        for cluster in clusters:
            places = (*first, *_places(cluster), *beside)
            for live, place in zip(cluster.pages, _places(cluster), strict=True):
                self.views[place.href] = View(live, place.href, places, cluster.name)
        self.home = next(iter(self.views), "/fleet")

    def close(self, patience_s: float) -> None:
        """End all looks; wait up to `patience_s` for each until it has let go."""
        for watch in self._watches:
            watch.close()
        for watch in self._watches:
            watch.close(patience_s)


def _places(cluster: LiveCluster) -> tuple[PageLink, ...]:
    return tuple(PageLink(live.label, address(cluster.name, live.name)) for live in cluster.pages)


def address(cluster: str, page_name: str) -> str:
    """The path of a cluster's page."""
    return f"/clusters/{quote(cluster, safe='')}/{page_name}"


def _overview(clusters: tuple[LiveCluster, ...]) -> LivePage:
    """The page of all clusters: the first page of each in a line."""

    def look() -> Mapping[str, Seen[Any]]:
        return {each.name: each.pages[0].watch.seen() for each in clusters[:CLUSTERS_MAX]}

    def report(seen: Mapping[str, Seen[Any]]) -> Report:
        rows = (_row(each, seen.get(each.name, Seen())) for each in clusters)
        tables = table(
            "Each leads to its pages", ("Cluster", "Now", "Seen at"), rows, CLUSTERS_MAX, "cluster"
        )
        return Report(
            "Clusters", "What moves where.", sections=(Section("All of them", tables=tables),)
        )

    return LivePage(
        "clusters", "Clusters", SharedLook(Looking(look), OVERVIEW_EVERY_S, "all clusters"), report
    )


def _row(cluster: LiveCluster, seen: Seen[Any]) -> Row:
    line = "looking" if seen.value is None else cluster.line(seen.value)
    at = clock_time(seen.value_ms) if seen.value is not None else ""
    return (
        Cell(cluster.name, CellKind.NAME, link=address(cluster.name, cluster.pages[0].name)),
        Cell(seen.trouble or line),
        Cell(at),
    )
