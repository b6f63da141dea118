"""Measures what the adaptive throttle goes by, while a request is in flight.

The whole cluster is observed for its ISRs, and the brokers of the request are asked for the sizes
of their logs, where they can be asked. So the next measurement waits ten times as long as this one
took.
"""

from collections.abc import Mapping
from itertools import chain

from poolkeeper.model.columns.partition_queries import leaders_of, numbers_of
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state.throttling import adaptive_rate
from poolkeeper.planning.run_state.throttling.adaptive_rate import RateSignals, Reassigned, SizeLook
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.decisions import RunSituation

LOOK_PARTITIONS_MAX = 10_000
"""The most partitions whose logs are compared in a look."""
SHARE_OF_TIME = 10


def measure(context: PassContext, at: RunSituation) -> RateSignals:
    """Return what was measured, and remember the sizes of logs for the next time."""
    began_ms, memory = context.now_ms(), context.memory
    seen = context.access.observe(at.view.cluster.name, want_configs=False)
    cluster = context.with_load(seen.cluster)
    moves = tuple((at.plan.moves[m], index) for m, index in at.run.step)
    reassigned = {move.name: (move.path[index - 1], move.path[index]) for move, index in moves}
    arriving = {name: frozenset(new) - {*old} for name, (old, new) in reassigned.items()}
    look = _look(context, cluster, reassigned, began_ms)
    looks = memory.looks
    if look is not None:
        looks.append(look)
    took_ms = context.now_ms() - began_ms
    memory.adapted_ms = context.now_ms() + SHARE_OF_TIME * took_ms
    brokers = at.document.saved.brokers.keys()
    before = at.document.baseline.under_replicated
    return RateSignals(
        out_of_sync=adaptive_rate.out_of_sync(cluster, reassigned, before, brokers),
        behind=adaptive_rate.fallen_behind(tuple(looks), cluster),
        ingest_bytes_per_s=adaptive_rate.ingest(moves, cluster),
        copied_bytes_per_s=adaptive_rate.copied_rate(tuple(looks), arriving),
    )


def _look(
    context: PassContext,
    cluster: Cluster,
    reassigned: Mapping[TopicPartition, Reassigned],
    now_ms: int,
) -> SizeLook | None:
    """Ask the brokers of the request for the sizes of the logs that they lead or receive."""
    if context.brokers is None:
        return None
    asked = set(chain(*chain(*reassigned.values()))) & cluster.brokers.keys()
    logs = context.brokers.sizes(asked).logs
    leaders = {
        TopicPartition(topic.name, number): leader
        for topic in cluster.topics.values()
        for number, leader in zip(
            numbers_of(topic.partitions), leaders_of(topic.partitions), strict=True
        )
        if leader in asked
    }
    first = [name for name in reassigned if name in leaders]
    names = dict.fromkeys((*first, *leaders))
    chosen = list(names)[:LOOK_PARTITIONS_MAX]
    sizes = {
        name: {
            broker: held.current[name].size_bytes
            for broker, held in logs.items()
            if name in held.current
        }
        for name in chosen
    }
    return SizeLook(now_ms, sizes, {name: leaders[name] for name in chosen})
