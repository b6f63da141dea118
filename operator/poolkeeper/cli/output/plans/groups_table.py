"""What members of consumer groups read before a plan and after it, as text and as JSON values."""

from collections.abc import Iterator, Sequence

from poolkeeper.cli.output.ink import Ink
from poolkeeper.studies.planned_groups import PlannedGroup, PlannedMember
from poolkeeper.studies.study_names import ASSIGNOR_NAMES, shown_load
from poolkeeper.text import more, percent

MEMBERS_MAX = 20
"""The most members of a group that are shown; JSON has all of them."""


def lines(groups: Sequence[PlannedGroup], ink: Ink) -> Iterator[str]:
    """The lines of the table; none without groups."""
    if not groups:
        return
    heading = ("GROUP", "MEMBER", "PARTITIONS", "THEN", "READS", "THEN", "CHANGE HANDS", "STOP")
    yield ink.bold("Consumer groups")
    yield from ink.table([heading, *(row for group in groups for row in _rows(group))])


def _rows(group: PlannedGroup) -> Iterator[tuple[str, ...]]:
    changed = "?" if group.changed is None else f"{group.changed:,}"
    stopped = "?" if group.stopped is None else percent(100 * group.stopped)
    assignor = "unknown" if group.assignor is None else ASSIGNOR_NAMES[group.assignor]
    yield (group.name, f"({assignor})", *([""] * 4), changed, stopped)
    for member in group.members[:MEMBERS_MAX]:
        yield ("", member.label, *_cells(member, measured=group.measured), "", "")
    if cut := more(len(group.members) - MEMBERS_MAX, "member"):
        yield ("", f"… {cut}", *([""] * 6))


def _cells(member: PlannedMember, *, measured: bool) -> tuple[str, ...]:
    then = member.partitions_then
    loads = (member.load, member.load_then) if measured else (None, None)
    shown = ("-" if load is None else shown_load(load, measured=True) for load in loads)
    return (f"{member.partitions:,}", "?" if then is None else f"{then:,}", *shown)


def as_data(groups: Sequence[PlannedGroup]) -> list[dict[str, object]]:
    """The groups as JSON values; loads are bytes per second, or partitions; null: not known."""
    return [
        {
            "group": group.name,
            "assignor": None if group.assignor is None else group.assignor.value,
            "loads": "bytesPerSecond" if group.measured else "partitions",
            "members": [
                {
                    "member": member.id,
                    "partitions": member.partitions,
                    "partitionsThen": member.partitions_then,
                    "load": round(member.load, 3),
                    "loadThen": None if member.load_then is None else round(member.load_then, 3),
                }
                for member in group.members
            ],
            "changed": group.changed,
            "stoppedShare": None if group.stopped is None else round(group.stopped, 6),
        }
        for group in groups
    ]
