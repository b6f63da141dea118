"""A request in flight: what arrived, who is waited for, and what is done meanwhile.

A pass that finds the controller at work begins nothing. It counts, names the brokers that a move
waits for, tries the remedies that are allowed once the request looks stuck, and adapts the throttle
to how the cluster fares.
"""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper import remedies
from poolkeeper.means import Means, outcome_of
from poolkeeper.model.actions import Action
from poolkeeper.model.outcomes import Outcome, State
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired, ThrottleMode
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning import gates, throttles
from poolkeeper.planning.progress import MoveProgress, MoveState
from poolkeeper.zk import throttling
from poolkeeper.zk.readings import Observation
from poolkeeper.zk.runs import Document, Run

STALL_MS = 15_000
ADAPT_EVERY_MS = 30_000


def watch(
    means: Means,
    desired: Desired,
    run: Run,
    document: Document,
    observation: Observation,
    progress: Sequence[MoveProgress],
) -> Outcome:
    """A request is in flight: count what arrived, name what does not move, adapt the throttle."""
    plan = document.plan
    cluster = observation.cluster
    step = {TopicPartition(plan.moves[m].topic, plan.moves[m].partition) for m, _ in run.step}
    for (m, _), p in zip(run.step, progress, strict=True):
        means.memory.see(plan, m, p, cluster)
    arrived = sum(p.at >= index for (_, index), p in zip(run.step, progress, strict=True))
    means.memory.flying = len(run.step) - arrived
    in_flight = WaitReason.STAGE_IN_FLIGHT
    waits = [Wait(in_flight, stage=run.stage, count=arrived, of=len(run.step))]
    waits.extend(_hanging(plan, run, cluster, progress))
    waits.extend(gates.controller(cluster))
    waits.extend(gates.foreign(cluster, step))
    age_ms = means.now_ms() - run.requested_ms
    stall = remedies.stall_of(plan.moves, run.step, progress, cluster)
    did: tuple[Action, ...] = ()
    if age_ms > STALL_MS and stall is not None:
        allowed = desired.cluster.execution.remedies
        answer = remedies.attempt(means.journal, means.brokers, observation, stall, allowed)
        did = answer.did
        waits.extend(answer.waits)
    if age_ms > desired.cluster.execution.stage_deadline_s * 1000:
        waits.append(Wait(WaitReason.STAGE_DEADLINE, stage=run.stage))
        if desired.cluster.execution.roll_back_on_deadline:
            waits.append(Wait(WaitReason.ROLL_BACK_UNSUPPORTED))
    run = _adapt(means, desired, run, document, cluster, step)
    return outcome_of(means, run, document, State.WAITING, did, tuple(waits))


def _hanging(
    plan: Plan, run: Run, cluster: Cluster, progress: Sequence[MoveProgress]
) -> list[Wait]:
    """Name the targets that died while partitions are on their way to them."""
    hanging: dict[int, list[TopicPartition]] = {}
    for (m, index), p in zip(run.step, progress, strict=True):
        if p.state is MoveState.IN_FLIGHT:
            move = plan.moves[m]
            for broker in set(move.path[index]) - set(cluster.brokers):
                hanging.setdefault(broker, []).append(TopicPartition(move.topic, move.partition))
    return [
        Wait(WaitReason.BROKER_NOT_LIVE, brokers=(broker,), partitions=tuple(names))
        for broker, names in sorted(hanging.items())
    ]


def _adapt(
    means: Means,
    desired: Desired,
    run: Run,
    document: Document,
    cluster: Cluster,
    step: set[TopicPartition],
) -> Run:
    """Change the adaptive throttle when it is time to; finish a change that was interrupted."""
    if not run.rates:
        return run
    if len(run.rates) > 1:
        throttling.write(means.journal, document.saved, throttling.lists_of(document), run.rates)
        return means.journal.rewrite(run, replace(run, rates=run.rates[:1]))
    throttle = desired.cluster.execution.throttle
    now_ms = means.now_ms()
    since_ms = max(means.memory.adapted_ms, run.requested_ms)
    if throttle.mode is not ThrottleMode.ADAPTIVE or now_ms - since_ms < ADAPT_EVERY_MS:
        return run
    means.memory.adapted_ms = now_ms
    hurt = gates.health(cluster).under_replicated - document.baseline.under_replicated
    rate = throttles.adapted(run.rates[0], throttle.rate_bytes_per_s, healthy=not hurt & step)
    if rate == run.rates[0]:
        return run
    return means.journal.rewrite(run, replace(run, rates=(rate, run.rates[0])))
