"""A time before which no schedule of the same stages can end.

Let any schedule within the budget end at T. Time is that of the fleet's calendar: R(t) its rate.

1. *The fleet.* All bytes pass at R(t) at most, so bytes <= the integral of R over [0, T].
2. *A site.* Its bytes pass at min(R(t), the site's rate) at most.
3. *A cluster.* A stage never has more than the least of the highest R and its site's rate, so it
   takes d = max(its own least time, bytes over that). Stages of a cluster do not overlap and run
   while its windows and R are open, so the sum of its d <= the open time in [0, T].
4. *At most K clusters at once.* At every open moment K stages run at most, so the sum of all d <=
   K times the open time in [0, T].

Each of these holds by itself and grows with T; the smallest T that each allows is a bound, and so
is the largest of them. Bounds are rounded down to milliseconds. What was left out of the schedule
counts in none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from poolkeeper.fleet.schedule.budget import UNBOUNDED, Bound, Budget, ClusterWork, ScheduledStage
from poolkeeper.fleet.schedule.calendar import ALWAYS, Fleet, Opening
from poolkeeper.text import count


def bound(
    works: Sequence[ClusterWork],
    done: Mapping[str, int],
    budget: Budget,
    fleet: Fleet,
    openings: Mapping[str, Sequence[Opening]],
) -> Bound:
    """The bound for the first `done[cluster]` stages of each cluster, and what it comes from.

    `openings`: by cluster, when its own windows are open. Of equal bounds the first cause counts.
    """
    scheduled = [(work, tuple(islice(work.stages, done.get(work.cluster, 0)))) for work in works]
    spans = {
        work.cluster: _least_ms(stages, fleet, budget.sites.get(work.site))
        for work, stages in scheduled
    }
    found = [
        *_of_bytes(scheduled, budget, fleet),
        *_of_clusters(scheduled, spans, fleet, openings),
    ]
    if budget.clusters_max:
        least = _until(-(-sum(spans.values()) // budget.clusters_max), _open(fleet, ALWAYS))
        found.append(Bound(least, f"{count(budget.clusters_max, 'cluster')} at once"))
    return max((each for each in found if each.ms), key=lambda each: each.ms, default=Bound())


ScheduledStages = Sequence[tuple[ClusterWork, tuple[ScheduledStage, ...]]]


def _of_bytes(scheduled: ScheduledStages, budget: Budget, fleet: Fleet) -> Iterator[Bound]:
    of_site: dict[str, int] = {}
    for work, stages in scheduled:
        of_site[work.site] = of_site.get(work.site, 0) + sum(stage.bytes for stage in stages)
    yield Bound(_until_bytes(sum(of_site.values()), fleet, UNBOUNDED), "the fleet's rate")
    for site, size in sorted(of_site.items()):
        if site in budget.sites:
            yield Bound(_until_bytes(size, fleet, budget.sites[site]), f"the rate of site {site}")


def _of_clusters(
    scheduled: ScheduledStages,
    spans: Mapping[str, int],
    fleet: Fleet,
    openings: Mapping[str, Sequence[Opening]],
) -> Iterator[Bound]:
    # Many clusters share their windows: of these the one with most to do decides.
    longest: dict[int, tuple[int, str]] = {}
    for work, _ in scheduled:
        calendar = id(openings[work.cluster])
        longest[calendar] = max(
            longest.get(calendar, (-1, "")), (spans[work.cluster], work.cluster)
        )
    for span, cluster in sorted(longest.values(), key=lambda each: each[1]):
        yield Bound(_until(span, _open(fleet, openings[cluster])), f"cluster {cluster} alone")


def _least_ms(stages: Iterable[ScheduledStage], fleet: Fleet, site: int | None) -> int:
    rate = min(fleet.most_bytes_per_s, UNBOUNDED if site is None else site)
    return sum(max(s.least_ms, s.bytes * 1000 // rate if rate else 0) for s in stages)


def _until_bytes(size: int, fleet: Fleet, rate_max: int) -> int:
    """When that many bytes can have passed."""
    left = size * 1000
    end = 0
    for piece in fleet.pieces:
        rate = min(piece.bytes_per_s, rate_max)
        if left <= 0:
            break
        if rate:
            end = min(piece.end_ms, piece.begin_ms + left // rate)
            left -= rate * (piece.end_ms - piece.begin_ms)
    return end


def _open(fleet: Fleet, openings: Sequence[Opening]) -> Iterator[Opening]:
    return (Opening(piece.begin_ms, piece.end_ms) for piece in fleet.spells(openings))


def _until(span_ms: int, openings: Iterable[Opening]) -> int:
    """When so much open time has passed."""
    left, end = span_ms, 0
    for begin, close in openings:
        if left <= 0:
            break
        end = min(close, begin + left)
        left -= close - begin
    return end
