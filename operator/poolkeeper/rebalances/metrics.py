"""What happened to a Rebalance between two passes, as numbers for metrics. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from poolkeeper.frozen import frozen
from poolkeeper.model.rebalances import ClusterRebalance, RebalanceState, RebalanceStep


@frozen
class RebalanceMetrics:
    """What changed between two passes.

    `planned_s`: how long planning took, if it ended now; by which engine, and the bytes to copy.
    `ended`: clusters by the state that they ended in.
    `moved_bytes`: bytes copied since.
    """

    engine: str = ""
    planned_s: float | None = None
    planned_bytes: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    moved_bytes: int = 0


def metrics_of(before: RebalanceState, after: RebalanceState, now_ms: int) -> RebalanceMetrics:
    """The changes between two states of a Rebalance.

    The clusters of plans that wait for approval do not count, because they may be planned again.
    """
    planned = after.record and after.record != before.record
    was = {part.cluster: part for part in _ended_clusters(before)}
    ended: Counter[str] = Counter()
    moved = 0
    for part in _ended_clusters(after):
        old = was.get(part.cluster, ClusterRebalance(part.cluster))
        if part.state.is_final and not old.state.is_final:
            ended[part.state.value] += 1
        moved += max(0, part.bytes_done - old.bytes_done)
    return RebalanceMetrics(
        after.engine,
        (now_ms - after.requested_ms) / 1000 if planned else None,
        after.bytes if planned else 0,
        ended,
        moved,
    )


def _ended_clusters(rebalance_state: RebalanceState) -> Iterable[ClusterRebalance]:
    begun = rebalance_state.step is RebalanceStep.EXECUTING or rebalance_state.step.is_final
    return rebalance_state.parts if begun else ()
