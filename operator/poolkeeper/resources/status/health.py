"""The Ready condition of what is as declared: in place, unless something is wrong with it.

| the worst problem is | Ready | also |
|---|---|---|
| nothing but a remark | True, `InPlace`, with the remark | |
| something that passes when brokers return | False, the problem's reason | Reconciling True |
| something that a person must mend | False, the problem's reason | Stalled True |

The reasons are values of `ProblemReason`; those that are in neither set are remarks.
"""

from collections.abc import Iterable, Sequence

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus

_SHOWN_MAX = 3
_R = ProblemReason
STALLING: Sequence[ProblemReason] = (
    *(_R.NO_LIVE_BROKER, _R.DATA_LOST, _R.PARTITIONS_OFFLINE, _R.UNDER_MIN_ISR),
    *(_R.TOO_FEW_BROKERS, _R.LOG_DIR_FAILED, _R.DISK_FULL),
    *(_R.UNLAWFUL, _R.TOPICS_DAMAGED, _R.CONTROLLER_EPOCH_BEHIND, _R.MIN_ISR_UNREACHABLE),
    *(_R.CAPACITY_EXCEEDED, _R.HEAL_HELD),
)
"""What a person must mend, the worst first."""
PASSING: Sequence[ProblemReason] = (
    *(_R.NO_CONTROLLER, _R.ELECTION_PENDING, _R.TOO_FEW_LIVE_BROKERS, _R.BROKERS_MISSING),
)
"""What passes by itself once leaders are elected or brokers are back, as in a restart."""
_RANK = {reason: rank for rank, reason in enumerate((*STALLING, *PASSING))}


def in_place_condition(
    said: Sequence[str], problems: Iterable[PlanProblem], remarks: Sequence[str] = ()
) -> ReadyCondition:
    """The condition of what is in place, as `said`, by what is wrong all the same.

    `remarks` are further sentences, which change nothing.
    """
    found = sorted(dict.fromkeys(problems), key=_rank)
    told = list(dict.fromkeys(problem.message for problem in found))[:_SHOWN_MAX]
    worst = next((p.reason for p in found if p.reason in _RANK), None)
    if worst is None:
        message = "; ".join([*said, *remarks, *told][: _SHOWN_MAX + len(said)])
        return ReadyCondition(ReadyStatus.READY, "InPlace", message)
    status = ReadyStatus.STALLED if worst in STALLING else ReadyStatus.RECONCILING
    return ReadyCondition(status, worst.value, "; ".join([*told, *said, *remarks]))


def _rank(problem: PlanProblem) -> int:
    return _RANK.get(problem.reason, len(_RANK))
