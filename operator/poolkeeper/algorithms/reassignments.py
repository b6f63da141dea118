"""The algebra of a reassignment: what is between the old replica list and the new one.

**2.4 and later.** A partition's state is (R, A, M): its replicas, those being added, those being
removed. Order is kept throughout.

    origin = R - A        target = R - M        being reassigned  <=>  A or M is not empty
    reassign to T:   R' = T ++ origin without repetitions,   A' = R' - origin,   M' = R' - T
    complete  <=>  not being reassigned, or the target is a subset of the ISR

[1,2,3] → [4,5,6] is R = [4,5,6,1,2,3]; → [7,8,9] from there is R = [7,8,9,1,2,3]: 4, 5 and 6 are
dropped; → [1,2,3] ends it, a cancellation. A cancellation restores the set, not always the order:
[1,2,3] → [3,4,2] in flight is [3,4,2,1], whose origin reads [3,2,1].

**2.3 and earlier.** The topic node holds nothing but the union of new and old, and nothing tells
which is which; whoever needs the old list or its order has to remember it. New then old is the
order in the node up to four elements; above, it is that of a hash set. The move is complete when
the target is a subset of the ISR.

Checked against the vectors of Kafka's tests and the transaction logs of live controllers.
"""

from collections.abc import Collection, Iterable, Sequence

from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Replicas


@frozen
class ReplicaAssignment:
    """One partition's replicas, with those being added and removed (2.4 and later)."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def origin(self) -> Replicas:
        """The list before the move, as far as its order survived."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> Replicas:
        """The list after the move."""
        return _without(self.replicas, self.removing)

    @property
    def being_reassigned(self) -> bool:
        """Whether a move is under way."""
        return bool(self.adding or self.removing)

    def reassign_to(self, target: Sequence[int]) -> "ReplicaAssignment":
        """The state right after the controller took a request; also the way to cancel one."""
        replicas = _distinct((*target, *self.origin))
        adding, removing = _without(replicas, self.origin), _without(replicas, target)
        return ReplicaAssignment(replicas, adding, removing)

    def completed(self) -> "ReplicaAssignment":
        """The state after the move."""
        return ReplicaAssignment(self.target)


def union(current: Sequence[int], target: Sequence[int]) -> Replicas:
    """What the topic node of 2.3 and earlier holds during a move: [1,2] → [3,1] is [3,1,2].

    Above four elements only the set is certain: compare with `is_union`.
    """
    return _distinct((*target, *current))


def is_union(replicas: Sequence[int], current: Sequence[int], target: Sequence[int]) -> bool:
    """Whether that list, in any order, is the union of the two, nothing twice."""
    return sorted(replicas) == sorted({*current, *target})


def _distinct(replicas: Iterable[int]) -> Replicas:
    return tuple(dict.fromkeys(replicas))


def _without(replicas: Sequence[int], gone: Collection[int]) -> Replicas:
    return tuple(replica for replica in replicas if replica not in gone)
