"""The range of Kafka releases that may have written a tree, or nothing.

Lower bounds come from nodes and keys that appeared at some release and that no tool writes by
itself. A topic node's `version` alone proves nothing: external tools write any, and every broker
accepts it. The one upper bound is the controller's own node, which has a new key since 3.4. A tree
that contradicts itself (after a downgrade) proves nothing. Neither does one without a cluster id:
no supported Kafka leaves that out.

What a later release wrote stays after a downgrade, also where brokers are upgraded one by one and
an earlier one becomes the controller again. Such a controller gives itself away: it rewrites topic
nodes without what 2.4 added to them. Then only what ends with a broker or a controller counts.
"""

from collections.abc import Iterable

from poolkeeper.frozen import frozen
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, VersionRange
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.codecs.assignments import TopicAssignment

BEFORE_KRAFT = KafkaVersion((3, 3))


@frozen
class Traces:
    """The evidence: which nodes exist, and their formats.

    `controller_knows_kraft` is `None` without a controller. `brokers` are the format versions of
    the registrations. `has_old_rewrites`: a topic node was rewritten under the present controller
    without what 2.4 added.
    """

    has_cluster_id: bool = False
    has_producer_ids: bool = False
    has_log_dir_events: bool = False
    has_delegation_tokens: bool = False
    has_features: bool = False
    has_migration: bool = False
    controller_knows_kraft: bool | None = None
    brokers: tuple[int, ...] = ()
    has_adding_replicas: bool = False
    has_topic_ids: bool = False
    has_old_rewrites: bool = False


def kafka_version(traces: Traces) -> str | None:
    """Return a release or a range ("2.8 to 3.3") that the cluster runs, `None` if unknown."""
    if not traces.has_cluster_id:
        return None
    low = max(_lower_bounds(traces))
    high = BEFORE_KRAFT if traces.controller_knows_kraft is False else SUPPORTED.high
    if low > high:
        return None
    return str(low) if low == high else str(VersionRange(low, high))


def has_old_rewrites(
    topics: Iterable[tuple[Node | None, TopicAssignment | str | None]], controller: Node | None
) -> bool:
    """Whether a topic node was rewritten in the term of this controller as up to 2.3.

    `topics`: nodes with what they decode to. A new topic does not count: whoever makes one may
    write it in any format.
    """
    if controller is None:
        return False
    return any(
        node.version > 0 and node.mzxid > controller.czxid and not written.knows_adding
        for node, written in topics
        if node is not None and isinstance(written, TopicAssignment)
    )


def _lower_bounds(traces: Traces) -> Iterable[KafkaVersion]:
    has_new_brokers = any(version >= 5 for version in traces.brokers)
    present = ((has_new_brokers, (2, 7)), (traces.controller_knows_kraft is True, (3, 4)))
    early = (
        (traces.has_cluster_id, (0, 10, 1)),
        (traces.has_producer_ids, (0, 11, 0)),
        (traces.has_log_dir_events, (1, 0)),
        (traces.has_delegation_tokens, (1, 1)),
    )
    later = (
        (traces.has_adding_replicas, (2, 4)),
        (traces.has_features, (2, 7)),
        (traces.has_topic_ids, (2, 8)),
        (traces.has_migration, (3, 4)),
    )
    is_new = any(there for there, _ in present)
    left = () if traces.has_old_rewrites and not is_new else later
    return [KafkaVersion(parts) for there, parts in (*early, *left, *present) if there]
