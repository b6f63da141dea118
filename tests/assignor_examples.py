"""Consumer groups and assignments in a line of text, for tables of examples.

    group("t1:3 t2:2{a|ab}", "C1#i1@a(t1,t2)=t1[0,1]/5 C2(t1)")

is topics with their partitions and the racks of each, and members with instance id, rack, topics,
owned partitions and generation. `reads` makes a line of an assignment, partitions in order.
"""

import re
from collections import defaultdict

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic

_MEMBER = re.compile(
    r"(?P<id>[^#@(]+)(#(?P<instance>[^@(]+))?(@(?P<rack>[^(]+))?\((?P<topics>[^)]*)\)"
    r"(=(?P<owned>[^/]*))?(/(?P<generation>-?\d+))?"
)


def group(topics, members):
    """Return topics by name and the members, as `assign` takes them."""
    return (
        {name: topic for name, topic in map(_topic, topics.split())},
        [_member(member) for member in members.split()],
    )


def reads(assignment):
    """Return `C1 t1[0,2] t2[1]; C2`: what every member reads, in order."""
    return "; ".join(_of_member(member, assignment[member]) for member in sorted(assignment))


def _topic(text):
    name, partitions = text.split(":")
    count, _, racks = partitions.partition("{")
    each = tuple(tuple(some) for some in racks.rstrip("}").split("|")) if racks else None
    return name, GroupTopic(int(count), each)


def _member(text):
    match = _MEMBER.fullmatch(text)
    assert match, text
    owned, generation = match["owned"], match["generation"]
    return GroupMember(
        match["id"],
        match["instance"],
        match["rack"],
        tuple(filter(None, match["topics"].split(","))),
        None if owned is None else tuple(_partitions(owned)),
        None if generation is None else int(generation),
    )


def _partitions(text):
    for topic, partitions in re.findall(r"([^+\[]+)\[([\d,]*)\]", text):
        yield from ((topic, int(partition)) for partition in partitions.split(","))


def _of_member(member, partitions):
    by_topic = defaultdict(list)
    for topic, partition in sorted(partitions):
        by_topic[topic].append(str(partition))
    return " ".join([member, *(f"{topic}[{','.join(by_topic[topic])}]" for topic in by_topic)])
