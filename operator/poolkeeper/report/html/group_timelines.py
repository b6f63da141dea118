"""SVG timelines of consumer groups: who reads each partition, and what each member reads.

Time goes from the left to the right in phases: the group at rest, an event, the group at rest
again. Between two phases is a rebalance, if the members see the event. How long it takes nobody
knows, so its width says nothing; what nobody reads meanwhile has a gap there. Colours are those of
members, the same in each picture of a study; there are five, and with more members they repeat.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from poolkeeper.frozen import frozen
from poolkeeper.report.document import Picture
from poolkeeper.report.html.markup import (
    clean,
    coordinate,
    element,
    shorten_alike,
    shorten_middle,
    text,
)
from poolkeeper.report.html.pictures import WIDTH, box, svg, text_element
from poolkeeper.report.html.styles import PICTURE_CSS
from poolkeeper.studies.consumer_study import AssignorCourse, ConsumerStudy
from poolkeeper.studies.group_rebalances import GroupPartition, is_eager, owners_of
from poolkeeper.studies.study_names import ASSIGNOR_NAMES, member_labels, shown_load
from poolkeeper.text import count

LANES_MAX = 60
"""The most partitions that have a lane; loads are always of all."""
MEMBERS_MAX = 12
_LEFT, _RIGHT, _TOP, _LANE, _GAP, _CHART, _CHART_STEP = 92, 8, 24, 13, 30, 26, 34
_COLOURS = 5
_LABEL_PX = 40
_LETTER_PX, _BOLD_PX = 6.6, 7.6
_SIDE = int((_LEFT - 6) / _BOLD_PX)
"""Letters that fit on the left of the lanes."""


@frozen
class _Phases:
    """Where phases begin and end."""

    phases: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, number: int) -> "_Phases":
        width = (WIDTH - _LEFT - _RIGHT - _GAP * (number - 1)) / number
        starts = [_LEFT + place * (width + _GAP) for place in range(number)]
        return cls(tuple((start, start + width) for start in starts))

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """Where rebalances are."""
        return [(end, start) for (_, end), (start, _) in pairwise(self.phases)]


def group_picture(study: ConsumerStudy, course: AssignorCourse) -> Picture:
    """The course of one assignor."""
    colours = member_colours(study)
    places = _Phases.of(max(1, len(course.outcomes)))
    labels = member_labels(study)
    is_long = max(map(len, labels.values()), default=0) > _SIDE
    short = shorten_alike(labels) if is_long else labels
    drawing = _Drawing(course, places, labels, short, colours, study.measured)
    lanes = sorted({p for each in course.outcomes for ps in each.assignment.values() for p in ps})
    drawn: list[str] = [*drawing.heads()]
    y = float(_TOP)
    for place, lane in enumerate(lanes[:LANES_MAX]):
        if place and lanes[place - 1][0] != lane[0]:
            y += 5
        drawn += drawing.lane(lane, y)
        y += _LANE
    y += 16
    members = list(colours)[:MEMBERS_MAX]
    for member in members:
        drawn += drawing.chart(member, y)
        y += _CHART_STEP
    name = ASSIGNOR_NAMES[course.assignor]
    title = f"{name[:1].upper()}{name[1:]}:"
    legend = tuple(
        (f"u{colours[member]}", shorten_middle(drawing.fitting(member, 40), 40))
        for member in members
    )
    tells = _tells(course, len(lanes))
    return Picture(svg(y, title, tells, *drawn), title, tells, legend)


def member_colours(study: ConsumerStudy) -> dict[str, int]:
    """The colour of each member, in the order of their ids."""
    ids = sorted(member.id for member in study.group.members)
    return {id_: place % _COLOURS for place, id_ in enumerate(ids)}


def standalone(pictures: Sequence[Picture]) -> str:
    """Pictures below each other as a file of their own, each under its title."""
    y, drawn = 8.0, []
    for picture in pictures:
        height = float(picture.svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1])
        drawn.append(
            text_element(8, y + 12, clean(f"{picture.title} {picture.tells}", 150), class_="b")
        )
        sized = f'<svg y="{coordinate(y + 16)}" width="{WIDTH}" height="{coordinate(height)}" '
        drawn.append(picture.svg.replace("<svg ", sized, 1))
        y += height + 40
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {coordinate(y)}"}
    paper = element("path", d=box(0, 0, WIDTH, y), class_="paper")
    return element("svg", element("style", PICTURE_CSS), paper, *drawn, **attributes) + "\n"


@frozen
class _Drawing:
    """The parts of one picture."""

    course: AssignorCourse
    places: _Phases
    labels: Mapping[str, str]
    short: Mapping[str, str]
    colours: Mapping[str, int]
    measured: bool

    def heads(self) -> Iterator[str]:
        """The events above their phases."""
        for outcome, (start, end) in zip(self.course.outcomes, self.places.phases, strict=False):
            letters = int((end - start + _GAP / 2) / _BOLD_PX)
            yield text_element(start, _TOP - 9, shorten_middle(outcome.event, letters), class_="b")

    def lane(self, lane: GroupPartition, y: float) -> Iterator[str]:
        """Who reads a partition, and when."""
        topic, number = lane
        yield text_element(_LEFT - 6, y + 9.5, shorten_middle(f"{topic}-{number}", _SIDE), "end")
        owners = [owners_of(each.assignment).get(lane) for each in self.course.outcomes]
        for member, start, end in self._stretches(owners):
            shape = box(start, y, end - start, _LANE - 2)
            told = element("title", text(f"{topic}-{number}: {self.labels[member]}"))
            yield element("path", told, d=shape, class_=f"u{self.colours[member]}")
            if end - start > _LABEL_PX:
                on = f"on{self.colours[member]}"
                letters = int((end - start - 8) / _LETTER_PX)
                label = shorten_middle(self.fitting(member, letters), letters)
                yield text_element(start + 4, y + 9.6, label, class_=on)

    def fitting(self, member: str, letters: int) -> str:
        """The label of a member, or what tells it apart where there is no room for all."""
        label = self.labels[member]
        return label if len(label) <= letters else self.short[member]

    def _stretches(self, owners: Sequence[str | None]) -> Iterator[tuple[str, float, float]]:
        """The reader from where to where; without a gap where a rebalance lets it read on."""
        eager = is_eager(self.course.assignor)
        begun: tuple[str, float, float] | None = None
        moments = zip(self.course.outcomes, owners, self.places.phases, strict=False)
        for outcome, owner, (start, end) in moments:
            reads_on = not (eager and outcome.settled.rounds)
            if begun is not None and reads_on and begun[0] == owner:
                begun = (begun[0], begun[1], end)
                continue
            if begun is not None:
                yield begun
            begun = None if owner is None else (owner, start, end)
        if begun is not None:
            yield begun

    def chart(self, member: str, y: float) -> Iterator[str]:
        """The load of a member over time: a step for each phase and each rebalance."""
        outcomes, base = self.course.outcomes, y + _CHART
        most = max((load for each in outcomes for load in each.rates.values()), default=0.0)
        yield text_element(
            _LEFT - 6, base - 2, shorten_middle(self.short[member], _SIDE), "end", "b"
        )
        yield element("path", d=f"M{_LEFT} {coordinate(base)}H{WIDTH - _RIGHT}", class_="grid")
        bars, numbers = [], []
        for outcome, (start, end) in zip(outcomes, self.places.phases, strict=False):
            load = outcome.rates.get(member)
            if load is not None:
                bars.append(_step(load, (start, end), most, base))
                numbers.append(self._number(load, member, start, base - _height(load, most), base))
        for outcome, place in zip(outcomes[1:], self.places.gaps, strict=False):
            bars.append(_step(outcome.rates_meanwhile.get(member, 0.0), place, most, base))
        shape = "".join(filter(None, bars))
        yield element("path", d=shape, class_=f"u{self.colours[member]}") if shape else ""
        yield from numbers

    def _number(self, load: float, member: str, x: float, top: float, base: float) -> str:
        """The load in figures: above its step, or inside where there is no room above."""
        said = shown_load(load, measured=self.measured)
        if base - top < _CHART - 10:
            return text_element(x + 4, top - 3, said)
        return text_element(x + 4, top + 11, said, class_=f"on{self.colours[member]}")


def _height(load: float, most: float) -> float:
    return _CHART * load / most if most else 0.0


def _step(load: float, place: tuple[float, float], most: float, base: float) -> str:
    height = _height(load, most)
    return box(place[0], base - height, place[1] - place[0], height) if height else ""


def _tells(course: AssignorCourse, partitions: int) -> str:
    said: Iterable[str] = (
        f"{each.event}: {each.changed} change hands, {each.reshuffled} between members that stay"
        for each in course.outcomes[1:]
    )
    return "; ".join([count(partitions, "partition"), *said]) + "."
