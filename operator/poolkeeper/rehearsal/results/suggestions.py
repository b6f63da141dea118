"""The limits and the throttle of the shortest run that keeps stated margins.

A faster throttle and more moves at a time make a run shorter, and use more of the network. So
throttles are tried from the fastest that the network allows on down, until one keeps the margins;
then more moves at a time are tried with it, as long as that makes the run shorter.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import MIB, End, Rehearsal, Settings
from poolkeeper.resources.parse.quantities import size_text
from poolkeeper.text import percent

PARTS = (1.0, 0.9, 0.75, 0.5, 0.3, 0.15, 0.05)
"""The parts of the allowed network that are tried as throttle."""
FACTORS = (2, 4)


@frozen
class Margins:
    """What must be kept, 0 to 1: the most of a broker's network, the least of a directory free."""

    network_most: float | None = None
    free_least: float | None = None

    def missed_by(self, run: Rehearsal) -> Iterator[str]:
        """The margins that a run does not keep, as sentences."""
        if run.end is not End.FINISHED:
            yield f"it does not end: {run.reason}"
        if run.own_below_min_isr:
            yield "partitions fall below min.insync.replicas"
        if self.network_most is not None and run.peak_network > self.network_most:
            yield f"{run.network_words} of a broker's network are used"
        free = run.least_free
        if self.free_least is not None and free is not None and free < self.free_least:
            yield f"only {percent(100 * free)} of a log directory stay free"


@frozen
class Candidate:
    """Limits and the run that they give."""

    execution: Execution
    run: Rehearsal

    def as_data(self) -> dict[str, Any]:
        """The limits as the manifest has them."""
        return {
            "maxMoves": self.execution.max_moves,
            "maxMovesPerBroker": self.execution.max_moves_per_broker,
            "throttle": {
                "mode": self.execution.throttle.mode.value,
                "rate": size_text(self.execution.throttle.rate_bytes_per_s),
            },
        }


@frozen
class Suggestion:
    """The best limits, None if none keep the margins; what the gentlest missed; how many tried."""

    best: Candidate | None
    misses: tuple[str, ...]
    tried: int


def search(subject: Subject, settings: Settings, margins: Margins) -> Suggestion:
    """Search; each try is a rehearsal."""
    limit = settings.hardware.network_bytes_per_s
    highest = int(limit * (margins.network_most or 1.0))
    base = subject.desired.cluster.execution
    tried = 0

    def attempt(execution: Execution) -> Candidate:
        nonlocal tried
        tried += 1
        return Candidate(execution, _rehearsed(subject, settings, execution))

    best: Candidate | None = None
    misses: tuple[str, ...] = ()
    for part in PARTS:
        rate = max(MIB, round(highest * part / MIB) * MIB)
        found = attempt(_throttled(base, rate))
        if found.run.plan.empty:
            return Suggestion(None, (), tried)
        misses = tuple(margins.missed_by(found.run))
        if not misses:
            best = found
            break
    if best is None:
        return Suggestion(None, misses, tried)
    for factor in FACTORS:
        found = attempt(_wider(best.execution, factor))
        if tuple(margins.missed_by(found.run)) or found.run.seconds >= best.run.seconds:
            break
        best = found
    return Suggestion(best, (), tried)


def _rehearsed(subject: Subject, settings: Settings, execution: Execution) -> Rehearsal:
    spec = replace(subject.desired.cluster, execution=execution)
    return replace(subject, desired=replace(subject.desired, cluster=spec)).rehearse(settings)


def _throttled(execution: Execution, rate: int) -> Execution:
    return replace(execution, throttle=Throttle(ThrottleMode.FIXED, rate))


def _wider(execution: Execution, factor: int) -> Execution:
    return replace(
        execution,
        max_moves=execution.max_moves * factor,
        max_moves_per_broker=execution.max_moves_per_broker * factor,
    )


def manifest_lines(execution: Execution) -> list[str]:
    """The limits as lines of a KafkaCluster."""
    return [
        "spec:",
        "  execution:",
        f"    maxMoves: {execution.max_moves}",
        f"    maxMovesPerBroker: {execution.max_moves_per_broker}",
        "    throttle:",
        f"      mode: {execution.throttle.mode.value}",
        f"      rate: {size_text(execution.throttle.rate_bytes_per_s)}",
    ]
