"""The order of members in range and round robin."""

from collections.abc import Iterable

from poolkeeper.algorithms.assignors.group import GroupMember
from poolkeeper.algorithms.assignors.java_order import utf16


def member_order(members: Iterable[GroupMember]) -> list[str]:
    """Return member ids: static members by their instance id first, then the others by member id.

    Members that claim the same instance id stay in the order given.
    """
    return [member.id for member in sorted(members, key=_sort_key)]


def _sort_key(member: GroupMember) -> tuple[bool, bytes]:
    static = member.instance_id is not None
    return not static, utf16(member.id if member.instance_id is None else member.instance_id)
