"""A rehearsal as people read it on a terminal.

Lines too long for it are folded; what follows a line stands under its last column.
"""

from collections.abc import Iterable, Iterator, Sequence

from poolkeeper.cli.output import ink
from poolkeeper.model.plans import Plan
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Storm
from poolkeeper.rehearsal.values import Cause, End, FaultTrace, Rehearsal
from poolkeeper.text import count, fine_duration, more, percent, size

STAGES_MAX = 12
BROKERS_MAX = 12
WAITS_MAX = 8
HAPPENINGS_MAX = 12
BELOW_MAX = 5
LAST_MIN = 16
"""A last column narrower than that is not folded: numbers would be torn from their units."""
STAGES = "StageInFlight"
"""The wait that the table of stages shows already."""
_SHOWN = ("Fault", "Controller", "Broker")


def render(found: Rehearsed, storm: Storm | None = None) -> str:
    """The whole text."""
    shown = found.shown
    lines = [*_head(shown), *_margins(shown)]
    lines += _stages(shown)
    lines += _brokers(shown)
    lines += _waits(shown)
    lines += _happenings(shown)
    for fault in shown.faults:
        lines += _fault(fault, alone=len(shown.faults) == 1)
    if storm is not None and storm.runs:
        lines += _storm(storm)
    return _folded(lines)


def empty(plan: Plan, *, done_by_copy: bool) -> str:
    """The line for a plan that has nothing to do.

    `done_by_copy`: what is planned for the cluster was done before the copy was looked at.
    """
    if done_by_copy:
        what = f"the controller of the copy does all of the plan for {plan.cluster} by itself"
        return _folded([f"nothing to rehearse: {what}, as the cluster's should"])
    return _folded([f"nothing to rehearse: the plan for {plan.cluster} is empty"])


def _folded(lines: Iterable[str]) -> str:
    output = ink.of_output()
    folded: list[str] = []
    for line in lines:
        hang = _hang(line)
        fits = len(line) <= output.width or hang + LAST_MIN > output.width
        folded += [line] if fits else output.fold(line, hang)
    return "\n".join(folded)


def _hang(line: str) -> int:
    """Where the last column of the line begins; sentences have no gaps of two spaces."""
    before, gap, _ = line.rpartition("  ")
    return len(before) + len(gap) if before.strip() else 2


def end_text(found: Rehearsal) -> str:
    """How a rehearsal ended, in a few words."""
    if found.end is End.FINISHED:
        return f"finished after {fine_duration(found.seconds)}"
    words = {End.STOPPED: "stopped", End.REFUSED: "was refused", End.NEVER_ENDS: "does not end"}
    return f"{words[found.end]}, given up after {fine_duration(found.seconds)}: {found.reason}"


def _head(found: Rehearsal) -> Iterator[str]:
    hardware = found.settings.hardware
    copied = sum(move.bytes for move in found.plan.moves)
    yield (
        f"Rehearsal of {found.plan.cluster}, Kafka {found.kafka}:"
        f" {count(len(found.plan.moves), 'move')}, {size(copied)};"
        f" {size(hardware.network_bytes_per_s)}/s of network a broker,"
        f" {size(hardware.disk_bytes_per_s)}/s a directory"
    )
    made = found.plan.makespan
    bound = ""
    if made is not None:
        bound = (
            f" (predicted {fine_duration(made.seconds)},"
            f" at least {fine_duration(made.lower_bound_seconds)} at the rate of the plan"
            f"{_not_predicted(found.plan)})"
        )
    yield f"It {end_text(found)}{bound}"


def _not_predicted(plan: Plan) -> str:
    """What the prediction leaves out: it is that of the stages, which copy between brokers."""
    copies = len(copies_of(plan))
    return f"; without {count(copies, 'replica')} between log directories" if copies else ""


def _margins(found: Rehearsal) -> Iterator[str]:
    free, margin = found.least_free, found.least_margin
    yield ""
    yield "Margins"
    most = "" if found.peak_network > 1 else "at most "
    yield f"  network   {most}{found.network_words} of a broker's"
    disk = "not known" if free is None else f"at least {percent(100 * free)} stay free"
    yield f"  disk      {disk}"
    isr = "not known" if margin is None else f"at least {margin} above min.insync.replicas"
    yield f"  in sync   {isr}; at most {count(found.out_of_sync_max, 'partition')} out of sync"
    yield f"  leaders   {count(found.leader_changes, 'change')}"
    below = found.below_min_isr
    if below:
        own = found.own_below_min_isr
        yield (
            f"  below     {count(len(below), 'time')} below min.insync.replicas,"
            f" {count(own, 'partition')} because of the plan:"
        )
        first = sorted(below, key=lambda b: b.cause is not Cause.OWN)[:BELOW_MAX]
        for b in first:
            yield (
                f"            {b.topic}-{b.partition} from {fine_duration(b.begin_s)} on, for"
                f" {fine_duration(b.seconds)} ({_CAUSES[b.cause]})"
            )
        if len(below) > BELOW_MAX:
            yield f"            {more(len(below) - BELOW_MAX)}"


_CAUSES = {
    Cause.OWN: "because of the plan",
    Cause.FAULT: "the fault alone would have done it",
    Cause.BEFORE: "as before",
}


def _stages(found: Rehearsal) -> Iterator[str]:
    if not found.stages:
        return
    yield ""
    yield f"{'Stage':<7}{'begins':>12}{'takes':>12}{'predicted':>12}{'partitions':>12}{'bytes':>12}"
    for stage in found.stages[:STAGES_MAX]:
        took = fine_duration(stage.end_s - stage.begin_s)
        told = "" if stage.predicted_s is None else fine_duration(stage.predicted_s)
        yield (
            f"{stage.number:<7}{fine_duration(stage.begin_s):>12}{took:>12}{told:>12}"
            f"{len(stage.entries):>12,}{size(stage.bytes):>12}"
        )
    if len(found.stages) > STAGES_MAX:
        yield more(len(found.stages) - STAGES_MAX, "stage")


def _brokers(found: Rehearsal) -> Iterator[str]:
    used = [b for b in found.brokers if b.copied_in or b.copied_out]
    if not used:
        return
    yield ""
    heads = f"{'copied in':>12}{'copied out':>12}{'peak in':>14}{'peak out':>14}"
    yield f"{'Broker':<8}{heads}  fullest directory"
    used.sort(key=lambda b: (-max(b.copied_in, b.copied_out), b.broker))
    for b in used[:BROKERS_MAX]:
        rates = f"{size(b.peak_in_bytes_per_s) + '/s':>14}{size(b.peak_out_bytes_per_s) + '/s':>14}"
        fullest = max(b.log_dirs, key=lambda d: d.high_bytes, default=None)
        disk = "" if fullest is None else f"{size(fullest.high_bytes)} in {fullest.path}"
        if fullest is not None and fullest.limit_bytes is not None:
            disk += f" of {size(fullest.limit_bytes)}"
        yield f"{b.broker:<8}{size(b.copied_in):>12}{size(b.copied_out):>12}{rates}  {disk}"
    if len(used) > BROKERS_MAX:
        yield more(len(used) - BROKERS_MAX, "broker")


def _waits(found: Rehearsal) -> Iterator[str]:
    waits = sorted(found.waits, key=lambda w: -w.seconds)
    waits = [w for w in waits if w.seconds >= 0.05 and w.reason != STAGES]
    if waits:
        yield ""
        yield "It waited"
    for w in waits[:WAITS_MAX]:
        yield f"  {fine_duration(w.seconds):>12}  {w.text}"


def _happenings(found: Rehearsal) -> Iterator[str]:
    listed = [h for h in found.happenings if h.kind in _SHOWN]
    if listed:
        yield ""
        yield "It happened"
    for h in listed[:HAPPENINGS_MAX]:
        yield f"  {fine_duration(h.at_s):>12}  {h.text}"
    if len(listed) > HAPPENINGS_MAX:
        yield f"  {more(len(listed) - HAPPENINGS_MAX)}"


def _fault(fault: FaultTrace, *, alone: bool) -> Iterator[str]:
    yield ""
    yield f"Fault {fault.text}"
    stopped = "nothing but what it copied" if not fault.stopped else "; ".join(fault.stopped)
    yield f"  stopped    {stopped}"
    later = "the run did not end"
    if fault.later_s is not None:
        later = "" if alone else "with all faults "
        later += f"the run ended {fine_duration(abs(fault.later_s))}"
        later += " later" if fault.later_s >= 0 else " earlier"
    yield f"  how long   no byte was copied for {fine_duration(fault.stopped_s)}; {later}"
    own = fault.own_below_min_isr
    yield (
        f"  min ISR    {count(fault.below_min_isr, 'partition')} below it, {own:,} that the fault"
        " alone would not have put there"
    )
    yield f"  a person   {'; '.join(fault.person) or 'had nothing to do'}"


def _storm(storm: Storm) -> Iterator[str]:
    seed, worst = storm.worst
    yield ""
    faults = ", ".join(each.text for each in worst.faults)
    yield f"Storm of {count(len(storm.runs), 'fault')}; the worst: {faults}"
    yield f"  it {end_text(worst)}"
    yield f"  --storm 1 --seed {seed} replays it"
    for fault in worst.faults:
        yield from _fault(fault, alone=len(worst.faults) == 1)


def comparison_text(left: Rehearsal, right: Rehearsal, names: Sequence[str]) -> str:
    """Two rehearsals side by side."""
    rows = [
        ("", *names),
        ("ends", _end(left), _end(right)),
        ("takes", fine_duration(left.seconds), fine_duration(right.seconds)),
        ("stages", f"{len(left.stages):,}", f"{len(right.stages):,}"),
        ("moves", f"{len(left.plan.moves):,}", f"{len(right.plan.moves):,}"),
        ("copies", _copies(left), _copies(right)),
        ("peak network", _peak(left), _peak(right)),
        ("least free disk", _free(left), _free(right)),
        ("least above min ISR", _margin(left), _margin(right)),
        ("below min ISR by plan", f"{left.own_below_min_isr:,}", f"{right.own_below_min_isr:,}"),
        ("out of sync", f"{left.out_of_sync_max:,}", f"{right.out_of_sync_max:,}"),
        ("leader changes", f"{left.leader_changes:,}", f"{right.leader_changes:,}"),
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(3)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows
    )


def _end(found: Rehearsal) -> str:
    return found.end.value


def _copies(found: Rehearsal) -> str:
    return size(sum(move.bytes for move in found.plan.moves))


def _peak(found: Rehearsal) -> str:
    return found.network_words


def _free(found: Rehearsal) -> str:
    return "unknown" if found.least_free is None else percent(100 * found.least_free)


def _margin(found: Rehearsal) -> str:
    return "unknown" if found.least_margin is None else str(found.least_margin)
