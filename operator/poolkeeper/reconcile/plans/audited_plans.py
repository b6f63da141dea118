"""Plans that the audit has passed: a fresh plan without what breaks a law, and the rest of a plan.

Nothing of a plan is written before its rest was checked against what was just observed.
"""

from collections.abc import Callable

from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.planning.audit import audit
from poolkeeper.planning.audit.audit import Violation
from poolkeeper.planning.lawful_plan import LawfulPlan, lawful_plan
from poolkeeper.planning.parts.choose import rest_of
from poolkeeper.reconcile.answer_cache import AnswerCache, Question
from poolkeeper.reconcile.observe.observation import Observation


def enforce_rest(plan: Plan, desired: Desired, observed: Observation, known: AnswerCache) -> None:
    """Raise `Refused` if the rest of the plan breaks a placement rule."""

    def enforce() -> None:
        violations = violations_of_rest(plan, desired, observed)
        if violations:
            raise audit.refusal(violations)

    known.find(Question.IS_REST_LAWFUL, (observed.circumstances(desired), plan), enforce)


def fresh_plan(
    desired: Desired,
    observed: Observation,
    planned: Callable[[Desired], Plan],
    known: AnswerCache,
) -> LawfulPlan:
    """Return a fresh plan without what would break a placement rule."""

    def judge(plan: Plan, wanted: Desired) -> tuple[Violation, ...]:
        found = violations_of_rest(plan, wanted, observed, fresh=True)
        if not found:
            known.keep(Question.IS_REST_LAWFUL, (observed.circumstances(wanted), plan), None)
        return found

    about = (observed.circumstances(desired),)
    return known.find(Question.FRESH_PLAN, about, lambda: lawful_plan(desired, planned, judge))


def violations_of_rest(
    plan: Plan, desired: Desired, observed: Observation, *, fresh: bool = False
) -> tuple[Violation, ...]:
    """Return how the rest of the plan breaks placement rules; `fresh`: it was just made here."""
    cluster, records, gone = observed.cluster, observed.records, observed.gone
    rest = rest_of(plan, cluster)
    return audit.check_plan(rest, desired, cluster, records, gone, fresh=fresh or rest is not plan)
