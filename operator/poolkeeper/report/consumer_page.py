"""The study of a consumer group as a page: a timeline for each assignor, and the figures."""

from collections.abc import Iterator

from poolkeeper.report.document import Cell, Report, Row, Section, Tile, name, number, share, table
from poolkeeper.report.html import page
from poolkeeper.report.html.group_timelines import group_picture, standalone
from poolkeeper.studies.consumer_study import AssignorCourse, ConsumerStudy
from poolkeeper.studies.group_rebalances import is_eager
from poolkeeper.studies.study_names import (
    ASSIGNOR_NAMES,
    member_labels,
    named_partitions,
    own_assignor_note,
    shown_change,
    shown_load,
    static_members_note,
)
from poolkeeper.text import count, percent

ROWS_MAX = 200


def consumer_page(study: ConsumerStudy) -> str:
    """One self-contained HTML page."""
    return page.render(document(study))


def consumer_pictures(study: ConsumerStudy) -> str:
    """The timelines alone, below each other in one SVG."""
    return standalone([group_picture(study, course) for course in study.courses])


def document(study: ConsumerStudy) -> Report:
    """The page before it is rendered."""
    group = study.group
    partitions = sum(topic.partitions for topic in group.read.values())
    unit = "bytes per second as measured" if study.measured else "partitions"
    verb = "reads" if len(group.members) == 1 else "read"
    lead = (
        f"{count(len(group.members), 'member')} {verb} {count(partitions, 'partition')} of"
        f" {count(len(group.read), 'topic')}. Loads are {unit}. The width of a rebalance says"
        " nothing of how long it takes."
    )
    lead = " ".join(filter(None, (lead, own_assignor_note(study))))
    costs = table("What each event costs", _COLUMNS, _costs(study), ROWS_MAX, "event")
    changes = table(
        "What each member gains or loses",
        ("Event", "Assignor", "Member", "Gains or loses"),
        _changes(study),
        ROWS_MAX,
        "row",
    )
    columns = ("Assignor", "Event", "Member", "Reads", "Load")
    owned = table("Who reads what", columns, _owned(study), ROWS_MAX, "row")
    sections = [
        Section(
            "With each assignor", pictures=tuple(group_picture(study, c) for c in study.courses)
        ),
        Section("What it costs", _notes(study), tables=costs + changes),
        Section("Who reads what", tables=owned, folded="The assignments"),
    ]
    return Report("What happens to a consumer group", lead, tuple(_tiles(study)), tuple(sections))


_COLUMNS = (
    "Event",
    "Assignor",
    "Change hands",
    "Reshuffled",
    "Stops",
    "Rounds",
    "Largest change",
    "Spread",
    "Computed",
)


def _tiles(study: ConsumerStudy) -> Iterator[Tile]:
    """What assignors differ in: the moves between members that stay, and what stops."""
    for course in study.courses:
        reshuffled = sum(outcome.reshuffled for outcome in course.outcomes)
        most = max((outcome.stopped for outcome in course.outcomes), default=0.0)
        label = f"reshuffled, {percent(100 * most)} stops: {ASSIGNOR_NAMES[course.assignor]}"
        yield Tile(f"{reshuffled:,}", label, "" if reshuffled else "good")


def _notes(study: ConsumerStudy) -> tuple[str, ...]:
    failures = (
        f"{ASSIGNOR_NAMES[course.assignor]}: Kafka's assignor fails: {course.failure}"
        for course in study.courses
        if course.failure
    )
    note = static_members_note(study)
    return (*failures, *((note,) if note else ()))


def _costs(study: ConsumerStudy) -> Iterator[Row]:
    for place in range(1, 1 + len(study.events)):
        for course in study.courses:
            if place < len(course.outcomes):
                yield _cost(course, place, measured=study.measured)


def _cost(course: AssignorCourse, place: int, *, measured: bool) -> Row:
    outcome = course.outcomes[place]
    computed = outcome.settled.seconds * 1000
    return (
        Cell(outcome.event),
        Cell(f"{ASSIGNOR_NAMES[course.assignor]} ({_kind(course)})"),
        number(outcome.changed),
        number(outcome.reshuffled),
        share(outcome.stopped),
        number(len(outcome.settled.rounds)),
        number(shown_load(outcome.largest_change, measured=measured), order=outcome.largest_change),
        number(shown_load(outcome.spread, measured=measured), order=outcome.spread),
        number(f"{computed:.2f} ms", order=computed),
    )


def _changes(study: ConsumerStudy) -> Iterator[Row]:
    labels = member_labels(study)
    for place in range(1, 1 + len(study.events)):
        for course in study.courses:
            for outcome in course.outcomes[place : place + 1]:
                for member, change in outcome.rate_changes.items():
                    yield (
                        Cell(outcome.event),
                        Cell(ASSIGNOR_NAMES[course.assignor]),
                        name(labels[member]),
                        number(shown_change(change, measured=study.measured), order=change),
                    )


def _kind(course: AssignorCourse) -> str:
    return "eager" if is_eager(course.assignor) else "cooperative"


def _owned(study: ConsumerStudy) -> Iterator[Row]:
    labels = member_labels(study)
    for course in study.courses:
        for outcome in course.outcomes:
            for member, partitions in sorted(outcome.assignment.items()):
                load = outcome.rates[member]
                yield (
                    Cell(ASSIGNOR_NAMES[course.assignor]),
                    Cell(outcome.event),
                    name(labels[member]),
                    Cell(named_partitions(partitions)),
                    number(shown_load(load, measured=study.measured), order=load),
                )
