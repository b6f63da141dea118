"""How members, assignors, partitions and loads of a studied group are called."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from poolkeeper.algorithms.assignors.group import Assignor
from poolkeeper.studies.consumer_study import ConsumerStudy
from poolkeeper.studies.group_events import MemberLeaves
from poolkeeper.studies.group_rebalances import GroupPartition
from poolkeeper.text import few, size

ASSIGNOR_NAMES: Mapping[Assignor, str] = {
    Assignor.RANGE: "range",
    Assignor.ROUND_ROBIN: "round robin",
    Assignor.STICKY: "sticky",
    Assignor.COOPERATIVE_STICKY: "cooperative sticky",
    Assignor.STICKY_2_2: "sticky of 2.2",
}
NAMES_MAX = 10
"""The most members that a sentence names."""
_RANDOM_PART = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What a broker adds to the client id of a member."""


def member_labels(study: ConsumerStudy) -> dict[str, str]:
    """A short name for each member's id: the client id, where that is one member's alone."""
    ids = [member.id for member in study.group.members]
    short = {id_: _RANDOM_PART.sub("", id_) for id_ in ids}
    taken = Counter(short.values())
    return {id_: name if taken[name] == 1 else id_ for id_, name in short.items()}


def own_assignor_note(study: ConsumerStudy) -> str:
    """Which assignor a live group has; empty for a group that is supposed."""
    if study.own is None:
        return ""
    if not study.own:
        return (
            "The group's own assignor is none of those studied: what it does is not known, and they"
            " begin anew, not with what its members read now."
        )
    return f"The group's own assignor is {' or '.join(ASSIGNOR_NAMES[each] for each in study.own)}."


def static_members_note(study: ConsumerStudy) -> str:
    """What an event leaves out where static members leave; empty where none does."""
    static = {member.id for member in study.group.members if member.instance_id is not None}
    leaving = [e.member for e in study.events if isinstance(e, MemberLeaves) and e.member in static]
    if not leaving:
        return ""
    labels = member_labels(study)
    names = few((labels[id_] for id_ in dict.fromkeys(leaving)), NAMES_MAX)
    return (
        f"Static members leave when they have been away for session.timeout.ms, not when they stop"
        f" ({names}): back by then, they read on what they had, and nothing changes hands."
    )


def named_partitions(partitions: Iterable[GroupPartition]) -> str:
    """Write partitions by topic: t0 0-3 7, t1 2."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(partitions):
        topics[topic].append(number)
    return ", ".join(f"{topic} {_runs(numbers)}" for topic, numbers in topics.items())


def _runs(numbers: list[int]) -> str:
    """Write ascending numbers, runs of three or more by their ends: 0-3 5 6."""
    starts = [0, *(p for p, (a, b) in enumerate(pairwise(numbers), 1) if b != a + 1), len(numbers)]
    found: list[str] = []
    for begin, end in pairwise(starts):
        run = numbers[begin:end]
        found += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return " ".join(found)


def shown_load(load: float, *, measured: bool) -> str:
    """Write a load: bytes per second, or a number of partitions."""
    return f"{size(load)}/s" if measured else f"{load:g}"


def shown_change(change: float, *, measured: bool) -> str:
    """Write what a member gains, or loses: +3, -1.2 MiB/s."""
    sign = "+" if change > 0 else "-" if change < 0 else ""
    return sign + shown_load(abs(change), measured=measured)
