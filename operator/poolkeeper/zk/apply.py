"""Writing steps and requests: each one transaction, fenced by the journal, versioned, answered.

What a transaction cannot fence is Kafka's own controller, which writes without versions. So nothing
here claims success: the next observation tells whether a step took effect
(`planning.run_state.progress.step_progress`, `planning.run_state.progress.move_progress`).

Orders that matter, and why:

* A topic's config node is created with its topic node, in one transaction: the controller sees the
  new topic only with its config. A config node that an interrupted creation of somebody else left
  behind is overwritten.
* The request and the run's step go together: a request of ours without its step cannot exist. What
  is requested is recorded before, beside the run: it is known as ours although the run is lost.
* A config and its notification go together: brokers read the config again when notified.

A transaction checks data versions alone, and a topic that was deleted and made again may have those
of the one before. Its creation is compared right before the transaction. For what would destroy
data, a deletion or other lists for partitions that exist, the transaction also checks the state of
a partition that had a change of leader or ISR: no topic made again has one so soon. What remains
are the milliseconds between the two: there a topic made again can be reassigned as the one before,
or get its config, or be deleted if no partition of the one before ever had such a change.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from poolkeeper.errors import (
    Forbidden,
    GrowingNodeTooLarge,
    RefusalReason,
    Refused,
    Stale,
    WhyUnwritten,
)
from poolkeeper.model.execution.records import RequestRecord, TopicRecord
from poolkeeper.model.execution.runs import Run
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan, SetConfig
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Cluster, ReassignmentEntry, TopicPartition
from poolkeeper.planning.run_state.progress.step_progress import ELECTION_PARTITIONS_MAX
from poolkeeper.planning.staging.limits import node_bytes
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import UNREADABLE, Node
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.codecs.kafka_nodes import (
    ConfigChangeNode,
    ConfigNode,
    PreferredElectionNode,
    ReassignmentNode,
    TopicNode,
)
from poolkeeper.zk.journal.journal import Journal, topic_record

STATES_MAX = 100
"""Of how many partitions the states are looked at for one that no topic made again has."""


def write_topics(
    journal: Journal, steps: Sequence[tuple[CreateTopic | SetConfig, TopicRecord | None]]
) -> list[WhyUnwritten | None]:
    """Create topics and set configs, and record the owners: a transaction each.

    Returns of each why it was not written, or None. All are read in one round trip and sent in
    another. Raises `Fenced` or `Unavailable`.
    """
    found: list[WhyUnwritten | None] = [None] * len(steps)
    due: list[tuple[int, tuple[Operation, ...]]] = []
    nodes = iter(journal.session.read_many([p for s, _ in steps for p in _paths_of(s)]))
    for position, (step, record) in enumerate(steps):
        config, recorded, deletion = (next(nodes) for _ in _paths_of(step))
        try:
            recording = _recorded(step.topic, record, recorded)
            if isinstance(step, SetConfig):
                path = znodes.topic_config(step.topic)
                writing = config_write(journal, path, config, step.set, step.unset)
            else:
                writing = _creation(step, config, deletion)
            due.append((position, (*writing, *recording)))
        except (Refused, Stale, Forbidden) as error:
            found[position] = error
    answers = journal.commit_each([operations for _, operations in due])
    for (position, _), answer in zip(due, answers, strict=True):
        found[position] = answer
    return found


def _paths_of(step: CreateTopic | SetConfig) -> tuple[str, ...]:
    """Return what is read before a step is written: config, record, and the marker of deletion."""
    return (
        znodes.topic_config(step.topic),
        znodes.record_of_topic(step.topic),
        znodes.deletion(step.topic),
    )


def _creation(
    step: CreateTopic, config: Node | None, deletion: Node | None
) -> tuple[Operation, ...]:
    """Return the writes of a topic with its config, over nodes of that config and of deletion."""
    path = znodes.topic_config(step.topic)
    if deletion is not None:
        marker = znodes.deletion(step.topic)
        raise Stale(f"topic {step.topic} is still being deleted", marker)
    body = ConfigNode({}).encode_with(step.config)
    return (
        Create(path, body) if config is None else SetData(path, body, config.version),
        Create(znodes.topic(step.topic), TopicNode.encode_new(step.replicas)),
    )


def add_partitions(journal: Journal, step: AddPartitions) -> None:
    """Append partitions to a topic node, everything else in it kept."""
    path = znodes.topic(step.topic)
    journal.session.sync()
    lived = _has_lived(journal, step.topic, range(step.first))
    node = journal.session.read(path)
    if node is None:
        raise Stale(f"topic {step.topic} is gone", path)
    try:
        live = TopicNode.decode(node.data)
    except Refused as damage:
        raise Stale(f"{path} is damaged since it was observed: {damage}", path) from damage
    if len(live.partitions) != step.first or live.adding or live.removing:
        raise Stale(f"topic {step.topic} changed since it was observed", path)
    data = live.encode_with_added(step.first, step.replicas)
    journal.commit(*lived, SetData(path, data, node.version))


def config_write(
    journal: Journal,
    path: str,
    node: Node | None,
    changed: Mapping[str, str],
    unset: Collection[str],
) -> tuple[Operation, ...]:
    """Return the write of a topic's or broker's config node, as read, and its notification.

    Other keys stay as they are. A topic that is gone gets nothing: a config node without its topic
    would be taken over by a later one.
    """
    notify = Create(znodes.CONFIG_CHANGE, ConfigChangeNode.encode(path), sequence=True)
    if node is not None:
        data = ConfigNode.read(path, node.data).encode_with(changed, unset)
        return (SetData(path, data, node.version), notify)
    write = Create(path, ConfigNode({}).encode_with(changed))
    if not path.startswith(f"{znodes.TOPIC_CONFIGS}/"):
        return (write, notify)
    topic_path = znodes.topic(path.removeprefix(f"{znodes.TOPIC_CONFIGS}/"))
    topic = journal.session.read(topic_path)
    return () if topic is None else (Check(topic_path, topic.version), write, notify)


def delete_topic(journal: Journal, step: DeleteTopic, cluster: Cluster) -> None:
    """Ask Kafka to delete a topic, if its node is still the one that was observed."""
    partitions = (each.partition for each in cluster.topics[step.topic].partitions)
    lived = _has_lived(journal, step.topic, partitions)
    unchanged = _unchanged_topics(journal, (step.topic,), cluster)
    journal.commit(*lived, *unchanged, Create(znodes.deletion(step.topic), b""))


def _has_lived(journal: Journal, topic: str, partitions: Iterable[int]) -> tuple[Check, ...]:
    """Return the check of a partition's state that no topic made again passes, if there is one.

    That is the one changed most often, of some partitions. Read before the topic's node is: who
    finds the topic there as it was knows that the state was its own.
    """
    paths = znodes.states(topic, islice(partitions, STATES_MAX))
    nodes = journal.session.read_many(paths, unreadable=UNREADABLE)
    found = [(node.version, path) for path, node in zip(paths, nodes, strict=True) if node]
    version, path = max(found, default=(0, ""))
    return (Check(path, version),) if version > 0 else ()


def election(partitions: Sequence[TopicPartition]) -> Operation:
    """Return the request of a preferred leader election, at most `ELECTION_PARTITIONS_MAX`."""
    assert 0 < len(partitions) <= ELECTION_PARTITIONS_MAX, "the caller cuts it"
    return Create(znodes.PREFERRED_ELECTION, PreferredElectionNode.encode(partitions))


def request(journal: Journal, before: Run, after: Run, plan: Plan, cluster: Cluster) -> Run:
    """Create the reassignment request that `after` names together with the run node.

    The transaction also checks the controller epoch and the version of every topic node that the
    request names.
    """
    requested = after.requested(plan)
    _refuse_traps(requested, cluster)
    _require_room_in_nodes(journal, requested, cluster)
    create = Create(znodes.REASSIGNMENT, ReassignmentNode.encode(requested))
    _record(journal, after, plan)
    return journal.rewrite(before, after, *_unchanged(journal, requested, cluster), create)


def request_moves(
    journal: Journal, requested: Sequence[ReassignmentEntry], cluster: Cluster
) -> None:
    """Create a reassignment request that belongs to no run, with the checks of `request`."""
    _refuse_traps(requested, cluster)
    create = Create(znodes.REASSIGNMENT, ReassignmentNode.encode(requested))
    journal.commit(*_unchanged(journal, requested, cluster), create)


def replace_request(
    journal: Journal, before: Run, after: Run, plan: Plan, reading: ClusterReading
) -> Run:
    """Replace the request that was read, and make the controller resign, in one transaction.

    A controller does not look at a request that is there in place of another. The next one begins
    by taking it up: each entry supersedes what its topic node says is under way. The present one
    cannot write what it remembers of the old request in between. Where `after` names nothing there
    is no new request.
    """
    requested, cluster = after.requested(plan), reading.cluster
    _refuse_traps(requested, cluster)
    controller = journal.session.read(znodes.CONTROLLER)
    if controller is None:
        raise Stale("no controller is elected", znodes.CONTROLLER)
    version = reading.versions.get(znodes.REASSIGNMENT)
    if requested:
        _record(journal, after, plan)
    removed = () if version is None else (Delete(znodes.REASSIGNMENT, version),)
    return journal.rewrite(
        before,
        after,
        *_unchanged(journal, requested, cluster),
        *removed,
        *((Create(znodes.REASSIGNMENT, ReassignmentNode.encode(requested)),) if requested else ()),
        Delete(znodes.CONTROLLER, controller.version),
    )


def _record(journal: Journal, run: Run, plan: Plan) -> None:
    """Record what is about to be requested, so that it is known as ours without the run, too.

    By itself: with the largest request it would not fit into one transaction.
    """
    moves, plans = run.requested_moves(plan), run.resumes or run.plan
    journal.record_request(RequestRecord(plans, run.fingerprint, moves, run.approved_by))


def _unchanged(
    journal: Journal, requested: Sequence[ReassignmentEntry], cluster: Cluster
) -> list[Operation]:
    """Return the checks that the controller and the topics named are those that were observed."""
    epoch_version = cluster.controller.epoch_version
    assert epoch_version is not None, "the gates demand a controller"
    names = sorted({entry.topic for entry in requested})
    controller = Check(znodes.CONTROLLER_EPOCH, epoch_version)
    return [controller, *_unchanged_topics(journal, names, cluster)]


def _unchanged_topics(
    journal: Journal, names: Sequence[str], cluster: Cluster
) -> Iterator[Operation]:
    """Yield the checks that topics are those that were observed.

    A transaction can check a node's version alone, and a topic that was deleted and made again
    soon has the version of the one before. So the creation of each node is compared here, right
    before the transaction, on a server that was not behind its leader when it was asked. Raises
    `Stale`. What is left is told above.
    """
    journal.session.sync()
    paths = [znodes.topic(name) for name in names]
    for name, path, node in zip(names, paths, journal.session.read_many(paths), strict=True):
        observed = cluster.topics[name]
        assert observed.version is not None, "observed, so versioned"
        if node is None or node.czxid != observed.created_zxid:
            raise Stale(f"topic {name} was deleted since it was observed", path)
        yield Check(path, observed.version)


def _refuse_traps(requested: Sequence[ReassignmentEntry], cluster: Cluster) -> None:
    """Refuse what the codec cannot see: unknown partitions, doomed topics, targets not live."""
    for entry in requested:
        name = entry.name
        topic = cluster.topics.get(entry.topic)
        partition = None if topic is None else topic.partition(entry.partition)
        if partition is None or entry.topic in cluster.deleting:
            raise Refused(
                f"the request was not written: {name} does not exist or is being deleted",
                reason=RefusalReason.UNSAFE_REQUEST,
            )
        dead = sorted(set(entry.replicas) - set(partition.replicas) - set(cluster.brokers))
        if dead:
            raise Refused(
                f"the request was not written: {name} would gain {dead}, not live",
                reason=RefusalReason.UNSAFE_REQUEST,
            )


def _require_room_in_nodes(
    journal: Journal, requested: Sequence[ReassignmentEntry], cluster: Cluster
) -> None:
    """Raise `GrowingNodeTooLarge` if the servers take no node of a topic while it moves.

    The controller writes the lists of what moves into it, over and over where ZooKeeper hangs up,
    and nothing else is done in the cluster any more.
    """
    for name, moving in Counter(entry.topic for entry in requested).items():
        before, growth = node_bytes(cluster.topics[name])
        size = before + moving * growth
        if not journal.session.takes(size):
            raise GrowingNodeTooLarge(
                f"the node of topic {name} may have {size} bytes while {moving} of its partitions"
                " move, and the ZooKeeper servers do not take it: raise their jute.maxbuffer",
                size,
                before,
            )


def _recorded(topic: str, record: TopicRecord | None, node: Node | None) -> tuple[Operation, ...]:
    """Return the write of a record over the node that was read."""
    operation = None if record is None else topic_record(topic, record, node)
    return () if operation is None else (operation,)
