"""Event by event, which clusters begin a stage: the simulation under `schedule.schedule`.

The simulated time stops when a stage ends, when a window opens or closes, and when the fleet's rate
changes. At a stop:

1. Running stages that could use a higher rate get what is free, those that began first before
   others.
2. Then the clusters that may move begin their next stage in the order of ranks (`order`). A stage
   gets the least of what it can use, what is free of the fleet's rate and what is free of its
   site's.

The rate of a stage may grow and never falls until the stage ends. A stage that would not end before
its deadline does not begin; it is tried again when more is free, or at the next opening.

So the budget is never exceeded, and no stage waits that could begin. Each site shows only its best
cluster while it has a free rate, which makes a stop cheap however many clusters wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from poolkeeper.fleet.schedule.budget import UNBOUNDED, Budget, ClusterWork, Slice, Turn
from poolkeeper.fleet.schedule.calendar import Fleet, Opening
from poolkeeper.fleet.schedule.order import Rank, ranks

_FLEET = -1


@dataclass(slots=True)
class _Run:
    """A stage under way; `left`: its bytes when it was given its present rate."""

    stage: int
    since_ms: int
    rate: int
    left: int
    can_use: int
    earliest_ms: int
    end_ms: int


@dataclass(slots=True)
class _ClusterTurn:
    urgency: int
    first: int
    begin_ms: int
    end_ms: int
    stages: int = 0
    bytes: int = 0


class Scheduler:
    """Clusters are numbers: places in `works`, which come by name.

    A cluster that is not done is in one place: shown, hidden behind its site, parked until its
    calendar changes, or running.
    """

    def __init__(
        self,
        works: Sequence[ClusterWork],
        budget: Budget,
        fleet: Fleet,
        calendars: Sequence[Sequence[Opening]],
        calendar_of: Sequence[int],
    ) -> None:
        """`calendars`: the different ones; `calendar_of`: the place of each cluster's in them."""
        self.slices: list[Slice] = []
        self.turns: list[Turn] = []
        self.done = [0] * len(works)
        self._works, self._budget, self._fleet = works, budget, fleet
        self._calendar_of = calendar_of
        self._ranks = [ranks(work.stages) for work in works]
        self._runs: dict[int, _Run] = {}
        self._below_rate: dict[int, _Run] = {}
        self._turns: dict[int, _ClusterTurn] = {}
        self._candidates = [(found[0], c) for c, found in enumerate(self._ranks) if found]
        self._waiting_for_site: dict[str, list[tuple[Rank, int]]] = {
            site: [] for site in budget.sites
        }
        self._waiting_for_window: list[list[int]] = [[] for _ in calendars]
        self._closes = [0] * len(calendars)
        self._free, self._rate, self._deadline = 0, 0, 0
        self._site_free = {site: max(0, rate) for site, rate in budget.sites.items()}
        self._ends: list[tuple[int, int]] = []
        self._changes = _changes(fleet, calendars)
        self._candidates.sort()
        self._left = len(self._candidates)

    def run(self) -> None:
        """Go on until nothing is left, or nothing will change any more."""
        most = self._budget.clusters_max
        slots = len(self._works) if most is None else max(0, most)
        while self._left:
            while self._ends and self._is_stale(*self._ends[0]):
                heappop(self._ends)
            now = self._ends[0][0] if self._ends else UNBOUNDED
            now = min(now, self._changes[-1][0] if self._changes else UNBOUNDED)
            if now >= UNBOUNDED:
                break
            while self._ends and self._ends[0][0] == now:
                end_ms, cluster = heappop(self._ends)
                if not self._is_stale(end_ms, cluster):
                    self._finish(cluster, now)
            self._apply_calendar(now)
            self._raise_rates(now)
            self._begin_all(now, slots)
        for cluster in sorted(self._turns):
            self._close_turn(cluster)

    def _is_stale(self, end_ms: int, cluster: int) -> bool:
        run = self._runs.get(cluster)
        return run is None or run.end_ms != end_ms

    def _finish(self, cluster: int, now: int) -> None:
        run, work = self._runs.pop(cluster), self._works[cluster]
        self._below_rate.pop(cluster, None)
        self.slices.append(Slice(work.cluster, run.stage, run.since_ms, now, run.rate))
        self._turns[cluster].end_ms = now
        self._use_rate(-run.rate, work.site)
        self.done[cluster] += 1
        if self.done[cluster] < len(work.stages):
            self._add_candidate(cluster)
        else:
            self._left -= 1
        self._add_candidate_of_site(work.site)

    def _use_rate(self, rate: int, site: str) -> None:
        self._free -= rate
        if site in self._site_free:
            self._site_free[site] -= rate

    def _add_candidate(self, cluster: int) -> None:
        heappush(self._candidates, (self._ranks[cluster][self.done[cluster]], cluster))

    def _add_candidate_of_site(self, site: str) -> None:
        """Show the best cluster of a site that has something free."""
        if self._waiting_for_site.get(site) and self._is_usable(site):
            heappush(self._candidates, heappop(self._waiting_for_site[site]))

    def _is_usable(self, site: str) -> bool:
        if site not in self._site_free:
            return True
        least = min(self._budget.least_bytes_per_s, self._budget.sites[site])
        return self._site_free[site] >= max(1, least)

    def _apply_calendar(self, now: int) -> None:
        """What opens, closes or gets another rate now."""
        freed: set[int] = set()
        while self._changes and self._changes[-1][0] == now:
            _, calendar, closes_ms = self._changes.pop()
            if calendar == _FLEET:
                piece = self._fleet.at(now)
                self._free += piece.bytes_per_s - self._rate
                self._rate, self._deadline = piece.bytes_per_s, piece.deadline_ms
                freed.update(range(len(self._waiting_for_window)))
            else:
                self._closes[calendar] = closes_ms
                freed.add(calendar)
        for calendar in freed:
            if self._closes[calendar] > now and self._rate:
                for cluster in self._waiting_for_window[calendar]:
                    self._add_candidate(cluster)
                self._waiting_for_window[calendar].clear()

    def _raise_rates(self, now: int) -> None:
        """Give more to stages that run with less than they can use."""
        for cluster, run in list(self._below_rate.items()):
            work = self._works[cluster]
            site_free = self._site_free.get(work.site, UNBOUNDED)
            more = min(run.can_use - run.rate, self._free, site_free)
            if more <= 0:
                continue
            if run.since_ms < now:
                self.slices.append(Slice(work.cluster, run.stage, run.since_ms, now, run.rate))
                run.left -= run.rate * (now - run.since_ms) // 1000
            run.since_ms, run.rate = now, run.rate + more
            sooner = max(run.earliest_ms, now + -(-run.left * 1000 // run.rate))
            run.end_ms = min(run.end_ms, sooner)
            heappush(self._ends, (run.end_ms, cluster))
            self._use_rate(more, work.site)
            if run.rate == run.can_use:
                del self._below_rate[cluster]

    def _begin_all(self, now: int, slots: int) -> None:
        least = max(1, min(self._budget.least_bytes_per_s, self._rate))
        too_tight: list[int] = []
        while self._candidates and self._free >= least and len(self._runs) < slots:
            rank, cluster = heappop(self._candidates)
            site, calendar = self._works[cluster].site, self._calendar_of[cluster]
            if not self._is_usable(site):
                heappush(self._waiting_for_site[site], (rank, cluster))
                continue
            if self._closes[calendar] <= now:
                self._waiting_for_window[calendar].append(cluster)
            elif (run := self._run_at_free_rate(cluster, now)).end_ms <= self._ends_by(calendar):
                self._begin(cluster, run, now, rank.urgency)
            elif run.rate >= min(run.can_use, self._rate):
                self._waiting_for_window[calendar].append(cluster)
            else:
                too_tight.append(cluster)
            self._add_candidate_of_site(site)
        for cluster in too_tight:
            self._add_candidate(cluster)

    def _ends_by(self, calendar: int) -> int:
        return min(self._deadline, self._closes[calendar])

    def _run_at_free_rate(self, cluster: int, now: int) -> _Run:
        """The cluster's next stage at the rate that it could have now."""
        work, place = self._works[cluster], self.done[cluster]
        stage = work.stages[place]
        can_use = -(-stage.bytes * 1000 // max(1, stage.least_ms))
        can_use = min(can_use, self._budget.sites.get(work.site, UNBOUNDED))
        rate = min(can_use, self._free, self._site_free.get(work.site, UNBOUNDED))
        earliest = now + stage.least_ms
        end = max(earliest, now + -(-stage.bytes * 1000 // rate)) if rate else earliest
        return _Run(place, now, rate, stage.bytes, can_use, earliest, end)

    def _begin(self, cluster: int, run: _Run, now: int, urgency: int) -> None:
        turn = self._turns.get(cluster)
        if turn is None or turn.end_ms != now or turn.urgency != urgency:
            self._close_turn(cluster)
            turn = self._turns[cluster] = _ClusterTurn(urgency, run.stage, now, now)
        turn.stages += 1
        turn.bytes += run.left
        self._runs[cluster] = run
        if run.rate < run.can_use:
            self._below_rate[cluster] = run
        self._use_rate(run.rate, self._works[cluster].site)
        heappush(self._ends, (run.end_ms, cluster))

    def _close_turn(self, cluster: int) -> None:
        turn = self._turns.pop(cluster, None)
        if turn is not None:
            work = self._works[cluster]
            span = turn.begin_ms, turn.end_ms
            what = turn.urgency, turn.first, turn.stages, turn.bytes
            self.turns.append(Turn(work.cluster, work.site, *what, *span))


def _changes(fleet: Fleet, calendars: Sequence[Sequence[Opening]]) -> list[tuple[int, int, int]]:
    """(time, calendar or `_FLEET`, until when it is open then): the latest first."""
    found = [(piece.begin_ms, _FLEET, 0) for piece in fleet.pieces]
    found += [(piece.end_ms, _FLEET, 0) for piece in fleet.pieces[-1:]]
    for calendar, openings in enumerate(calendars):
        for opening in openings:
            found.append((opening.begin_ms, calendar, opening.end_ms))
            found.append((opening.end_ms, calendar, 0))
    return sorted((each for each in found if each[0] < UNBOUNDED), reverse=True)
