"""Replicas between the log directories of their broker: begun a few at a time, asked of the broker.

A broker copies in the background and tells what is on its way, so that nothing needs to be
recorded: what it was asked for is seen in the next pass, done or under way, also by the next
process. Asking cannot be fenced as a write to ZooKeeper can. So the journal's epoch is checked just
before; and two who ask for the same do no harm.

A plan changes with every replica that arrives. What was approved once is remembered, so that it is
done to its end; a new process asks anew for the rest.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning.run_state import step_progress
from poolkeeper.planning.run_state.step_progress import StepState

Targets = Mapping[TopicPartition, str]
"""The log directory that each replica of one broker shall be in."""


@dataclass(frozen=True, slots=True)
class MoveLogDirs:
    """Ask brokers to move replicas. `idle`: what is waited for as well if none is begun.

    `approved`: the moves that were approved, to be remembered.
    """

    batches: Mapping[int, Targets] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    idle: tuple[Wait, ...] = ()
    approved: frozenset[MoveLogDir] = frozenset()


def decide(
    plan: Plan,
    cluster: Cluster,
    at_once: int,
    holds: Sequence[Wait],
    approved: frozenset[MoveLogDir],
) -> MoveLogDirs:
    """Decide which replicas begin to move: no broker copies more than `at_once` at a time.

    `holds`: why none may begin now. `approved`: the moves that may be done.
    """
    steps = [step for step in plan.steps if isinstance(step, MoveLogDir)]
    due = [s for s in steps if step_progress.progress_of(s, cluster).state is StepState.TO_DO]
    agreed = [step for step in due if step in approved]
    return MoveLogDirs(
        {} if holds else _batches(agreed, cluster, at_once),
        (*_unapproved(len(due) - len(agreed)), *(holds if agreed else ())),
        _on_their_way(cluster, len(due)) if steps else (),
        approved,
    )


def _unapproved(count: int) -> tuple[Wait, ...]:
    action = Action(ActionKind.MOVE_LOG_DIRS, count=count)
    return (Wait(WaitReason.APPROVAL_REQUIRED, action=action),) if count else ()


def _on_their_way(cluster: Cluster, due: int) -> tuple[Wait, ...]:
    arriving = sum(len(broker.arriving or ()) for broker in cluster.brokers.values())
    in_flight = WaitReason.LOG_DIR_MOVES_IN_FLIGHT
    return (Wait(in_flight, count=arriving, of=due),) if arriving else ()


def approved_moves(
    plan: Plan, before: Collection[MoveLogDir], *, approved: bool
) -> frozenset[MoveLogDir]:
    """Return the moves that may be done: what was approved before stays so while it is planned."""
    steps = frozenset(step for step in plan.steps if isinstance(step, MoveLogDir))
    return steps.union(before) if approved else steps.intersection(before)


def _batches(
    agreed: Sequence[MoveLogDir], cluster: Cluster, at_once: int
) -> dict[int, dict[TopicPartition, str]]:
    room = Counter({n: at_once - len(b.arriving or ()) for n, b in cluster.brokers.items()})
    batches: dict[int, dict[TopicPartition, str]] = {}
    for step in agreed:
        if room[step.broker] > 0:
            room[step.broker] -= 1
            name = TopicPartition(step.topic, step.partition)
            batches.setdefault(step.broker, {})[name] = step.target
    return dict(sorted(batches.items()))
