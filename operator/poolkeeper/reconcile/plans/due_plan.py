"""A plan that is followed now."""

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.reconcile.authority import Authority


@frozen
class DuePlan:
    """A plan that is followed now, of what is declared, and what of it is allowed.

    `by_person`: a person confirmed it. Then an error is raised, as the person reads it.
    """

    plan: Plan
    desired: Desired
    authority: Authority
    by_person: bool = False
