"""The raw reading of a cluster, and the Cluster made from it: pure.

Damage is reported, never raised. A topic whose node or states cannot be decoded goes to `damaged`
with the path and the reason; other undecodable nodes count as unknown and give a note.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain

import numpy as np

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.list_lengths import list_length_max, long_lists
from poolkeeper.model.columns.partition_columns import (
    UNKNOWN,
    PartitionColumns,
    TopicPartitions,
)
from poolkeeper.model.columns.replica_lists import ReplicaLists
from poolkeeper.model.readings import ClusterReading, NodeNote
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LaterEpochs,
    Partition,
    ReassignmentEntry,
    Replicas,
    RequestDamage,
    Topic,
    TopicPartition,
)
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import HIDDEN, UNASKED, UNREADABLE, Node
from poolkeeper.zk.codecs.assignments import TopicAssignment
from poolkeeper.zk.codecs.kafka_nodes import (
    BrokerNode,
    ClusterIdNode,
    ConfigNode,
    ControllerNode,
    ReassignmentNode,
)
from poolkeeper.zk.codecs.state_nodes import StateColumns
from poolkeeper.zk.reading import version_inference
from poolkeeper.zk.reading.ended_growths import without_ended
from poolkeeper.zk.reading.reading_cache import DecodedTopics, TopicNodes
from poolkeeper.zk.reading.version_inference import Traces

ADMIN_PATHS = (
    znodes.CONTROLLER,
    znodes.CONTROLLER_EPOCH,
    znodes.MIGRATION,
    znodes.REASSIGNMENT,
    znodes.PREFERRED_ELECTION,
)
TRACE_PATHS = (
    znodes.CLUSTER_ID,
    znodes.PRODUCER_IDS,
    znodes.LOG_DIR_EVENTS,
    znodes.DELEGATION_TOKENS,
    znodes.FEATURES,
)
BROKER_ID_MAX = 2**31 - 1


@frozen
class Admin:
    """One reading of the administrative nodes. Equal readings are equal down to creation ids."""

    nodes: Mapping[str, Node | None]
    deleting: frozenset[str] = frozenset()
    brokers: tuple[str, ...] = ()


@frozen
class ZnodeReading:
    """Everything read, in the order of `topics` and `brokers`; data of states by decoded topic.

    `before` and `after` are the topic nodes at the start and at the end, `nodes` what `before`
    decodes to, `admins` the administrative nodes just before and after `after`.
    """

    topics: Sequence[str]
    before: Sequence[Node | None]
    after: Sequence[Node | None]
    nodes: TopicNodes
    configs: Sequence[Node | None]
    states: Sequence[tuple[bytes | None, ...]]
    brokers: Sequence[str]
    registrations: Sequence[Node | None]
    broker_configs: Sequence[Node | None]
    traces: Mapping[str, Node | None]
    admins: tuple[Admin, Admin]
    locked: bool = False


def cluster_reading(
    name: str, reading: ZnodeReading, decoded: DecodedTopics | None = None
) -> ClusterReading:
    """Make the Cluster from a reading; topics that changed during the reading are left out."""
    earlier, admin = reading.admins
    gone = {n for n, node in zip(reading.topics, reading.after, strict=True) if node is None}
    torn = (_changed(reading) | (_unsettled(earlier, admin) & set(reading.topics))) - gone
    controller, notes_on_controller = _controller(admin)
    topics, damaged, later = _topics(reading, controller.epoch or 0, decoded)
    left_out = gone | torn
    brokers, formats, notes_on_brokers = _brokers(reading)
    version = version_inference.kafka_version(_traces(reading, formats))
    requested, damage = _reassignment(admin)
    id_, notes_on_id = cluster_id(reading.traces[znodes.CLUSTER_ID])
    return ClusterReading(
        Cluster(
            name=name,
            brokers=brokers,
            topics={n: topic for n, topic in topics.items() if n not in left_out},
            id=id_,
            kafka_version=version,
            controller=replace(controller, later=later),
            reassignment=requested,
            request_damage=damage,
            electing=admin.nodes[znodes.PREFERRED_ELECTION] is not None,
            deleting=admin.deleting,
            torn=frozenset(torn),
            damaged={n: why for n, why in damaged.items() if n not in left_out},
            restart_locked=reading.locked,
            traced_version=version,
        ),
        {
            path: node.version
            for path in (znodes.REASSIGNMENT, znodes.PREFERRED_ELECTION)
            if (node := admin.nodes[path]) is not None
        },
        (
            *notes_on_controller,
            *notes_on_brokers,
            *(NodeNote(znodes.REASSIGNMENT, each.detail) for each in damage),
            *notes_on_id,
        ),
        _written_by(admin.nodes[znodes.REASSIGNMENT]),
    )


def _changed(reading: ZnodeReading) -> set[str]:
    """Return the topics whose node changed; `mzxid` names a change, a new creation included."""
    return {
        name
        for name, before, after in zip(reading.topics, reading.before, reading.after, strict=True)
        if before is None or after is None or before.mzxid != after.mzxid
    }


def _unsettled(earlier: Admin, later: Admin) -> frozenset[str]:
    """Return the topics whose requests and deletions differ between the two readings."""
    before, after = (set(_reassignment(admin)[0] or ()) for admin in (earlier, later))
    return frozenset(entry.topic for entry in before ^ after) | (earlier.deleting ^ later.deleting)


def _topics(
    reading: ZnodeReading, epoch: int, decoded: DecodedTopics | None
) -> tuple[dict[str, Topic], dict[str, str], LaterEpochs | None]:
    """Build the topics; why others are damaged, in a list, a state or a config; later states.

    Later states are those that were written under a later controller epoch than `epoch`.
    """
    damaged = {n: node for n, node in reading.nodes.items() if isinstance(node, str)}
    configs = dict(zip(reading.topics, reading.configs, strict=True))
    stats = dict(zip(reading.topics, reading.before, strict=True))
    nodes = {
        name: node for name, node in reading.nodes.items() if isinstance(node, TopicAssignment)
    }
    states_of = dict(zip(nodes, reading.states, strict=True))
    topics: dict[str, Topic] = {}
    if decoded is not None:
        for name, read in states_of.items():
            topic = decoded.find(name, epoch, (_there(stats[name]), read, configs[name]))
            if topic is not None:
                topics[name] = topic
    new = {name: node for name, node in nodes.items() if name not in topics}
    states = StateColumns.decode(list(chain.from_iterable(states_of[name] for name in new)))
    rows = TopicRows.of(new)
    columns = _columns(list(new.values()), states)
    most = list_length_max(sum(len(node.numbers) for node in nodes.values()))
    damage = rows.long_lists(columns, most) | rows.first_damage(states)
    for (name, node), first, last in zip(new.items(), rows.begins, rows.ends, strict=True):
        if name in damage:
            damaged[name] = damage[name]
            continue
        if configs[name] is UNREADABLE:
            # Kafka leaves them to the world: what is declared could neither be compared nor kept.
            damaged[name] = f"{znodes.topic_config(name)}: {HIDDEN}"
            continue
        config, notes = _config(znodes.topic_config(name), configs[name])
        if notes:
            damaged[name] = str(notes[0])
            continue
        stat = _there(stats[name])
        partitions: Sequence[Partition] = TopicPartitions(columns, first, last)
        if decoded is not None:
            partitions = tuple(partitions)  # what is kept must not keep all columns of a reading
        made = Topic(name, partitions, node.topic_id, config, stat.version, stat.czxid)
        topics[name] = made
        if decoded is not None:
            newest = int(states.controller_epoch[first:last].max(initial=0))
            decoded.keep(made, newest, (stat, states_of[name], configs[name]))
    if decoded is not None:
        topics = {name: topics[name] for name in nodes if name in topics}
    return topics, damaged, _later(rows, states, epoch)


def _there(node: Node | None) -> Node:
    assert node is not None, "it was decoded"
    return node


@frozen
class TopicRows:
    """Which rows of columns are a topic's: those from `begins` up to `ends`, by topic."""

    names: tuple[str, ...]
    numbers: tuple[Sequence[int], ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, nodes: Mapping[str, TopicAssignment]) -> "TopicRows":
        """The rows of these topics, one topic after the other."""
        numbers = tuple(node.numbers for node in nodes.values())
        ends = tuple(accumulate(map(len, numbers)))
        return cls(tuple(nodes), numbers, (0, *ends)[: len(nodes)], ends)

    def name_of(self, row: int) -> TopicPartition:
        """The partition of this row."""
        at = bisect_right(self.ends, row)
        return TopicPartition(self.names[at], self.numbers[at][row - self.begins[at]])

    def first_damage(self, states: StateColumns) -> dict[str, str]:
        """Say by topic which state is the first that makes no sense, and why."""
        found: dict[str, str] = {}
        for row, why in sorted(states.damage.items()):
            name = self.name_of(row)
            found.setdefault(name.topic, f"{znodes.state(*name)}: {why}")
        return found

    def long_lists(self, columns: PartitionColumns, most: int) -> dict[str, str]:
        """Say by topic which list is the first that names more than so many brokers."""
        found: dict[str, str] = {}
        for each in long_lists(columns, most):
            name = self.name_of(each.row)
            path = znodes.state(*name) if each.is_isr else znodes.topic(name.topic)
            found.setdefault(name.topic, f"{path}: {each.why}")
        return found


def _later(rows: TopicRows, states: StateColumns, epoch: int) -> LaterEpochs | None:
    """Tell of the partitions whose states name a later controller epoch.

    The epoch was read after the states, so no election under way looks like one.
    """
    later = np.flatnonzero(states.controller_epoch > epoch)
    if not len(later):
        return None
    highest = int(states.controller_epoch[later].max())
    return LaterEpochs(highest, len(later), rows.name_of(int(later[0])))


def _columns(nodes: Sequence[TopicAssignment], states: StateColumns) -> PartitionColumns:
    """Return the partitions of these topics, one topic after the other, with their states."""

    def moving(lists: Sequence[Mapping[int, Replicas]]) -> ReplicaLists:
        if not any(lists):
            return ReplicaLists.empty(len(states))
        found = zip(nodes, lists, strict=True)
        return ReplicaLists.of([of.get(n, ()) for node, of in found for n in node.numbers])

    return PartitionColumns(
        np.array(list(chain.from_iterable(node.numbers for node in nodes)), dtype=np.int64),
        ReplicaLists.of(list(chain.from_iterable(node.replicas for node in nodes))),
        moving(without_ended(nodes, states)),
        moving([node.removing for node in nodes]),
        states.leader,
        states.isr,
        states.known,
        np.full(len(states), UNKNOWN),
        np.full(len(states), np.nan),
        leader_epoch=states.leader_epoch,
    )


def _brokers(
    reading: ZnodeReading,
) -> tuple[dict[int, Broker], tuple[int, ...], tuple[NodeNote, ...]]:
    """Return the brokers that were live all the time, their registration formats, and notes."""
    live = set(reading.admins[1].brokers)
    brokers: dict[int, Broker] = {}
    formats: list[int] = []
    notes: list[NodeNote] = []
    for name, registration, config in zip(
        reading.brokers, reading.registrations, reading.broker_configs, strict=True
    ):
        if registration is None or name not in live:
            continue
        path = znodes.broker(name)
        if not (name.isascii() and name.isdecimal() and int(name[:12]) <= BROKER_ID_MAX):
            notes.append(NodeNote(path, f"{name!r} is no broker id"))
            continue
        id_ = int(name)
        broker = Broker(id_)
        try:
            node = BrokerNode.decode(registration.data)
        except Refused as damage:
            notes.append(NodeNote(path, str(damage)))
        else:
            broker = node.broker(id_)
            formats.append(node.version)
        values, notes_on_config = _config(znodes.broker_config(name), config)
        notes.extend(notes_on_config)
        brokers[id_] = replace(broker, config=values)
    return dict(sorted(brokers.items())), tuple(formats), tuple(notes)


def _config(path: str, node: Node | None) -> tuple[Mapping[str, str] | None, tuple[NodeNote, ...]]:
    """Return a config, and a note if it is damaged: empty without a node, `None` if unknown."""
    if node is None:
        return {}, ()
    if node is UNREADABLE or node is UNASKED:
        return None, ()
    try:
        return ConfigNode.decode(node.data).config, ()
    except Refused as damage:
        return None, (NodeNote(path, str(damage)),)


def _written_by(node: Node | None) -> int:
    return -1 if node is None else node.mzxid


def _version(node: Node | None) -> int | None:
    return None if node is None or node is UNREADABLE else node.version


def _reassignment(
    admin: Admin,
) -> tuple[tuple[ReassignmentEntry, ...] | None, tuple[RequestDamage, ...]]:
    node = admin.nodes[znodes.REASSIGNMENT]
    return (None, ()) if node is None else ReassignmentNode.decode(node.data)


def _controller(admin: Admin) -> tuple[Controller, tuple[NodeNote, ...]]:
    """Return the controller, and a note on an undecodable node.

    Such a node counts as absent, and as no end of a migration.
    """
    notes: tuple[NodeNote, ...] = ()
    nodes = (znodes.CONTROLLER, znodes.CONTROLLER_EPOCH, znodes.MIGRATION)
    data = [None if (node := admin.nodes[path]) is None else node.data for path in nodes]
    try:
        controller = ControllerNode.decode(*data)
    except Refused as damage:
        said = f"{damage}, here or in {znodes.CONTROLLER_EPOCH}"
        notes = (NodeNote(znodes.CONTROLLER, said),)
        controller = Controller(kraft=ControllerNode.is_kraft(data[0], data[2]))
    epoch_version = _version(admin.nodes[znodes.CONTROLLER_EPOCH])
    return replace(controller, epoch_version=epoch_version), notes


def cluster_id(node: Node | None) -> tuple[str | None, tuple[NodeNote, ...]]:
    """Return the cluster's id; `None` without its node, or with a note if that is damaged."""
    if node is None or node is UNREADABLE:
        return None, ()
    try:
        return ClusterIdNode.decode(node.data), ()
    except Refused as damage:
        return None, (NodeNote(znodes.CLUSTER_ID, str(damage)),)


def _traces(reading: ZnodeReading, formats: tuple[int, ...]) -> Traces:
    admin = reading.admins[1]
    controller = admin.nodes[znodes.CONTROLLER]
    nodes = [node for node in reading.nodes.values() if isinstance(node, TopicAssignment)]
    return Traces(
        has_cluster_id=reading.traces[znodes.CLUSTER_ID] is not None,
        has_producer_ids=reading.traces[znodes.PRODUCER_IDS] is not None,
        has_log_dir_events=reading.traces[znodes.LOG_DIR_EVENTS] is not None,
        has_delegation_tokens=reading.traces[znodes.DELEGATION_TOKENS] is not None,
        has_features=reading.traces[znodes.FEATURES] is not None,
        has_migration=admin.nodes[znodes.MIGRATION] is not None,
        controller_knows_kraft=None
        if controller is None
        else ControllerNode.knows_kraft(controller.data),
        brokers=formats,
        has_adding_replicas=any(node.knows_adding for node in nodes),
        has_topic_ids=any(node.topic_id is not None for node in nodes),
        has_old_rewrites=version_inference.has_old_rewrites(
            zip(reading.before, map(reading.nodes.get, reading.topics), strict=True), controller
        ),
    )
