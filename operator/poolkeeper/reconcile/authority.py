"""What a pass is allowed to do, from the cluster's mode, approval policy and approvals."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Deletion
from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.model.specs import Approval, ApprovalPolicy, Mode
from poolkeeper.telemetry.audit import AuditTrail

DELETIONS_MAX = 10
"""The most topics of a namespace deleted within `DELETIONS_WITHIN_MS` without a person's approval.

It bounds the damage of a mistake under the policy Auto.
"""
DELETIONS_OF_ALL_MAX = 30
"""The same for all namespaces that keep within theirs, so that none alone holds up the others."""
DELETIONS_WITHIN_MS = 600_000
BY_HASH = "approved by its hash"


@frozen
class Authority:
    """What a pass is allowed to do.

    `steps`: creations, added partitions, harmless configs, elections. `plans`: the hashes of
    approved plans, whose moves and destructive steps are allowed; `None` approves every plan. Even
    then many deletions at once need a person: `approved_by_name` are the hashes approved one by
    one. `paused`: a run finishes its stage in flight, and nothing else starts. `rate_known`:
    whether the rate that a run may have is; until then its throttle stays as it is. `settling`:
    resources may still be arriving or disappearing one by one. Until that has settled no run begins
    and no topic is deleted without approval. `approvers`: who approved, by hash; for people.
    `verified`: an admission policy makes sure of them. `ends_runs`: what is under way is wound up,
    and nothing is begun.
    """

    steps: bool = False
    plans: frozenset[str] | None = frozenset()
    paused: bool = False
    rate_known: bool = True
    settling: bool = False
    approved_by_name: frozenset[str] = frozenset()
    approvers: Mapping[str, str] = field(default_factory=dict)
    verified: bool = False
    ends_runs: bool = False

    @property
    def awaits_settling(self) -> bool:
        """Whether moves and deletions wait until the declared state has settled."""
        return self.settling and self.plans is None

    @property
    def approvals(self) -> frozenset[str]:
        """The hashes that are approved one by one: of plans, of parts, of adoptions."""
        return self.approved_by_name | (self.plans or frozenset())

    @property
    def resumes(self) -> bool:
        """Whether a run that lost its record is taken up."""
        return self.ends_runs or self.steps or bool(self.plans)

    def covers(self, plan: Plan) -> bool:
        """Whether the moves and destructive steps of this plan are allowed."""
        return self.plans is None or plan.hash in self.plans

    def may_delete(
        self,
        plan: Plan,
        namespaces: Mapping[str, str],
        earlier: Iterable[Deletion],
        now_ms: int,
    ) -> frozenset[str]:
        """Return the topics that this plan may delete.

        `namespaces`: of whom each topic is. Too many deletions within `DELETIONS_WITHIN_MS` need a
        person's approval, even where every plan is approved.
        """
        due = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
        if self.plans is not None or plan.hash in self.approved_by_name:
            return frozenset(due) if self.covers(plan) else frozenset()
        counts = Counter(namespaces.get(topic, "") for topic in due)
        recent = [each for each in earlier if now_ms - each.at_ms < DELETIONS_WITHIN_MS]
        counts.update(each.namespace for each in recent)
        within = {name for name, count in counts.items() if count <= DELETIONS_MAX}
        if sum(counts[name] for name in within) > DELETIONS_OF_ALL_MAX:
            return frozenset()
        return frozenset(topic for topic in due if namespaces.get(topic, "") in within)


def authority_of(
    desired: Desired, approvals: tuple[str, ...] = (), *, verified: bool = False
) -> Authority:
    """Return what a pass may do under the cluster's mode and approval policy.

    `approvals`: plan hashes approved with `poolkeeper apply` beside an operator. `verified`: an
    admission policy makes sure that `approval.by` names who approved.
    """
    spec = desired.cluster
    if spec.mode is not Mode.APPLY:
        return Authority(paused=spec.mode is not Mode.PLAN_ONLY)
    approved = frozenset(spec.approval.plans) | frozenset(approvals)
    return Authority(
        steps=True,
        plans=None if spec.approval.policy is ApprovalPolicy.AUTO else approved,
        approved_by_name=approved,
        approvers={
            **dict.fromkeys(approvals, "approved with poolkeeper apply"),
            **_approvers(spec.approval, verified=verified),
        },
        verified=verified,
    )


def _approvers(approval: Approval, *, verified: bool) -> dict[str, str]:
    """Return who approved, by hash: a user, whether that is sure, and the commit if it is known."""
    commit = f", commit {approval.commit}" if approval.commit else ""
    doubt = "" if verified else " (unverified)"
    return {
        each: f"approved by {approval.by[each]}{doubt}{commit}"
        if each in approval.by
        else f"{BY_HASH}{commit}"
        for each in approval.plans
    }


def approver(authority: Authority, plan: Plan, trail: AuditTrail, *, by_person: bool) -> str:
    """Return who allows a plan, for the audit trail and the history."""
    if by_person:
        return f"confirmed by {trail.user}"
    otherwise = "approval policy Auto" if authority.plans is None else BY_HASH
    return authority.approvers.get(plan.hash, otherwise)
