"""Replicas between the log directories of their broker: begun a few at a time, asked of the broker.

A broker copies in the background and tells what is on its way, so that nothing needs to be
recorded: what it was asked for is seen in the next pass, done or under way, also by the next
process. Asking cannot be fenced as a write to ZooKeeper can. So the journal's epoch is checked just
before; and two who ask for the same do no harm.

A plan changes with every copy that arrives. What was approved once is remembered, so that it is
done to its end; a new process asks anew for the rest.
"""

from collections import Counter
from collections.abc import Iterable

from poolkeeper.errors import Unavailable
from poolkeeper.means import Means, counted
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning import residual
from poolkeeper.planning.residual import StepState


def begin(
    means: Means,
    plan: Plan,
    cluster: Cluster,
    at_once: int,
    holds: Iterable[str],
    *,
    approved: bool,
    did: list[str],
    waits: list[str],
) -> None:
    """Ask for what is due, so that no broker copies more than `at_once` replicas at a time.

    `holds`: why none may begin now. `approved`: whether this plan is. Says in `did` and `waits`
    what was begun, and what is waited for.
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
    if len(agreed) < len(due):
        waits.append(f"waits for approval: move {_replicas(len(due) - len(agreed))}")
    held = list(holds) if agreed else []
    waits += held
    if agreed and not held:
        _ask(means, agreed, cluster, at_once, did, waits)
    if steps and on_their_way and not did:
        waits.append(f"{_replicas(on_their_way)} on their way, {len(due)} to go")


def _ask(
    means: Means,
    due: list[MoveLogDir],
    cluster: Cluster,
    at_once: int,
    did: list[str],
    waits: list[str],
) -> None:
    if means.brokers is None:
        waits.append("the brokers cannot be asked to move replicas between log directories")
        return
    room = Counter({n: at_once - len(b.arriving or ()) for n, b in cluster.brokers.items()})
    batches: dict[int, dict[TopicPartition, str]] = {}
    for step in due:
        if room[step.broker] > 0:
            room[step.broker] -= 1
            name = TopicPartition(step.topic, step.partition)
            batches.setdefault(step.broker, {})[name] = step.target
    for broker, targets in sorted(batches.items()):
        means.journal.commit()
        try:
            refused = means.brokers.move_log_dirs(broker, targets)
        except Unavailable as away:
            waits.append(str(away))
            continue
        waits += [f"broker {broker} does not move {name}: {why}" for name, why in refused.items()]
        if begun := len(targets) - len(refused):
            did.append(f"move {_replicas(begun)} of broker {broker}")


def _replicas(count: int) -> str:
    return f"{counted(count, 'replica')} between log directories"
