"""Compares the throttles of a run with the live ones while something is in flight.

Those that somebody removed are set again; values that somebody changed stay.
"""

from collections.abc import Collection
from dataclasses import replace

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Result
from poolkeeper.model.execution.runs import Run, RunDocument, ThrottleConflicts
from poolkeeper.planning.run_state.progress.move_progress import waits_for_copies
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.decisions import RunSituation
from poolkeeper.reconcile.observe.settling import Settling, settling_of


def compare(
    context: PassContext, at: RunSituation, topics: Collection[str], *, keep: bool
) -> Result:
    """Compare the throttles of these topics and of all brokers; set removed ones again if `keep`.

    Returns what was set again.
    """
    access, rates = context.access, at.run.rates
    compared = access.write_throttles if keep else access.check_throttles
    live = compared(at.document, rates, topics)
    remember_drift(context, live)
    if context.memory.throttles.unsettled:
        ask_whether_settled(context, at.run, at.document, live.brokers)
    if not live.unset or not keep:
        return Result()
    known = context.memory.throttles
    context.memory.throttles = replace(known, put_back=known.put_back + 1)
    return Result((Action(ActionKind.THROTTLES_PUT_BACK, count=live.unset),))


def release_arrived(context: PassContext, at: RunSituation) -> None:
    """Take the throttle lists off topics of which everything has arrived.

    What is in sync is not slowed by them. But a broker that is away comes back with replicas that
    have to catch up, and those that arrived before would share the rate with what is still copied,
    out of sync for all that time; for ever, where more than the rate is produced to them. What has
    arrived and is copied all the same keeps its throttle until it is in sync.
    """
    memory = context.memory
    moves = at.plan.moves
    left = {move.topic for m, move in enumerate(moves) if m not in memory.arrived}
    observed = [moves[m] for m, _ in at.run.step] if at.view.in_flight else moves
    behind = waits_for_copies(observed, at.view.progress, at.view.cluster)
    copied = {name.topic for wait in behind for name in wait.partitions}
    arrived = {move.topic for move in moves} - left - copied - memory.released
    if arrived:
        context.access.restore_throttles(at.document, at.run.rates, arrived)
        memory.released |= arrived


def ask_whether_settled(
    context: PassContext, run: Run, document: RunDocument, foreign: Collection[int]
) -> Settling:
    """Ask the brokers whether the throttle is in force, and remember which deny it."""
    unset = (entity for entity in context.memory.unwritable if isinstance(entity, int))
    found = settling_of(context, run, document, {*foreign, *unset})
    known = context.memory.throttles
    context.memory.throttles = replace(known, unsettled=found.unsettled)
    return found


def note_unwritable(context: PassContext, live: ThrottleConflicts) -> None:
    """Remember whose throttles may not be set: what the run moves of them stays."""
    context.memory.unwritable |= {each.entity: each for each in live.unlimited}


def remember_drift(context: PassContext, live: ThrottleConflicts) -> None:
    """Remember how the live throttles differ from the run's."""
    note_unwritable(context, live)
    context.memory.throttles = replace(
        context.memory.throttles, checked_ms=context.now_ms(), found=live
    )
