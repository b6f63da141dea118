"""Packs one stage: the largest lawful set of the backlog's entries that fits.

`filler` takes entries out of the queues as limits and pace allow, and `lawful_stage` decides about
each of them. One stage is filled more than once where another way is likely to end the plan sooner:

* While large entries set the lengths of stages (`StagePace.is_scarce`), the entries that run beside
  them decide how long the plan lasts. Then the stage is tried in every style of `_STYLES`, each
  time with one more stage after it. The style is chosen for which the two stages, and what is left
  after both, are together the shortest. A forecast does so for as many stages as plans usually have
  of that kind: where sizes have so long a tail that each of hundreds of stages is as long as its
  largest entry, it may tell a longer time than the run will take.
* If a side falls short of what it must carry, the plan lasts longer by that. Then the stage is
  tried again with that side first.
"""

from dataclasses import dataclass

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Urgency
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.filling.filler import USUAL, StageFiller, Style
from poolkeeper.planning.staging.filling.pace import Queues, StagePace, pace_of
from poolkeeper.planning.staging.lawful.lawful_stage import LawfulStage
from poolkeeper.planning.staging.lawful.step_checks import StepChecks
from poolkeeper.planning.staging.limits import Bounds
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity

_STYLES = tuple(
    Style(part, by_gain, span)
    for span in (100, 110)
    for part in (None, 15, 35, 60)
    for by_gain in (False, True)
)[1:]
"""Styles in which a scarce stage is tried besides the usual, which wins ties; so does the first."""

_STYLED_MAX = 40
"""Stages of one forecast that are tried in every style."""

_SHORT = 25
"""A side falls short in a stage if it misses more than one in so many bytes of the span."""

_SHORT_MAX = 2
"""Sides that go first at once because they fell short, those that miss most."""

_TRIALS = 3
"""Further stages that are tried because sides fell short."""

_MANY = 300
"""Where more stages are left, only one further stage is tried: each of them matters little."""

_HEAL = Urgency.HEAL.value
_UNBOUNDED = 2**62


class StagePacker:
    """Packs stage after stage.

    `checks`: as they are after the stages so far.
    `most_of_topic`: by topic of the table, how many of its partitions may be in one stage; without
    bound for topics that may not move.
    """

    def __init__(self, checks: StepChecks, execution: Execution, bounds: Bounds) -> None:
        self.checks = checks
        self.table = checks.table
        self.execution = execution
        self.bounds = bounds
        caps = [cap or _UNBOUNDED for cap in checks.caps]
        self.most_of_topic: Ints = np.array(caps, dtype=np.int64)
        self._styled = 0

    def set_aside(self, backlog: Backlog) -> None:
        """Put the steps aside that no stage can have; before the first stage."""
        backlog.set_aside(self.checks.impossible_rows())

    def pack(self, backlog: Backlog) -> tuple[StageCapacity, Wait | None]:
        """Take a stage out of the backlog; if it is empty, the wait tells why."""
        if not backlog.queues:
            stage = LawfulStage(self.checks, backlog, self._room(0))
            return stage.room, stage.rescue()
        pace = self._pace(backlog)
        trial = self._try(backlog, USUAL, pace)
        if pace is not None and trial.room.taken:
            if pace.is_scarce and self._styled < _STYLED_MAX:
                self._styled += 1
                trial = self._best_style(backlog, trial)
            trial = self._least_short(backlog, trial, pace)
        wait = None if trial.room.taken else trial.stage.rescue()
        self.checks = trial.checks
        backlog.adopt(trial.backlog)
        backlog.settle(trial.room)
        backlog.compact(trial.room.taken)
        return trial.room, wait

    def _pace(self, backlog: Backlog) -> StagePace | None:
        """The usual pace; `None` if the stage heals."""
        if backlog.heals:
            return None
        caps = self.most_of_topic
        return pace_of(backlog.all, backlog.queues, backlog, self.execution, most_of_topic=caps)

    def _try(self, backlog: Backlog, style: Style, pace: StagePace | None = None) -> "_Trial":
        """A stage in that style; this packer and the backlog stay as they are.

        `pace`: if it is known.
        """
        tried, checks = backlog.clone(), self.checks.clone()
        stage = self._fill(tried, checks, style, pace)
        return _Trial(checks, tried, stage, style, self.most_of_topic)

    def _best_style(self, backlog: Backlog, usual: "_Trial") -> "_Trial":
        """The stage in the style with which the plan is expected to end first."""
        best, shortest_bytes = usual, self._lasting_bytes(usual)
        for style in _STYLES:
            trial = self._try(backlog, style)
            if trial.room.taken and trial.lasting_bytes < shortest_bytes:
                found = self._lasting_bytes(trial)
                if found < shortest_bytes:
                    best, shortest_bytes = trial, found
        return best

    def _lasting_bytes(self, trial: "_Trial") -> int:
        """The least duration of the stage, of another one after it, and of the rest."""
        first, checks = trial.room, trial.checks.clone()
        if not trial.backlog.all.replicas:
            return trial.lasting_bytes
        tried = trial.backlog.without(first.taken)
        if checks.disks.free:
            for row in first.taken:
                checks.disks.release(self.table.entry(row))
        second = self._fill(tried, checks, USUAL).room
        rest = tried.lasting_bytes(self.most_of_topic)
        return first.span_used_bytes + second.span_used_bytes + rest

    def _least_short(self, backlog: Backlog, trial: "_Trial", usual: StagePace) -> "_Trial":
        """The best of the stage and of others in which sides go first that fell short.

        `usual`: the pace of the usual style.
        """
        best = trial
        pace = usual if trial.style.span_percent == USUAL.span_percent else None
        for _ in range(1 if usual.stages > _MANY else _TRIALS):
            sides = trial.style.first_sides | trial.short_sides(backlog.all.busiest_bytes)
            if sides == trial.style.first_sides:
                break
            trial = self._try(backlog, trial.style._replace(first_sides=sides), pace)
            if trial.room.taken and trial.lasting_bytes < best.lasting_bytes:
                best = trial
        return best

    def _fill(
        self, backlog: Backlog, checks: StepChecks, style: Style, pace: StagePace | None = None
    ) -> LawfulStage:
        """Fill a stage with the steps that may go by themselves; `pace`: if it is known."""
        healing = {urgency: q for urgency, q in backlog.queues.items() if urgency <= _HEAL}
        rest = {urgency: q for urgency, q in backlog.queues.items() if urgency > _HEAL}
        percent, caps = style.span_percent, self.most_of_topic
        passes: list[tuple[StagePace, Queues]] = []
        if healing:
            own = pace_of(backlog.healing, healing, backlog, self.execution, span_percent=percent)
            passes += [(own, {urgency: healing[urgency]}) for urgency in sorted(healing)]
        if rest:
            found = pace or pace_of(
                backlog.all,
                rest,
                backlog,
                self.execution,
                most_of_topic=caps,
                span_percent=percent,
            )
            passes.append((found, rest))
        # Steps that heal set the span. While any of them is left for later stages, others join if
        # this one does not last longer by them.
        room = self._room(passes[0][0].span_bytes)
        checks.guard.begin(checks.disks.free)
        stage = LawfulStage(checks, backlog, room)
        for each, queues in passes:
            room.is_span_firm = queues is rest and self._heals_later(backlog, room)
            join = stage.try_to_join
            StageFiller(backlog, queues, room, each, self.execution, join, style).run()
            backlog.settle(room)
        stage.make_up()
        backlog.settle(room)
        return stage

    def _heals_later(self, backlog: Backlog, room: StageCapacity) -> bool:
        """Whether the stage heals, and steps that do are left for others."""
        urgency, is_last = self.table.urgency, self.table.is_last
        heals = [row for row in room.taken if urgency[row] <= _HEAL]
        return bool(heals) and (backlog.healing.replicas > 0 or not all(map(is_last, heals)))

    def _room(self, span_bytes: int) -> StageCapacity:
        return StageCapacity(self.table, self.execution, self.bounds, self.checks.caps, span_bytes)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A stage, and what is left after it: the backlog, and what checks of further steps say.

    `most_of_topic`: how many partitions of each topic may be in one stage.
    """

    checks: StepChecks
    backlog: Backlog
    stage: LawfulStage
    style: Style
    most_of_topic: Ints

    @property
    def room(self) -> StageCapacity:
        """What joined."""
        return self.stage.room

    @property
    def lasting_bytes(self) -> int:
        """The least duration of the stage and of the rest."""
        rest = self.backlog.lasting_bytes(self.most_of_topic)
        return self.room.span_used_bytes + rest

    def short_sides(self, busiest_bytes: int) -> set[int]:
        """The sides by which the plan lasts longer than its busiest side's bytes before the stage.

        `busiest_bytes`: these. Named are those that miss most.
        """
        span = self.room.span_used_bytes
        level = busiest_bytes - span + span // _SHORT
        left = enumerate(self.backlog.all.bytes_of)
        short = sorted([(-size, side) for side, size in left if size > level])
        return {side for _, side in short[:_SHORT_MAX]}
