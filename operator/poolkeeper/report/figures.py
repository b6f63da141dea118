"""Numbers as reports write them: sizes in powers of 1024, durations, counts with their noun."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def size(size_bytes: float) -> str:
    """Three significant digits: 0 B, 1000 B, 1.5 KiB, 98.4 MiB, 120 GiB."""
    value, unit = float(size_bytes), 0
    while abs(value) >= 1023.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {_UNITS[unit]}"


def duration(duration_s: float) -> str:
    """Two units at most: 0.4 s, 8 s, 2 min 5 s, 3 h 20 min, 2 d 4 h."""
    if 0 < duration_s < 1:
        return f"{max(duration_s, 0.1):.1f} s" if duration_s < 0.95 else "1 s"
    whole = max(0, round(duration_s))
    for place, (seconds, unit) in enumerate(_SPANS):
        if whole >= seconds or unit == "s":
            first, rest = divmod(whole, seconds)
            finer = _SPANS[place + 1] if place + 1 < len(_SPANS) else None
            more = f" {rest // finer[0]} {finer[1]}" if finer and rest >= finer[0] else ""
            return f"{first} {unit}{more}"
    raise AssertionError("seconds take what is left")


def count(number: int, noun: str) -> str:
    """1 topic, 2 topics, 200,000 partitions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(value: float) -> str:
    """One digit, none where it is whole: 0 %, 2.5 %, 130 %."""
    text = f"{value:,.1f}"
    return f"{text.removesuffix('.0')} %"
