"""A schedule as reports show it."""

from poolkeeper.fleet.schedule.budget import Budget, Schedule
from poolkeeper.report.values import Bar, Omitted, Timeline
from poolkeeper.text import count, fine_duration, size


def timeline_of(schedule: Schedule, budget: Budget) -> Timeline:
    """The schedule in seconds, with the budget in words."""
    return Timeline(
        schedule.begin,
        tuple(
            Bar(
                turn.cluster,
                turn.site,
                turn.urgency,
                turn.stages,
                turn.bytes,
                turn.begin_ms / 1000,
                turn.end_ms / 1000,
                turn.lane,
                turn.wave,
            )
            for turn in schedule.turns
        ),
        tuple(
            Omitted(each.cluster, each.stages, each.bytes, each.reason)
            for each in schedule.left_out
        ),
        schedule.makespan_ms / 1000,
        schedule.bound.ms / 1000,
        schedule.bound.cause,
        budget_text(budget),
    )


def budget_text(budget: Budget) -> str:
    """The budget in words: 2 GiB/s in all, 1 GiB/s at site a, 20 clusters at once."""
    parts = []
    if budget.bytes_per_s is not None:
        parts.append(f"{size(budget.bytes_per_s)}/s in all")
    parts += [f"{size(rate)}/s at site {site}" for site, rate in sorted(budget.sites.items())]
    for each in budget.windows:
        rate = "" if each.bytes_per_s is None else f" with {size(each.bytes_per_s)}/s"
        window = each.window
        length = fine_duration(window.duration_s)
        parts.append(f"windows of {length} at {window.cron} ({window.time_zone}){rate}")
    if budget.clusters_max is not None:
        parts.append(f"{count(budget.clusters_max, 'cluster')} at once")
    return ", ".join(parts) or "no limits"
