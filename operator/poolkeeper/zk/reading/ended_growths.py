"""Moves that only add replicas, and have ended although the topic node still names what is added.

A controller of 2.4 or later writes the topic node once all is in sync. One of 2.3 or earlier that
is elected before, as brokers are downgraded or the upgraded one dies, takes such a move for done:
the list is as requested. It drops the request, and leaves `adding_replicas`, which it does not
know. The brokers copy on. Once all replicas are in sync nothing is left of the move but that note,
and the next controller that knows it removes it at once.

So a partition whose replicas are all in sync, and of which none is to be removed, moves no more.
Where its controller is about to write that, whoever requests a new move of it loses against that
write: a request names the version of the topic node.
"""

from collections.abc import Mapping, Sequence

from poolkeeper.model.topology import Replicas
from poolkeeper.zk.codecs.assignments import TopicAssignment
from poolkeeper.zk.codecs.state_nodes import StateColumns, StateNode


def without_ended(
    nodes: Sequence[TopicAssignment], states: StateColumns
) -> list[Mapping[int, Replicas]]:
    """Return by topic what is added to its partitions, but for those whose growth has ended.

    `states`: of all partitions, one topic after the other.
    """
    found: list[Mapping[int, Replicas]] = []
    first = 0
    for node in nodes:
        found.append(_without_ended(node, states, first) if node.adding else node.adding)
        first += len(node.numbers)
    return found


def _without_ended(
    node: TopicAssignment, states: StateColumns, first: int
) -> Mapping[int, Replicas]:
    rows = {number: row for row, number in enumerate(node.numbers)}
    return {
        number: added
        for number, added in node.adding.items()
        if number not in rows
        or node.removing.get(number)
        or not _are_in_sync(node.replicas[rows[number]], states[first + rows[number]])
    }


def _are_in_sync(replicas: Replicas, state: StateNode | str | None) -> bool:
    return isinstance(state, StateNode) and set(replicas) <= set(state.isr)
