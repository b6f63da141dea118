"""What each member of a consumer group reads before a plan and after it.

A plan changes what a group reads where it adds partitions to a topic or deletes one, and where
members have racks and replicas change theirs. The group then rebalances with its own assignor
(`group_rebalances`). Loads are bytes per second where the rates of all partitions that the group
reads are measured, else partitions; a topic that gets partitions keeps its load, spread evenly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupTopic
from poolkeeper.frozen import frozen
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.after_plan import after_plan
from poolkeeper.studies import group_rebalances
from poolkeeper.studies.consumer_study import StudyInput, measured_rates, study
from poolkeeper.studies.group_events import PlanCarriedOut, StudiedGroup, after_event, placed_topic
from poolkeeper.studies.study_names import member_labels


class PlannedMember(NamedTuple):
    """A member, by its id and a short name; what it reads then is None if nobody can tell."""

    id: str
    label: str
    partitions: int
    partitions_then: int | None
    load: float
    load_then: float | None


@frozen
class PlannedGroup:
    """A group before and after a plan.

    `assignor`: None if it is none of Kafka's own: what happens then is not known. `measured`: loads
    are bytes per second, else partitions. `changed`: partitions that another member reads then.
    `stopped`: the share of the load that nobody reads while the group rebalances.
    """

    name: str
    assignor: Assignor | None
    measured: bool
    members: tuple[PlannedMember, ...]
    changed: int | None
    stopped: float | None


@frozen
class GroupBefore:
    """A group as brokers tell of it: see `StudiedGroup`; `assignors` that it may have, if any."""

    group: StudiedGroup
    assignors: Sequence[Assignor]
    assignment: Assignment


def planned_groups(
    plan: Plan, cluster: Cluster, groups: Mapping[str, GroupBefore]
) -> tuple[PlannedGroup, ...]:
    """Study groups, by name."""
    placed = dict(after_plan(plan, cluster)) if groups else {}
    racks = {id_: broker.rack for id_, broker in cluster.brokers.items()}
    topics = {
        name: placed_topic((part.replicas for part in parts), racks)
        for name, parts in placed.items()
    }
    return tuple(_planned(name, each, topics, cluster) for name, each in sorted(groups.items()))


def _planned(
    name: str, before: GroupBefore, topics: Mapping[str, GroupTopic], cluster: Cluster
) -> PlannedGroup:
    group, assignor = before.group, next(iter(before.assignors), None)
    told = assignor or Assignor.RANGE
    planned = PlanCarriedOut(replace(group, topics=topics).read)
    rebalances = group_rebalances.rebalances(told, group, after_event(group, planned))
    events = (planned,) if rebalances and assignor is not None else ()
    start = ((told,), before.assignment) if before.assignment else None
    found = study(StudyInput(group, events, [told], measured_rates(cluster), start))
    (course,) = found.courses
    if not course.outcomes or (assignor is None and start is None):
        return PlannedGroup(name, assignor, found.measured, (), None, None)
    known = not rebalances or len(course.outcomes) > 1
    first, last = course.outcomes[0], course.outcomes[-1]
    labels = member_labels(found)
    members = tuple(
        PlannedMember(
            id_,
            labels.get(id_, id_),
            len(owned),
            len(last.assignment[id_]) if known else None,
            first.rates[id_],
            last.rates[id_] if known else None,
        )
        for id_, owned in sorted(first.assignment.items())
    )
    changed, stopped = (last.changed, last.stopped) if rebalances else (0, 0.0)
    if not known:
        return PlannedGroup(name, assignor, found.measured, members, None, None)
    return PlannedGroup(name, assignor, found.measured, members, changed, stopped)
