"""Who owned which partition before the rebalance, as the sticky assignors of Kafka 3.9.2 see it.

Partitions of topics that nobody subscribes to any more are dropped. Of two members that claim the
same partition the one of the later generation has it; with the same generation neither has it, and
it is contested. What counts for the earlier of two claims is the generation of the subscription,
for the later one that of the member's data: they differ only below -1, which is none.
"""

from collections.abc import Mapping

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.partition_numbers import user_data_order
from poolkeeper.frozen import frozen

NO_GENERATION = -1


@frozen
class MemberData:
    """What a member says that it had: (topic, partition) in the order in which Kafka reads them."""

    partitions: list[tuple[str, int]]
    generation: int


@frozen
class PreviousOwners:
    """The partitions that each member keeps a claim to, and those claimed in vain by several."""

    owned: Mapping[str, list[tuple[str, int]]]
    contested: frozenset[tuple[str, int]]
    last_generation: int


def eager_data(members: Mapping[str, GroupMember]) -> dict[str, MemberData]:
    """Return what members of the sticky assignor say; it travels as the assignor's own data."""
    return {id_: _eager_data(member) for id_, member in members.items()}


def cooperative_data(members: Mapping[str, GroupMember]) -> dict[str, MemberData]:
    """Return what members of the cooperative assignor say; it is part of their subscription."""
    return {
        id_: MemberData(list(member.owned or ()), _subscription_generation(member))
        for id_, member in members.items()
    }


def previous_owners(
    topics: Mapping[str, GroupTopic],
    members: Mapping[str, GroupMember],
    data: Mapping[str, MemberData],
) -> PreviousOwners:
    """Settle what the members claim."""
    owned: dict[str, dict[tuple[str, int], None]] = {}
    owners: dict[tuple[str, int], str] = {}
    contested = set()
    for id_, said in data.items():
        mine = owned[id_] = {}
        for partition in said.partitions:
            if partition[0] not in topics:
                continue
            other = owners.get(partition)
            if other is None:
                mine[partition] = None
                owners[partition] = id_
                continue
            others_generation = _subscription_generation(members[other])
            if said.generation < others_generation:
                continue
            owned[other].pop(partition, None)
            owners[partition] = id_
            if said.generation == others_generation:
                contested.add(partition)
            else:
                mine[partition] = None
    last = max(said.generation for said in data.values())
    return PreviousOwners(
        {id_: list(partitions) for id_, partitions in owned.items()},
        frozenset(contested),
        max(last, NO_GENERATION),
    )


def _eager_data(member: GroupMember) -> MemberData:
    if member.owned is None:
        return MemberData([], NO_GENERATION)
    generation = NO_GENERATION if member.generation is None else member.generation
    return MemberData(user_data_order(member.owned), generation)


def _subscription_generation(member: GroupMember) -> int:
    return NO_GENERATION if member.generation is None else max(member.generation, NO_GENERATION)
