"""The sticky assignors of Kafka 3.9.2 where all members subscribe to the same topics.

With q = partitions div members and r the remainder, r members end with q+1 partitions, others with
q (where r is 0, all with q).

1. Each member keeps what it owned, in the order of partition id, then topic: all if that is fewer
   than q; q+1 if it has as many and fewer than r members have; else q. Where racks count it keeps
   only what is on its rack.
2. Where racks count, unassigned partitions (those with the fewest members on their racks first) go
   in turn to members below q on their rack, else to the first member that has q and may have more.
3. The rest goes to the members below q in turn, then to those with q until r of them have q+1.

Partitions that are taken from a member and given to another are transferring, and so are contested
ones: the cooperative assignor withholds them.

A partition that a member owned and that its topic no longer has is kept like any other, and makes
Kafka give some partitions twice, or throw.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from itertools import chain

from poolkeeper.algorithms.assignors.group import AssignorFailed
from poolkeeper.algorithms.assignors.java_order import utf16
from poolkeeper.algorithms.assignors.partition_numbers import PartitionNumbers, by_partition
from poolkeeper.algorithms.assignors.racks import StickyRacks


class EqualSubscriptions:
    """One assignment; `owned` is by member in the order of Kafka's maps, as partition numbers.

    `assignment` is by member; `transferring` maps a partition to its new member.
    """

    def __init__(
        self,
        numbers: PartitionNumbers,
        owned: Mapping[str, list[int]],
        contested: Collection[int],
        racks: StickyRacks,
    ) -> None:
        self.assignment: dict[str, list[int]] = {member: [] for member in owned}
        self.transferring: dict[int, str] = {}
        self._contested = contested
        self._racks = racks
        self._revoked: dict[int, str] = {}
        self._quota, self._extras = divmod(sum(numbers.counts), len(owned))
        self._most = self._quota + (self._extras > 0)
        self._with_extra = 0
        self._below: dict[str, None] = {}
        self._at_quota: dict[str, None] = {}
        for member, partitions in owned.items():
            self._keep(member, partitions)
        kept = chain.from_iterable(self.assignment.values())
        unassigned = racks.fewest_members_first(numbers.unassigned(kept))
        self._below = dict.fromkeys(sorted(self._below, key=utf16))
        self._at_quota = dict.fromkeys(sorted(self._at_quota, key=utf16))
        if racks.of_member:
            unassigned = self._assign_within_racks(unassigned)
        self._assign_in_turn(unassigned)
        self._check()

    def _keep(self, member: str, owned: list[int]) -> None:
        kept = []
        for number in owned:
            if self._racks.mismatch(member, number):
                self._revoked[number] = member
            elif number not in self._contested:
                kept.append(number)
        kept.sort(key=by_partition)
        if len(kept) < self._quota:
            self._below[member] = None
            keep = len(kept)
        elif len(kept) >= self._most and self._with_extra < self._extras:
            self._count_extra()
            keep = self._most
        else:
            if self._with_extra < self._extras:
                self._at_quota[member] = None
            keep = self._quota
        self.assignment[member] += kept[:keep]
        self._revoked.update(dict.fromkeys(kept[keep:], member))

    def _count_extra(self) -> None:
        self._with_extra += 1
        if self._with_extra == self._extras:
            self._at_quota.clear()

    def _assign_within_racks(self, unassigned: list[int]) -> list[int]:
        below = _RackCircle(self._below, self._racks)
        at_quota = _RackQueues(self._racks)
        for waiting in self._at_quota:
            at_quota.add(waiting)
        rest: list[int] = []
        for number in unassigned:
            on_racks = self._racks.of_partition(number)
            member = below.next_on(on_racks)
            if member is not None:
                size = self._give(number, member)
                if size >= self._quota:
                    below.remove(member)
                    del self._below[member]
                    if size < self._most and self._with_extra < self._extras:
                        self._at_quota[member] = None
                        at_quota.add(member)
            elif self._at_quota and (first := at_quota.take_first_on(on_racks)) is not None:
                self._give(number, first)
                del self._at_quota[first]
                self._count_extra()
            else:
                rest.append(number)
        return rest

    def _assign_in_turn(self, unassigned: list[int]) -> None:
        below = list(self._below)
        at_quota = deque(self._at_quota)
        turn = 0
        for number in unassigned:
            if not below:
                if not at_quota:
                    raise AssignorFailed(_MORE_THAN_QUOTAS)
                member = at_quota.popleft()
            else:
                turn %= len(below)
                member = below[turn]
                turn += 1
            size = self._give(number, member)
            if size == self._quota:
                turn -= 1
                below.pop(turn)
                at_quota.append(member)
            elif size == self._most:
                self._with_extra += 1
        self._below = dict.fromkeys(below)

    def _give(self, number: int, member: str) -> int:
        self.assignment[member].append(number)
        if number in self._contested or self._revoked.get(number, member) != member:
            self.transferring[number] = member
        return len(self.assignment[member])

    def _check(self) -> None:
        if self._below and (
            self._with_extra != self._extras
            or any(len(self.assignment[member]) != self._quota for member in self._below)
        ):
            raise AssignorFailed(_FEWER_THAN_QUOTAS)


_MORE_THAN_QUOTAS = (
    "Kafka's sticky assignor fails on this group: members own partitions that do not exist, and "
    "their quotas are full before all partitions are assigned; drop those from what is owned"
)
_FEWER_THAN_QUOTAS = (
    "Kafka's sticky assignor fails on this group: members own partitions that do not exist, and "
    "others stay below their quotas; drop those from what is owned"
)


class _RackCircle:
    """Members in a circle: the next one on some rack after the last that was chosen."""

    def __init__(self, members: Collection[str], racks: StickyRacks) -> None:
        self._members = list(members)
        self._places = defaultdict[str, list[int]](list)
        self._place_of = {member: place for place, member in enumerate(self._members)}
        self._rack_of = racks.of_member
        for member, place in self._place_of.items():
            if member in self._rack_of:
                self._places[self._rack_of[member]].append(place)
        self._next = 0

    def next_on(self, racks: Collection[str]) -> str | None:
        found = []
        for rack in racks:
            places = self._places.get(rack)
            if places:
                index = bisect_left(places, self._next)
                past_end = index == len(places)
                found.append((past_end, places[0 if past_end else index]))
        if not found:
            return None
        _, place = min(found)
        self._next = place + 1
        return self._members[place]

    def remove(self, member: str) -> None:
        places = self._places[self._rack_of[member]]
        del places[bisect_left(places, self._place_of[member])]


class _RackQueues:
    """Members in a queue: the first one on some rack."""

    def __init__(self, racks: StickyRacks) -> None:
        self._rack_of = racks.of_member
        self._queues = defaultdict[str, deque[tuple[int, str]]](deque)
        self._added = 0

    def add(self, member: str) -> None:
        if member in self._rack_of:
            self._queues[self._rack_of[member]].append((self._added, member))
        self._added += 1

    def take_first_on(self, racks: Collection[str]) -> str | None:
        queues = [self._queues[rack] for rack in racks if self._queues.get(rack)]
        return min(queues).popleft()[1] if queues else None
