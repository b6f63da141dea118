"""Replicas between the log directories of their broker: begun a few at a time, asked of the broker.

A broker copies in the background and tells what is on its way, so that nothing needs to be
recorded: what it was asked for is seen in the next pass, done or under way, also by the next
process. Asking cannot be fenced as a write to ZooKeeper can. So the journal's epoch is checked just
before; and two who ask for the same do no harm.

A plan changes with every copy that arrives. What was approved once is remembered, so that it is
done to its end; a new process asks anew for the rest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from poolkeeper.errors import Unavailable
from poolkeeper.means import Means
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Result
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning import residual
from poolkeeper.planning.residual import StepState


def begin(
    means: Means,
    plan: Plan,
    cluster: Cluster,
    at_once: int,
    holds: Iterable[Wait],
    *,
    approved: bool,
) -> Result:
    """Ask for what is due, so that no broker copies more than `at_once` replicas at a time.

    `holds`: why none may begin now. `approved`: whether this plan is.
    """
    steps = [step for step in plan.steps if isinstance(step, MoveLogDir)]
    if approved:
        means.memory.copies.update(steps)
    else:
        means.memory.copies.intersection_update(steps)
    states = [(step, residual.progress_of(step, cluster).state) for step in steps]
    due = [step for step, state in states if state is StepState.TO_DO]
    on_their_way = sum(len(broker.arriving or ()) for broker in cluster.brokers.values())
    agreed = [step for step in due if step in means.memory.copies]
    result = Result()
    if len(agreed) < len(due):
        action = Action(ActionKind.MOVE_LOG_DIRS, count=len(due) - len(agreed))
        result += Result(waits=(Wait(WaitReason.APPROVAL_REQUIRED, action=action),))
    held = tuple(holds) if agreed else ()
    result += Result(waits=held)
    if agreed and not held:
        result += _ask(means, agreed, cluster, at_once)
    if steps and on_their_way and not result.did:
        in_flight = WaitReason.LOG_DIR_MOVES_IN_FLIGHT
        result += Result(waits=(Wait(in_flight, count=on_their_way, of=len(due)),))
    return result


def _ask(means: Means, due: list[MoveLogDir], cluster: Cluster, at_once: int) -> Result:
    if means.brokers is None:
        return Result(waits=(Wait(WaitReason.BROKERS_NOT_ASKED),))
    room = Counter({n: at_once - len(b.arriving or ()) for n, b in cluster.brokers.items()})
    batches: dict[int, dict[TopicPartition, str]] = {}
    for step in due:
        if room[step.broker] > 0:
            room[step.broker] -= 1
            name = TopicPartition(step.topic, step.partition)
            batches.setdefault(step.broker, {})[name] = step.target
    result = Result()
    for broker, targets in sorted(batches.items()):
        means.journal.commit()
        try:
            refused = means.brokers.move_log_dirs(broker, targets)
        except Unavailable as away:
            result += Result(waits=(Wait(WaitReason.UNAVAILABLE, detail=str(away)),))
            continue
        result += Result(waits=tuple(_refused(broker, refused)))
        if begun := len(targets) - len(refused):
            action = Action(ActionKind.MOVE_LOG_DIRS, broker=broker, count=begun)
            result += Result((action,))
    return result


def _refused(broker: int, refused: Mapping[TopicPartition, str]) -> Iterator[Wait]:
    for name, why in refused.items():
        yield Wait(
            WaitReason.LOG_DIR_MOVE_REFUSED, partitions=(name,), brokers=(broker,), detail=why
        )
