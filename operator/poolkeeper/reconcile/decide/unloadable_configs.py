"""Moves of topics whose config no broker can load: they are not begun, or else taken back.

No broker makes a log with such a config, so the copy would never begin, and its stage would wait
for it for ever. Plans leave these topics out. But somebody may write the config after the plan was
made. Before the request of the move it stays where it is. After it, it is cancelled once a broker
had time to begin and has made no log: a copy that had begun by then goes on. Where brokers do not
tell of their logs, nobody knows which copies had begun: the config is named, and nothing cancelled.
"""

from collections.abc import Iterable, Sequence

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints.topic_configs import ConfigRules, live_config
from poolkeeper.planning.run_state.gates import disks
from poolkeeper.reconcile.decide.decisions import RunSituation


def unloadable(
    moves: Sequence[Move], left: Iterable[int], cluster: Cluster, desired: Desired
) -> dict[int, Wait]:
    """Return such moves by index, each with why it stays, of those `left` to be made."""
    adding = [m for m in left if any(moves[m].replicas_added)]
    rules = ConfigRules.of(desired, cluster)
    said = {
        topic: rules.unloadable(live_config(topic, cluster))
        for topic in {moves[m].topic for m in adding}
    }
    return {
        m: Wait(WaitReason.CONFIG_UNLOADABLE, topic=topic, detail=said[topic])
        for m in adding
        if said[topic := moves[m].topic]
    }


def waits(at: RunSituation) -> tuple[Wait, ...]:
    """Name the topics of the request in flight whose copies never begin, or may not have begun."""
    if at.view.disks.log_dirs:
        return tuple(dict.fromkeys(never_begun(at).values()))
    if at.now_ms - at.run.requested_ms < disks.NOT_BEGUN_MS:
        return ()
    step = zip(at.run.step, at.view.progress, strict=True)
    left = [m for (m, _), progress in step if progress.is_at_work]
    named = unloadable(at.plan.moves, left, at.view.cluster, at.desired)
    return tuple(dict.fromkeys(named.values()))


def never_begun(at: RunSituation) -> dict[int, Wait]:
    """Return such moves of the request in flight that a broker did not begin, though it had time.

    Only brokers can tell that: without `spec.brokers` there are none.
    """
    if not at.view.disks.log_dirs:
        return {}
    step = [(at.plan.moves[m], index) for m, index in at.run.step]
    found = disks.waits_in_flight(step, at.view.progress, at.view.cluster, at.view.disks)
    named = {
        name
        for wait in found
        if wait.reason is WaitReason.COPY_NOT_BEGUN
        for name in wait.partitions
    }
    if not named:
        return {}
    left = [m for m, _ in at.run.step if at.plan.moves[m].name in named]
    return unloadable(at.plan.moves, left, at.view.cluster, at.desired)
