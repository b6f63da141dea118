"""What may be declared of Kafka's internal topics, and what would break them.

Brokers create these topics at their first use and write them by themselves: `__consumer_offsets`
holds the offsets that groups commit, `__transaction_state` (0.11 and later) the transactions. The
leader of partition `hash(name) % partitions` coordinates the group, or the transactional id.

Which brokers hold them and how many replicas they have is the operator's to choose. What breaks
them:

- **partitions**: each broker counts them once, when it starts. With another number brokers disagree
  about who coordinates a group, and its offsets are looked for where they are not.
- **deletion**: all committed offsets, or all transactions, are lost.
- **cleanup.policy** other than `compact`: an offset that nobody commits again is forgotten.
- **compression.type**: Kafka writes `__transaction_state` without compression, and
  `__consumer_offsets` as `offsets.topic.compression.codec` says.
- **unclean.leader.election.enable**: commits that were acknowledged are lost.
- **min.insync.replicas** above the number of replicas: every commit is refused.
- **max.message.bytes**, **segment.bytes** below what Kafka takes by default: a group with all its
  members is one record, and is refused once it is larger.
- **message.format.version**: what transactions need is not in the formats before 0.11.
- **remote.storage.enable**: a compacted topic has no remote storage.

The keys that Kafka sets when it creates them are never unset either: the default that a key returns
to is that of an ordinary topic, `cleanup.policy=delete` for one.
"""

from collections.abc import Mapping

from poolkeeper.algorithms.names import INTERNAL_TOPICS, ownership_problem
from poolkeeper.model.topic_config.values import elements, parse_whole, trim

DECLARABLE_TOPICS = INTERNAL_TOPICS - {"__share_group_state"}
"""Internal topics that a ZooKeeper cluster has: share groups came with KRaft."""

_OWN: Mapping[str, Mapping[str, str]] = {
    "__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer"},
    "__transaction_state": {"cleanup.policy": "compact", "compression.type": "uncompressed"},
}
_OF_ALL = {"remote.storage.enable": "false", "unclean.leader.election.enable": "false"}
_BYTES_MIN = 1_000_012
_LEAST = {"max.message.bytes": _BYTES_MIN, "segment.bytes": _BYTES_MIN}
_NEVER = frozenset({"message.format.version"})
_SET_AT_CREATION = frozenset(
    {
        "cleanup.policy",
        "compression.type",
        "min.insync.replicas",
        "segment.bytes",
        "unclean.leader.election.enable",
    }
)


def is_declarable(name: str) -> bool:
    """Whether it is an internal topic that a Topic may name: for its pool and its replicas."""
    return name in DECLARABLE_TOPICS


def declaration_problem(name: str) -> str | None:
    """Why no Topic may name that topic, or None."""
    return None if is_declarable(name) else ownership_problem(name)


def config_problem(topic: str, key: str, value: str) -> str | None:
    """Why that value would break the internal topic, or None; None for any other topic."""
    if not is_declarable(topic):
        return None
    if key in _NEVER:
        return f"{value!r} breaks {topic} (expected: not declared)"
    own = {**_OF_ALL, **_OWN[topic]}.get(key)
    if own is not None and not _same(key, value, own):
        return f"{value!r} breaks {topic} (expected {own!r})"
    least, number = _LEAST.get(key), parse_whole(value)
    if least is not None and number is not None and number < least:
        return f"{value!r} is too small for what Kafka writes to {topic} (expected {least} or more)"
    return None


def commits_need(config: Mapping[str, str]) -> int:
    """How many replicas must be in sync, with that config, for Kafka to write the topic."""
    return parse_whole(config.get("min.insync.replicas", "1")) or 1


def keeps(topic: str, key: str) -> bool:
    """Whether the key of that topic is never unset."""
    return is_declarable(topic) and key in _SET_AT_CREATION


def _same(key: str, value: str, own: str) -> bool:
    if key == "cleanup.policy":
        return elements(value) == (own,)
    if own == "false":
        return trim(value).lower() == own
    return trim(value) == own
