"""What an assignor makes of a group, rebalance after rebalance.

**Eager** assignors (range, round robin, sticky): every member gives up all that it has before it
joins, and gets its new partitions with the answer. In between nobody reads anything. Sticky tells
what it had, and gets most of it back, but stops as well.

**Cooperative** sticky: members keep reading what they have while they join. The first answer leaves
out what another member still has; whoever has to give something up does so, and joins again, and
the second answer gives it to its new owner. Only these partitions stop, and those of a member that
is gone. An answer depends on what members have. Where they subscribe to different topics, the
second one may take more away, and where racks count, what is read from another rack is given anew
each time: it may come back to who had it, and has stopped meanwhile.

A group rebalances for members that come or leave, and where the member that leads it sees a change
of the topics that they read: of their partitions and, where it has a rack, of the replicas' racks.

Members are identified by their names, in whose order the assignors list them. In a real group that
order is that of member ids, which begin with the client id.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember
from poolkeeper.frozen import frozen
from poolkeeper.studies.group_events import StudiedGroup

ROUNDS_MAX = 10
"""Cooperative groups come to rest after two, a few after five; a bound for what should not be."""
TIMED_RUNS = 3
LONG_S = 0.05

GroupPartition = tuple[str, int]
Timer = Callable[[], float]


@frozen
class Settled:
    """A group at rest after one event.

    `assignment`: who reads what at rest. `rounds`: the assignment after each rebalance, none where
    the group has none. `generation`: of the last. `seconds`: what the leader computes for all
    rounds.
    """

    assignment: Assignment
    rounds: tuple[Assignment, ...]
    generation: int
    seconds: float


def rebalances(assignor: Assignor, before: StudiedGroup, after: StudiedGroup) -> bool:
    """Whether a group that was `before` rebalances when it is `after`."""
    members = [{member.id for member in group.members} for group in (before, after)]
    return members[0] != members[1] or _seen(assignor, before) != _seen(assignor, after)


def _seen(assignor: Assignor, group: StudiedGroup) -> dict[str, object]:
    """What members see of their topics; clients that had the sticky assignor of 2.2 see no racks.

    The member that leads the group counts in truth: here it has a rack if one of them has.
    """
    if assignor is Assignor.STICKY_2_2 or all(member.rack is None for member in group.members):
        return {name: topic.partitions for name, topic in group.read.items()}
    return {
        name: (topic.partitions, [frozenset(racks) for racks in topic.racks or ()])
        for name, topic in group.read.items()
    }


def is_eager(assignor: Assignor) -> bool:
    """Whether members give up everything at each rebalance."""
    return assignor is not Assignor.COOPERATIVE_STICKY


def stopped_partitions(
    assignor: Assignor, owners: Mapping[GroupPartition, str], settled: Settled
) -> set[GroupPartition]:
    """What those who read it before, `owners`, did not read on with all through the rounds."""
    if is_eager(assignor):
        return set(owners if settled.rounds else ())
    stopped = set[GroupPartition]()
    for found in map(owners_of, settled.rounds):
        stopped.update(each for each, name in owners.items() if found.get(each) != name)
    return stopped


def settle(
    assignor: Assignor,
    group: StudiedGroup,
    before: Settled | None = None,
    timer: Timer = time.process_time,
) -> Settled:
    """Rebalance until nobody has to give anything up; `before`: what the members have.

    Members that are not in `before` have nothing and never had. Raises `AssignorFailed` where
    Kafka's assignor throws.
    """
    held: Mapping[str, list[GroupPartition]] = {} if before is None else before.assignment
    generation = 0 if before is None else before.generation
    rounds: list[Assignment] = []
    seconds = 0.0
    while len(rounds) < ROUNDS_MAX:
        members = [_with_owned(member, held, generation) for member in group.members]
        took_s, found = _timed(assignor, group, members, timer)
        seconds += took_s
        rounds.append(found)
        generation += 1
        revoked = any(set(held.get(id_, ())) - set(found[id_]) for id_ in found)
        held = found
        if is_eager(assignor) or not revoked:
            break
    return Settled(rounds[-1], tuple(rounds), generation, seconds)


def _timed(
    assignor: Assignor, group: StudiedGroup, members: list[GroupMember], timer: Timer
) -> tuple[float, Assignment]:
    """The assignment, and the least of some times: what takes long is computed once."""
    least_s = None
    for _ in range(TIMED_RUNS):
        began = timer()
        found = assign(assignor, group.topics, members)
        took_s = timer() - began
        least_s = took_s if least_s is None else min(took_s, least_s)
        if took_s > LONG_S:
            break
    assert least_s is not None
    return least_s, found


def _with_owned(
    member: GroupMember, held: Mapping[str, list[GroupPartition]], generation: int
) -> GroupMember:
    owned = held.get(member.id)
    if owned is None:
        return replace(member, owned=None, generation=None)
    return replace(member, owned=tuple(owned), generation=generation)


def owners_of(assignment: Assignment) -> dict[GroupPartition, str]:
    """The owner of each partition that has one."""
    return {each: member for member, partitions in assignment.items() for each in partitions}
