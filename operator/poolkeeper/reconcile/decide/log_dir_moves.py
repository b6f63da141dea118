"""Moves of replicas between log directories of one broker, requested from that broker.

They are begun a few at a time. A broker copies in the background and reports which copies are under
way. So nothing needs to be recorded: the next pass, of this process or another, sees each request
done or under way. A request to a broker cannot be fenced as a write to ZooKeeper can. So the
journal's epoch is checked just before, and two executors that send the same request do no harm.

A plan changes with every replica that arrives. Approved moves are therefore remembered and all
done. A new process asks for approval of the rest.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.waits import Wait, WaitReason
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state import step_progress
from poolkeeper.planning.run_state.step_progress import StepState

Targets = Mapping[TopicPartition, str]
"""The target log directory of each replica of one broker."""


@dataclass(frozen=True, slots=True)
class MoveLogDirs:
    """Request moves between log directories.

    `idle`: additional waits if none begins. `approved`: the approved moves, to be remembered.
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

    `holds`: why none may begin now. `approved`: the moves that are allowed.
    """
    steps = [step for step in plan.steps if isinstance(step, MoveLogDir)]
    due = [s for s in steps if step_progress.progress_of(s, cluster).state is StepState.TO_DO]
    agreed = [step for step in due if step in approved]
    return MoveLogDirs(
        {} if holds else _batches(agreed, cluster, at_once),
        (*_waits_for_approval(len(due) - len(agreed)), *(holds if agreed else ())),
        _waits_for_copies(cluster, len(due)) if steps else (),
        approved,
    )


def _waits_for_approval(count: int) -> tuple[Wait, ...]:
    action = Action(ActionKind.MOVE_LOG_DIRS, count=count)
    return (Wait(WaitReason.APPROVAL_REQUIRED, action=action),) if count else ()


def _waits_for_copies(cluster: Cluster, due: int) -> tuple[Wait, ...]:
    arriving = sum(len(broker.arriving or ()) for broker in cluster.brokers.values())
    in_flight = WaitReason.LOG_DIR_MOVES_IN_FLIGHT
    return (Wait(in_flight, count=arriving, of=due),) if arriving else ()


def approved_moves(
    plan: Plan, before: Collection[MoveLogDir], *, approved: bool
) -> frozenset[MoveLogDir]:
    """Return the allowed moves; an earlier approval stays valid while its move is still planned."""
    steps = frozenset(step for step in plan.steps if isinstance(step, MoveLogDir))
    return steps.union(before) if approved else steps.intersection(before)


def _batches(
    approved: Sequence[MoveLogDir], cluster: Cluster, at_once: int
) -> dict[int, dict[TopicPartition, str]]:
    room = Counter({n: at_once - len(b.arriving or ()) for n, b in cluster.brokers.items()})
    batches: dict[int, dict[TopicPartition, str]] = {}
    for step in approved:
        if room[step.broker] > 0:
            room[step.broker] -= 1
            name = TopicPartition(step.topic, step.partition)
            batches.setdefault(step.broker, {})[name] = step.target
    return dict(sorted(batches.items()))
