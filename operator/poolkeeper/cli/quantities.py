"""Numbers as people read them: sizes in powers of 1024, durations, counts with their noun."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(size_bytes: float) -> str:
    """Write bytes with three significant digits: 0 B, 1000 B, 1.5 KiB, 98.4 MiB, 120 GiB."""
    value, unit = float(size_bytes), 0
    while abs(value) >= 1023.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if unit == 0 or abs(value) >= 99.95:
        return f"{value:.0f} {_UNITS[unit]}"
    digits = 1 if abs(value) >= 9.995 else 2
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return f"{text} {_UNITS[unit]}"


def duration(duration_s: float) -> str:
    """Write seconds with two units at most: 8 s, 2 min 5 s, 3 h 20 min, 2 d 4 h."""
    whole = max(0, round(duration_s))
    parts: list[str] = []
    for seconds, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        amount, whole = divmod(whole, seconds)
        if amount or parts or unit == "s":
            parts.append(f"{amount} {unit}")
    kept = parts[:2]
    return " ".join([kept[0], *(part for part in kept[1:] if not part.startswith("0 "))])


def count(number: int, noun: str) -> str:
    """Write a number with its noun: 1 topic, 2 topics, 200,000 partitions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
