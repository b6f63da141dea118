"""RoundRobinAssignor of Kafka 3.9.2: all partitions in order, dealt to the members in turn.

Topics go by name. A member that does not subscribe to the topic is skipped and loses its turn: the
next partition begins after whoever was given the last one.
"""

from collections.abc import Mapping

from poolkeeper.algorithms.assignors.group import Assignment, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import utf16
from poolkeeper.algorithms.assignors.member_order import member_order


def round_robin_assign(
    topics: Mapping[str, GroupTopic], members: Mapping[str, GroupMember]
) -> Assignment:
    """Deal the partitions; `topics` are those subscribed to, so each of them has a subscriber."""
    assignment: Assignment = {member: [] for member in members}
    circle = member_order(members.values())
    subscriptions = [frozenset(members[member].topics) for member in circle]
    turn = 0
    for topic in sorted(topics, key=utf16):
        for partition in range(topics[topic].partitions):
            while topic not in subscriptions[turn]:
                turn = (turn + 1) % len(circle)
            assignment[circle[turn]].append((topic, partition))
            turn = (turn + 1) % len(circle)
    return assignment
