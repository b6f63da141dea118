"""What a pass is allowed to do, from the cluster's mode, approval policy and approvals."""

from collections.abc import Iterable
from dataclasses import dataclass

from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.model.specs import ApprovalPolicy, Desired, Mode
from poolkeeper.telemetry.audit import AuditTrail

DELETIONS_MAX = 10
"""The most topics deleted within `DELETIONS_WITHIN_MS` without a person's approval.

It bounds the damage of a mistake under the policy Auto.
"""
DELETIONS_WITHIN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Authority:
    """What a pass is allowed to do.

    `steps`: creations, added partitions, harmless configs, elections. `plans`: the hashes of
    approved plans, whose moves and destructive steps are allowed; `None` approves every plan. Even
    then many deletions at once need a person: `approved_by_name` are the hashes approved one by
    one. `paused`: a run finishes its stage in flight, and nothing else starts. `settling`:
    resources may still be arriving or disappearing one by one. Until that has settled no run begins
    and no topic is deleted without approval.
    """

    steps: bool = False
    plans: frozenset[str] | None = frozenset()
    paused: bool = False
    settling: bool = False
    approved_by_name: frozenset[str] = frozenset()

    @property
    def approved(self) -> frozenset[str]:
        """All hashes that a person approved, one by one."""
        return self.approved_by_name | (self.plans or frozenset())

    @property
    def awaits_settling(self) -> bool:
        """Whether moves and deletions wait until the declared state has settled."""
        return self.settling and self.plans is None

    def covers(self, plan: Plan) -> bool:
        """Whether the moves and destructive steps of this plan are allowed."""
        return self.plans is None or plan.hash in self.plans

    def covers_deletions(self, plan: Plan, deletions_ms: Iterable[int], now_ms: int) -> bool:
        """Whether the topics that this plan deletes may be deleted.

        `deletions_ms`: the times of earlier deletions. Too many within `DELETIONS_WITHIN_MS` need a
        person's approval, even where every plan is approved.
        """
        if self.plans is not None or plan.hash in self.approved_by_name:
            return self.covers(plan)
        due = sum(isinstance(step, DeleteTopic) for step in plan.steps)
        recent = sum(now_ms - at_ms < DELETIONS_WITHIN_MS for at_ms in deletions_ms)
        return recent + due <= DELETIONS_MAX


def authority_of(desired: Desired, approvals: tuple[str, ...] = ()) -> Authority:
    """Return what a pass may do under the cluster's mode and approval policy.

    `approvals`: plan hashes approved with `poolkeeper apply` beside an operator.
    """
    spec = desired.cluster
    if spec.mode is not Mode.APPLY:
        return Authority(paused=spec.mode is not Mode.PLAN_ONLY)
    approved = frozenset(spec.approval.plans) | frozenset(approvals)
    if spec.approval.policy is ApprovalPolicy.AUTO:
        return Authority(steps=True, plans=None, approved_by_name=approved)
    return Authority(steps=True, plans=approved)


def approver(authority: Authority, trail: AuditTrail, *, by_person: bool) -> str:
    """Return who allows a plan, for the audit trail and the history."""
    if by_person:
        return f"confirmed by {trail.user}"
    return "approval policy Auto" if authority.plans is None else "approved by its hash"
