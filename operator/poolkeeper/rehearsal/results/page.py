"""A rehearsal as a page that needs no network: lanes of brokers, disks, stages, and a time slider.

The slider is an ordinary one: arrow keys move it by a moment, Home and End to the ends. What it
shows is a list in the page; without a script the pictures and tables are all there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from poolkeeper.model.plans import Move
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Storm
from poolkeeper.rehearsal.values import End, Rehearsal, StageTrace
from poolkeeper.report.document import (
    Cell,
    Picture,
    Report,
    Section,
    Tile,
    byte_count,
    name,
    number,
    span,
    table,
)
from poolkeeper.report.html.markup import clean, coordinate, element, text
from poolkeeper.report.html.page import render as render_report
from poolkeeper.report.html.pictures import WIDTH, box, svg, text_element
from poolkeeper.report.html.timelines import time_axis, timeline_picture
from poolkeeper.report.values import Bar
from poolkeeper.text import count, fine_duration, percent, size

MOMENTS_MAX = 120
LANES_MAX = 150
CURVES_MAX = 12
ROWS_MAX = 500
_LEFT, _RIGHT, _TOP, _LANE, _CURVE, _CURVE_STEP = 74, 12, 24, 14, 46, 66
_CURVES_TOP = _TOP + 20
_HEATS = (0.02, 0.1, 0.25, 0.5, 0.8)


def render(found: Rehearsed, storm: Storm | None = None) -> str:
    """The whole page."""
    return render_report(report(found, storm))


def report(found: Rehearsed, storm: Storm | None = None) -> Report:
    """The page as a report."""
    shown = found.shown
    made = shown.plan.makespan
    bound = "" if made is None else f", predicted {fine_duration(made.seconds)}"
    free, margin = shown.least_free, shown.least_margin
    tiles = (
        Tile(fine_duration(shown.seconds), f"{shown.end.value}{bound}", _tone(not shown.bad)),
        Tile(shown.network_words, "of a broker's network at most"),
        Tile(
            "unknown" if free is None else percent(100 * free),
            "of a log directory free at least",
        ),
        Tile("unknown" if margin is None else str(margin), "above min.insync.replicas at least"),
        Tile(
            f"{shown.own_below_min_isr:,}",
            "partitions below min ISR because of the plan",
            _tone(not shown.own_below_min_isr),
        ),
    )
    sections = [_brokers(shown), _disks(shown), _stages(shown), _waits(shown)]
    if shown.faults:
        sections.append(_faults("Faults", shown))
    if storm is not None and storm.runs:
        seed, worst = storm.worst
        sections.append(_faults(f"The worst of a storm: seed {seed}", worst))
    reason = f" {shown.reason}." if shown.reason else ""
    lead = f"{count(len(shown.plan.moves), 'move')} on Kafka {shown.kafka}.{reason}"
    title = f"Rehearsal of {shown.plan.cluster}"
    foot = f"Plan {shown.plan.hash}. Nothing was written to the cluster."
    kept = tuple(section for section in sections if section is not None)
    return Report(title, lead, tiles, kept, foot, scrubbed=True)


def _tone(good: bool) -> str:
    return "good" if good else "bad"


class _Moments:
    """The bins of the curves, joined to at most `MOMENTS_MAX` moments."""

    def __init__(self, found: Rehearsal) -> None:
        series = found.series
        bins = max(1, len(series.out_of_sync))
        self.joined = -(-bins // MOMENTS_MAX)
        self.count = -(-bins // self.joined)
        self.seconds = series.width_s * self.joined
        self.step = (WIDTH - _LEFT - _RIGHT) / self.count
        self.faults = found.faults

    def means(self, values: Sequence[float]) -> list[float]:
        """The mean of each moment."""
        parts = [values[n * self.joined : (n + 1) * self.joined] for n in range(self.count)]
        return [sum(part) / max(1, len(part)) for part in parts]

    def highs(self, values: Sequence[float]) -> list[float]:
        """The highest value of each moment."""
        parts = [values[n * self.joined : (n + 1) * self.joined] for n in range(self.count)]
        return [max(part, default=0) for part in parts]

    def axis(self, height: float) -> Iterator[str]:
        """Times from left to right, and where faults begin."""
        yield from time_axis(self.count * self.seconds, _LEFT, _TOP, height)
        for fault in self.faults:
            x = coordinate(_LEFT + fault.begin_s / self.seconds * self.step)
            told = element("title", text(f"{fault.text}, at {fine_duration(fault.begin_s)}"))
            yield element("path", told, d=f"M{x} {_TOP - 4}V{coordinate(height)}", class_="fault")

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """What tells in a legend where faults begin, if there are any."""
        return (("fault", "a fault begins"),) if self.faults else ()

    def cursor(self, height: float) -> str:
        """The line that the slider moves."""
        return element(
            "path",
            d=f"M0 {_TOP}V{coordinate(height)}",
            class_="cursor",
            data_from=coordinate(_LEFT),
            data_step=f"{self.step:.4f}",
        )


def _brokers(found: Rehearsal) -> Section:
    moments, series = _Moments(found), found.series
    network = found.settings.hardware.network_bytes_per_s
    ids = sorted(series.copied_in)[:LANES_MAX]
    heats: dict[int, list[str]] = {}
    rates: dict[tuple[int, str], list[float]] = {}
    drawn = []
    for row, id_ in enumerate(ids):
        top = _TOP + row * 2 * _LANE
        drawn.append(text_element(_LEFT - 6, top + 18, f"broker {id_}", "end"))
        pairs = (
            ("in", series.copied_in[id_], series.busy_in[id_]),
            ("out", series.copied_out[id_], series.busy_out[id_]),
        )
        for half, (way, copied, busy) in enumerate(pairs):
            both = [a + b for a, b in zip(copied, busy, strict=True)]
            means = moments.means(both)
            rates[id_, way] = means
            for place, rate in enumerate(means):
                warmth = sum(rate / network >= limit for limit in _HEATS)
                x = _LEFT + place * moments.step
                shape = box(x, top + half * _LANE, moments.step, _LANE - 1 - half)
                heats.setdefault(warmth, []).append(shape)
    drawn += [
        element("path", d="".join(shapes), class_=f"c{warmth}")
        for warmth, shapes in sorted(heats.items())
    ]
    height = _TOP + len(ids) * 2 * _LANE
    drawn += [*moments.axis(height), moments.cursor(height)]
    title = "Traffic of each broker:"
    tells = (
        "upper half in, lower half out, copies and producers, as parts of a broker's network;"
        " time goes to the right."
    )
    control = _control(found, moments, rates)
    legend = tuple((f"c{n}", f"from {percent(100 * low)}") for n, low in enumerate((0.0, *_HEATS)))
    drawing = svg(height + 4, title, tells, *drawn)
    picture = Picture(drawing, title, tells, (*legend, *moments.keys), control)
    rows = [
        (
            number(b.broker),
            Cell(b.rack or ""),
            byte_count(b.copied_in),
            byte_count(b.copied_out),
            byte_count(b.peak_in_bytes_per_s),
            byte_count(b.peak_out_bytes_per_s),
        )
        for b in found.brokers
    ]
    columns = ("Broker", "Rack", "Copied in", "Copied out", "Peak in, per s", "Peak out, per s")
    return Section(
        "Brokers",
        pictures=(picture,),
        tables=table(
            "What each broker copies, and its busiest moment", columns, rows, ROWS_MAX, "broker"
        ),
        folded="Figures of each broker",
    )


def _control(found: Rehearsal, moments: _Moments, rates: dict[tuple[int, str], list[float]]) -> str:
    """The slider, and what it tells of each moment."""
    lines = []
    out_of_sync = moments.highs(found.series.out_of_sync)
    for place in range(moments.count):
        begin_s = place * moments.seconds
        end_s = begin_s + moments.seconds
        stages = [s for s in found.stages if s.begin_s < end_s and s.end_s > begin_s]
        which = ", ".join(f"stage {s.number}" for s in stages[:3]) or "no stage"
        busiest = max(rates, key=lambda key: rates[key][place], default=(0, "in"))
        rate = rates[busiest][place] if rates else 0.0
        began = "".join(
            f"; {fault.text} begins" for fault in found.faults if begin_s <= fault.begin_s < end_s
        )
        lines.append(
            f"{fine_duration(begin_s)}: {which}{began}; busiest is broker {busiest[0]} with"
            f" {size(rate)}/s {busiest[1]}; {count(round(out_of_sync[place]), 'partition')}"
            " out of sync"
        )
    slider = (
        f'<input type="range" min="0" max="{moments.count - 1}" value="0" step="1"'
        ' aria-label="Time">'
    )
    items = "".join(element("li", text(line)) for line in lines)
    return (
        f'<div class="scrub" hidden="">{element("label", "Time ", slider)}'
        f'<output></output><ol hidden="">{items}</ol></div>'
    )


def _disks(found: Rehearsal) -> Section | None:
    limits = {(b.broker, d.path): d for b in found.brokers for d in b.log_dirs}
    changed = [key for key, d in limits.items() if d.high_bytes > d.before_bytes]
    if not changed:
        return None
    changed.sort(key=lambda key: (limits[key].least_free or 0.0, -limits[key].high_bytes))
    moments, drawn = _Moments(found), []
    for row, key in enumerate(changed[:CURVES_MAX]):
        trace, top = limits[key], _CURVES_TOP + row * _CURVE_STEP
        values = moments.highs(found.series.used[key])
        most = max(*values, trace.limit_bytes or 0, 1)
        label = clean(f"broker {key[0]}, {trace.path}", 120)
        drawn.append(text_element(_LEFT + 8, top - 5, label, class_="b"))
        drawn.append(text_element(_LEFT - 6, top + 4, size(most), "end"))
        drawn.append(text_element(_LEFT - 6, top + _CURVE + 4, "0", "end"))
        drawn.append(element("path", d=f"M{_LEFT} {top + _CURVE}H{WIDTH - _RIGHT}", class_="grid"))
        points = [
            f"{coordinate(_LEFT + (n + 0.5) * moments.step)}"
            f" {coordinate(top + _CURVE * (1 - value / most))}"
            for n, value in enumerate(values)
        ]
        drawn.append(element("path", d=f"M{'L'.join(points)}", class_="curve"))
        if trace.limit_bytes is not None:
            y = coordinate(top + _CURVE * (1 - trace.limit_bytes / most))
            drawn.append(element("path", d=f"M{_LEFT} {y}H{WIDTH - _RIGHT}", class_="limit"))
    height = _CURVES_TOP + (min(len(changed), CURVES_MAX) - 1) * _CURVE_STEP + _CURVE
    drawn += [*moments.axis(height), moments.cursor(height)]
    title = "Log directories that fill most:"
    tells = "the most bytes held over time; the dashed line is what a directory can hold."
    picture = Picture(svg(height + 6, title, tells, *drawn), title, tells, moments.keys)
    rows = [
        (
            number(broker),
            name(path),
            byte_count(limits[broker, path].before_bytes),
            byte_count(limits[broker, path].high_bytes),
            span(limits[broker, path].high_s),
            byte_count(limits[broker, path].limit_bytes),
        )
        for broker, path in changed
    ]
    columns = ("Broker", "Directory", "Before", "At most", "After", "Limit")
    tables = table("The most that each directory holds", columns, rows, ROWS_MAX, "directory")
    return Section("Disks", pictures=(picture,), tables=tables, folded="Figures of each directory")


def _stages(found: Rehearsal) -> Section:
    urgency = {(m.topic, m.partition): m.urgency for m in found.plan.moves}
    lists = {(m.topic, m.partition): m for m in found.plan.moves}

    def kind(stage: StageTrace) -> int:
        kinds = Counter(urgency[each] for each in stage.entries if each in urgency)
        return kinds.most_common(1)[0][0] if kinds else 4

    bars = [
        Bar(
            f"stage {stage.number}",
            "",
            kind(stage),
            1,
            stage.bytes,
            stage.begin_s,
            stage.end_s,
            n % 20,
            n + 1,
        )
        for n, stage in enumerate(found.stages)
    ]
    tells = f"{count(len(bars), 'stage')}, one lane each in turn."
    picture = timeline_picture(bars, found.seconds, "Stages:", tells)
    rows = [
        (
            number(stage.number),
            span(stage.begin_s),
            span(stage.end_s - stage.begin_s),
            name(f"{topic}-{partition}"),
            Cell(_change(lists[topic, partition])),
        )
        for stage in found.stages
        for topic, partition in stage.entries
        if (topic, partition) in lists
    ]
    columns = ("Stage", "Begins", "Takes", "Partition", "Replicas")
    tables = table("The moves of each stage", columns, rows, ROWS_MAX, "move")
    return Section("Stages", pictures=(picture,), tables=tables, folded="Moves of each stage")


def _change(move: Move) -> str:
    return " → ".join(", ".join(map(str, replicas)) for replicas in (move.source, move.target))


def _waits(found: Rehearsal) -> Section:
    rows = [
        (span(w.seconds), span(w.begin_s), Cell(w.text))
        for w in sorted(found.waits, key=lambda w: -w.seconds)
        if w.reason != "StageInFlight"
    ]
    tables = table("What the run waited for", ("In all", "First after", "For"), rows, 50, "wait")
    return Section("Waits", tables=tables)


def _faults(title: str, found: Rehearsal) -> Section:
    def items() -> Iterator[tuple[Cell, ...]]:
        for fault in found.faults:
            later = "the run did not end"
            if fault.later_s is not None:
                later = "" if len(found.faults) == 1 else "with all faults "
                later += f"the run ended {fine_duration(max(0.0, fault.later_s))} later"
            stopped = "; ".join(fault.stopped) or "nothing but what it copied"
            yield (
                name(fault.text),
                Cell(
                    f"stopped: {stopped}. No byte was copied for"
                    f" {fine_duration(fault.stopped_s)}; {later}."
                    f" {count(fault.below_min_isr, 'partition')} below min ISR,"
                    f" {fault.own_below_min_isr:,} because of the plan."
                    f" A person: {'; '.join(fault.person) or 'had nothing to do'}."
                ),
            )

    ends = "" if found.end is End.FINISHED else f"It ends badly: {found.reason}"
    return Section(title, notes=(ends,) if ends else (), items=tuple(items()))
