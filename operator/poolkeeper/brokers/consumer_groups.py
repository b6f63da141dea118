"""Consumer groups as their coordinators tell of them (0.9 and later)."""

from collections.abc import Mapping, Sequence

from kafka.admin import KafkaAdminClient

from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember
from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.brokers import connections
from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen

GROUPS_AT_ONCE = 200


def members(
    client: KafkaAdminClient, names: Sequence[str] | None = None
) -> Mapping[str, tuple[ListedMember, ...] | None]:
    """The members of these groups, or of all that brokers list, in the order of each coordinator.

    A group that nobody knows has no members; None for one of which its coordinator does not tell.
    Raises Unavailable.
    """
    found: dict[str, tuple[ListedMember, ...] | None] = {}
    with connections.translate_errors("listing consumer groups"):
        if names is None:
            names = sorted({group["group_id"] for group in client.list_groups()})
        for first in range(0, len(names), GROUPS_AT_ONCE):
            described = client.describe_groups(list(names[first : first + GROUPS_AT_ONCE]))
            found |= {
                name: None if group["error"] else tuple(map(_listed, group["members"]))
                for name, group in described.items()
            }
    return found


def _listed(member: Mapping[str, str]) -> ListedMember:
    return ListedMember(
        member["member_id"],
        member["client_id"],
        member["client_host"].removeprefix("/"),
        member.get("group_instance_id"),
    )


@frozen
class ObservedGroup:
    """A consumer group as its coordinator tells of it.

    `assignors` are those that it may have: none if it is none of Kafka's own; of the sticky one
    brokers do not tell whether it is that of old clients. `assignment` is empty while the group
    rebalances.
    """

    members: tuple[GroupMember, ...]
    assignors: tuple[Assignor, ...]
    assignment: Assignment


_ASSIGNORS = {
    "range": (Assignor.RANGE,),
    "roundrobin": (Assignor.ROUND_ROBIN,),
    "sticky": (Assignor.STICKY, Assignor.STICKY_2_2),
    "cooperative-sticky": (Assignor.COOPERATIVE_STICKY,),
}
"""Kafka's assignors by the names that members join with."""


def describe(client: KafkaAdminClient, name: str) -> ObservedGroup:
    """The members of a group, what they subscribe to and read; raises Unavailable."""
    with connections.translate_errors(f"describing consumer group {name}"):
        group = client.describe_groups([name])[name]
    if group["error"]:
        raise Unavailable(f"describing consumer group {name}: {group['error']}")
    members, assignment = [], {}
    for each in group["members"]:
        joined, read = each["member_metadata"], each["member_assignment"]
        if not isinstance(joined, Mapping):
            continue
        members.append(
            GroupMember(
                each["member_id"],
                each.get("group_instance_id"),
                joined.get("rack_id") or None,
                tuple(joined["topics"]),
            )
        )
        parts = read["assigned_partitions"] if isinstance(read, Mapping) else ()
        assignment[each["member_id"]] = [
            (part["topic"], number) for part in parts for number in part["partitions"]
        ]
    return ObservedGroup(tuple(members), _ASSIGNORS.get(group["protocol_data"], ()), assignment)
