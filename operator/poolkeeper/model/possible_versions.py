"""The releases that a cluster's brokers may run, for what has to hold in each of them.

A value that one broker cannot read keeps that broker from starting. So what counts is every release
that may be there, not the lowest: brokers report their release each by itself, and during an
upgrade they differ. As long as a live broker is silent it may run whatever is declared and whatever
may have written the nodes of ZooKeeper. A declaration that contradicts those nodes is not believed
alone; one that contradicts what all brokers report is not believed at all.
"""

from poolkeeper.model.topology import Cluster
from poolkeeper.model.versions import SUPPORTED, Version, span, version_of


def possible_versions(cluster: Cluster, declared: str | None) -> Version:
    """Return the releases that the brokers may run; `declared`: as the KafkaCluster says."""
    told = [
        version
        for broker in cluster.brokers.values()
        if (version := version_of(broker.release)) is not None
    ]
    if told and len(told) == len(cluster.brokers):
        return span(told)
    return span((*told, _unasked(cluster, declared, told=bool(told))))


def _unasked(cluster: Cluster, declared: str | None, *, told: bool) -> Version:
    """Return the releases that a broker may run that does not report its own."""
    # What a few brokers report says nothing of the others.
    traced = version_of(cluster.traced_version or (None if told else cluster.kafka_version))
    version = version_of(declared)
    if version is None:
        return traced or SUPPORTED
    if traced is None or span((traced, version)) == traced:
        return version
    return span((traced, version))
