"""Balancing as sticky assignors do it where members subscribe to different topics (and 2.2 always).

1. Each unassigned partition goes to the subscriber with the fewest partitions, ties by member id.
2. Topics with one subscriber are left alone, and members that can neither give nor take.
3. Partition by partition, while the assignment is not balanced and something changes: if some
   subscriber has at least two partitions fewer than its member, it goes to the one with the fewest.
4. If members had something before, and the sum of the differences in size of all pairs of members
   did not fall, step 3 is undone.

An assignment is balanced if all sizes are within one, or if no member could take a partition of a
topic that it subscribes to from one that has more than `slack` partitions more.

Kafka asks that before every partition, and walks through all of them each time. Here it is asked
after a change only, and by topic: which members have partitions of it, and how many they have in
all. The answer is the same as long as every partition has one member, which subscribes to its
topic. Where that is not so (`_irregular`) Kafka's own walk is followed, as it may stumble.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapreplace
from itertools import chain, islice

from poolkeeper.algorithms.assignors.group import AssignorFailed
from poolkeeper.algorithms.assignors.java_order import string_hash, utf16
from poolkeeper.algorithms.assignors.partition_numbers import PartitionNumbers, topic_of
from poolkeeper.algorithms.assignors.sticky.movements import Movements

_WALK_MAX = 64
"""How many members are looked at, by size, before those of a topic are kept in an order."""


def _no_rack(member: int, number: int) -> bool:
    """Racks do not count."""
    return False


class GroupBalancing:
    """An assignment while it is balanced.

    Members are numbers, in the order of Kafka's map of the assignment; so are topics, and
    `subscriptions` are those of each member, as often as it names them. `capacity`: what Kafka
    takes for the most partitions that a member may have. `owner` is the member of each partition as
    Kafka remembers it, also where that one has lost it.
    """

    def __init__(
        self,
        numbers: PartitionNumbers,
        members: Sequence[str],
        subscriptions: Sequence[Sequence[int]],
        capacity: Sequence[int],
        assignment: list[list[int]],
        owner: dict[int, int],
        slack: int,
    ) -> None:
        self.assignment = assignment
        self._on_rack: Callable[[int, int], bool] = _no_rack
        self._numbers = numbers
        self._subscriptions = subscriptions
        self._capacity = capacity
        self._owner = owner
        self._slack = slack
        self._subscribed = [frozenset(topics) for topics in subscriptions]
        self._subscribers = subscribers_of(subscriptions, len(numbers.topics))
        self._by_rank = sorted(range(len(members)), key=lambda member: utf16(members[member]))
        self._rank = {member: rank for rank, member in enumerate(self._by_rank)}
        self._order = sorted(map(self._key, range(len(members))))
        self._begins = not any(assignment)
        self._fixed: set[int] = set()
        self._movements = Movements([string_hash(topic) for topic in numbers.topics])
        self._holders: list[Counter[int]] = []
        self._irregular = False
        self._balanced: bool | None = None

    def assign(
        self, unassigned: Iterable[int], allowed: Callable[[int, int], bool] | None = None
    ) -> list[int]:
        """Assign partitions (step 1), to members that are allowed to have them; return the rest."""
        rest = []
        heaps: dict[int, list[int]] = {}
        for number in unassigned:
            topic = topic_of(number)
            member = None if topic in heaps else self._least(topic, number, allowed, _WALK_MAX)
            if member is None and allowed is None:
                member = self._least_of_growing(topic, heaps)
            if member is None:
                rest.append(number)
                continue
            self._leave_order(member)
            self.assignment[member].append(number)
            self._owner[number] = member
            insort(self._order, self._key(member))
        return rest

    def improve(
        self,
        passes: Iterable[list[int]],
        previous: Mapping[int, int],
        on_rack: Callable[[int, int], bool] = _no_rack,
    ) -> None:
        """Balance (steps 2 to 4), going through the partitions of each pass in their order.

        `previous` are members that had a partition at an earlier generation: it goes back to them
        where that helps. `on_rack`: whether a member is on a rack of a partition, and racks count.
        """
        self._on_rack = on_rack
        shared = [len(subscribers) >= 2 for subscribers in self._subscribers]
        self._fix(shared)
        self._irregular = self._is_irregular()
        self._holders = self._count_holders()
        before = [list(partitions) for partitions in self.assignment]
        changed = False
        for partitions in passes:
            changed = self._reassign([one for one in partitions if shared[topic_of(one)]], previous)
        if changed and not self._begins and self._score(self.assignment) >= self._score(before):
            self.assignment = before

    def _key(self, member: int) -> int:
        """What sorts members by size, then id."""
        return len(self.assignment[member]) * len(self._by_rank) + self._rank[member]

    def _leave_order(self, member: int) -> None:
        del self._order[bisect_left(self._order, self._key(member))]

    def _least_of_growing(self, topic: int, heaps: dict[int, list[int]]) -> int | None:
        """Return the same as `_least` while members only get partitions: old keys are too small.

        Members with less, which do not subscribe, may be thousands, and are not walked past.
        """
        if topic not in heaps:
            subscribers = (one for one in self._subscribers[topic] if one not in self._fixed)
            heaps[topic] = sorted({self._key(one) for one in subscribers})
        heap = heaps[topic]
        while heap:
            member = self._by_rank[heap[0] % len(self._by_rank)]
            if heap[0] == self._key(member):
                return member
            heapreplace(heap, self._key(member))
        return None

    def _least(
        self,
        topic: int,
        number: int = 0,
        allowed: Callable[[int, int], bool] | None = None,
        walk_max: int | None = None,
    ) -> int | None:
        """Return the subscriber with the fewest partitions; without `allowed`, within a walk."""
        subscribers = self._subscribers[topic]
        if allowed is None and len(subscribers) ** 2 <= len(self._by_rank):
            return min((one for one in subscribers if one not in self._fixed), key=self._key)
        for key in self._order if allowed else islice(self._order, walk_max):
            member = self._by_rank[key % len(self._by_rank)]
            if topic in self._subscribed[member] and (allowed is None or allowed(member, number)):
                return member
        return None

    def _fix(self, shared: Sequence[bool]) -> None:
        for member, partitions in enumerate(self.assignment):
            if len(partitions) >= self._capacity[member] and not any(
                shared[topic_of(number)] for number in partitions
            ):
                self._leave_order(member)
                self._fixed.add(member)

    def _is_irregular(self) -> bool:
        everything = list(chain.from_iterable(self.assignment))
        return len(set(everything)) < len(everything) or not all(
            self._owner[number] == member
            and self._numbers.exists(number)
            and topic_of(number) in self._subscribed[member]
            for member, partitions in enumerate(self.assignment)
            for number in partitions
        )

    def _count_holders(self) -> list[Counter[int]]:
        holders: list[Counter[int]] = [Counter() for _ in self._subscribers]
        for member, partitions in enumerate(self.assignment):
            for number in partitions:
                holders[topic_of(number)][member] += 1
        return holders

    def _reassign(self, partitions: Sequence[int], previous: Mapping[int, int]) -> bool:
        changed, modified = False, True
        while modified:
            modified = False
            for number in partitions:
                if self._is_balanced():
                    break
                member = self._better(number, previous.get(number))
                if member is not None:
                    self._move(number, member)
                    changed = modified = True
        return changed

    def _better(self, number: int, previous: int | None) -> int | None:
        """Return the member that the partition should go to, or None if it stays."""
        size = self._size(self._owner[number])
        if previous is not None and size > self._size(previous) + 1:
            return previous
        subscribers = self._subscribers[topic_of(number)]
        if self._irregular:
            # Kafka ends with the first that it finds, and may not come to one that was set aside.
            near = (
                [one for one in subscribers if self._on_rack(one, number)]
                if self._on_rack(self._owner[number], number)
                else []
            )
            if not any(size > self._size(other) + 1 for other in chain(near, subscribers)):
                return None
        least = self._least(topic_of(number))
        assert least is not None, "a topic that is balanced has subscribers that take part"
        return least if size > len(self.assignment[least]) + 1 else None

    def _size(self, member: int) -> int:
        if member in self._fixed:
            raise AssignorFailed(_ASIDE)
        return len(self.assignment[member])

    def _move(self, number: int, new: int) -> None:
        number = self._movements.to_move(number, self._owner[number], new)
        old = self._owner[number]
        self._movements.record(number, old, new)
        self._leave_order(old)
        if new != old:
            self._leave_order(new)
        if number in self.assignment[old]:
            self.assignment[old].remove(number)
        self.assignment[new].append(number)
        self._owner[number] = new
        insort(self._order, self._key(new))
        if new != old:
            insort(self._order, self._key(old))
        if not self._irregular:
            self._count_move(topic_of(number), old, new)
        self._irregular |= topic_of(number) not in self._subscribed[new]
        self._balanced = None

    def _count_move(self, topic: int, old: int, new: int) -> None:
        holders = self._holders[topic]
        holders[new] += 1
        holders[old] -= 1
        if not holders[old]:
            del holders[old]

    def _is_balanced(self) -> bool:
        if self._balanced is None:
            if not self._order:
                raise AssignorFailed(_ASIDE)
            sizes = len(self._by_rank)
            smallest, largest = self._order[0] // sizes, self._order[-1] // sizes
            if smallest >= largest - 1:
                self._balanced = True
            else:
                self._balanced = self._walk() if self._irregular else self._nobody_can_take(largest)
        return self._balanced

    def _nobody_can_take(self, largest: int) -> bool:
        most: dict[int, int] = {}
        for key in self._order:
            size, rank = divmod(key, len(self._by_rank))
            if size + self._slack >= largest:
                break
            member = self._by_rank[rank]
            if size == self._capacity[member]:
                continue
            for topic in self._subscriptions[member]:
                if topic not in most:
                    most[topic] = max(len(self.assignment[one]) for one in self._holders[topic])
                if size + self._slack < most[topic]:
                    return False
        return True

    def _walk(self) -> bool:
        """Walk as Kafka does: of several members of a partition, the last in its map counts."""
        holder = {
            number: member
            for member, partitions in enumerate(self.assignment)
            if member not in self._fixed
            for number in partitions
        }
        for key in self._order:
            size, rank = divmod(key, len(self._by_rank))
            member = self._by_rank[rank]
            if size == self._capacity[member]:
                continue
            mine = set(self.assignment[member])
            topics = self._subscriptions[member]
            for number in chain.from_iterable(map(self._numbers.of_topic, topics)):
                if number in mine:
                    continue
                if number not in holder:
                    raise AssignorFailed(_ASIDE)
                if size + self._slack < len(self.assignment[holder[number]]):
                    return False
        return True

    def _score(self, assignment: Sequence[list[int]]) -> int:
        """Return the sum of the differences in size of all pairs, as a 32-bit number of Java."""
        sizes = sorted(
            len(partitions)
            for member, partitions in enumerate(assignment)
            if member not in self._fixed
        )
        score = sum(size * (2 * place - len(sizes) + 1) for place, size in enumerate(sizes))
        return (score + (1 << 31)) % (1 << 32) - (1 << 31)


def subscribers_of(subscriptions: Sequence[Sequence[int]], topics: int) -> list[list[int]]:
    """Return the members that subscribe to each topic, as often as they name it."""
    subscribers: list[list[int]] = [[] for _ in range(topics)]
    for member, subscription in enumerate(subscriptions):
        for topic in subscription:
            subscribers[topic].append(member)
    return subscribers


_ASIDE = (
    "Kafka's sticky assignor fails on this group: it looks for a partition at a member that it had "
    "set aside; drop from what members own the topics they no longer subscribe to"
)
