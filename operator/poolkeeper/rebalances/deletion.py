"""When a deleted Rebalance may go: not before every cluster is known to have no run of it.

A loop may begin a plan at any moment once it is offered. The loop's report, and the status of the
Rebalance, say so a second later. So two things are not taken for proof that nothing runs:

- a status without the run. A process that was killed may have offered every plan in it.
- a report from before the plan was withdrawn. The pass after it may have begun the plan.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome
from poolkeeper.model.rebalances import ClusterRebalance


@dataclass(slots=True)
class OfferedPlans:
    """The clusters whose loop may know the plan of one Rebalance.

    `_before_withdrawal`: what each of them reported last when the plan was withdrawn.
    """

    clusters: set[str] = field(default_factory=set)
    _before_withdrawal: dict[str, Outcome | None] = field(default_factory=dict)

    def still_running(
        self,
        parts: Iterable[ClusterRebalance],
        outcome_of: Callable[[str], Outcome | None],
        loops: Collection[str],
    ) -> Sequence[ClusterRebalance]:
        """Withdraw the plans; return the parts that may have a run. `loops`: clusters with one."""
        found = []
        for part in parts:
            name, outcome = part.cluster, outcome_of(part.cluster)
            offered, has_loop = name in self.clusters or part.has_begun, name in loops
            before = self._before_withdrawal.setdefault(name, outcome)
            unheard = outcome is before and offered and has_loop and _is_open(part, outcome)
            if unheard or may_run(part, outcome, offered=offered, has_loop=has_loop):
                found.append(part)
        return found


def may_run(
    part: ClusterRebalance, outcome: Outcome | None, *, offered: bool, has_loop: bool
) -> bool:
    """Whether a run of the plan is recorded in the cluster or may be, by its loop's last report.

    `offered`: whether the loop may know the plan. `has_loop`: whether the cluster has a loop at
    all; without one no run would ever end. A pass that failed, or lost its first write, tells
    nothing of what is recorded, as where the cluster is out of reach, or a process that was killed
    still holds it.
    """
    if not _is_open(part, outcome):
        return False
    if outcome is None:
        return has_loop and offered
    if outcome.progress is not None:
        return outcome.progress.plan == part.hash
    status = outcome.external
    if status is not None and status.plan == part.hash:
        return True
    tells_nothing = outcome.error is not None or outcome.last_observation is None
    return offered and (outcome.recorded or (tells_nothing and has_loop))


def _is_open(part: ClusterRebalance, outcome: Outcome | None) -> bool:
    """Whether neither the status nor the loop says that the cluster is done with its plan."""
    status = None if outcome is None or outcome.progress is not None else outcome.external
    if status is not None and status.plan == part.hash:
        return not part.state.is_final and status.state is not ExternalPlanState.DONE
    return not part.state.is_final
