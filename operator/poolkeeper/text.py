"""Numbers and lists as people read them: sizes, durations, counts, "a, b and 3 more".

Sizes are in powers of 1024. Numbers are written with separators of thousands, 200,000; statuses,
waits and problems of plans write them without (`grouped=False`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import ceil

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MIB = _UNITS.index("MiB")
_PERCENT_DIGITS = 9
"""Of a percentage, after the point; what differs from 0 or 100 less than that is 0 or 100."""
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


_NOT_OUR_COLOUR = r"(?!\[(?:0|1|31|32|33|36)m)"
_CONTROLS = (
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSEEN = re.compile(rf"\x1b|{_CONTROLS}")
"""What moves a terminal's cursor, changes the order of letters, or cannot be written.

Line feeds and tabs are left.
"""
_UNSEEN_BUT_COLOURS = re.compile(rf"\x1b{_NOT_OUR_COLOUR}|{_CONTROLS}")
"""The same without the colours that are ours."""


def visible(text: str, *, coloured: bool = False) -> str:
    """Write control characters as escapes: what a cluster is full of is anybody's.

    `coloured`: the text has colours of ours, which stay; others could hide what stands behind them.
    """
    if text.isascii() and text.isprintable():
        return text
    return (_UNSEEN_BUT_COLOURS if coloured else _UNSEEN).sub(_escape, text)


def visible_json(document: str) -> str:
    """Write the same of a JSON text as escapes of JSON: it is read as the same value."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _escape(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def size(size_bytes: float) -> str:
    """Write bytes with three significant digits: 0 B, 1000 B, 1.5 KiB, 98.4 MiB, 120 GiB."""
    return _three_digits(size_bytes, 0)


def size_of_mib(mib: int, *, up: bool = False) -> str:
    """Write MiB with three significant digits: 0 MiB, 1.5 GiB, 120 TiB; `up` rounds up."""
    return _three_digits(mib, _MIB, up=up)


def sizes_of_mib(*mib: int) -> tuple[str, ...]:
    """Write several sizes; exactly where two different ones would read alike."""
    short = tuple(map(size_of_mib, mib))
    return short if len(set(short)) == len(set(mib)) else tuple(f"{n:,} MiB" for n in mib)


def coarse_size(size_bytes: float) -> str:
    """Write bytes with two digits, which change less often: 40 GiB, 1.5 MiB, 120 GiB."""
    value, unit = _scaled(size_bytes, 0, 1000)
    if value >= 100:
        return f"{round(value / 10) * 10} {_UNITS[unit]}"
    digits = 0 if value >= 10 or unit == 0 else 1
    return f"{value:.{digits}f}".removesuffix(".0") + f" {_UNITS[unit]}"


def duration(duration_s: float) -> str:
    """Write seconds with two units at most: 8 s, 2 min 5 s, 3 h 20 min, 2 d 4 h."""
    whole = max(0, round(duration_s))
    for place, (seconds, unit) in enumerate(_SPANS):
        if whole >= seconds:
            first, rest = divmod(whole, seconds)
            finer, finer_unit = _SPANS[min(place + 1, len(_SPANS) - 1)]
            return f"{first} {unit}" + (f" {rest // finer} {finer_unit}" if rest >= finer else "")
    return "0 s"


def fine_duration(duration_s: float) -> str:
    """Write seconds as `duration` does, with tenths below one second: 0.4 s."""
    return f"{max(duration_s, 0.1):.1f} s" if 0 < duration_s < 0.95 else duration(duration_s)


def moment(time_ms: int) -> str:
    """Write a time as Kubernetes does, to the second: 2023-11-14T22:13:20Z."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_ms(text: str) -> int | None:
    """Read a time since 1970 that the API server takes, in milliseconds; None if it is none.

    The API server takes small letters, a year 0 and a 99th hour of a time zone as well.
    """
    try:
        found = round(datetime.fromisoformat(text.upper()).astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return found if found >= 0 else None


def about(duration_s: int) -> str:
    """Write coarse seconds: about 40 s, about 12 min, about 1 h 30 min."""
    if duration_s < 90:
        return f"about {duration_s} s"
    hours, minutes = divmod(-(-duration_s // 60), 60)
    if not hours:
        return f"about {minutes} min"
    return f"about {hours} h" + (f" {minutes} min" if minutes else "")


def percent(value: float) -> str:
    """Write a percentage with one decimal, none if it is whole: 0 %, 2.5 %, 130 %.

    What is neither 0 nor 100 is not written as that: 99.999 %, 0.003 %.
    """
    telling = (n for n in range(1, _PERCENT_DIGITS) if round(value, n) not in (0, 100))
    return f"{value:,.{next(telling, 1)}f}".removesuffix(".0") + " %"


def decimal(value: float, *, grouped: bool = True) -> str:
    """Write a number that need not be whole with four digits, or more: 13.67, 0.8, 33,333."""
    shown = f"{round(value, 4):.4g}" if abs(value) < 999.95 else f"{value:,.0f}"
    return shown if grouped else shown.replace(",", "")


def count(number: int, noun: str, *, grouped: bool = True) -> str:
    """Write a number with its noun: 1 topic, 2 topics, 200,000 partitions."""
    return f"{_number(number, grouped)} {noun}{'' if number == 1 else 's'}"


def part_of(number: int, whole: int, noun: str) -> str:
    """Write a part of a number with its noun: 1,200 of 12,000 moves."""
    return f"{number:,} of {count(whole, noun)}"


def partitions_times(partitions: int, factors: Iterable[int]) -> str:
    """Write how large a topic is: 3 partitions × 2 replicas, 1 partition × 1 replica."""
    each = sorted(set(factors))
    noun = "replica" if each == [1] else "replicas"
    return f"{count(partitions, 'partition')} × {'/'.join(map(str, each))} {noun}"


def more(number: int, noun: str = "", *, grouped: bool = True) -> str:
    """Write how many are not shown: and 3 more, and 1 more pool; nothing for none."""
    if number <= 0:
        return ""
    plural = "s" if noun and number != 1 else ""
    return f"and {_number(number, grouped)} more {noun}{plural}".rstrip()


def few(names: Iterable[object], most: int = 5, *, grouped: bool = True) -> str:
    """Write the first few names and how many more there are: a, b and 3 more."""
    all_ = list(names)
    rest = more(len(all_) - most, grouped=grouped)
    return ", ".join(map(str, all_[:most])) + (f" {rest}" if rest else "")


def few_others(names: Sequence[str], own: str, most: int = 5, *, grouped: bool = True) -> str:
    """Write the first few of sorted names without one of them: a, b and 3 more.

    However many they are, the time is the same: thousands may each be told of the others.
    """
    place = bisect_left(names, own)
    among = place < len(names) and names[place] == own
    shown = [name for name in names[: most + 1] if name != own][:most]
    rest = more(len(names) - among - len(shown), grouped=grouped)
    return ", ".join(shown) + (f" {rest}" if rest else "")


def one_of(names: Iterable[object], most: int = 20) -> str:
    """Say which names were expected, or that there are none: expected one of a, b."""
    known = few(names, most)
    return f"expected one of {known}" if known else "there is none"


def cut(parts: Iterable[str], most: int, *, grouped: bool = True) -> list[str]:
    """Return the first of some parts, followed by how many more there are."""
    all_ = list(parts)
    return [*all_[:most], *filter(None, [more(len(all_) - most, grouped=grouped)])]


def shorten(text: str, bytes_max: int) -> str:
    """Return the text, cut with an ellipsis to at most `bytes_max` bytes of UTF-8."""
    data = text.encode(errors="replace")
    if len(data) <= bytes_max:
        return text
    return data[: bytes_max - 3].decode(errors="ignore") + "…"


def first(names: Iterable[object], most: int, separator: str = ", ") -> str:
    """Write the first few names, with an ellipsis for the others: a, b, …."""
    all_ = list(names)
    return separator.join([*map(str, all_[:most]), *(["…"] if len(all_) > most else [])])


def listed(names: Iterable[object], last: str = "and") -> str:
    """Write all of some names: a, b and c."""
    *most, end = map(str, names)
    return f"{', '.join(most)} {last} {end}" if most else end


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or its type where it says nothing."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def join(items: Iterable[object]) -> str:
    """Write items with commas: 1, 2, 3."""
    return ", ".join(map(str, items))


def named(noun: str, names: Iterable[object]) -> str:
    """Write a noun and names: broker 3, brokers 3, 4."""
    all_ = list(map(str, names))
    return f"{noun}{'' if len(all_) == 1 else 's'} {', '.join(all_)}"


def _number(number: int, grouped: bool) -> str:
    return f"{number:,}" if grouped else str(number)


def _scaled(value: float, unit: int, limit: float) -> tuple[float, int]:
    """The value and its unit: the first unit, from `unit` on, in which it is below the limit."""
    value = float(value)
    while abs(value) >= limit and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return value, unit


def _three_digits(size: float, base: int, *, up: bool = False) -> str:
    value, unit = _scaled(size, base, 1023.5)
    digits = 0 if unit == base or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    if up:
        value = ceil(value * 10**digits) / 10**digits
    number = f"{value:.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} {_UNITS[unit]}"
