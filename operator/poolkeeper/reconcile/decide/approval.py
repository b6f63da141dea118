"""What of a plan that waits for approval is approved, and what is left to do of that.

A person approves a plan by its hash, or parts of it by theirs. What is approved is done wholly,
although the plan that would be made now has another hash as soon as something of it is done. So the
plan that was asked about stays, until nothing of what is approved is left. It ends early for parts
whose fingerprint changed: what is declared of them is not what was approved any longer. Parts that
come after such a part end with it.

A part that comes after another one is not begun before that one is approved, too.
"""

from collections.abc import Collection
from dataclasses import replace

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import ElectLeaders, Part, Plan
from poolkeeper.model.specs import ApprovalPolicy, KafkaClusterSpec
from poolkeeper.planning.audit import audit
from poolkeeper.planning.parts.choose import (
    is_free,
    is_over,
    moves_of,
    plan_of,
    rest_of,
    steps_of,
)
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.reconcile.authority import BY_HASH, Authority
from poolkeeper.text import first

_APPROVERS_MAX = 5
_PARTS_MIN = 2
_UNKNOWN_MAX = 3


def approved_part(
    asked: Plan, fresh: Plan, approvals: Collection[str], at: Circumstances
) -> Plan | None:
    """The plan of what is approved, while something of it is left to do; `None` if nothing is.

    `asked`: the plan that a person was asked about, with its parts. `fresh`: the plan that would
    be made now; steps that need no approval are taken from it.
    """
    names = approved_names(asked, approvals)
    if not names:
        return None
    cluster = at.cluster
    over = {part.name for part in asked.parts if is_over(asked, part, cluster)}
    begun = [part for part in asked.parts if part.name in names and part.name not in over]
    chosen: set[str] = set()
    for part in begun:
        ready = all(name in chosen or name in over for name in part.after)
        if ready and part.fingerprint == _fingerprint_now(asked, part, at):
            chosen.add(part.name)
    if not chosen:
        return None
    whole = asked.hash in approvals and len(chosen) == len(begun)
    wanted = {part.name for part in asked.parts} if whole else chosen
    elections = [step for step in asked.steps if whole and isinstance(step, ElectLeaders)]
    free = [s for s in fresh.steps if is_free(s) and not isinstance(s, ElectLeaders)]
    for steps in ([*free, *elections], elections):
        plan = replace(plan_of(asked, wanted, steps), problems=fresh.problems)
        if not audit.check_plan(rest_of(plan, cluster), at.desired, cluster, at.records, at.gone):
            return plan
    return None


def approved_names(asked: Plan, approvals: Collection[str]) -> frozenset[str]:
    """The parts that are approved, by their own hash or by the whole plan's."""
    return frozenset(p.name for p in asked.parts if asked.hash in approvals or p.hash in approvals)


def _fingerprint_now(plan: Plan, part: Part, at: Circumstances) -> str:
    moves, steps = moves_of(plan, part), steps_of(plan, part)
    return at.fingerprint_of(part.name, moves, steps)


def with_approved(authority: Authority, plan: Plan, asked: Plan) -> Authority:
    """The authority to carry out what is approved of `asked`, unless nothing may be begun."""
    if authority.plans is not None and not authority.plans:
        return authority
    hashes = frozenset((plan.hash,))
    return replace(
        authority,
        plans=None if authority.plans is None else authority.plans | hashes,
        approved_by_name=authority.approved_by_name | hashes,
        approvers={**authority.approvers, plan.hash: _approver(authority, plan, asked)},
    )


def _approver(authority: Authority, plan: Plan, asked: Plan) -> str:
    """Who approved the plan, or each of its parts."""
    if asked.hash in authority.approvals:
        return authority.approvers.get(asked.hash, BY_HASH)
    told = (f"part {p.name} {authority.approvers.get(p.hash, BY_HASH)}" for p in plan.parts)
    return first(list(told), _APPROVERS_MAX, "; ")


def with_parts_asked(
    outcome: Outcome, asked: Plan | None, authority: Authority, spec: KafkaClusterSpec
) -> Outcome:
    """The outcome, with the parts of the plan that a person is asked about, if it has several."""
    manual = spec.approval.policy is ApprovalPolicy.MANUAL
    if asked is None or not manual or len(asked.parts) < _PARTS_MIN:
        return outcome
    names = approved_names(asked, authority.approvals | set(spec.approval.plans))
    return replace(outcome, asked=asked, approved_parts=names)


def tell_approval(outcome: Outcome, plan: Plan, told: str) -> Outcome:
    """The outcome, with who approved the plan as its first action if that was not told before.

    `told`: the hash of the plan of which that was told last. A run tells it when it begins.
    """
    begins = any(action.kind is ActionKind.RUN_BEGUN for action in outcome.did)
    if not outcome.did or begins or told == plan.hash:
        return outcome
    first_of_all = Action(ActionKind.PLAN_APPROVED, hash=plan.hash, by=outcome.approved_by)
    return replace(outcome, did=(first_of_all, *outcome.did))


def is_approved(plan: Plan, authority: Authority) -> bool:
    """Whether the whole plan may be carried out: by its hash, or by those of all its parts."""
    every = bool(plan.parts) and all(part.hash in authority.approvals for part in plan.parts)
    return authority.covers(plan) or every


def unmatched_approvals(asked: Plan, approvals: Collection[str]) -> frozenset[str]:
    """The approvals that are neither of the plan that waits nor of a part of it."""
    return frozenset(approvals) - {asked.hash, *(part.hash for part in asked.parts)}


def waits_of(
    asked: Plan, approvals: Collection[str], unknown: Collection[str] = ()
) -> tuple[Wait, ...]:
    """Say which approvals have no effect while `asked` waits for approval.

    `unknown`: those that fit no plan, neither this one nor one that was carried out.
    """
    if not asked.parts:
        return ()
    names = approved_names(asked, approvals)
    early = WaitReason.PREDECESSORS_NOT_APPROVED
    found = [
        Wait(early, name=part.name, hash=part.hash, names=missing)
        for part in asked.parts
        if part.name in names
        and (missing := tuple(name for name in part.after if name not in names))
    ]
    waiting = Wait(WaitReason.APPROVAL_REQUIRED, hash=asked.hash)
    found += [
        Wait(WaitReason.APPROVAL_UNMATCHED, hash=each, cause=waiting)
        for each in sorted(unknown)[:_UNKNOWN_MAX]
    ]
    return tuple(found)
