"""Topics change hands before anything is planned: as approved, and at no other time.

Plans are made from records alone, and know nothing of approvals. So what is approved is recorded
first, and then planned for as for any owner's topic.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.reconcile.answer_cache import AnswerCache
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide.hand_over import HandOver, hand_over
from poolkeeper.reconcile.observe.observation import Observation, last_observation_of

if TYPE_CHECKING:  # plans of files have no pass, whose inputs take long to import
    from poolkeeper.reconcile.context import PassContext


def take_over(
    context: "PassContext", desired: Desired, authority: Authority, observed: Observation
) -> tuple[Observation, tuple[Action, ...]]:
    """Record what was approved, if anything may be written; return what is known then.

    What is observed is remembered for statuses, with what waits for approval.
    """
    cluster, records = observed.cluster, observed.records
    may_write = authority.steps and not gates.controller(cluster)
    approved = authority.approvals if may_write else frozenset()
    change = hand_over(desired, cluster, records, approved)
    if may_write and change.records:
        context.access.remember_owners(change.records)
        observed = replace(observed, records=change.after(records))
    seen = last_observation_of(
        observed, context.memory.last_observation, context.memory.pending.known
    )
    context.memory.observe(_with_waits(seen, change))
    return observed, change.actions if may_write else ()


def with_approved_adoptions(
    desired: Desired, observed: Observation, approved: Collection[str]
) -> Observation:
    """Return the observation as it is once all approved adoptions are recorded; writes nothing."""
    change = hand_over(desired, observed.cluster, observed.records, approved)
    return replace(observed, records=change.after(observed.records))


def last_seen(desired: Desired, observed: Observation, known: AnswerCache) -> LastObservation:
    """Return what statuses report of an observation by which nothing may be written."""
    change = hand_over(desired, observed.cluster, observed.records, frozenset())
    return _with_waits(last_observation_of(observed, None, known), change)


def _with_waits(seen: LastObservation, change: HandOver) -> LastObservation:
    return replace(seen, unaccounted=(*seen.unaccounted, *change.waits))
