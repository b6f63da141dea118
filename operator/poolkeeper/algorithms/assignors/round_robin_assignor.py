"""RoundRobinAssignor of Kafka 3.9.2: all partitions in order, dealt to the members in turn.

Topics go by name. A member that does not subscribe to the topic is skipped and loses its turn: the
next partition begins after whoever was given the last one.
"""

from bisect import bisect_left
from collections import defaultdict
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
    seats = defaultdict[str, list[int]](list)
    for seat, member in enumerate(circle):
        for topic in dict.fromkeys(members[member].topics):
            seats[topic].append(seat)
    turn = 0
    for topic in sorted(topics, key=utf16):
        subscribed = seats[topic]
        first = bisect_left(subscribed, turn)
        for partition in range(topics[topic].partitions):
            seat = subscribed[(first + partition) % len(subscribed)]
            assignment[circle[seat]].append((topic, partition))
            turn = (seat + 1) % len(circle)
    return assignment
