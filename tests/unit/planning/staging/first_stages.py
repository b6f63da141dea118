"""The first stage of some steps, filled without laws."""

from poolkeeper.model.columns.replica_lists import whole_numbers
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.filling.filler import StageFiller, Style
from poolkeeper.planning.staging.filling.pace import pace_of
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity


def first_stage(entries: EntryTable, execution: Execution, style: Style, cap: int) -> list[int]:
    """The rows of the first stage; `cap`: how many partitions of a topic may be in one."""
    backlog = Backlog(entries)
    caps = whole_numbers([cap] * len(entries.topics))
    pace = pace_of(backlog.all, backlog.queues, backlog, execution, most_of_topic=caps)
    room = StageCapacity(entries, execution, DEFAULT_BOUNDS, caps.tolist(), pace.span_bytes)

    def join(row: int) -> bool:
        if not room.fits(row):
            return False
        backlog.take(row)
        room.take(row)
        return True

    StageFiller(backlog, backlog.queues, room, pace, execution, join, style).run()
    return room.taken
