"""Requests to brokers. Reads, except for `move_log_dirs`, `cancel_moves`, `wake_controller`.

Only a broker itself knows its log directories and its config. So these requests go to each broker
separately, in parallel, under one deadline.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Self, TypeVar

from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.metadata import MetadataRequest

from poolkeeper import tls_files
from poolkeeper.brokers import (
    config_validation,
    connections,
    consumer_groups,
    group_leaders,
    security,
)
from poolkeeper.brokers.broker_configs import Setting, is_throttle_applied
from poolkeeper.brokers.consumer_groups import GroupMembers, ObservedGroup
from poolkeeper.brokers.group_leaders import GroupLeaders
from poolkeeper.brokers.sizes import BrokerLogs, Failure, Sizes, from_response
from poolkeeper.errors import Unavailable, Unsupported
from poolkeeper.frozen import frozen
from poolkeeper.model.credentials import BrokerCredentials
from poolkeeper.model.execution.waits import NO_CANCEL_API
from poolkeeper.model.specs import Tls
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topic_config.min_insync import MIN_INSYNC
from poolkeeper.model.topic_config.values import parse_whole
from poolkeeper.model.topology import Replicas, ToldReplicas, TopicPartition

Answer = TypeVar("Answer")

DEADLINE_S = 10.0
AT_ONCE = 16
RETRY_PAUSE_S = 0.1
RETRIES = 5
UNCONNECTED = (kafka_errors.NodeNotReadyError, kafka_errors.KafkaConnectionError)
_ANY_BROKER = -1


@frozen
class Versions:
    """The release of each broker that answered, such as `2.8`, and why the others did not."""

    releases: Mapping[int, str]
    failures: Mapping[int, Failure]

    @property
    def lowest(self) -> str | None:
        """The oldest release in the cluster, which bounds what all brokers support."""
        return min(self.releases.values(), key=_release_order, default=None)


class BrokerClient:
    """A client of a cluster's brokers. Thread-safe; close it, or use `with`."""

    def __init__(self, client: KafkaAdminClient) -> None:
        self._client = client
        self._silent = False
        self._refusing: set[int] = set()

    @property
    def is_refused(self) -> bool:
        """Whether another connection, with the Secrets of then, may reach more brokers.

        Nobody of those who were asked last answered. Or a broker refused us when it was asked last,
        as far as can be told: where credentials or certificates are checked, one that accepts
        connections, and with which none comes about, may have new ones.
        """
        return self._silent or bool(self._refusing)

    @classmethod
    def open(
        cls,
        bootstrap: Sequence[str],
        credentials: BrokerCredentials | None = None,
        tls: Tls | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Self:
        """Connect to a cluster by any of its servers (`host:port`); raises Unavailable."""
        tls_files.require_usable(tls)
        settings = security.settings(credentials, tls)
        return cls(connections.connect(bootstrap, settings, deadline_s))

    def close(self) -> None:
        """Close all connections; pending requests fail at once."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def ids(self) -> tuple[int, ...]:
        """Return the ids of the live brokers from their metadata; raises Unavailable."""
        with connections.translate_errors("describing the cluster"):
            # The library's `describe_cluster` stumbles over what Kafka 2.8 to 3.6 answer.
            described = connections.ask_any(self._client, self._client._get_cluster_metadata, [])
        return tuple(sorted(broker["node_id"] for broker in described["brokers"]))

    def sizes(self, brokers: Iterable[int], deadline_s: float = DEADLINE_S) -> Sizes:
        """Ask each broker for its log directories and what is in them (Kafka 2.0 and later).

        Never raises: who does not answer in time is named in the result.
        """
        answers, failures = self._ask_each(brokers, self._logs, deadline_s)
        return Sizes(answers, failures)

    def told_replicas(
        self, topics: Mapping[int, Collection[str]], deadline_s: float = DEADLINE_S
    ) -> ToldReplicas:
        """Ask each broker which replicas partitions of its `topics` have, as it was told last.

        The controller tells brokers. Who has not heard of it for long answers as before. Never
        raises: who does not answer in time is left out.
        """

        def told(broker: int) -> Mapping[TopicPartition, Replicas]:
            manager, kind = self._client._manager, MetadataRequest.MetadataRequestTopic
            asked = [kind(name=name) for name in sorted(topics[broker])]
            request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
            answer = manager.run(manager.send, request, broker)
            return {
                TopicPartition(topic.name, partition.partition_index): tuple(
                    partition.replica_nodes
                )
                for topic in answer.topics
                for partition in topic.partitions
            }

        return self._ask_each(topics, told, deadline_s)[0]

    def versions(self, brokers: Iterable[int], deadline_s: float = DEADLINE_S) -> Versions:
        """Ask each broker which requests it understands, and tell its release from that.

        Never raises: who does not answer in time is named in the result.
        """
        answers, failures = self._ask_each(brokers, self._release, deadline_s)
        return Versions(answers, failures)

    def min_insync(
        self, brokers: Iterable[int], deadline_s: float = DEADLINE_S
    ) -> Mapping[int, int]:
        """Ask each broker for its `min.insync.replicas`; who does not tell it is left out."""

        def told(broker: int) -> int | None:
            setting = self.broker_config(broker, [MIN_INSYNC]).get(MIN_INSYNC)
            return parse_whole(setting.value or "") if setting else None

        answers, _ = self._ask_each(brokers, told, deadline_s)
        return {broker: number for broker, number in answers.items() if number is not None}

    def broker_config(
        self, broker: int, keys: Sequence[str] | None = None
    ) -> Mapping[str, Setting]:
        """Return these config keys in force on a broker, or all; raises Unavailable."""
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), keys)
        with connections.translate_errors(f"describing the config of broker {broker}"):
            found = self._client.describe_configs([resource], config_filter="all")
        entries = found.get("broker", {}).get(str(broker))
        if not entries:  # empty is how the library shows a refusal
            raise Unavailable(f"broker {broker} does not show its config")
        return {
            key: Setting(entry["value"], entry["config_source"]) for key, entry in entries.items()
        }

    def throttle_settled(self, broker: int, expected: Mapping[str, str | None]) -> bool | None:
        """Whether a broker has applied these dynamic values; `None` as a value means unset.

        Returns None if the broker says that a value is set, but not which (Kafka 2.0). A broker
        applies a change within a tenth of a second of its notification. Raises Unavailable.
        """
        return is_throttle_applied(self.broker_config(broker), expected)

    def throttles_settled(
        self,
        brokers: Iterable[int],
        expected: Mapping[str, str | None],
        deadline_s: float = DEADLINE_S,
    ) -> Mapping[int, bool | None]:
        """Ask each broker what `throttle_settled` asks one; None where one does not answer."""

        def settled(broker: int) -> bool | None:
            return self.throttle_settled(broker, expected)

        answers, failures = self._ask_each(brokers, settled, deadline_s)
        return {**answers, **dict.fromkeys(failures)}

    def move_log_dirs(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, str]:
        """Request that a broker copies replicas to its other log directories (Kafka 1.1 and later).

        It answers at once and copies in the background; repeating the request changes nothing.
        Returns the reason for each replica that it refuses. Raises Unavailable.
        """
        asked = {(name.topic, name.partition, broker): path for name, path in targets.items()}
        with connections.translate_errors(
            f"moving replicas of broker {broker} to other log directories"
        ):
            answer = self._client.alter_replica_log_dirs(asked)
        return {
            TopicPartition(replica.topic, replica.partition): connections.reason(error())
            for replica, error in answer.items()
            if error is not kafka_errors.NoError
        }

    def refused_configs(
        self, checks: Iterable[ConfigCheck], deadline_s: float = DEADLINE_S
    ) -> Mapping[str, str]:
        """Ask whether brokers would take these topic configs; nothing is changed.

        Returns their words for each topic that they refuse. Raises Unavailable.
        """
        asked = tuple(checks)
        new = [check for check in asked if check.replicas is not None]
        changed = [check for check in asked if check.replicas is None]

        def refused(_: int) -> dict[str, str]:
            timeout_ms = int(deadline_s * 1000)
            said = config_validation.refused_creations(self._client, new, timeout_ms)
            return said | config_validation.refused_changes(self._client, changed)

        answers, failures = self._ask_each((_ANY_BROKER,), refused, deadline_s)
        if failures:
            raise Unavailable(f"checking topic configs: {failures[_ANY_BROKER]}")
        return answers[_ANY_BROKER]

    def group_members(
        self, names: Sequence[str] | None = None, deadline_s: float = DEADLINE_S
    ) -> GroupMembers:
        """Return the members of these consumer groups, or of all; raises Unavailable."""
        ask = partial(self._ask_each, deadline_s=deadline_s)
        if names is None:
            return consumer_groups.all_members(self._client, self.ids(), ask)
        return consumer_groups.members(self._client, names, ask)

    def group_leaders(
        self, groups: Mapping[int, Iterable[str]], deadline_s: float = DEADLINE_S
    ) -> GroupLeaders:
        """Find who leads these consumer groups, by the partition of `__consumer_offsets` of each.

        Raises Unavailable.
        """
        return group_leaders.find_leaders(self._client, groups, deadline_s)

    def consumer_group(self, name: str) -> ObservedGroup:
        """Return the members of a consumer group and what they read; raises Unavailable."""
        return consumer_groups.describe(self._client, name)

    def wake_controller(self) -> None:
        """Make the controller look for reassignment requests again (Kafka 2.4 and later).

        It cancels a move of a topic that does not exist. That changes nothing, and a controller
        that stopped noticing `/admin/reassign_partitions` notices it again. Raises Unavailable,
        also where the brokers are older.
        """
        nothing = KafkaPartition("poolkeeper.no.such.topic", 0)
        with connections.translate_errors("waking the controller"):
            self._client.alter_partition_reassignments({nothing: None})

    def cancel_moves(
        self, partitions: Iterable[TopicPartition], deadline_s: float = DEADLINE_S
    ) -> Mapping[TopicPartition, str]:
        """Cancel moves under way (Kafka 2.4 and later); one that does not move stays as it is.

        Each returns to the replicas that it had, in mixed order. Returns why others are refused.
        Raises Unavailable, or Unsupported where the brokers are older.
        """
        asked: dict[KafkaPartition, None] = {KafkaPartition(*name): None for name in partitions}
        with connections.translate_errors("cancelling moves"):
            try:
                answer = self._client.alter_partition_reassignments(
                    asked, timeout_ms=int(deadline_s * 1000)
                )
            except kafka_errors.IncompatibleBrokerVersion as old:
                raise Unsupported(NO_CANCEL_API) from old
        fine = (None, kafka_errors.NoReassignmentInProgressError)
        return {
            TopicPartition(name.topic, name.partition): connections.reason(error())
            for name, error in answer.items()
            if error not in fine
        }

    def _ask_each(
        self, brokers: Iterable[int], question: Callable[[int], Answer], deadline_s: float
    ) -> tuple[dict[int, Answer], dict[int, Failure]]:
        """Ask side by side; return answers and failures by broker, in ascending order."""
        answers: dict[int, Answer] = {}
        failures: dict[int, Failure] = {}
        deadline = time.monotonic() + deadline_s
        pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="brokers")
        asked = {
            broker: pool.submit(self._ask, question, broker, deadline)
            for broker in sorted(set(brokers))
        }
        wait(asked.values(), timeout=deadline_s)
        # A thread that still waits is let go: its request ends with its own timeout, or with close.
        pool.shutdown(wait=False, cancel_futures=True)
        for broker, future in asked.items():
            if not future.done() or future.cancelled():
                failures[broker] = Failure(connections.NO_ANSWER, silent=True)
                continue
            # An error that was raised here would keep this frame and its callers, by the future.
            error = future.exception()
            if error is None:
                answers[broker] = future.result()
                continue
            if not isinstance(error, (kafka_errors.KafkaError, Unavailable, OSError, RuntimeError)):
                raise error
            failures[broker] = connections.failure(error)
            if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
                self._refusing.add(broker)
        self._refusing.difference_update(answers)
        if answers or failures:
            self._silent = not answers
        return answers, failures

    def _ask(self, question: Callable[[int], Answer], broker: int, deadline: float) -> Answer:
        try:
            return _retry_until(question, broker, deadline)
        except UNCONNECTED:
            if self._may_refuse_us(broker):
                self._refusing.add(broker)
            raise

    def _may_refuse_us(self, broker: int) -> bool:
        """Whether an unconnected broker may not take our credentials, or we not its certificate."""
        if self._client.config["security_protocol"] == "PLAINTEXT":
            return False
        known = self._client._manager.cluster.broker_metadata(broker)
        return known is not None and connections.is_listening(known.host, known.port)

    def _logs(self, broker: int) -> BrokerLogs:
        # The library's own call asks for all topics' metadata first, once for every broker.
        manager = self._client._manager
        answer = manager.run(manager.send, DescribeLogDirsRequest(topics=None), broker)
        if not answer.results:
            # A refusal had no code of its own before Kafka 3.2; no broker has no directory.
            raise Unavailable("these credentials are not authorized to describe the cluster")
        return from_response(directory.to_dict() for directory in answer.results)

    def _release(self, broker: int) -> str:
        return str(self._client.get_broker_version_data(broker).broker_version_str)


def _retry_until(question: Callable[[int], Answer], broker: int, deadline: float) -> Answer:
    """Repeat a request after a lost connection, and while the library pauses after one."""
    for _ in range(RETRIES):
        try:
            return question(broker)
        except UNCONNECTED:
            if time.monotonic() + RETRY_PAUSE_S > deadline:
                raise
            time.sleep(RETRY_PAUSE_S)
    return question(broker)


def _release_order(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
