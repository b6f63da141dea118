"""The plan that a pass carries out, with what was declared for it and what is allowed of it."""

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.reconcile.authority import Authority


@frozen
class DuePlan:
    """A plan to carry out, what it was made for, and what of it is allowed.

    `by_person`: a person confirmed it. Then errors are raised, for the person to read.
    """

    plan: Plan
    desired: Desired
    authority: Authority
    by_person: bool = False
