"""Reads what a decision about a run needs beyond the view that it began with.

Whose throttles are in force is found out by writing those of the run: nothing else shows it.
"""

from dataclasses import replace

from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile import rate_signals
from poolkeeper.reconcile.act import keep_throttles, record_absences
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import held_moves
from poolkeeper.reconcile.decide.decisions import (
    CheckThrottles,
    MissingInput,
    NeededInput,
    RunSituation,
)
from poolkeeper.reconcile.observe.run_view import RunGuard, RunView, find_ending


def complete_view(
    context: PassContext, at: RunSituation, guard: RunGuard, needed_input: NeededInput
) -> RunView:
    """Return the view of the run, extended by what a decision needs."""
    run, document, view = at.run, at.document, at.view
    match needed_input:
        case MissingInput.ENDING:
            ending = find_ending(context, run, at.plan, guard, view.seen)
            return replace(view, ending_read=True, ending=ending)
        case MissingInput.CONFLICTS:
            topics = _throttled_topics(context, at)
            conflicts = context.access.write_throttles(document, run.rates, topics)
            keep_throttles.note_unwritable(context, conflicts)
            return replace(view, conflicts=conflicts)
        case MissingInput.SETTLED:
            foreign = () if view.conflicts is None else view.conflicts.brokers
            found = keep_throttles.ask_whether_settled(context, run, document, foreign)
            return replace(view, throttle_settled=found.done, unsettled=found.unsettled)
        case MissingInput.GONE:
            gone = record_absences.read_gone_brokers(context, at.desired, view.cluster)
            return replace(view, gone_read=True, gone=gone)
        case MissingInput.RATE_SIGNALS:
            return replace(view, signals=rate_signals.measure(context, at))
        case CheckThrottles():
            topics = needed_input.topics
            live = context.access.check_throttles(document, run.rates, topics)
            keep_throttles.remember_drift(context, live)
            return replace(view, throttles=live)
        case _:
            sized = context.enrich(view.cluster)
            records = guard.records(view.seen)
            view = replace(view, gone=guard.gone(records), records=records)
            states = needed_input.states
            held = held_moves.held_moves(replace(at, view=view), states, sized)
            context.memory.held = held_moves.lasting_waits(at.plan, held)
            states = tuple(None if m in held else place for m, place in enumerate(states))
            with context.timed("stage"):
                moves = next_stage.with_live_bytes(at.plan.moves, states, sized)
                stage = next_stage.next_stage(
                    moves,
                    states,
                    sized,
                    at.desired,
                    records=records,
                    gone=view.gone,
                    bounds=at.bounds,
                )
            return replace(
                view,
                stage_computed=True,
                stage=stage,
                throttles=None,  # it may be of other topics than those compared before
                cluster_with_sizes=sized,
            )


def _throttled_topics(context: PassContext, at: RunSituation) -> frozenset[str]:
    """Return the topics that the run moves, without those of which it has given up all moves.

    One of these may have been made again, and is none of the run's. Those that were released as all
    has arrived stay so.
    """
    given_up, released = context.memory.given_up, context.memory.released
    moves = (move for m, move in enumerate(at.plan.moves) if m not in given_up)
    return frozenset(move.topic for move in moves if move.topic not in released)
