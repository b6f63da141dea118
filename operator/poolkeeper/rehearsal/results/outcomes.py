"""What faults did to a rehearsal, beside the same rehearsal without them; the worst of a storm."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.rehearsal import engine, fault_specs
from poolkeeper.rehearsal.values import (
    Cause,
    End,
    FaultTarget,
    FaultTrace,
    Rehearsal,
    RehearsedFault,
    Settings,
)
from poolkeeper.text import duration, named

_CURSORY = ("StageInFlight", "ThrottleSettling", "ElectionInProgress")
"""Waits of every run: they are not what a fault stopped."""


@frozen
class Rehearsed:
    """A rehearsal without faults and, if there are any, with them."""

    plain: Rehearsal
    faulted: Rehearsal | None = None

    @property
    def shown(self) -> Rehearsal:
        """The rehearsal to show: with the faults, where faults were asked for."""
        return self.faulted or self.plain


@frozen
class Storm:
    """Faults drawn at random, a rehearsal for each: (seed, rehearsal), the worst first."""

    runs: tuple[tuple[int, Rehearsal], ...]

    @property
    def worst(self) -> tuple[int, Rehearsal]:
        """The seed that replays the worst outcome, and that outcome."""
        return self.runs[0]


@frozen
class Subject:
    """What is rehearsed: a cluster, what is declared, and how a plan is made of both."""

    cluster: Cluster
    desired: Desired
    make_plan: Callable[[Desired, Observation], Plan]

    def rehearse(self, settings: Settings, plan: Plan | None = None) -> Rehearsal:
        """Rehearse the plan made for it, or this one, made before."""

        def made(observed: Observation) -> Plan:
            return self.make_plan(self.desired, observed) if plan is None else plan

        return engine.rehearse(self.cluster, self.desired, settings, made)


def with_faults(subject: Subject, settings: Settings, texts: tuple[str, ...]) -> Rehearsed:
    """Rehearse without faults, and with those asked for; raises InvalidInput for wrong ones."""
    plain = subject.rehearse(settings)
    # Where nothing is rehearsed, no time is beyond it.
    run_s = math.inf if plain.plan.empty else plain.seconds
    faults = fault_specs.parse(texts, subject.cluster, run_s)
    if not faults or plain.plan.empty:
        return Rehearsed(plain)
    return Rehearsed(plain, rehearse_faults(subject, settings, plain, faults))


def rehearse_faults(
    subject: Subject, settings: Settings, plain: Rehearsal, faults: tuple[RehearsedFault, ...]
) -> Rehearsal:
    """Rehearse with faults; `plain` is the same without."""
    found = subject.rehearse(replace(settings, faults=faults), plain.plan)
    return replace(found, faults=tuple(_traces(found, plain)))


def rehearse_storm(
    subject: Subject, settings: Settings, plain: Rehearsal, count: int, seed: int
) -> Storm:
    """Rehearse `count` times, each with a fault drawn from its own seed: `seed`, and following."""
    runs = []
    for each in range(seed, seed + count):
        faults = fault_specs.draw_fault(each, subject.cluster, plain)
        runs.append((each, rehearse_faults(subject, settings, plain, faults)))
    return Storm(tuple(sorted(runs, key=lambda run: (badness(run[1]), -run[0]), reverse=True)))


def badness(found: Rehearsal) -> tuple[int, int, int, float]:
    """How bad an outcome is: its end, partitions below min ISR by our doing, in all, the time."""
    order = (End.FINISHED, End.STOPPED, End.REFUSED, End.NEVER_ENDS)
    return (
        order.index(found.end),
        found.own_below_min_isr,
        len(found.below_min_isr),
        found.seconds,
    )


def _traces(found: Rehearsal, plain: Rehearsal) -> Iterator[FaultTrace]:
    begins = sorted(fault.begin_s for fault in found.settings.faults)
    for fault in found.settings.faults:
        until_s = next((s for s in begins if s > fault.begin_s), float("inf"))
        below = [b for b in found.below_min_isr if fault.begin_s <= b.begin_s < until_s]
        ended = found.end is End.FINISHED
        yield FaultTrace(
            fault.text,
            fault.begin_s,
            tuple(
                w.text
                for w in found.waits
                if w.reason not in _CURSORY and fault.begin_s <= w.begin_s < until_s
            ),
            _stillness(found, fault.begin_s, until_s),
            found.seconds - plain.seconds if ended else None,
            len({(b.topic, b.partition) for b in below if b.cause is not Cause.BEFORE}),
            len({(b.topic, b.partition) for b in below if b.cause is Cause.OWN}),
            tuple(_person(fault, found)),
        )


def _stillness(found: Rehearsal, since_s: float, until_s: float) -> float:
    """The longest time after a fault, up to the next or the end, in which no byte was copied."""
    width, series = found.series.width_s, found.series.copied_in
    longest = now = 0.0
    for place in range(len(found.series.out_of_sync)):
        at_s = place * width
        if at_s < since_s or at_s > min(found.seconds, until_s):
            continue
        flows = any(values[place] for values in series.values())
        now = 0.0 if flows else now + width
        longest = max(longest, now)
    return longest


def _person(fault: RehearsedFault, found: Rehearsal) -> Iterator[str]:
    """What a person had to do because of a fault."""
    match fault.target:
        case FaultTarget.BROKER | FaultTarget.RACK if fault.lasts_s is None:
            yield f"start {named('broker', fault.brokers)}, or drain what is gone for good"
        case FaultTarget.DISK:
            yield f"replace {fault.log_dir} of broker {fault.brokers[0]}, and restart the broker"
        case FaultTarget.POOLKEEPER:
            yield "start `poolkeeper apply` again, unless an operator runs: that restarts itself"
        case FaultTarget.ZOOKEEPER if (fault.lasts_s or 0) > 600:
            yield "start `poolkeeper apply` again: it gives up after 10 min without ZooKeeper"
    if found.end is End.NEVER_ENDS:
        yield f"end the run by hand: {found.reason}"
    elif found.end is not End.FINISHED:
        yield f"plan again after {duration(found.seconds)}: {found.reason}"
