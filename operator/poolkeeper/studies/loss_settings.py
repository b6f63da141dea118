"""The settings that decide what becomes of a topic's partitions when brokers are lost.

A topic's own config comes first, then the brokers' setting, then Kafka's default of the release.
ZooKeeper holds the topics' configs and the brokers' dynamic ones; what stands in a broker's
`server.properties` only the broker itself tells. So a setting has a source, and a value that is
Kafka's default because nobody was asked is an assumption, which a study says.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.topic_config.min_insync import MIN_INSYNC
from poolkeeper.model.topic_config.validation import default_of
from poolkeeper.model.topic_config.values import flag, parse_whole
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, Version, version_of

UNCLEAN = "unclean.leader.election.enable"
SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
BROKER_KEYS = (MIN_INSYNC, UNCLEAN, SESSION_TIMEOUT)
"""The settings of brokers that a study of a loss needs."""

_LONGER_SESSIONS = KafkaVersion.parse("2.5")


class SettingSource(StrEnum):
    """Where a setting in force comes from."""

    TOPIC = "topic"
    BROKER = "broker"
    DEFAULT = "default"
    """Kafka's default, as the brokers were not asked."""


@frozen
class LossSettings:
    """What brokers say of their settings, by key; a key that nobody told is absent.

    `version` is None where it is not known.
    """

    told: Mapping[str, str] = field(default_factory=dict)
    version: Version | None = None

    def min_isr(self, topic: Topic) -> tuple[int, SettingSource]:
        """`min.insync.replicas` of a topic; a value that is no number counts as absent."""
        for text, source in self._texts(MIN_INSYNC, topic):
            number = parse_whole(text)
            if number is not None:
                return number, source
        return 1, SettingSource.DEFAULT

    def unclean(self, topic: Topic) -> tuple[bool, SettingSource]:
        """`unclean.leader.election.enable` of a topic.

        The default is false from 0.11 on, true before. A range of releases counts as the later.
        """
        for text, source in self._texts(UNCLEAN, topic):
            value = flag(text)
            if value is not None:
                return value, source
        return False, SettingSource.DEFAULT

    @property
    def session_timeout_s(self) -> float:
        """How long a broker that dies stays registered: told, else 6 s, from 2.5 on 18 s."""
        told = parse_whole(self.told.get(SESSION_TIMEOUT, ""))
        if told is not None:
            return told / 1000
        version = self.version or SUPPORTED
        return 6.0 if version.high.release < _LONGER_SESSIONS else 18.0

    def _texts(self, key: str, topic: Topic) -> list[tuple[str, SettingSource]]:
        """The values that may be in force, the one that counts first."""
        own = (topic.config or {}).get(key)
        default = default_of(key, self.version.high if self.version else SUPPORTED.high)
        found = (
            (own, SettingSource.TOPIC),
            (self.told.get(key), SettingSource.BROKER),
            (default, SettingSource.DEFAULT),
        )
        return [(text, source) for text, source in found if text is not None]


def settings_of(cluster: Cluster, told: Mapping[str, str] | None = None) -> LossSettings:
    """The settings of a cluster; `told`: what a broker itself says, which comes before ZooKeeper.

    So does what a snapshot has of that. Of brokers that differ, the smallest id counts.
    """
    dynamic: dict[str, str] = {}
    for _, broker in sorted(cluster.brokers.items()):
        if broker.min_insync is not None:
            dynamic.setdefault(MIN_INSYNC, str(broker.min_insync))
        for key in BROKER_KEYS:
            if broker.config and key in broker.config:
                dynamic.setdefault(key, broker.config[key])
    return LossSettings(dynamic | dict(told or {}), version_of(cluster.kafka_version))
