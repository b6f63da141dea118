"""Records which brokers are missing while a run is under way, so that `heal` can count absences.

A run may last for hours, and a pass over it reads a few topics. The records are those of all
topics: they are read again after a while only.
"""

from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers, updated_records

READ_GONE_EVERY_MS = 5_000
LOOK_EVERY_MS = 20_000
"""A third of the least time by which looks may be apart."""


def record_if_missing(context: PassContext, desired: Desired, cluster: Cluster) -> None:
    """Record the missing brokers from time to time, if there are any or one of them is back."""
    memory = context.memory
    if not desired.cluster.heal.enabled:
        return
    declared = {broker for pool in desired.pools for broker in pool.brokers}
    missing = declared - cluster.brokers.keys()
    if memory.gone is not None and context.now_ms() - memory.gone_read_ms < LOOK_EVERY_MS:
        return
    if missing or missing != memory.missing:
        read_gone_brokers(context, desired, cluster)
        memory.missing = missing


def read_gone_brokers(context: PassContext, desired: Desired, cluster: Cluster) -> frozenset[int]:
    """Record the missing brokers, and return those that count as gone."""
    memory, now_ms = context.memory, context.now_ms()
    if memory.gone is not None and now_ms - memory.gone_read_ms < READ_GONE_EVERY_MS:
        return memory.gone
    before = context.access.read_records()
    records = updated_records(before, cluster, desired, now_ms)
    if records != before:
        context.access.remember_brokers(records)
    memory.gone, memory.gone_read_ms = gone_brokers(records, desired, now_ms), now_ms
    return memory.gone
