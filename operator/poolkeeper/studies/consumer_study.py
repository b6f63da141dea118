"""A consumer group through a course of events, with each assignor: who reads what, what it costs.

What is told of an event, from the group at rest before it to the group at rest after it:

    changed     partitions that another member reads then, or nobody; `reshuffled` of them went
                from one member to another that were both there before and after
    rates       what each member reads, in bytes per second where the rates of all partitions are
                measured, else in partitions: a partition is then one unit of load. A topic that
                gets partitions keeps its bytes per second, spread evenly over all of them.
                `rate_changes` is what each member gains, or loses
    stopped     the share of the load that nobody reads for some time: with an eager assignor all of
                it, with the cooperative one what changes hands (`group_rebalances`), if only for
                a round;
                `rates_meanwhile` is what each member goes on reading
    rounds      the rebalances until the group is at rest; none, and nothing stops, where its
                members see nothing of the event
    seconds     what the leader computes, here: compare assignors by it, not clusters
    local       partitions with a replica in the rack of their reader

How long nobody reads is not studied: it is the time that members take to join, which is up to the
slowest of them. A member that dies is missed after `session.timeout.ms` (45 s from 3.0 on, 10 s
before), and what it read waits as long, whatever the assignor.
"""

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

from poolkeeper.algorithms.assignors.group import Assignment, Assignor, AssignorFailed
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Cluster
from poolkeeper.studies.group_events import GroupEvent, StudiedGroup, after_event
from poolkeeper.studies.group_rebalances import (
    GroupPartition,
    Settled,
    Timer,
    owners_of,
    rebalances,
    settle,
    stopped_partitions,
)

START = "start"


@frozen
class EventOutcome:
    """What one event does to the group; without an event it is the start, when all members join.

    `rates_before`, `rates_meanwhile`, `rates`: by member, without those that are not there.
    """

    event: str
    group: StudiedGroup
    settled: Settled
    changed: int
    reshuffled: int
    stopped: float
    rates_before: Mapping[str, float]
    rates_meanwhile: Mapping[str, float]
    rates: Mapping[str, float]
    local: int | None

    @property
    def assignment(self) -> Assignment:
        """Who reads what at rest."""
        return self.settled.assignment

    @property
    def rate_changes(self) -> dict[str, float]:
        """What each member gains that is there before or after; what it loses is negative.

        A sum of the same rates in another order is no change.
        """
        changes = {}
        for member in sorted(self.rates.keys() | self.rates_before.keys()):
            before, after = self.rates_before.get(member, 0.0), self.rates.get(member, 0.0)
            changes[member] = 0.0 if math.isclose(before, after) else after - before
        return changes

    @property
    def largest_change(self) -> float:
        """The most that one of the members gains or loses that are there before and after."""
        staying = self.rates.keys() & self.rates_before.keys()
        changes = self.rate_changes
        return max((abs(changes[member]) for member in staying), default=0.0)

    @property
    def spread(self) -> float:
        """What the busiest member reads more than the idlest one."""
        return max(self.rates.values(), default=0.0) - min(self.rates.values(), default=0.0)


@frozen
class AssignorCourse:
    """The course of events with one assignor; `failure`: why it ended early, in Kafka's way."""

    assignor: Assignor
    outcomes: tuple[EventOutcome, ...]
    failure: str = ""


@frozen
class ConsumerStudy:
    """All courses. `measured`: loads are bytes per second, else they are partitions.

    `own`: the assignors that a live group may have, as in `StudyInput`.
    """

    group: StudiedGroup
    events: tuple[GroupEvent, ...]
    courses: tuple[AssignorCourse, ...]
    measured: bool
    own: tuple[Assignor, ...] | None = None


@frozen
class StudyInput:
    """A group, what happens to it, and what is known of it.

    `rates`: bytes per second of partitions; used if those of all are there. `observed`: who reads
    what now, with the assignors that the group may have: their courses start from that. `own`:
    these assignors of a live group, none if it has one that is not studied; None: it is supposed.
    """

    group: StudiedGroup
    events: Sequence[GroupEvent] = ()
    assignors: Sequence[Assignor] = tuple(Assignor)
    rates: Mapping[GroupPartition, float] = field(default_factory=dict)
    observed: tuple[Collection[Assignor], Assignment] | None = None
    own: tuple[Assignor, ...] | None = None


def measured_rates(cluster: Cluster) -> dict[GroupPartition, float]:
    """The bytes per second of all partitions of which they are known."""
    return {
        (name, partition.partition): partition.in_bytes_per_s
        for name, topic in cluster.topics.items()
        for partition in topic.partitions
        if partition.in_bytes_per_s is not None
    }


def study(given: StudyInput, timer: Timer = time.process_time) -> ConsumerStudy:
    """Follow the course with each assignor; raises `Refused` for an event that cannot happen."""
    groups = [given.group]
    for event in given.events:
        groups.append(after_event(groups[-1], event))
    partitions = {
        (topic, number)
        for topic, each in given.group.read.items()
        for number in range(each.partitions)
    }
    measured = bool(partitions) and partitions <= given.rates.keys()
    rates = given.rates if measured else {}
    courses = tuple(_course(assignor, given, groups, rates, timer) for assignor in given.assignors)
    return ConsumerStudy(given.group, tuple(given.events), courses, measured, given.own)


def _course(
    assignor: Assignor,
    given: StudyInput,
    groups: Sequence[StudiedGroup],
    rates: Mapping[GroupPartition, float],
    timer: Timer,
) -> AssignorCourse:
    outcomes: list[EventOutcome] = []
    settled: Settled | None = None
    try:
        for place, group in enumerate(groups):
            before = settled
            if place == 0 and given.observed is not None and assignor in given.observed[0]:
                start = given.observed[1]
                settled = Settled(start, (start,), 1, 0.0)
            elif before is not None and not rebalances(assignor, groups[place - 1], group):
                settled = replace(before, rounds=(), seconds=0.0)
            else:
                settled = settle(assignor, group, before, timer)
            event = str(given.events[place - 1]) if place else START
            earlier = _Moment(groups[max(0, place - 1)], before, given.group, rates)
            now = _Moment(group, settled, given.group, rates)
            outcomes.append(_outcome(event, earlier, now, assignor))
    except AssignorFailed as failed:
        return AssignorCourse(assignor, tuple(outcomes), str(failed))
    return AssignorCourse(assignor, tuple(outcomes))


class _Moment:
    """A group at rest, with the load of each of its partitions; `settled` is None before all."""

    def __init__(
        self,
        group: StudiedGroup,
        settled: Settled | None,
        measured: StudiedGroup,
        rates: Mapping[GroupPartition, float],
    ) -> None:
        self.group = group
        self.settled = settled
        self.assignment: Assignment = {} if settled is None else settled.assignment
        self._rates = _rates_of(group, measured, rates)

    def load(self, partitions: Collection[GroupPartition]) -> float:
        """The load of partitions; without any rates how many there are.

        Members of a live group may still have partitions that are gone: those have no rate.
        """
        if not self._rates:
            return float(len(partitions))
        return sum(self._rates.get(each, 0.0) for each in partitions)

    def loads(self) -> dict[str, float]:
        """The load of each member."""
        return {member: self.load(found) for member, found in self.assignment.items()}


def _outcome(event: str, before: _Moment, now: _Moment, assignor: Assignor) -> EventOutcome:
    assert now.settled is not None
    owner_before, owner = owners_of(before.assignment), owners_of(now.assignment)
    staying = before.assignment.keys() & now.assignment.keys()
    changed = [each for each, name in owner_before.items() if owner.get(each) != name]
    stopped = stopped_partitions(assignor, owner_before, now.settled)
    load = before.load(owner_before)
    return EventOutcome(
        event,
        now.group,
        now.settled,
        len(changed),
        sum(owner_before[each] in staying and owner.get(each) in staying for each in changed),
        before.load(stopped) / load if load else 0.0,
        before.loads(),
        {
            member: before.load(set(before.assignment[member]) - stopped)
            for member in now.assignment
            if member in staying
        },
        now.loads(),
        _local(now.group, now.assignment),
    )


def _rates_of(
    group: StudiedGroup, measured: StudiedGroup, rates: Mapping[GroupPartition, float]
) -> Mapping[GroupPartition, float]:
    """The rates once topics have grown since they were measured; a new topic has nothing yet."""
    if not rates:
        return rates
    found = dict(rates)
    for name, topic in group.read.items():
        if name not in measured.topics:
            found |= {(name, number): 0.0 for number in range(topic.partitions)}
            continue
        before = measured.topics[name].partitions
        if topic.partitions != before:
            total = sum(rates[name, number] for number in range(before))
            evenly = dict.fromkeys(range(topic.partitions), total / topic.partitions)
            found |= {(name, number): rate for number, rate in evenly.items()}
    return found


def _local(group: StudiedGroup, assignment: Assignment) -> int | None:
    """How many partitions have a replica in the rack of their reader; None without any rack."""
    racks = {member.id: member.rack for member in group.members if member.rack is not None}
    known = {name: topic.racks for name, topic in group.topics.items() if topic.racks is not None}
    if not racks or not known:
        return None
    return sum(
        racks[member] in known[topic][number]
        for member, partitions in assignment.items()
        if member in racks
        for topic, number in partitions
        if topic in known and number < len(known[topic])
    )
