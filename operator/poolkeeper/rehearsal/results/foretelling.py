"""What `plan --rehearse` adds to a plan: how it went, the margins, and the worst single fault.

The single faults are one of each kind at half of the run: the broker that copies most, its rack,
its fullest directory, the controller, ZooKeeper for a minute and Poolkeeper itself.
"""

from collections.abc import Iterator

from poolkeeper.rehearsal import fault_specs
from poolkeeper.rehearsal.results import outcomes
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import Cause, End, Rehearsal, Settings
from poolkeeper.report.document import Cell, Section
from poolkeeper.text import count, fine_duration, percent

AT = "50%"


def foretell(subject: Subject, settings: Settings) -> tuple[Rehearsal, Rehearsal | None]:
    """Rehearse without faults, and with each single fault; return the first and the worst."""
    plain = subject.rehearse(settings)
    if plain.plan.empty or plain.end is not End.FINISHED:
        return plain, None
    runs = []
    for text in single_faults(plain):
        faults = fault_specs.parse([text], subject.cluster, plain.seconds)
        runs.append(outcomes.rehearse_faults(subject, settings, plain, faults))
    return plain, max(runs, key=outcomes.badness, default=None)


def single_faults(plain: Rehearsal) -> Iterator[str]:
    """One fault of each kind, at half of the run."""
    busiest = max(plain.brokers, key=lambda b: (max(b.copied_in, b.copied_out), -b.broker))
    yield f"broker={busiest.broker}@{AT}"
    if busiest.rack is not None:
        yield f"rack={busiest.rack}@{AT}"
    fullest = max(busiest.log_dirs, key=lambda d: d.high_bytes, default=None)
    if fullest is not None and not fullest.path.startswith("/sim/"):
        yield f"disk={busiest.broker}:{fullest.path}@{AT}"
    yield from (f"controller@{AT}", f"zookeeper@{AT},for=1m", f"poolkeeper@{AT}")


def forecast_lines(plain: Rehearsal, worst: Rehearsal | None) -> Iterator[str]:
    """The time, the margins and the worst single fault, as sentences."""
    made, ends = plain.plan.makespan, plain.end is End.FINISHED
    if ends:
        bound = "" if made is None else f"; the plan says {fine_duration(made.seconds)}"
        yield f"Rehearsed: it takes {fine_duration(plain.seconds)}{bound}."
    else:
        yield f"Rehearsed: it does not end well: {plain.reason}."
    free, margin = plain.least_free, plain.least_margin
    most = "" if plain.peak_network > 1 else "at most "
    kept = [f"{most}{plain.network_words} of a broker's network"]
    kept += [] if free is None else [f"at least {percent(100 * free)} of a disk free"]
    kept += [] if margin is None else [f"at least {margin} above min.insync.replicas"]
    yield f"Margins: {', '.join(kept)}."
    if worst is not None:
        yield f"Worst single fault: {worst.faults[0].text}: {_outcome(worst)}."


def _outcome(worst: Rehearsal) -> str:
    (fault,) = worst.faults
    ends = f"it does not end ({worst.reason})"
    if fault.later_s is not None:
        ends = f"{fine_duration(max(0.0, fault.later_s))} later"
    below = sum(b.cause is not Cause.BEFORE for b in worst.below_min_isr)
    if below:
        own = worst.own_below_min_isr
        ends += f", {count(below, 'partition')} below min ISR ({own:,} because of the plan)"
    return ends


def section(plain: Rehearsal, worst: Rehearsal | None) -> Section:
    """The same as a section of a report."""
    return Section("Rehearsal", items=tuple((Cell(line),) for line in forecast_lines(plain, worst)))
