"""What is wrong with Kafka's own nodes: topics, configs, requests, and what only Kafka can mend.

A topic node that is mended in ZooKeeper is not yet mended: the controller that read it before may
write it back from memory. The next controller reads what is mended.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from poolkeeper.errors import Refused
from poolkeeper.model.execution.runs import Run
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster, LaterEpochs, Replicas, TopicPartition
from poolkeeper.planning.run_state import returns
from poolkeeper.planning.run_state.progress.move_progress import classify
from poolkeeper.planning.run_state.reassignments import requests, stalls
from poolkeeper.planning.run_state.reassignments.requests import NOTHING_OWNED, Stall
from poolkeeper.text import count
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import HIDDEN, UNREADABLE, UNREADABLE_BODY, Node
from poolkeeper.zk.client.operations import Check
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import json_bodies
from poolkeeper.zk.codecs.kafka_nodes import (
    BrokerNode,
    ConfigNode,
    ControllerNode,
    ReassignmentNode,
    TopicNode,
)
from poolkeeper.zk.codecs.state_nodes import StateColumns, StateNode
from poolkeeper.zk.journal import journal, records
from poolkeeper.zk.repair import topic_bodies
from poolkeeper.zk.repair.values import FAILOVER_FLAG, Examined, Finding, Remedy

NAMED_MAX = 5
CHECKED_MAX = 400
"""Of so many states a transaction has room to check that they have not changed."""
TOPICS_AT_ONCE = 1000
"""Of how many topics the states are asked for together: a question each takes as long as a trip."""


def findings(examined: Examined) -> Iterator[Finding]:
    """Yield everything that is wrong with Kafka's nodes."""
    of_topics = [*_topics(examined), *_configs(examined)]
    yield from of_topics
    yield from _left_alone(examined, [finding.path for finding in of_topics])
    yield from _requests(examined)
    yield from _registrations(examined.session)
    yield from _controller(examined)


# Topics


def _topics(examined: Examined) -> Iterator[Finding]:
    session = examined.session
    deleting = examined.reading.cluster.deleting
    names = [name for name in session.children(znodes.TOPICS) or () if name not in deleting]
    for first in range(0, len(names), TOPICS_AT_ONCE):
        yield from _some_topics(examined, names[first : first + TOPICS_AT_ONCE])


def _some_topics(examined: Examined, names: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with these topics; the states of all of them are read together."""
    session = examined.session
    paths = [znodes.topic(name) for name in names]
    nodes = session.read_many(paths, unreadable=UNREADABLE)
    yield from (_hidden(p) for p, n in zip(paths, nodes, strict=True) if n is UNREADABLE)
    there = [
        (name, node, _decoded(node.data))
        for name, node in zip(names, nodes, strict=True)
        if node is not None and node is not UNREADABLE
    ]
    groups = [
        tuple(znodes.state(name, partition) for partition in topic.partitions)
        for name, _, topic in there
        if isinstance(topic, TopicNode)
    ]
    states = zip(groups, session.read_bodies(groups, unreadable=UNREADABLE_BODY), strict=True)
    for name, node, topic in there:
        if isinstance(topic, str):
            yield _topic(examined, name, node, topic)
        else:
            yield from _states(name, node, topic, *next(states))


def _decoded(data: bytes) -> TopicNode | str:
    """Decode a topic node, or say why not every controller can start with it."""
    try:
        node = TopicNode.decode(data)
    except Refused as damage:
        return str(damage)
    empty = [
        partition
        for partition, replicas in node.partitions.items()
        if not set(replicas) - set(node.removing.get(partition, ()))
    ]
    if empty:
        return f"partitions {json_bodies.excerpt(empty)} are to lose all their replicas"
    return node


def _topic(examined: Examined, name: str, node: Node, found: str) -> Finding:
    session, path = examined.session, znodes.topic(name)
    partitions = session.children(f"{path}/partitions")
    if not partitions and not _has_lists(node.data):
        effect = "it is removed: the topic has no partitions"
        return Finding(path, found, Remedy.REMOVE, effect, node.version, in_memory=True)
    in_sync, checks = _in_sync(session, name, partitions or ())
    known = _has_lists(node.data) or len(in_sync) == len(partitions or ())
    recorded_id = _recorded_id(session, name, node)
    data = topic_bodies.mended_body(node.data, in_sync, recorded_id) if known else None
    if data is None:
        effect = "its replicas cannot be told: write the node by hand, or delete the topic"
        return Finding(path, found, Remedy.NONE, effect)
    body = json_bodies.parse(data)
    lists = json_bodies.excerpt(body["partitions"])
    effect = f"it is written with these replicas and nothing being added or removed: {lists}"
    if body.get("topic_id") is None and _has_ids(examined.reading.cluster):
        effect += (
            "; its topic id is lost, and the next controller makes another one, with which brokers"
            " copy none of its logs: before that, add to the node, as topic_id, the one that"
            " partition.metadata beside its logs has"
        )
    lost = topic_bodies.lost_lists(node.data, in_sync)[:CHECKED_MAX]
    made_of = tuple(checks[partition] for partition in lost)
    return Finding(
        path, found, Remedy.WRITE, effect, node.version, data, in_memory=True, made_of=made_of
    )


def _recorded_id(session: Session, name: str, node: Node) -> str | None:
    """Return the id that the record of the very topic of this node notes."""
    record = records.read_topic(session, name)
    return None if record is None or record.created_zxid != node.czxid else record.topic_id


def _has_ids(cluster: Cluster) -> bool:
    return any(topic.topic_id is not None for topic in cluster.topics.values())


def _has_lists(data: bytes) -> bool:
    try:
        return bool(json_bodies.parse(data).get("partitions"))
    except Refused:
        return False


def _in_sync(
    session: Session, name: str, partitions: Sequence[str]
) -> tuple[dict[int, Replicas], dict[int, Check]]:
    """Return the in-sync replicas of each partition whose state can be read, the leader first.

    And for each, that its state is still the one that was read.
    """
    known = [p for p in partitions if p.isascii() and p.isdecimal() and len(p) <= 9]
    paths = [znodes.state(name, int(p)) for p in known]
    nodes = session.read_many(paths, unreadable=UNREADABLE)
    found, checks = {}, {}
    for partition, path, node in zip(known, paths, nodes, strict=True):
        try:
            state = None if node is None else StateNode.decode(node.data)
        except Refused:
            continue
        if node is not None and state is not None:
            checks[int(partition)] = Check(path, node.version)
            leader = (state.leader,) if state.leader in state.isr else ()
            found[int(partition)] = tuple(dict.fromkeys((*leader, *state.isr)))
    return dict(sorted(found.items())), checks


def _states(
    name: str,
    node: Node,
    topic: TopicNode,
    paths: Sequence[str],
    found: Sequence[bytes | None],
) -> Iterator[Finding]:
    """Yield what is wrong with the states of a topic, and what its lists lack."""
    bodies = StateColumns.decode(found)
    yield from _disagreement(name, node, topic, bodies)
    for path, data, state in zip(paths, found, bodies, strict=True):
        if data == UNREADABLE_BODY:
            yield _hidden(path)
        elif isinstance(state, str):
            effect = (
                "which replicas are in sync is known to the controller alone: it writes the node"
                " when a follower of the partition is restarted"
            )
            yield Finding(path, state, Remedy.NONE, effect)


def _hidden(path: str) -> Finding:
    effect = "the topic is left alone until who runs this command may read the node"
    return Finding(path, HIDDEN, Remedy.NONE, effect)


def _disagreement(
    name: str, node: Node, topic: TopicNode, states: Sequence[StateNode | str | None]
) -> Iterator[Finding]:
    """Yield what is in sync and not in its list; not of partitions that are being moved."""
    missing = {
        partition: outside
        for (partition, replicas), state in zip(topic.partitions.items(), states, strict=True)
        if isinstance(state, StateNode)
        and not topic.adding.get(partition)
        and not topic.removing.get(partition)
        and (outside := tuple(b for b in state.isr if b not in replicas))
    }
    if not missing:
        return
    lists = {str(p): [*topic.partitions[p], *outside] for p, outside in missing.items()}
    body = {**topic.raw, "partitions": {**topic.raw["partitions"], **lists}}
    told = json_bodies.excerpt({str(p): list(outside) for p, outside in missing.items()})
    found = f"replicas are in sync and not in the lists: {told}"
    effect = f"they are added, so that no controller forgets them: {json_bodies.excerpt(lists)}"
    data = json_bodies.encode(body)
    path = znodes.topic(name)
    yield Finding(path, found, Remedy.WRITE, effect, node.version, data, in_memory=True)


def _left_alone(examined: Examined, told: Collection[str]) -> Iterator[Finding]:
    """Yield the topics that a reading takes for damaged by something that `told` does not name."""
    for name, why in sorted(examined.reading.cluster.damaged.items()):
        path, config = znodes.topic(name), znodes.topic_config(name)
        if not any(each == config or PurePosixPath(each).is_relative_to(path) for each in told):
            effect = "the topic is left alone until the node is written by hand, or it is deleted"
            yield Finding(path, why.removeprefix(f"{path}: "), Remedy.NONE, effect)


# Configs


def _configs(examined: Examined) -> Iterator[Finding]:
    session = examined.session
    for folder in (znodes.TOPIC_CONFIGS, znodes.BROKER_CONFIGS):
        paths = [f"{folder}/{name}" for name in session.children(folder) or ()]
        nodes = session.read_many(paths, unreadable=UNREADABLE)
        for path, node in zip(paths, nodes, strict=True):
            if node is None or node is UNREADABLE:
                continue
            try:
                ConfigNode.decode(node.data)
            except Refused as damage:
                yield _config(examined, path, node, str(damage))


def _config(examined: Examined, path: str, node: Node, found: str) -> Finding:
    data = topic_bodies.mended_config(node.data)
    effect = "its values are written as texts, and the brokers are told"
    if data is None and (declared := _declared(examined, path)) is not None:
        data = ConfigNode({}).encode_with(declared)
        effect = "what the Topic declares is written, and the brokers are told"
    if data is None:
        effect = (
            "its values cannot be told, and brokers that read it would take defaults: set them by"
            f" kafka-configs{_or_declared(examined, path)}"
        )
        return Finding(path, found, Remedy.NONE, effect)
    return Finding(path, found, Remedy.WRITE, effect, node.version, data)


def _declared(examined: Examined, path: str) -> dict[str, str] | None:
    """Return the config that the one Topic of this name declares; None without any."""
    topics = () if examined.desired is None else examined.desired.topics
    specs = [spec for spec in topics if znodes.topic_config(spec.topic) == path]
    return dict(specs[0].config) if len(specs) == 1 and specs[0].config else None


def _or_declared(examined: Examined, path: str) -> str:
    """Say how a topic's config can be declared instead; nothing for the config of a broker."""
    if not path.startswith(f"{znodes.TOPIC_CONFIGS}/"):
        return ""
    if examined.desired is None:
        return ", or give manifests (-f) with a Topic that declares them"
    return ", or declare them: no Topic of the manifests declares a config for this topic"


# Requests


def _requests(examined: Examined) -> Iterator[Finding]:
    session = examined.session
    node = session.read(znodes.REASSIGNMENT)
    if node is not None:
        yield from _request(examined, node)
    election = session.read(znodes.PREFERRED_ELECTION)
    if election is not None:
        try:
            json_bodies.parse(election.data)
        except Refused as damage:
            effect = "it is removed: Kafka refuses every other election while it is there"
            path, version = znodes.PREFERRED_ELECTION, election.version
            yield Finding(path, str(damage), Remedy.REMOVE, effect, version)


def _request(examined: Examined, node: Node) -> Iterator[Finding]:
    """Yield what is wrong with a request: with a run it is judged as the run judges it."""
    entries, problems = ReassignmentNode.decode(node.data)
    view = journal.read_status(examined.session)
    known = requests.known_brokers(examined.reading.cluster, view.records.brokers)
    names = ", ".join(str(name) for name in sorted(e.name for e in entries)[:NAMED_MAX])
    found = "; ".join(flaw.detail for flaw in problems[:3]) or (
        f"nothing is left to do of what it names, such as {names}: it stays for ever"
    )
    path = znodes.REASSIGNMENT
    if view.run is not None and view.document is not None and view.run.step:
        effect = _left_to_run(view.run, view.document.plan, examined.reading.cluster, known)
        if effect:
            yield Finding(path, found, Remedy.NONE, effect)
    elif not problems and entries and not _is_pointless(examined.reading.cluster, known):
        return
    elif examined.session.exists(znodes.RUN):
        yield Finding(path, found, Remedy.NONE, "it can be removed once the recorded run has ended")
    else:
        effect = "it is removed, and the controller is made to look for requests again"
        yield Finding(path, found, Remedy.REMOVE, effect, node.version, in_memory=True)


def _is_pointless(cluster: Cluster, known: Collection[int]) -> bool:
    """Whether no controller will ever do anything about the request, and none is at work on it."""
    judged = requests.judgements(cluster, NOTHING_OWNED, known)
    return requests.can_never_end(judged) and not any(
        each.begun or _is_moving(cluster, each.partition) for each in judged
    )


def _is_moving(cluster: Cluster, name: TopicPartition | None) -> bool:
    topic = None if name is None else cluster.topics.get(name.topic)
    partition = None if topic is None or name is None else topic.partition(name.partition)
    return partition is not None and partition.moving


def _left_to_run(run: Run, plan: Plan, cluster: Cluster, known: Collection[int]) -> str:
    """Say how the request of a run's stage ends if it is stuck; nothing while it is not."""
    progress = classify([plan.moves[m] for m, _ in run.step], cluster)
    states = returns.classify_returns(run, plan, cluster)
    returned = {m: states[m] not in returns.UNSETTLED for m in run.returning}
    stall = stalls.stall_of(plan.moves, run.step, progress, cluster, known, returned)
    if stalls.may_be_withdrawn(plan.moves, run, progress, cluster, stall, ends=False):
        return (
            "it is of the run that is recorded, which withdraws it by itself: `poolkeeper apply`"
            " takes the run further, and `poolkeeper rollback` ends it"
        )
    if stalls.may_be_withdrawn(plan.moves, run, progress, cluster, stall, ends=True):
        return "it is of the run that is recorded: `poolkeeper rollback` ends the run"
    if stall is Stall.STALE:
        return (
            "a run is recorded, and not all of it is of that run: `poolkeeper apply` withdraws it"
            " where spec.execution.remedies.removeStaleRequests is set"
        )
    return ""


# What only Kafka can mend


def _registrations(session: Session) -> Iterator[Finding]:
    paths = [znodes.broker(name) for name in session.children(znodes.BROKER_IDS) or ()]
    for path, node in zip(paths, session.read_many(paths), strict=True):
        try:
            if node is not None:
                BrokerNode.decode(node.data)
        except Refused as damage:
            yield Finding(path, str(damage), Remedy.NONE, "the broker writes it when it starts")


def _controller(examined: Examined) -> Iterator[Finding]:
    session = examined.session
    later = examined.reading.cluster.controller.later
    node = session.read(znodes.CONTROLLER_EPOCH)
    if later is not None:
        yield _epoch(node, later, allowed=examined.allow_failover)
    paths = (znodes.CONTROLLER, znodes.MIGRATION)
    controller, migration = (None if n is None else n.data for n in session.read_many(paths))
    epoch = None if later is not None or node is None else node.data
    try:
        ControllerNode.decode(controller, epoch, migration)
    except Refused as damage:
        both = f"{znodes.CONTROLLER} or {znodes.CONTROLLER_EPOCH}"
        effect = "controllers write these nodes: restart the broker that is the controller"
        yield Finding(both, str(damage), Remedy.NONE, effect)


def _epoch(node: Node | None, later: LaterEpochs, *, allowed: bool) -> Finding:
    path, highest = znodes.CONTROLLER_EPOCH, later.highest
    now = "it is not there" if node is None else f"it is {node.data.decode(errors='replace')[:80]}"
    states = count(later.count, "state")
    found = f"{now}, and {states} of partitions, such as {later.first}, name epochs up to {highest}"
    effect = (
        f"it is set to {highest}, and in the same transaction another controller is elected, with"
        " a later epoch"
    )
    if not allowed:
        effect = f"to be mended, another controller must be elected: {FAILOVER_FLAG}"
        return Finding(path, found, Remedy.NONE, effect)
    data = str(highest).encode()
    version = None if node is None else node.version
    return Finding(path, found, Remedy.ELECT, effect, version, data, in_memory=True)
