"""Consumer groups as their coordinators tell of them (0.9 and later)."""

from collections.abc import Mapping, Sequence

from kafka.admin import KafkaAdminClient

from poolkeeper.brokers import connections

GROUPS_AT_ONCE = 200


def sizes(client: KafkaAdminClient, names: Sequence[str] | None = None) -> Mapping[str, int]:
    """The number of members of these groups, or of all that brokers list; raises Unavailable.

    A group that nobody knows has no members.
    """
    found: dict[str, int] = {}
    with connections.translate_errors("listing consumer groups"):
        if names is None:
            names = sorted({group["group_id"] for group in client.list_groups()})
        for first in range(0, len(names), GROUPS_AT_ONCE):
            described = client.describe_groups(list(names[first : first + GROUPS_AT_ONCE]))
            found |= {name: len(group["members"]) for name, group in described.items()}
    return found
