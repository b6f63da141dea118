"""What changed in a fleet from one day to another: clusters, partitions, bytes, moves, problems.

Problems are compared without their figures, as a message names sizes that change every day. A
cluster without a plan on one of the days has no problems that are new or solved: nothing is known
of them. A cluster of one day that was not read on it has neither come nor gone: one that is
declared and never read would come every day.
"""

from collections.abc import Iterable

from poolkeeper.report.values import ClusterDay, ClusterDifference, Differences, Presence


def differences(since: str, before: Iterable[ClusterDay], now: Iterable[ClusterDay]) -> Differences:
    """The clusters that differ, by name; none for a day and itself."""
    earlier = {each.cluster: each for each in before}
    later = {each.cluster: each for each in now}
    found = (
        _difference(name, earlier.get(name), later.get(name))
        for name in sorted(earlier.keys() | later.keys())
    )
    return Differences(since, tuple(each for each in found if each is not None))


def _difference(
    name: str, before: ClusterDay | None, now: ClusterDay | None
) -> ClusterDifference | None:
    if before == now:
        return None
    nothing = ClusterDay(name, 0, 0)
    if before is None or now is None:
        only = before if now is None else now
        if only is not None and only.partitions is None:
            return None
        presence = Presence.CAME if before is None else Presence.WENT
        return ClusterDifference(name, presence, before or nothing, now or nothing)
    known = before.planned and now.planned
    return ClusterDifference(
        name,
        Presence.STAYED,
        before,
        now,
        tuple(sorted(now.problems - before.problems)) if known else (),
        tuple(sorted(before.problems - now.problems)) if known else (),
    )
