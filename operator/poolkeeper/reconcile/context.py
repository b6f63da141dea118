"""The inputs of a pass, and its outcome.

Among the inputs is what the process remembers of earlier passes (`pass_memory`).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import Outcome, Progress, Result, State
from poolkeeper.model.execution.punctuality import LostTime, Punctuality
from poolkeeper.model.execution.runs import Phase, Run
from poolkeeper.model.execution.waits import Wait, hold_up
from poolkeeper.model.plans import Plan
from poolkeeper.planning.layout.layout_cache import LayoutCache
from poolkeeper.planning.planner import Planner, PlanOptions, make_plan
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyState, copies_of
from poolkeeper.planning.run_state.progress.punctuality import RunPace, lost_time, punctuality
from poolkeeper.reconcile.access import ClusterAccess, ClusterView, Enrich
from poolkeeper.reconcile.pass_memory import PassMemory, PendingPlan, PunctualityMemory
from poolkeeper.telemetry.audit import AuditTrail

if TYPE_CHECKING:  # the clients of brokers take longest to import, and plans of files need none
    from poolkeeper.brokers.requests import BrokerClient

_MOVING = (Phase.THROTTLING, Phase.MOVING, Phase.COPYING)

Timed = Callable[[str], AbstractContextManager[None]]
"""Measures the time of a part of a pass: observe, plan, stage, apply."""


def measure_nothing(part: str) -> AbstractContextManager[None]:
    """Measure nothing."""
    return nullcontext()


def planner_of_a_loop() -> Planner:
    """Return a planner that knows the last layouts, for one thread."""
    return partial(make_plan, options=PlanOptions(lay_out=LayoutCache()))


@frozen
class PreviewContext:
    """The inputs of a pass that writes nothing: a view of the cluster, the clock, a planner."""

    view: ClusterView
    now_ms: Callable[[], int]
    enrich: Enrich = lambda cluster: cluster
    pending: PendingPlan = field(default_factory=PendingPlan)
    plan: Planner = make_plan
    timed: Timed = measure_nothing


@frozen
class PassContext:
    """The inputs of a pass: the cluster, the clock, and the brokers if they can be asked.

    `trail` notes every write; a pass says what its writes are for. `enrich_waiting`: what stands in
    for `enrich` while no run is recorded, if anything does.
    """

    access: ClusterAccess
    now_ms: Callable[[], int]
    brokers: "BrokerClient | None" = None
    enrich: Enrich = lambda cluster: cluster
    memory: PassMemory = field(default_factory=PassMemory)
    plan: Planner = field(default_factory=planner_of_a_loop)
    timed: Timed = measure_nothing
    trail: AuditTrail = field(default_factory=AuditTrail)
    with_load: Enrich = lambda cluster: cluster
    enrich_waiting: Enrich | None = None

    @property
    def enrich_idle(self) -> Enrich:
        """What completes an observation while no run is recorded."""
        return self.enrich_waiting or self.enrich

    @property
    def preview(self) -> PreviewContext:
        """The inputs of a preview: the same without writes."""
        return PreviewContext(
            self.access, self.now_ms, self.enrich_idle, self.memory.pending, self.plan, self.timed
        )


def outcome_of(
    context: PassContext, run: Run, plan: Plan, result: Result, state: State = State.WAITING
) -> Outcome:
    """Return the outcome of a pass over this run.

    It waits also for what holds moves of which nothing is to be requested now.
    """
    progress = progress_of(context.memory, run, plan)
    if run.phase is Phase.MOVING:
        beside = _beside_prediction(context, run, plan, progress, result.waits)
        progress = replace(progress, punctuality=beside)
    named = {wait.kind for wait in result.waits}
    held = (wait for wait in context.memory.held if wait.kind not in named)
    return Outcome(
        state,
        result.did,
        (*result.waits, *(held if run.phase in _MOVING and run.ending is None else ())),
        plan,
        progress,
        last_observation=context.memory.last_observation,
        approved_by=run.approved_by,
    )


def _beside_prediction(
    context: PassContext, run: Run, plan: Plan, progress: Progress, waits: Iterable[Wait]
) -> Punctuality | None:
    """Return how a run goes beside its prediction, and note what made it late so far."""
    memory, now_ms = context.memory, context.now_ms()
    known, rate = memory.punctuality, progress.throttle_bytes_per_s
    in_doubt = progress.bytes_in_doubt
    copying = bool(progress.moves_in_flight)
    blocked = hold_up(waits, copying=copying)
    lost = run.lost if known.lost is None else known.lost
    found = punctuality(
        plan,
        max(0, now_ms - run.started_ms) / 1000,
        progress.bytes_done + progress.bytes_given_up,
        in_doubt,
        now=RunPace(rate, blocked, copying),
        lost=lost,
    )
    if found is not None:
        since = RunPace(rate, copying=known.was_copied(now_ms, copying=copying))
        if not in_doubt and memory.all_moves_seen:
            lost = lost_time(lost, plan, found.late_s, since)
        memory.punctuality = PunctualityMemory(lost, copying and not blocked, now_ms)
    return found


def lost_by_now(context: PassContext, run: Run, plan: Plan) -> LostTime:
    """Return what made a run late that has nothing in flight."""
    progress = replace(progress_of(context.memory, run, plan), moves_in_flight=0)
    _beside_prediction(context, run, plan, progress, ())
    return context.memory.punctuality.lost or run.lost


def progress_outcome(context: PassContext, run: Run, plan: Plan, *did: Action) -> Outcome:
    """Return the outcome of a pass that took the run one step further."""
    return outcome_of(context, run, plan, Result(did), State.PROGRESSED)


def progress_of(memory: PassMemory, run: Run, plan: Plan) -> Progress:
    """Return the run's progress as far as this process has observed it."""
    copies, copied = copies_of(plan), memory.copies.progress
    states = Counter(each.state for each in copied)
    copying = sum(
        step.bytes - p.copied_bytes
        for step, p in zip(copies, copied, strict=bool(copied))
        if p.state is CopyState.IN_FLIGHT
    )
    in_flight = _bytes_in_flight(memory, plan, run)
    return Progress(
        plan=run.plan,
        phase=run.phase,
        stage=run.stage,
        moves_done=len(memory.arrived - memory.given_up) + states[CopyState.DONE],
        moves_in_flight=(memory.moves_in_flight if run.step else 0) + states[CopyState.IN_FLIGHT],
        moves_total=len(plan.moves) + len(copies),
        bytes_done=sum(memory.bytes_done.values()) + sum(p.copied_bytes for p in copied),
        bytes_total=sum(move.bytes for move in plan.moves) + sum(step.bytes for step in copies),
        throttle_bytes_per_s=run.rates[0] if run.rates else None,
        throttle_highest_bytes_per_s=max(run.rates, default=None),
        throttle_reason=run.rate_reason,
        arrived=frozenset(memory.arrived),
        bytes_in_flight=in_flight + copying,
        bytes_in_doubt=0 if memory.disks.at_ms else in_flight,
        bytes_given_up=sum(
            plan.moves[m].bytes - memory.bytes_done.get(m, 0) for m in memory.given_up
        ),
        ending=run.ending or (memory.stop.ending if memory.stop else None),
    )


def _bytes_in_flight(memory: PassMemory, plan: Plan, run: Run) -> int:
    """Return the bytes that the request's moves still have to copy, their later steps included."""
    moves = {m for m, _ in run.step} - memory.arrived
    return sum(plan.moves[m].bytes - memory.bytes_done.get(m, 0) for m in moves)
