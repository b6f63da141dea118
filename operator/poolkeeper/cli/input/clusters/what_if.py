"""The observed cluster as it would be with other brokers: some lost, some added."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Broker
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.text import few

LIVE_MAX = 20
"""The most live brokers that a message names."""


@frozen
class SupposedBrokers:
    """Supposed changes of the brokers: removed ids, added ids with their racks."""

    without: frozenset[int] = frozenset()
    added: Mapping[int, str | None] | None = None


def suppose_brokers(observed: Observation, what: SupposedBrokers) -> Observation:
    """Return the observation with the supposed brokers; raises Refused with all that is wrong."""
    added = what.added or {}
    if wrong := list(_misfits(observed, what, added)):
        raise InvalidInput(wrong)
    brokers = {n: b for n, b in observed.cluster.brokers.items() if n not in what.without}
    brokers |= {n: Broker(n, rack) for n, rack in added.items()}
    cluster = replace(observed.cluster, brokers=dict(sorted(brokers.items())))
    return replace(observed, cluster=cluster, gone=(observed.gone | what.without) - set(added))


def _misfits(
    observed: Observation, what: SupposedBrokers, added: Mapping[int, str | None]
) -> Iterator[Problem]:
    """Say which supposed brokers contradict the cluster or each other."""
    live = observed.cluster.brokers
    both = set(added) & what.without
    for broker in sorted(set(added) & live.keys() - both):
        yield Problem("", 0, f"--with-broker {broker}", "this broker is live already")
    for broker in sorted(both):
        said = f"--without {broker} takes it away (expected one of the two)"
        yield Problem("", 0, f"--with-broker {broker}", said)
    if what.without:
        for broker in sorted(what.without - _known(observed) - both):
            told = few(sorted(live), LIVE_MAX) or "none"
            said = f"there is no such broker (live: {told})"
            yield Problem("", 0, f"--without {broker}", said)


def unused_brokers(what: SupposedBrokers, desired: Desired) -> Iterator[str]:
    """Name the brokers of `--with-broker` on which no pool places replicas."""
    for broker in sorted(what.added or {}):
        pools = [pool for pool in desired.pools if broker in pool.brokers]
        if not pools:
            yield f"--with-broker {broker}: no pool has this broker, so nothing is placed on it"
        elif all(broker in pool.drain for pool in pools):
            named = f"pool {pools[0].name} drains this broker"
            yield f"--with-broker {broker}: {named}, so nothing is placed on it"


def _known(observed: Observation) -> set[int]:
    """The brokers that are live, were seen before, or hold replicas."""
    topics = observed.cluster.topics.values()
    held = {b for topic in topics for each in topic.partitions for b in each.replicas}
    return held | observed.cluster.brokers.keys() | observed.records.brokers.keys() | observed.gone
