"""Which configs may be written to topics.

A running broker only logs an error for a value that it cannot read. But a broker that starts with
it does not load its logs, and so one Topic can stop every broker. Therefore nothing is written that
a release refuses which a broker may run, or that the brokers themselves refused when they were
asked. A config in force is not judged: only what a write would change for the worse. But where no
broker can load it, no replica is made of its topic: a stage would wait for it for ever.

What counts is every release that may be there, not the lowest: brokers report their release each by
itself, and during an upgrade they differ. As long as a live broker is silent it may run whatever is
declared and whatever may have written the nodes of ZooKeeper. A declaration that contradicts those
nodes is not believed alone; one that contradicts what all brokers report is not believed at all.
"""

from collections.abc import Mapping

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import CreateTopic, SetConfig
from poolkeeper.model.problems import Facts
from poolkeeper.model.topic_config import validation
from poolkeeper.model.topology import Cluster, RefusedConfig
from poolkeeper.model.versions import SUPPORTED, Version, VersionRange, span, version_of
from poolkeeper.planning.facts.topics import (
    ConfigInvalid,
    ConfigKeysUnknownToSome,
    ConfigRefusedByBrokers,
)


@frozen
class ConfigRules:
    """The releases that brokers may run, and what brokers said of configs, by topic."""

    version: Version
    refused: Mapping[str, RefusedConfig]

    @classmethod
    def of(cls, desired: Desired, cluster: Cluster) -> "ConfigRules":
        """The rules for the configs of a cluster's topics."""
        declared = desired.cluster.kafka_version
        return cls(possible_versions(cluster, declared), cluster.refused_configs)

    def refusal(
        self, topic: str, config: Mapping[str, str], live: Mapping[str, str]
    ) -> Facts | None:
        """Why the whole `config` may not be written where `live` is; None if it may."""
        before = validation.check_all(_judged(live), self.version) if live else {}
        found = {
            key: problem
            for key, problem in validation.check_all(_judged(config), self.version).items()
            if config.get(key) != live.get(key) or before.get(key) != problem
        }
        if found:
            unsure = self.version if isinstance(self.version, VersionRange) else None
            return ConfigInvalid(tuple(found.items()), unsure)
        said = self.refused.get(topic)
        if said is not None and dict(said.config) == dict(config):
            return ConfigRefusedByBrokers(said.words)
        return None

    def unloadable(self, live: Mapping[str, str]) -> str:
        """What of a config in force no broker can load; empty if nothing."""
        found = validation.refused_by_all(live, self.version) if live else {}
        return "; ".join(f"{key} {problem}" for key, problem in found.items())

    def doubts(self, config: Mapping[str, str]) -> Facts | None:
        """What is told of keys that only some of the releases know; None without such a key."""
        found = validation.doubtful_keys(config, self.version)
        return ConfigKeysUnknownToSome(tuple(found.items()), self.version) if found else None


def config_after(step: CreateTopic | SetConfig, cluster: Cluster) -> dict[str, str]:
    """The whole config of a topic once the step is written."""
    if isinstance(step, CreateTopic):
        return dict(step.config)
    live = live_config(step.topic, cluster)
    return {key: value for key, value in live.items() if key not in step.unset} | dict(step.set)


def live_config(topic: str, cluster: Cluster) -> Mapping[str, str]:
    """The config of a topic in ZooKeeper; empty without such a topic."""
    found = cluster.topics.get(topic)
    return {} if found is None else found.config or {}


def _judged(config: Mapping[str, str]) -> dict[str, str]:
    """The config without the keys that only moves set."""
    return {k: v for k, v in config.items() if not validation.is_owned_by_executor(k)}


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
