"""The raw reading of a cluster, and the Cluster made from it: pure.

Damage is reported, never raised. A topic whose node or states cannot be decoded goes to `damaged`
with the path and the reason; other undecodable nodes count as unknown and give a note.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LaterEpochs,
    Partition,
    ReassignmentEntry,
    RequestDamage,
    Topic,
    TopicPartition,
)
from poolkeeper.zk import version_inference, znodes
from poolkeeper.zk.client.nodes import UNREADABLE, Node
from poolkeeper.zk.codecs.kafka_nodes import (
    BrokerNode,
    ClusterIdNode,
    ConfigNode,
    ControllerNode,
    ReassignmentNode,
    TopicNode,
)
from poolkeeper.zk.codecs.state_nodes import StateNode
from poolkeeper.zk.kept_readings import DecodedTopics, TopicNodes
from poolkeeper.zk.version_inference import Traces

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
    """Everything read, in the order of `topics` and `brokers`; `states` by decoded topic.

    `before` and `after` are the topic nodes at the start and at the end, `nodes` what `before`
    decodes to, `admins` the administrative nodes just before and after `after`.
    """

    topics: Sequence[str]
    before: Sequence[Node | None]
    after: Sequence[Node | None]
    nodes: TopicNodes
    configs: Sequence[Node | None]
    states: Sequence[tuple[Node | None, ...]]
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
    notes: list[str] = []
    earlier, admin = reading.admins
    gone = {n for n, node in zip(reading.topics, reading.after, strict=True) if node is None}
    torn = (_changed(reading) | (_unsettled(earlier, admin) & set(reading.topics))) - gone
    damaged = {n: node for n, node in reading.nodes.items() if isinstance(node, str)}
    controller = _controller(admin, notes)
    topics, later = _topics(reading, damaged, controller.epoch or 0, decoded)
    left_out = gone | torn
    brokers, formats = _brokers(reading, notes)
    version = version_inference.kafka_version(_traces(reading, formats))
    requested, damage = _reassignment(admin)
    notes.extend(f"{znodes.REASSIGNMENT}: {each.detail}" for each in damage)
    return ClusterReading(
        Cluster(
            name=name,
            brokers=brokers,
            topics={n: topic for n, topic in topics.items() if n not in left_out},
            id=_cluster_id(reading, notes),
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
        tuple(notes),
        _version_or_absent(admin.nodes[znodes.REASSIGNMENT]),
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
    reading: ZnodeReading, damaged: dict[str, str], epoch: int, decoded: DecodedTopics | None
) -> tuple[dict[str, Topic], LaterEpochs | None]:
    """Build the topics; those with a damaged state or config are added to `damaged` instead.

    And tell of the states that were written under a later controller epoch than `epoch`.
    """
    configs = dict(zip(reading.topics, reading.configs, strict=True))
    stats = dict(zip(reading.topics, reading.before, strict=True))
    nodes = {name: node for name, node in reading.nodes.items() if isinstance(node, TopicNode)}
    states_of = dict(zip(nodes, reading.states, strict=True))
    topics: dict[str, Topic] = {}
    later: list[tuple[TopicPartition, int]] = []
    if decoded is not None:
        for name, read in states_of.items():
            stat = stats[name]
            assert stat is not None, "it was decoded"
            topic = decoded.find(name, epoch, (stat, read, configs[name]))
            if topic is not None:
                topics[name] = topic
    found = StateNode.decode_many(
        [
            None if state is None else state.data
            for name, read in states_of.items()
            if name not in topics
            for state in read
        ]
    )
    for name, node in nodes.items():
        if name in topics:
            continue
        states = list(islice(found, len(node.partitions)))
        later += _later(name, node, states, epoch)
        if damage := _state_damage(name, node, states):
            damaged[name] = damage
            continue
        config_notes: list[str] = []
        config = _config(znodes.topic_config(name), configs[name], config_notes)
        if config_notes:
            damaged[name] = config_notes[0]
            continue
        partitions = _partitions(node, states)
        stat = stats[name]
        assert stat is not None, "it was decoded"
        made = Topic(name, partitions, node.topic_id, config, stat.version, stat.czxid)
        topics[name] = made
        if decoded is not None:
            newest = max(
                (s.controller_epoch for s in states if isinstance(s, StateNode)), default=0
            )
            decoded.keep(made, newest, (stat, states_of[name], configs[name]))
    if decoded is not None:
        topics = {name: topics[name] for name in nodes if name in topics}
    highest = max((each for _, each in later), default=0)
    return topics, LaterEpochs(highest, len(later), later[0][0]) if later else None


def _later(
    name: str, node: TopicNode, states: Sequence[StateNode | str | None], epoch: int
) -> list[tuple[TopicPartition, int]]:
    """Return the partitions whose states name a later controller epoch, and that epoch.

    The epoch was read after the states, so no election under way looks like one.
    """
    return [
        (TopicPartition(name, number), state.controller_epoch)
        for number, state in zip(node.partitions, states, strict=True)
        if isinstance(state, StateNode) and state.controller_epoch > epoch
    ]


def _state_damage(
    name: str, node: TopicNode, states: Sequence[StateNode | str | None]
) -> str | None:
    """Say which state is the first that makes no sense, and why."""
    for partition, state in zip(node.partitions, states, strict=True):
        if isinstance(state, str):
            return f"{znodes.state(name, partition)}: {state}"
    return None


def _partitions(node: TopicNode, states: Sequence[StateNode | str | None]) -> tuple[Partition, ...]:
    adding, removing = node.adding, node.removing
    return tuple(
        [
            Partition(number, replicas, adding.get(number, ()), removing.get(number, ()))
            if state is None
            else Partition(
                number,
                replicas,
                adding.get(number, ()),
                removing.get(number, ()),
                *state[:3],
            )
            for (number, replicas), state in zip(node.partitions.items(), states, strict=True)
        ]
    )


def _brokers(reading: ZnodeReading, notes: list[str]) -> tuple[dict[int, Broker], tuple[int, ...]]:
    """Return the brokers that were live all the time, and their registration formats."""
    live = set(reading.admins[1].brokers)
    brokers: dict[int, Broker] = {}
    formats: list[int] = []
    for name, registration, config in zip(
        reading.brokers, reading.registrations, reading.broker_configs, strict=True
    ):
        if registration is None or name not in live:
            continue
        path = znodes.broker(name)
        if not (name.isascii() and name.isdecimal() and int(name[:12]) <= BROKER_ID_MAX):
            notes.append(f"{path} is no broker")
            continue
        id_ = int(name)
        broker = Broker(id_)
        try:
            node = BrokerNode.decode(registration.data)
        except Refused as damage:
            notes.append(f"{path}: {damage}")
        else:
            broker = node.broker(id_)
            formats.append(node.version)
        brokers[id_] = replace(
            broker,
            config=_config(znodes.broker_config(name), config, notes),
        )
    return dict(sorted(brokers.items())), tuple(formats)


def _config(path: str, node: Node | None, notes: list[str]) -> Mapping[str, str] | None:
    """Return a config: empty where there is no node, `None` if unreadable or damaged."""
    if node is None:
        return {}
    if node is UNREADABLE:
        return None
    try:
        return ConfigNode.decode(node.data).config
    except Refused as damage:
        notes.append(f"{path}: {damage}")
        return None


def _version_or_absent(node: Node | None) -> int:
    return -1 if node is None else node.version


def _version(node: Node | None) -> int | None:
    return None if node is None or node is UNREADABLE else node.version


def _reassignment(
    admin: Admin,
) -> tuple[tuple[ReassignmentEntry, ...] | None, tuple[RequestDamage, ...]]:
    node = admin.nodes[znodes.REASSIGNMENT]
    return (None, ()) if node is None else ReassignmentNode.decode(node.data)


def _controller(admin: Admin, notes: list[str]) -> Controller:
    """Return the controller; an undecodable node counts as absent."""
    nodes = (znodes.CONTROLLER, znodes.CONTROLLER_EPOCH, znodes.MIGRATION)
    data = [None if (node := admin.nodes[path]) is None else node.data for path in nodes]
    try:
        controller = ControllerNode.decode(*data)
    except Refused as damage:
        notes.append(f"{znodes.CONTROLLER} or {znodes.CONTROLLER_EPOCH}: {damage}")
        controller = Controller()
    return replace(controller, epoch_version=_version(admin.nodes[znodes.CONTROLLER_EPOCH]))


def _cluster_id(reading: ZnodeReading, notes: list[str]) -> str | None:
    node = reading.traces[znodes.CLUSTER_ID]
    if node is None or node is UNREADABLE:
        return None
    try:
        return ClusterIdNode.decode(node.data)
    except Refused as damage:
        notes.append(f"{znodes.CLUSTER_ID}: {damage}")
        return None


def _traces(reading: ZnodeReading, formats: tuple[int, ...]) -> Traces:
    admin = reading.admins[1]
    controller = admin.nodes[znodes.CONTROLLER]
    nodes = [node for node in reading.nodes.values() if isinstance(node, TopicNode)]
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
    )
