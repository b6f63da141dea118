"""The active controller: its memory, and how it writes.

It acts on its memory, not on what lies in ZooKeeper: topic nodes are written whole, from memory,
without a version. Only the epoch fences it (2.1 and later). So a change by others that it has not
read yet is overwritten. Reproducing that is the purpose of this simulation.

The controller's work is spread over modules by topic: `membership` (start, brokers that come and
go), `topics` (creation and deletion), `reassignment_starts` with `request_node` and
`reassignment_steps`, `elections`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kazoo.exceptions import BadVersionError

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import (
    Ids,
    PartitionAssignment,
    PartitionState,
    TopicBody,
    Tp,
)
from poolkeeper.sandbox.simulation.controller.event_queue import Work
from poolkeeper.sandbox.simulation.profiles import Profile
from poolkeeper.sandbox.simulation.world import News, World
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    Client,
    Operation,
    Read,
    Watch,
    WriteNode,
)

BULK = 200
"""Writes of one transaction in bulk: about 40 kB, far below ZooKeeper's limit of a megabyte."""


class Host(Protocol):
    """The broker that a controller runs on."""

    id: int

    @property
    def client(self) -> Client:
        """The broker's session."""
        ...

    def post(self, work: Work) -> None:
        """Let the controller do this after all it was asked before."""
        ...


@dataclass(slots=True)
class ControllerTopic:
    """A topic in the controller's memory. `written`: its node as this controller wrote it last.

    A controller writes a node twice for each move, whole: what stays as it was is not made again.
    """

    partitions: dict[int, PartitionAssignment] = field(default_factory=dict)
    topic_id: str | None = None
    written: bytes = b""
    _texts: dict[int, str] = field(default_factory=dict)
    _moving: dict[int, PartitionAssignment] = field(default_factory=dict)

    def assign(self, partition: int, assignment: PartitionAssignment) -> None:
        """Change a partition's assignment."""
        self.partitions[partition] = assignment
        if partition in self._texts:
            self._texts[partition] = codecs.list_text(partition, assignment.replicas)
            self._moving.pop(partition, None)
            if assignment.moving:
                self._moving[partition] = assignment

    def encode(self, profile: Profile) -> bytes:
        """Return the topic's node."""
        if len(self._texts) != len(self.partitions):
            order = codecs.written_order(sorted(self.partitions))
            self._texts = {p: codecs.list_text(p, self.partitions[p].replicas) for p in order}
            self._moving = {p: a for p, a in self.partitions.items() if a.moving}
        moving = dict(sorted(self._moving.items()))
        lists = ",".join(self._texts.values())
        self.written = codecs.topic_of_lists(profile, lists, moving, self.topic_id)
        return self.written


class ActiveController:
    """One term of office; `epoch_version` is the data version of the epoch's node.

    `take_up` is the work that looks for a reassignment request.
    """

    def __init__(self, host: Host, world: World, epoch: int, epoch_version: int) -> None:
        self.host = host
        self.world = world
        self.profile = world.profile
        self.client = host.client
        self.epoch = epoch
        self._fence = CheckNode(codecs.EPOCH, epoch_version)
        self.brokers: dict[int, int] = {}
        self.known: set[str] = set()
        self.topics: dict[str, ControllerTopic] = {}
        self.states: dict[Tp, PartitionState] = {}
        self.requests: dict[Tp, Ids] = {}
        self.moving: set[Tp] = set()
        self.deleting: set[str] = set()
        self.deleted_logs: dict[str, set[tuple[Tp, int]]] = {}
        self.active = True
        self.take_up: Work = lambda: iter(())

    def post(self, work: Work) -> None:
        """Do this later, after all that was posted before, while in office."""
        if self.active:
            self.host.post(work)

    def note(self, sentence: str) -> None:
        """Record an error that a real broker would log."""
        self.world.note(f"controller {self.host.id}: {sentence}")

    @property
    def live(self) -> frozenset[int]:
        """The ids of the live brokers."""
        return frozenset(self.brokers)

    # Memory

    def assignment(self, tp: Tp) -> PartitionAssignment | None:
        """Return a partition's assignment as remembered."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def remember(self, tp: Tp, assignment: PartitionAssignment) -> None:
        """Change a partition's assignment in memory."""
        self.topics[tp.topic].assign(tp.partition, assignment)

    def partitions(self) -> Iterable[tuple[Tp, PartitionAssignment]]:
        """Return all partitions of all topics, in no order that means anything."""
        for name, topic in self.topics.items():
            for number, assignment in topic.partitions.items():
                yield Tp(name, number), assignment

    def hosted_by(self, brokers: Iterable[int]) -> list[Tp]:
        """Return the partitions with a replica on one of these brokers."""
        wanted = set(brokers)
        return [tp for tp, a in self.partitions() if wanted.intersection(a.replicas)]

    # Writes

    def fenced(self, operation: Operation) -> tuple[Operation, ...]:
        """Return the transaction in which this release sends a write."""
        return (self._fence, operation) if self.profile.fenced else (operation,)

    def write(self, operation: Operation) -> None:
        """Write; raises BadVersionError when another controller was elected."""
        self.client.commit(self.fenced(operation))

    def write_many(self, operations: Sequence[Operation]) -> list[bool]:
        """Write each, sent without waiting in between; return which of them were done.

        Raises BadVersionError when another controller was elected.
        """
        answers = self.client.commit_many([self.fenced(operation) for operation in operations])
        for answer in answers:
            if isinstance(answer, BadVersionError):
                raise answer
        return [not isinstance(answer, Exception) for answer in answers]

    def write_in_bulk(self, operations: Sequence[Operation]) -> list[bool]:
        """Do the same in transactions of many writes each, which no real controller does.

        A transaction that fails is done again write by write.
        """
        fence = (self._fence,) if self.profile.fenced else ()
        starts = range(0, len(operations), BULK)
        groups = [operations[start : start + BULK] for start in starts]
        done: list[bool] = []
        answers = self.client.commit_many([(*fence, *group) for group in groups])
        for group, answer in zip(groups, answers, strict=True):
            failed = isinstance(answer, Exception)
            done += self.write_many(group) if failed else [True] * len(group)
        return done

    def write_topic(self, name: str) -> None:
        """Rewrite a topic node from memory."""
        self.write(self.rewritten(name))

    def rewritten(self, name: str) -> WriteNode:
        """Return the write of a topic node as remembered."""
        return WriteNode(codecs.topic_path(name), self.topics[name].encode(self.profile))

    def read_topic(self, name: str, watch: Watch | None = None) -> TopicBody | None:
        """Read a topic node; None if there is none, or if it is as this controller wrote it."""
        return self._body(name, self.client.get(codecs.topic_path(name), watch))

    def read_topics(self, names: Sequence[str], watches: Sequence[Watch]) -> list[TopicBody | None]:
        """Do the same for several topics, all asked for at once, and watch them."""
        paths = [codecs.topic_path(name) for name in names]
        found = self.client.watch_many(paths, watches)
        return [self._body(name, node) for name, node in zip(names, found, strict=True)]

    def _body(self, name: str, found: Read | None) -> TopicBody | None:
        known = self.topics.get(name)
        if found is None or (known is not None and found[0] == known.written):
            return None
        return codecs.decode_topic(self.profile, found[0])

    def read_state(self, tp: Tp, watch: Watch | None = None) -> PartitionState | None:
        """Read a partition's state, and remember it."""
        found = self.client.get(codecs.state_path(tp), watch)
        if found is None:
            self.states.pop(tp, None)
            return None
        state = codecs.decode_state(found[0], found[1].version)
        self.states[tp] = state
        return state

    def was_overtaken(self, tp: Tp, state: PartitionState) -> bool:
        """Whether a controller of a later epoch wrote the state: this one then leaves it alone."""
        overtaken = state.controller_epoch > self.epoch
        if overtaken:
            self.note(f"the state of {tp} was written by another controller")
        return overtaken

    def write_state(self, tp: Tp, state: PartitionState) -> None:
        """Write a partition's state over the one that was read, and tell its brokers.

        Raises ValueError if a controller of a later epoch wrote it.
        """
        if self.was_overtaken(tp, state):
            raise ValueError(f"{tp}: aborting the state change")
        state = replace(state, controller_epoch=self.epoch)
        self.write(WriteNode(codecs.state_path(tp), codecs.encode_state(state)))
        self.states[tp] = replace(state, version=state.version + 1)
        self.announce(tp)

    # Brokers

    def announce(self, tp: Tp, brokers: Iterable[int] | None = None) -> None:
        """Tell the replicas, or only those on these brokers, who leads and who is in sync.

        Those of a topic that is being deleted are told nothing any more but to delete their logs.
        """
        assignment, state = self.assignment(tp), self.states.get(tp)
        if assignment is None or state is None or tp.topic in self.deleting:
            return
        chosen = assignment.replicas if brokers is None else tuple(brokers)
        topic_id = self.topics[tp.topic].topic_id
        for id_ in assignment.replicas:
            if id_ in chosen and id_ in self.brokers:
                self.world.tell_leader(id_, tp, state, assignment.replicas, topic_id)

    def announce_all(self, partitions: Iterable[Tp], brokers: Iterable[int] | None = None) -> None:
        """Tell the same of many partitions: one message a broker, as Kafka's own batches."""
        chosen = self.live if brokers is None else self.live.intersection(brokers)
        news: dict[int, list[News]] = {}
        for tp in partitions:
            assignment, state = self.assignment(tp), self.states.get(tp)
            if assignment is None or state is None:
                continue
            one = (tp, state, assignment.replicas, self.topics[tp.topic].topic_id)
            for id_ in assignment.replicas:
                if id_ in chosen:
                    news.setdefault(id_, []).append(one)
        for id_, told in news.items():
            self.world.tell_leaders(id_, told)

    def drop_log(self, tp: Tp, broker: int) -> None:
        """Order a broker to delete its replica; a dead broker never gets the order."""
        if broker in self.brokers:
            self.world.tell_stop(broker, tp)

    def order(self, what: str, items: Iterable[Tp]) -> list[Tp]:
        """Return the items in the order in which this controller happens to take them."""
        return self.world.choices.order(what, sorted(items))
