"""A cache of readings, which hold for as long as nothing is written to ZooKeeper.

Every reply of a server names the last transaction that the server had applied when it answered. A
sync lets the server apply all that was committed before. So if a sync answers with transaction Z,
what is read afterwards is the state after Z or a later one; and if the last reply names Z as well,
it is the state after Z, exactly. Once a later sync answers with Z, nothing was written since, by
anybody, anywhere in the ensemble: what was read then is what would be read now.

A session that ends or begins is a transaction too. Pings and reads are none. A server that was
restored from a backup may count up to Z again, but no connection outlives that: what is kept
belongs to one connection.

What a topic's nodes decode to is kept by what the nodes hold (`DecodedTopics`), for somebody who
reads a cluster in memory again and again.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Topic
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import HIDDEN, UNREADABLE, Node
from poolkeeper.zk.client.session import Moment, Session
from poolkeeper.zk.codecs.assignments import TopicAssignment

TopicNodes: TypeAlias = Mapping[str, TopicAssignment | str]
"""By topic: the assignment, or why it cannot be decoded."""
NodesOfTopic: TypeAlias = tuple[Node, tuple[bytes | None, ...], Node | None]
"""A topic's node, what the states of its partitions hold, and its config."""

Reading = TypeVar("Reading")


class ReadingCache:
    """The last reading of each kind; for one session and one thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[Hashable, tuple[Moment, Any]] = {}

    def read(self, kind: Hashable, read: Callable[[], Reading]) -> Reading:
        """Return what `read` returned for this kind, if nothing was written since; else read."""
        moment = self._session.sync()
        known = self._kept.get(kind)
        if known is not None and known[0] == moment:
            found: Reading = known[1]
            return found
        found = read()
        if self._session.moment == moment:
            self._kept[kind] = moment, found
        else:
            self._kept.pop(kind, None)
        return found


@frozen
class _DecodedNode:
    """A topic node, what it decodes to, and the paths of the states that it asks for."""

    node: Node
    decoded: TopicAssignment | str
    states: tuple[str, ...]


@frozen
class _DecodedTopic:
    """A topic, the nodes of which it was made, and the latest controller epoch in its states."""

    nodes: NodesOfTopic
    epoch: int
    topic: Topic


class DecodedTopics:
    """Topics as they were decoded last; what was not written since is not decoded again."""

    def __init__(self) -> None:
        self._nodes: dict[str, _DecodedNode] = {}
        self._topics: dict[str, _DecodedTopic] = {}

    def decode(self, names: Sequence[str], nodes: Sequence[Node | None]) -> TopicNodes:
        """Decode each topic node that is there."""
        found: dict[str, TopicAssignment | str] = {}
        for name, node in zip(names, nodes, strict=True):
            if node is not None:
                known = self._nodes.get(name)
                if known is None or known.node != node:
                    known = self._nodes[name] = _decoded(name, node)
                found[name] = known.decoded
        return found

    def state_paths(self, nodes: TopicNodes) -> list[tuple[str, ...]]:
        """Return the paths of the states of each topic that could be decoded, in their order."""
        return [
            self._nodes[name].states
            for name, node in nodes.items()
            if isinstance(node, TopicAssignment)
        ]

    def find(self, name: str, epoch: int, nodes: NodesOfTopic) -> Topic | None:
        """Return the topic that these nodes made before, unless a state is of a later epoch."""
        known = self._topics.get(name)
        if known is None or known.epoch > epoch or known.nodes != nodes:
            return None
        return known.topic

    def keep(self, topic: Topic, epoch: int, nodes: NodesOfTopic) -> None:
        """Keep the topic that these nodes make; `epoch`: the latest one in its states."""
        self._topics[topic.name] = _DecodedTopic(nodes, epoch, topic)


def _decoded(name: str, node: Node) -> _DecodedNode:
    if node is UNREADABLE:
        return _DecodedNode(node, f"{znodes.topic(name)}: {HIDDEN}", ())
    try:
        found = TopicAssignment.decode(node.data)
    except Refused as damage:
        return _DecodedNode(node, f"{znodes.topic(name)}: {damage}", ())
    return _DecodedNode(node, found, znodes.states(name, found.numbers))
