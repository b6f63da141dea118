"""Reads what a decision about a run needs beyond the view that it began with.

Whose throttles are in force is found out by writing those of the run: nothing else shows it.
"""

from dataclasses import replace

from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile import rate_signals
from poolkeeper.reconcile.act import (
    keep_throttles,
)
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import run as runs
from poolkeeper.reconcile.decide.decisions import (
    CheckThrottles,
    MissingInput,
    NeededInput,
    RunSituation,
)
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers, updated_records
from poolkeeper.reconcile.observe.run_view import RunGuard, RunView, find_ending

READ_GONE_EVERY_MS = 5_000


def complete_view(
    context: PassContext, at: RunSituation, guard: RunGuard, needed_input: NeededInput
) -> RunView:
    """Return the view of the run, extended by what a decision needs."""
    run, document, view = at.run, at.document, at.view
    match needed_input:
        case MissingInput.ENDING:
            return replace(view, ending_read=True, ending=find_ending(context, run, at.plan, guard))
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
            return replace(view, gone_read=True, gone=_note_gone(context, at))
        case MissingInput.RATE_SIGNALS:
            return replace(view, signals=rate_signals.measure(context, at))
        case CheckThrottles():
            topics = needed_input.topics
            live = context.access.check_throttles(document, run.rates, topics)
            keep_throttles.note(context, live)
            return replace(view, throttles=live)
        case _:
            sized = context.enrich(view.cluster)
            states = needed_input.states
            held = runs.held_moves(at, states, sized)
            states = tuple(None if m in held else place for m, place in enumerate(states))
            gone, records = guard.gone(), guard.records()
            with context.timed("stage"):
                moves = next_stage.with_live_bytes(at.plan.moves, states, sized)
                stage = next_stage.next_stage(
                    moves, states, sized, at.desired, records=records, gone=gone
                )
            return replace(
                view,
                stage_computed=True,
                stage=stage,
                cluster_with_sizes=sized,
                gone=gone,
                records=records,
            )


def _throttled_topics(context: PassContext, at: RunSituation) -> frozenset[str]:
    """Return the topics that the run moves, without those of which it has given up all moves.

    One of these may have been made again, and is none of the run's.
    """
    given_up = context.memory.given_up
    return frozenset(move.topic for m, move in enumerate(at.plan.moves) if m not in given_up)


def _note_gone(context: PassContext, at: RunSituation) -> frozenset[int]:
    """Return the brokers that count as gone; record who is missing, so that it can count later.

    The records are those of all topics, too: they are read again after a while only.
    """
    memory, now_ms = context.memory, context.now_ms()
    if memory.gone is not None and now_ms - memory.gone_read_ms < READ_GONE_EVERY_MS:
        return memory.gone
    before = context.access.read_records()
    records = updated_records(before, at.view.cluster, at.desired, now_ms)
    if records != before:
        context.access.remember_brokers(records)
    memory.gone, memory.gone_read_ms = gone_brokers(records, at.desired, now_ms), now_ms
    return memory.gone
