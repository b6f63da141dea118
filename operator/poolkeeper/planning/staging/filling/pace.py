"""What one stage should carry, so that the stages left do not last longer than they must."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.makespan_bound import level_bytes
from poolkeeper.planning.staging.queues import Backlog, SideQueue
from poolkeeper.planning.staging.side_loads import SideLoads

_HEADS = 8
"""Steps at the large end of a queue among which the largest in all its replicas is looked for."""

_USUAL = 2
"""A stage is scarce only if its largest entry is as many times what one stage should carry."""

_PART = 25
"""A stage is scarce only if its largest entry is above one in so many bytes of the busiest side."""

Queues = Mapping[int, Mapping[int, SideQueue]]
"""By urgency and bottleneck."""


class StagePace(NamedTuple):
    """What one stage should carry of these loads.

    `stages`: the fewest stages that are left.
    `span_bytes`: the most bytes of a side.
    `level_bytes`: what a side may have left after the stage.
    `largest_bytes`: the largest entry's.
    `first`: steps that go first, in that order.
    """

    loads: SideLoads
    stages: int
    span_bytes: int
    level_bytes: int
    largest_bytes: int
    first: Sequence[int] = ()

    @property
    def is_scarce(self) -> bool:
        """Whether the largest step sets the length of the next stage, and much of the plan's."""
        busiest = self.loads.busiest_bytes
        usual = self.largest_bytes * self.stages >= _USUAL * busiest
        return usual and self.largest_bytes * _PART > busiest


def pace_of(
    loads: SideLoads,
    queues: Queues,
    backlog: Backlog,
    execution: Execution,
    *,
    most_of_topic: Ints | None = None,
    span_percent: int = 100,
) -> StagePace:
    """The pace for the loads that are left; `span_percent`: the span in percent of the usual.

    `queues`: those of the backlog that these loads are of.
    `most_of_topic`: the caps by topic of the table, if they count.
    """
    replicas, size = loads.busiest_replicas, loads.busiest_bytes
    stages = max(
        -(-replicas // execution.max_moves_per_broker),
        -(-loads.replicas // execution.max_moves),
        -(-loads.bytes // execution.max_bytes),
        1,
    )
    first: Sequence[int] = ()
    if most_of_topic is not None:
        stages = max(stages, backlog.stages_of_topics(most_of_topic, stages))
        first = backlog.first_of_topics(most_of_topic)
    gone, carried = backlog.gone, backlog.table.bytes
    heads = [row for sides in queues.values() for q in sides.values() for row in q.rows[:_HEADS]]
    largest = max([carried[row] for row in heads if not gone[row]], default=0)
    usual = max(largest, -(-size // stages) + size // max(1, replicas))
    span = usual * span_percent // 100
    level = max(0, size - span)
    for out in (0, 1):
        loaded = loads.bytes_of[out::2]
        if sum([load - level for load in loaded if load > level]) > execution.max_bytes:
            level = max(level, level_bytes(loaded, execution.max_bytes))
    return StagePace(loads, stages, span, level, largest, first)
