"""How a run ends early between two stages: it keeps its throttles while what it added is copied.

A growing step that a later controller took up counts as done long before all is in sync, and a step
that lost its request goes on by itself (`move_progress`). Without the throttles such a copy would
have the whole bandwidth of its brokers.

Some runs end all the same, and tell what goes on without a throttle: one that is rolled back, as
nothing is left to be cancelled and the broker that is behind may be the reason for it; one whose
stage is over its deadline; one that waits for brokers that nobody wants any more as homes.
"""

from dataclasses import replace

from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.run_state.progress.move_progress import copies_without_request
from poolkeeper.reconcile.decide import throttle_rate
from poolkeeper.reconcile.decide.cancelling.cancel_candidates import wanted_brokers
from poolkeeper.reconcile.decide.decisions import (
    WAITS_MAX,
    DoNothing,
    EnterPhase,
    MissingInput,
    RunSituation,
)


def decide(
    at: RunSituation, ending: Ending, found: tuple[Action, ...]
) -> EnterPhase | DoNothing | MissingInput:
    """Decide to end the run, or to wait for what is still copied under its throttles."""
    waits = _copies(at) if at.document.throttled else ()
    if not waits or ending is Ending.ROLLED_BACK:
        return EnterPhase(Phase.RESTORING, ending, found)
    if not at.view.ending_read:  # a person may ask for a rollback meanwhile
        return MissingInput.ENDING
    if at.view.ending is Ending.ROLLED_BACK:
        return EnterPhase(Phase.RESTORING, ending, found)
    return throttle_rate.decide_rate(at, found) or DoNothing(waits[:WAITS_MAX], found)


def _copies(at: RunSituation) -> tuple[Wait, ...]:
    """Name the brokers that are waited for, each with the partitions that are wanted there."""
    if at.now_ms - at.run.requested_ms > at.desired.cluster.execution.stage_deadline_s * 1000:
        return ()
    behind = copies_without_request(at.plan.moves, at.view.progress, at.view.cluster)
    wanted = (
        replace(
            wait,
            partitions=tuple(
                name
                for name in wait.partitions
                if set(wait.brokers) <= wanted_brokers(at.desired, name.topic)
            ),
        )
        for wait in behind
    )
    return tuple(wait for wait in wanted if wait.partitions)
