"""The observed cluster as it would be with other brokers: some lost, some added."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Broker
from poolkeeper.reconcile.observe.observation import Observation


@frozen
class SupposedBrokers:
    """Supposed changes of the brokers: removed ids, added ids with their racks."""

    without: frozenset[int] = frozenset()
    added: Mapping[int, str | None] | None = None


def suppose_brokers(observed: Observation, what: SupposedBrokers) -> Observation:
    """Return the observation with the supposed brokers; raises Refused if one exists already."""
    added = what.added or {}
    present = sorted(set(added) & set(observed.cluster.brokers))
    if present:
        raise Refused(f"--with-broker {present[0]}: this broker is live already")
    if contradictory := sorted(set(added) & what.without):
        raise Refused(f"--with-broker and --without both name broker {contradictory[0]}")
    if what.without and (unknown := sorted(what.without - _known(observed))):
        live = ", ".join(map(str, sorted(observed.cluster.brokers)))
        raise Refused(f"--without {unknown[0]}: there is no such broker (live: {live})")
    brokers = {n: b for n, b in observed.cluster.brokers.items() if n not in what.without}
    brokers |= {n: Broker(n, rack) for n, rack in added.items()}
    cluster = replace(observed.cluster, brokers=dict(sorted(brokers.items())))
    return replace(observed, cluster=cluster, gone=(observed.gone | what.without) - set(added))


def useless(what: SupposedBrokers, desired: Desired) -> Iterator[str]:
    """Say of which added brokers nothing comes, as no pool places replicas on them."""
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
