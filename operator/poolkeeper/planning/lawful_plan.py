"""A plan that breaks no law: what would break one is kept as it is, and all else is planned again.

The audit is the last word on every plan. What it finds unlawful is a fault of the planner, or of a
declaration that nobody foresaw, and it usually concerns one topic or one pool. So the *culprits*
that the audit names are kept as they are (`Desired.kept`), with a problem that names the law, and
nobody else waits for them. Only a plan that is unlawful as a whole, or stays so, is refused.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Culprit, Desired
from poolkeeper.model.plans import Plan
from poolkeeper.planning.audit import audit
from poolkeeper.planning.audit.audit import Violation

ROUNDS_MAX = 4
"""How often something is left out of a plan before the whole is refused."""


@frozen
class LawfulPlan:
    """A plan, and what is declared with the culprits that were left out of it."""

    plan: Plan
    desired: Desired


def lawful_plan(
    desired: Desired,
    make: Callable[[Desired], Plan],
    judge: Callable[[Plan, Desired], Iterable[Violation]],
) -> LawfulPlan:
    """Return a plan without violations; raises `Refused` where leaving culprits out is no help.

    `make` plans for what is declared, `judge` is the audit of such a plan.
    """
    for _ in range(ROUNDS_MAX):
        plan = make(desired)
        violations = () if plan.empty else tuple(judge(plan, desired))
        if not violations:
            return LawfulPlan(plan, desired)
        found = culprits(violations, desired)
        if not found:
            break
        desired = replace(desired, kept=(*desired.kept, *found))
    raise audit.refusal(violations)


def culprits(violations: Iterable[Violation], desired: Desired) -> tuple[Culprit, ...]:
    """Return whom the violations name and who is not kept yet; () if one of them names nobody."""
    known = {(each.topic, each.pool) for each in desired.kept}
    found: dict[tuple[str, str], Culprit] = {}
    for each in violations:
        if not each.topic and not each.pool:
            return ()
        named = (each.topic, "" if each.topic else each.pool)
        if named not in known:
            found.setdefault(named, Culprit(each.law, each.message, *named))
    return tuple(found[name] for name in sorted(found))
