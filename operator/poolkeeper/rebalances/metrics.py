"""What happened to a Rebalance from one look to the next, in numbers for metrics: pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from poolkeeper.model.rebalances import ClusterRebalance, Course, RebalanceStep


@dataclass(frozen=True, slots=True)
class RebalanceMetrics:
    """`planned_s`: how long planning took, where it ended now; by whom, and what it would copy.

    `ended`: clusters by the state that they ended in. `moved_bytes`: copied meanwhile.
    """

    engine: str = ""
    planned_s: float | None = None
    planned_bytes: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    moved_bytes: int = 0


def tally(before: Course, after: Course, now_ms: int) -> RebalanceMetrics:
    """What is new. Plans that wait for approval may be made anew: their clusters do not count."""
    planned = after.record and after.record != before.record
    was = {part.cluster: part for part in _counted(before)}
    ended: Counter[str] = Counter()
    moved = 0
    for part in _counted(after):
        old = was.get(part.cluster, ClusterRebalance(part.cluster))
        if part.state.ended and not old.state.ended:
            ended[part.state.value] += 1
        moved += max(0, part.bytes_done - old.bytes_done)
    return RebalanceMetrics(
        after.engine,
        (now_ms - after.asked_ms) / 1000 if planned else None,
        after.bytes if planned else 0,
        ended,
        moved,
    )


def _counted(course: Course) -> Iterable[ClusterRebalance]:
    begun = course.step is RebalanceStep.EXECUTING or course.step.ended
    return course.parts if begun else ()
