"""SVG timelines: when each cluster moves, in lanes; the stages of one plan.

Bars too narrow to be told apart are drawn as one, and narrow bars share a path. So the size of a
picture of 100,000 bars is bounded by its pixels. Wide bars have a text of their own under the
pointer.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from poolkeeper.report.document import Picture
from poolkeeper.report.html.markup import clean, coordinate, element, text
from poolkeeper.report.html.pictures import WIDTH, box, svg, text_element
from poolkeeper.report.values import URGENCIES, Bar
from poolkeeper.text import count, fine_duration, size

LANES_MAX = 40
_LEFT, _RIGHT, _TOP, _LANE, _LETTER_PX, _POINTED_PX = 30, 12, 22, 16, 6.4, 12
_STEPS_S = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200),
    *(86_400 * days for days in (1, 2, 7, 14, 30, 90, 365)),
)


def timeline_picture(bars: Sequence[Bar], span_s: float, title: str, tells: str) -> Picture:
    """Bars in their lanes, coloured by urgency, over the time from the start."""
    lanes = min(LANES_MAX, 1 + max((bar.lane for bar in bars), default=0))
    pixels_per_s = (WIDTH - _LEFT - _RIGHT) / max(span_s, 1e-9)
    height = _TOP + lanes * _LANE
    drawn = [*time_axis(span_s, _LEFT, _TOP, height)]
    narrow: dict[int, list[str]] = defaultdict(list)
    for lane in range(lanes):
        mine = sorted((bar for bar in bars if bar.lane == lane), key=lambda bar: bar.begin_s)
        top = _TOP + lane * _LANE
        drawn.append(text_element(_LEFT - 6, top + 11, str(lane + 1), "end"))
        for group in _groups(mine, pixels_per_s):
            x, width = _extent(group, pixels_per_s)
            if width >= _POINTED_PX:
                drawn.append(_pointed(group, x, width, top))
            else:
                narrow[_class(group[0].urgency)].append(_box(x, width, top))
    drawn += [
        element("path", d="".join(boxes), class_=f"u{urgency}")
        for urgency, boxes in sorted(narrow.items())
    ]
    used = sorted({bar.urgency for bar in bars})
    legend = tuple((f"u{_class(urgency)}", URGENCIES[_class(urgency)]) for urgency in used)
    return Picture(svg(height + 20, title, tells, *drawn), title, tells, legend)


def _class(urgency: int) -> int:
    return min(max(urgency, 0), len(URGENCIES) - 1)


def time_axis(span_s: float, left: float, top: float, height: float) -> Iterator[str]:
    """Lines and their times from `left` to the right end, from `top` down to `height`."""
    pixels_per_s = (WIDTH - left - _RIGHT) / max(span_s, 1e-9)
    step = next((step for step in _STEPS_S if step * pixels_per_s >= 64), span_s or 1)
    ticks = min(int(span_s // step), 40)
    begin, end = coordinate(top - 4), coordinate(height)
    free = left
    for tick in range(ticks + 1):
        x = left + tick * step * pixels_per_s
        yield element("path", d=f"M{coordinate(x)} {begin}V{end}", class_="grid")
        label = _tick(tick * step, step) if tick else "0"
        half = _LETTER_PX * len(label) / 2
        # The first label begins at its line, and the last may have to end with the picture.
        middle = min(x, WIDTH - half) if tick else x + half
        if middle - half >= free:
            free = middle + half
            yield text_element(middle if tick else x, top - 9, label, "middle" if tick else "start")


def _tick(at_s: float, step_s: float) -> str:
    """The label of a line: with tenths where lines are less than a second apart, 1.5 s."""
    return f"{at_s:.1f} s" if step_s < 1 and at_s < 60 else fine_duration(at_s)


def _groups(bars: Iterable[Bar], pixels_per_s: float) -> Iterator[list[Bar]]:
    """Groups of bars in a lane too narrow to be told apart, each in the class of its first bar."""
    group: list[Bar] = []
    for bar in bars:
        if group:
            narrow = (bar.end_s - group[0].begin_s) * pixels_per_s < 2
            close = (bar.begin_s - group[-1].end_s) * pixels_per_s < 0.5
            tiny = (bar.end_s - bar.begin_s) * pixels_per_s < 1.5
            alike = bar.urgency == group[0].urgency
            if not (close and (narrow or (alike and tiny))):
                yield group
                group = []
        group.append(bar)
    if group:
        yield group


def _extent(group: Sequence[Bar], pixels_per_s: float) -> tuple[float, float]:
    begin, end = group[0].begin_s, max(bar.end_s for bar in group)
    return _LEFT + begin * pixels_per_s, max((end - begin) * pixels_per_s, 0.6)


def _box(x: float, width: float, top: float) -> str:
    return box(x, top + 1, max(width - 0.6, 0.5), _LANE - 3)


def _pointed(group: Sequence[Bar], x: float, width: float, top: float) -> str:
    """A bar that is wide enough for the pointer, with as much of its cluster's name as fits."""
    first, last = group[0], max(bar.end_s for bar in group)
    copied = size(sum(bar.bytes for bar in group))
    when = f"{fine_duration(first.begin_s)} to {fine_duration(last)}"
    name = clean(first.cluster, 80)
    who = name if len(group) == 1 else f"{len(group):,} turns"
    stages = count(sum(bar.stages for bar in group), "stage")
    told = f"{who}, {URGENCIES[_class(first.urgency)]}: {stages}, {copied}, {when}"
    shape = element(
        "path",
        element("title", text(told)),
        d=_box(x, width, top),
        class_=f"u{_class(first.urgency)}",
    )
    room = int((width - 6) / _LETTER_PX)
    if len(group) > 1 or room < min(4, len(name)):
        return shape
    label = name if len(name) <= room else f"{name[: room - 1]}…"
    return shape + text_element(x + 3, top + 11.5, label, class_=f"on{_class(first.urgency)}")
