"""SVG pictures of brokers and pools: bars before and after, heat. The page gives the colours.

All bars of a kind are one path, so that 300 brokers cost some kilobytes. Only where there are few
does each bar have a text of its own under the pointer.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from poolkeeper.report.balance import HEATS, MEASURES, Measure, PoolBalance, heat
from poolkeeper.report.document import Picture
from poolkeeper.report.html.markup import clean, coordinate, element, text
from poolkeeper.report.values import Holding
from poolkeeper.text import count, percent, size

WIDTH = 960
_LEFT, _RIGHT, _TOP, _PANEL, _STEP = 74, 8, 22, 84, 112
_SLOT_MAX, _RACK_GAP, _POINTED_MAX = 56.0, 12.0, 60
_LABEL_PX, _LETTER_PX = 26, 6.2
_CELLS_MAX = 5_000


def svg(height: float, title: str, tells: str, *content: str) -> str:
    """An SVG picture with its text alternative."""
    return element(
        "svg",
        element("title", text(title)),
        element("desc", text(tells)),
        *content,
        viewBox=f"0 0 {WIDTH} {coordinate(height)}",
        role="img",
        aria_label=clean(f"{title} {tells}"),
    )


def text_element(x: float, y: float, raw: str, anchor: str = "start", class_: str = "") -> str:
    """A text in a picture."""
    named = {"class_": class_} if class_ else {}
    return element("text", text(raw), x=x, y=y, text_anchor=anchor, **named)


def box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as part of a path."""
    x, y, w, h = map(coordinate, (x, y, width, height))  # type: ignore[assignment]
    return f"M{x} {y}h{w}v{h}h-{w}z"


def brokers_picture(balance: PoolBalance, cluster: str = "") -> Picture:
    """The replicas, leaders and bytes of each broker: before in grey, after in front of it.

    `cluster` is shown if the report covers several clusters.
    """
    brokers = balance.brokers
    places = _places(brokers)
    measures = balance.measures
    panels = [_panel(n, measure, brokers, places) for n, measure in enumerate(measures)]
    bottom = _TOP + _STEP * (len(measures) - 1) + _PANEL
    labels = _labels(brokers, places, bottom + 14)
    racks = _racks(brokers, places, bottom + 30)
    title = f"Pool {balance.pool}" if balance.pool else "Brokers of no pool"
    title += f" of cluster {cluster}:" if cluster else ":"
    tells = _balance_text(balance)
    drawn = svg(bottom + 38, title, tells, *panels, *labels, *racks)
    return Picture(drawn, title, tells, (("before", "before"), ("after", "after")))


def _balance_text(balance: PoolBalance) -> str:
    parts = [f"{count(len(balance.brokers), 'broker')}."]
    known = balance.measures
    for measure, (before, after) in zip(known, balance.imbalances[: len(known)], strict=True):
        parts.append(
            f"{measure.name} off their shares: {percent(100 * before)} before,"
            f" {percent(100 * after)} after."
        )
    parts += [f"{each.name} are unknown." for each in MEASURES if each not in known]
    return " ".join(parts)


def _places(brokers: Sequence[Holding]) -> list[tuple[float, float]]:
    """The left edge and the width of each broker's slot; racks stand apart."""
    gaps = sum(one.rack != other.rack for one, other in pairwise(brokers))
    room = WIDTH - _LEFT - _RIGHT - min(gaps * _RACK_GAP, 160)
    gap = min(_RACK_GAP, 160 / gaps) if gaps else 0.0
    slot = min(_SLOT_MAX, room / max(1, len(brokers)))
    places, x = [], float(_LEFT)
    for place, broker in enumerate(brokers):
        if place and brokers[place - 1].rack != broker.rack:
            x += gap
        places.append((x, slot))
        x += slot
    return places


def _panel(
    row: int, measure: Measure, brokers: Sequence[Holding], places: Sequence[tuple[float, float]]
) -> str:
    top = _TOP + row * _STEP
    shown = size if measure.name == "Bytes" else _whole
    before = [getattr(each, measure.before) for each in brokers]
    after = [getattr(each, measure.after) for each in brokers]
    # Of at least two, so that the tick in the middle is whole.
    least, base = (1024, 1024) if measure.name == "Bytes" else (2, 1000)
    most = _ceiling(max((*before, *after, least)), base)
    end = places[-1][0] + places[-1][1] if places else WIDTH
    ticks = [
        element("path", d=f"M{_LEFT} {coordinate(y)}H{coordinate(end)}", class_="grid")
        + text_element(_LEFT - 6, y + 4, shown(value), "end")
        for value, y in ((most, top), (most / 2, top + _PANEL / 2), (0, top + _PANEL))
    ]
    bars = [
        element("path", d="".join(_bars(values, places, most, top, part)), class_=class_)
        for values, part, class_ in ((before, 0.86, "before"), (after, 0.5, "after"))
    ]
    hits = []
    if len(brokers) <= _POINTED_MAX:
        hits = [
            element(
                "path",
                element(
                    "title", text(f"Broker {each.broker}: {shown(b)} before, {shown(a)} after")
                ),
                d=box(x, top, width, _PANEL),
                class_="hit",
            )
            for each, b, a, (x, width) in zip(brokers, before, after, places, strict=True)
        ]
    return text_element(_LEFT, top - 8, measure.name, class_="b") + "".join([*ticks, *bars, *hits])


def _bars(
    values: Sequence[int],
    places: Sequence[tuple[float, float]],
    most: float,
    top: float,
    part: float,
) -> Iterable[str]:
    for value, (x, width) in zip(values, places, strict=True):
        if value > 0:
            height = max(0.4, _PANEL * value / most)
            inset = width * (1 - part) / 2
            yield box(x + inset, top + _PANEL - height, width * part, height)


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _ceiling(value: float, base: int) -> float:
    """The next round number: 1, 2, 2.5, 4, 5 or 8 times a power of ten, and powers of `base`."""
    unit = 1.0
    while value >= base * unit:
        unit *= base
    steps = (1, 2, 2.5, 4, 5, 8, 10, 20, 25, 40, 50, 80, 100, 200, 250, 400, 500, 800, base)
    return next(step * unit for step in steps if step * unit >= value)


def _labels(
    brokers: Sequence[Holding], places: Sequence[tuple[float, float]], y: float
) -> list[str]:
    """Broker ids under the bars, as many as fit; drained and dead brokers come first."""
    drawn: dict[float, str] = {}
    middles = [x + width / 2 for x, width in places]
    marked = [bool(each.pool) and not each.weight for each in brokers]
    for wanted in (True, False):
        for each, middle, is_marked in zip(brokers, middles, marked, strict=True):
            room = all(abs(middle - other) >= _LABEL_PX for other in drawn)
            if is_marked is wanted and room:
                class_ = "gone" if is_marked else ""
                drawn[middle] = text_element(middle, y, str(each.broker), "middle", class_)
    return [drawn[middle] for middle in sorted(drawn)]


def _racks(
    brokers: Sequence[Holding], places: Sequence[tuple[float, float]], y: float
) -> list[str]:
    spans: dict[str, tuple[float, float]] = {}
    for each, (x, width) in zip(brokers, places, strict=True):
        if each.rack is not None:
            spans[each.rack] = spans.get(each.rack, (x, x))[0], x + width
    drawn = []
    for rack, (begin, end) in spans.items():
        line = f"M{coordinate(begin + 1)} {coordinate(y - 11)}H{coordinate(end - 1)}"
        drawn.append(element("path", d=line, class_="grid"))
        letters = int((end - begin) / _LETTER_PX)
        shown = next((s for s in (f"rack {clean(rack)}", clean(rack)) if len(s) <= letters), "")
        if shown:
            drawn.append(text_element((begin + end) / 2, y + 2, shown, "middle"))
    return drawn


def heat_picture(pools: Sequence[PoolBalance]) -> Picture:
    """A cell per pool, the most uneven first: replicas before on the left, after on the right."""
    shown = pools[:_CELLS_MAX]
    half = WIDTH / 2 - 10
    cell = next(c for c in (22, 16, 12, 8, 6) if c == 6 or _rows(len(shown), half, c) * c <= 330)
    columns = int(half // cell)
    paths = []
    for side in (0, 1):
        levels: dict[int, list[str]] = {}
        for place, pool in enumerate(shown):
            x = side * (half + 20) + place % columns * cell
            y = 20 + place // columns * cell
            level = heat(pool.imbalances[0][side])
            levels.setdefault(level, []).append(box(x, y, cell - 1, cell - 1))
        paths.append(text_element(side * (half + 20), 12, ("before", "after")[side], class_="b"))
        paths += [
            element("path", d="".join(boxes), class_=f"c{level}")
            for level, boxes in sorted(levels.items())
        ]
    counts = [sum(heat(p.imbalances[0][side]) >= 3 for p in pools) for side in (0, 1)]
    tells = (
        f"A cell is a pool, the most uneven first. {counts[0]:,} of {len(pools):,} have 5 % or more"
        f" of their replicas off their brokers' shares before, {counts[1]:,} after."
    )
    height = 24 + _rows(len(shown), half, cell) * cell
    title = "Heat by pool:"
    return Picture(svg(height, title, tells, *paths), title, tells, _HEAT_KEYS)


def _rows(cells: int, width: float, cell: int) -> int:
    return -(-cells // int(width // cell))


_LIMITS = [percent(100 * limit) for limit in HEATS]
_HEAT_KEYS = (
    ("c0", f"below {_LIMITS[0]}"),
    *((f"c{n}", f"from {limit}") for n, limit in enumerate(_LIMITS, 1)),
)
