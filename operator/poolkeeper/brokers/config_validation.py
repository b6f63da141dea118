"""Asks brokers whether they would take the configs of topics; nothing is changed (`validate_only`).

Brokers know more than any table: their own defaults, and the policies that their operators gave
them (`create.topic.policy.class.name`, `alter.config.policy.class.name`). The whole config of a
topic is sent (AlterConfigs), as it would be in ZooKeeper, so that one request serves all releases.
Only an answer about the config counts as a refusal. An error of another kind says nothing, but for
an unexpected one that has words: that is how brokers up to 2.x answer for a new topic with a value
that they cannot read.
"""

from collections.abc import Iterable, Sequence

from kafka import errors as kafka_errors
from kafka.admin import ConfigResourceType, KafkaAdminClient
from kafka.protocol.admin import AlterConfigsRequest, CreateTopicsRequest

from poolkeeper.brokers import connections
from poolkeeper.model.topic_config.config_check import ConfigCheck

_UNEXPECTED, _INVALID_CONFIG, _INVALID_REQUEST, _POLICY_VIOLATION = -1, 40, 42, 44
_REFUSALS_OF_CREATIONS = (_INVALID_CONFIG, _POLICY_VIOLATION)
_REFUSALS_OF_CHANGES = (_INVALID_CONFIG, _POLICY_VIOLATION, _INVALID_REQUEST)
_CREATIONS_CHECKED_SINCE, _CHANGES_CHECKED_SINCE = (0, 10, 2), (0, 11)


def refused_creations(
    client: KafkaAdminClient, checks: Sequence[ConfigCheck], timeout_ms: int
) -> dict[str, str]:
    """Return what brokers say against topics to create, by topic (Kafka 0.10.2 and later)."""
    if not checks or client._manager.broker_version < _CREATIONS_CHECKED_SINCE:
        return {}
    request = CreateTopicsRequest(
        topics=[_new_topic(check) for check in checks], timeout_ms=timeout_ms, validate_only=True
    )
    send = client._send_request_to_controller
    answer = connections.ask_any(client, send, request, _errors_of, False)
    return _refused(
        ((each.name, each.error_code, each.error_message) for each in answer.topics),
        _REFUSALS_OF_CREATIONS,
    )


def refused_changes(client: KafkaAdminClient, checks: Sequence[ConfigCheck]) -> dict[str, str]:
    """Return what brokers say against configs of existing topics, by topic (0.11 and later)."""
    if not checks or client._manager.broker_version < _CHANGES_CHECKED_SINCE:
        return {}
    topics = [(ConfigResourceType.TOPIC, each.topic, list(each.config.items())) for each in checks]
    request = AlterConfigsRequest(resources=topics, validate_only=True)
    answer = connections.ask_any(client, client._manager.send, request)
    return _refused(
        ((each.resource_name, each.error_code, each.error_message) for each in answer.responses),
        _REFUSALS_OF_CHANGES,
    )


def _new_topic(check: ConfigCheck) -> CreateTopicsRequest.CreatableTopic:
    topic = CreateTopicsRequest.CreatableTopic
    return topic(
        name=check.topic,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            topic.CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
            for number, replicas in enumerate(check.replicas or ())
        ],
        configs=[
            topic.CreatableTopicConfig(name=key, value=value) for key, value in check.config.items()
        ],
    )


def _errors_of(answer: object) -> Iterable[type[Exception]]:
    return (kafka_errors.for_code(each.error_code) for each in getattr(answer, "topics", ()))


def _refused(
    answers: Iterable[tuple[str, int, str | None]], refusals: Sequence[int]
) -> dict[str, str]:
    return {
        topic: words or kafka_errors.for_code(code).__name__
        for topic, code, words in answers
        if code in refusals or (code == _UNEXPECTED and words)
    }
