"""MiB as people read them, in sentences of problems."""

from math import ceil

_UNITS = ("MiB", "GiB", "TiB", "PiB")


def text(mib: int, *, up: bool = False) -> str:
    """Write three significant digits: 0 MiB, 900 MiB, 1.5 GiB, 120 TiB; `up`: never too little."""
    value, unit = float(mib), 0
    while value >= 1023.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or value >= 99.95 else 1 if value >= 9.995 else 2
    if up:
        value = ceil(value * 10**digits) / 10**digits
    number = f"{value:.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} {_UNITS[unit]}"


def texts(*mib: int) -> tuple[str, ...]:
    """The same of several, exactly where two that differ would read alike."""
    short = tuple(map(text, mib))
    return short if len(set(short)) == len(set(mib)) else tuple(f"{n:,} MiB" for n in mib)
