"""The values of `schedule`: the work, what the budget allows, and the schedule.

Times are whole milliseconds from the schedule's begin, rates whole bytes per second. So figures
that add up to a budget do so exactly, on every machine.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Window

MIB = 1024**2
UNBOUNDED = 2**62
"""Stands for a rate or a time that nothing limits."""
LATEST_S = 100 * 365 * 86_400
"""No schedule goes on for longer: its end has to be a time that a calendar has."""


class ScheduledStage(NamedTuple):
    """A slice of a plan that begins and ends at once: what a cluster copies in one request.

    `least_ms`: its duration without a limit from the budget (its busiest broker at the throttle's
    rate).
    `urgency`: 0 heal, 1 drain, 2 pool migration, 3 replication factor, 4 balance.
    `gain`: the improvement, in any unit that all clusters share.
    """

    bytes: int
    least_ms: int = 0
    urgency: int = 4
    gain: float = 0.0


@frozen
class ClusterWork:
    """The stages of one cluster, to be done in this order; its own windows, if it has any."""

    cluster: str
    stages: tuple[ScheduledStage, ...]
    site: str = ""
    windows: tuple[Window, ...] = ()


@frozen
class RatedWindow:
    """A window of the whole fleet; `bytes_per_s`: its own rate, else the fleet's."""

    window: Window
    bytes_per_s: int | None = None


@frozen
class Budget:
    """What all clusters together may use; `None` and absent sites: no limit.

    `windows`: no stage runs outside of them; if several are open, the highest rate counts.
    `clusters_max`: clusters that move at one time.
    `least_bytes_per_s`: no stage begins with less, unless it needs less or the budget is less.
    `horizon_s`: how far ahead windows are computed.
    """

    bytes_per_s: int | None = None
    sites: Mapping[str, int] = field(default_factory=dict)
    windows: tuple[RatedWindow, ...] = ()
    clusters_max: int | None = None
    least_bytes_per_s: int = MIB
    horizon_s: int = 90 * 86_400


class Slice(NamedTuple):
    """A part of a stage at one rate; `stage` is the stage's place in the cluster's work."""

    cluster: str
    stage: int
    begin_ms: int
    end_ms: int
    bytes_per_s: int


class Turn(NamedTuple):
    """Stages of a cluster without a pause between them, and of one urgency.

    `lane`: the lowest number, from 0, that no other turn has at that time. `wave`: how many turns
    its lane had until then, itself included: the first clusters are wave 1, who follows them 2.
    """

    cluster: str
    site: str
    urgency: int
    first_stage: int
    stages: int
    bytes: int
    begin_ms: int
    end_ms: int
    lane: int = 0
    wave: int = 1


class LeftOut(NamedTuple):
    """Stages of a cluster, from `first_stage` to its last, that find no time, and why."""

    cluster: str
    first_stage: int
    stages: int
    bytes: int
    reason: str


@frozen
class Bound:
    """A time before which no schedule ends, and what it comes from."""

    ms: int = 0
    cause: str = "nothing to do"


@frozen
class Schedule:
    """Who moves when; turns by begin, slices by end, both then by cluster."""

    begin: datetime
    turns: tuple[Turn, ...] = ()
    slices: tuple[Slice, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    bound: Bound = Bound()

    @property
    def makespan_ms(self) -> int:
        """When the last stage ends."""
        return max((turn.end_ms for turn in self.turns), default=0)

    @property
    def ratio(self) -> float:
        """The makespan over its bound: 1 is as early as can be."""
        return self.makespan_ms / self.bound.ms if self.bound.ms else 1.0

    @property
    def waves(self) -> int:
        """How many waves there are."""
        return max((turn.wave for turn in self.turns), default=0)
