"""The study of a consumer group as text, and as JSON values."""

from collections.abc import Callable, Iterator, Sequence

from poolkeeper.algorithms.assignors.group import Assignment, Assignor
from poolkeeper.cli.output.ink import Ink
from poolkeeper.studies.consumer_study import AssignorCourse, ConsumerStudy, EventOutcome
from poolkeeper.studies.group_rebalances import GroupPartition, is_eager
from poolkeeper.studies.study_names import (
    ASSIGNOR_NAMES,
    member_labels,
    named_partitions,
    own_assignor_note,
    shown_change,
    shown_load,
    static_members_note,
)
from poolkeeper.text import count, more, percent

MEMBERS_MAX = 20
"""The most members of each assignor that are shown; JSON has all of them."""
_CELL_MAX = 44


def lines(study: ConsumerStudy, ink: Ink) -> Iterator[str]:
    """The lines of the study."""
    labels = member_labels(study)
    yield from ink.fold(_head(study, labels))
    yield ""
    yield ink.bold("Who reads what")
    yield from ink.table(list(_ownership(study, labels)), names=len(study.events) + 3)
    if study.events:
        yield ""
        unit = "bytes per second" if study.measured else "partitions"
        yield ink.bold(f"What each member reads, in {unit}")
        yield from ink.table(list(_loads(study, labels)), names=2)
        yield ""
        yield ink.bold(f"What each member gains or loses, in {unit}")
        yield from ink.table(list(_changes(study, labels)), names=2)
        yield ""
        yield ink.bold("What it costs")
        yield from ink.table(list(_costs(study)), names=2)
        if note := static_members_note(study):
            yield from ink.fold(note)
    for course in study.courses:
        if course.failure:
            yield f"{ASSIGNOR_NAMES[course.assignor]}: Kafka's assignor fails: {course.failure}"


def _head(study: ConsumerStudy, labels: dict[str, str]) -> str:
    group = study.group
    read = group.read
    topics = ", ".join(f"{name} ({t.partitions})" for name, t in sorted(read.items()))
    partitions = sum(topic.partitions for topic in read.values())
    unit = "measured bytes per second" if study.measured else "partitions"
    members = count(len(group.members), "member")
    if len(group.members) <= MEMBERS_MAX:
        members = ", ".join(f"{labels[m.id]} ({' '.join(m.topics)})" for m in group.members)
    verb = "reads" if len(group.members) == 1 else "read"
    told = f"{members} {verb} {count(partitions, 'partition')}: {topics}. Loads are {unit}."
    return " ".join(filter(None, (told, own_assignor_note(study))))


def _ownership(study: ConsumerStudy, labels: dict[str, str]) -> Iterator[tuple[str, ...]]:
    def owned(outcome: EventOutcome | None, member: str) -> str:
        return _owned(None if outcome is None else outcome.assignment.get(member))

    return _by_member(study, labels, owned)


def _loads(study: ConsumerStudy, labels: dict[str, str]) -> Iterator[tuple[str, ...]]:
    def load(outcome: EventOutcome | None, member: str) -> str:
        found = None if outcome is None else outcome.rates.get(member)
        return "-" if found is None else shown_load(found, measured=study.measured)

    return _by_member(study, labels, load)


def _changes(study: ConsumerStudy, labels: dict[str, str]) -> Iterator[tuple[str, ...]]:
    def change(outcome: EventOutcome | None, member: str) -> str:
        found = None if outcome is None else outcome.rate_changes.get(member)
        return "-" if found is None else shown_change(found, measured=study.measured)

    for assignor, member, _, *events in _by_member(study, labels, change):
        yield (assignor, member, *events)


def _by_member(
    study: ConsumerStudy,
    labels: dict[str, str],
    cell: Callable[[EventOutcome | None, str], str],
) -> Iterator[tuple[str, ...]]:
    """The rows of a table with a row for each member and a column for each moment."""
    yield ("ASSIGNOR", "MEMBER", "START", *map(str, study.events))
    members = [each.id for each in study.group.members]
    for course in study.courses:
        name = ASSIGNOR_NAMES[course.assignor]
        moments: list[EventOutcome | None] = list(course.outcomes)
        moments += [None] * (1 + len(study.events) - len(moments))
        for place, member in enumerate(members[:MEMBERS_MAX]):
            yield ("" if place else name, labels[member], *(cell(each, member) for each in moments))
        if cut := more(len(members) - MEMBERS_MAX, "member"):
            yield ("", f"… {cut}", *("" for _ in moments))


def _owned(partitions: Sequence[GroupPartition] | None) -> str:
    if partitions is None:
        return "-"
    said = named_partitions(partitions) or "nothing"
    return said if len(said) <= _CELL_MAX else count(len(partitions), "partition")


def _costs(study: ConsumerStudy) -> Iterator[tuple[str, ...]]:
    local = any(o.local is not None for c in study.courses for o in c.outcomes)
    heading = ("EVENT", "ASSIGNOR", "CHANGE HANDS", "RESHUFFLED", "STOP", "ROUNDS")
    yield (*heading, *(("IN THE RACK",) if local else ()), "COMPUTED")
    for place, event in enumerate(study.events, 1):
        for course in study.courses:
            if place < len(course.outcomes):
                outcome = course.outcomes[place]
                first = "" if course is not study.courses[0] else str(event)
                yield (first, *_cost(course.assignor, outcome, local=local))


def _cost(assignor: Assignor, outcome: EventOutcome, *, local: bool) -> tuple[str, ...]:
    in_rack = () if not local else ("-" if outcome.local is None else str(outcome.local),)
    return (
        ASSIGNOR_NAMES[assignor],
        str(outcome.changed),
        str(outcome.reshuffled),
        percent(100 * outcome.stopped),
        str(len(outcome.settled.rounds)),
        *in_rack,
        f"{outcome.settled.seconds * 1000:.2f} ms",
    )


def as_data(study: ConsumerStudy) -> dict[str, object]:
    """Return the study as JSON values; loads are bytes per second, or partitions."""
    return {
        "topics": {name: topic.partitions for name, topic in sorted(study.group.topics.items())},
        "members": [
            {"id": m.id, "instance": m.instance_id, "rack": m.rack, "topics": list(m.topics)}
            for m in study.group.members
        ],
        "loads": "bytesPerSecond" if study.measured else "partitions",
        "ownAssignors": None if study.own is None else [each.value for each in study.own],
        "assignors": [_course_data(course) for course in study.courses],
    }


def _course_data(course: AssignorCourse) -> dict[str, object]:
    return {
        "assignor": course.assignor.value,
        "eager": is_eager(course.assignor),
        "failure": course.failure or None,
        "events": [_outcome_data(outcome) for outcome in course.outcomes],
    }


def _outcome_data(outcome: EventOutcome) -> dict[str, object]:
    return {
        "event": outcome.event,
        "assignment": _assignment_data(outcome.assignment),
        "rounds": [_assignment_data(each) for each in outcome.settled.rounds],
        "changed": outcome.changed,
        "reshuffled": outcome.reshuffled,
        "stoppedShare": round(outcome.stopped, 6),
        "loadsBefore": dict(sorted(outcome.rates_before.items())),
        "loadsMeanwhile": dict(sorted(outcome.rates_meanwhile.items())),
        "loads": dict(sorted(outcome.rates.items())),
        "loadChanges": outcome.rate_changes,
        "largestChange": outcome.largest_change,
        "spread": outcome.spread,
        "inTheRack": outcome.local,
        "computeSeconds": round(outcome.settled.seconds, 6),
    }


def _assignment_data(assignment: Assignment) -> dict[str, object]:
    return {
        member: [list(each) for each in partitions]
        for member, partitions in sorted(assignment.items())
    }
