"""What a pass may do: by the cluster's mode, its approval policy, and what people approved."""

from collections.abc import Iterable
from dataclasses import dataclass

from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.model.specs import ApprovalPolicy, Desired, Mode

DELETIONS_MAX = 10
"""Topics that are deleted within a while, where no person approves: a slip of the hand, no more."""
DELETIONS_WITHIN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Authority:
    """What a pass may do.

    `steps`: creations, added partitions, harmless configs, elections. `plans`: hashes of approved
    plans, whose moves and destructive steps may be done; `None` approves every plan, except that
    many deletions at once wait for a person also then: `named` are hashes approved one by one.
    `paused`: a run in progress finishes its stage in flight; nothing else starts. `settling`: what
    is declared is still arriving, or going, piece by piece, so that no run is begun and no topic
    deleted that nobody approved.
    """

    steps: bool = False
    plans: frozenset[str] | None = frozenset()
    paused: bool = False
    settling: bool = False
    named: frozenset[str] = frozenset()

    @property
    def early(self) -> bool:
        """Whether moves and deletions wait until what is declared has settled."""
        return self.settling and self.plans is None

    def covers(self, plan: Plan) -> bool:
        """Whether the moves and destructive steps of this plan may be done."""
        return self.plans is None or plan.hash in self.plans

    def covers_deletions(self, plan: Plan, deletions_ms: Iterable[int], now_ms: int) -> bool:
        """Whether the topics that this plan deletes may be deleted.

        `deletions_ms`: when topics were deleted before. Too many within a while need a person's
        word, even where every plan is approved.
        """
        if self.plans is not None or plan.hash in self.named:
            return self.covers(plan)
        due = sum(isinstance(step, DeleteTopic) for step in plan.steps)
        recent = sum(now_ms - at_ms < DELETIONS_WITHIN_MS for at_ms in deletions_ms)
        return recent + due <= DELETIONS_MAX


def authority_of(desired: Desired, handed_over: tuple[str, ...] = ()) -> Authority:
    """Return what a loop may do by the cluster's mode and approval policy."""
    spec = desired.cluster
    if spec.mode is not Mode.APPLY:
        return Authority(paused=spec.mode is not Mode.PLAN_ONLY)
    approved = frozenset(spec.approval.plans) | frozenset(handed_over)
    if spec.approval.policy is ApprovalPolicy.AUTO:
        return Authority(steps=True, plans=None, named=approved)
    return Authority(steps=True, plans=approved)
