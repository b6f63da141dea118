"""Sizes and durations as Kubernetes writes them.

A size is a whole number of bytes, or text: a number with a decimal (k, M, G, T, P, E), a binary
(Ki … Ei) or an exponent (1e3) after it. Parts of a byte are rounded up, as Kubernetes does. A
duration is hours, minutes and seconds in that order: 1h30m.
"""

import math
import re
from fractions import Fraction

from poolkeeper.errors import Refused

DURATION_PATTERN = r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$"
BYTES_MAX = 2**63 - 1

_POWERS = "kMGTPE"
_DECIMAL = {letter: 1000 ** (power + 1) for power, letter in enumerate(_POWERS)}
_BINARY = {f"{letter.upper()}i": 1024 ** (power + 1) for power, letter in enumerate(_POWERS)}
_UNITS = {**_DECIMAL, **_BINARY, "": 1}
_SIZE = re.compile(r"([0-9]+(?:[.][0-9]+)?)(?:[eE]([0-9]{1,2})|([A-Za-z]*))")
_DURATION = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?")
_TOO_LONG = re.compile(r"(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?")


def size_bytes(value: int | str) -> int:
    """The bytes of a size: 104857600 for "100Mi"; raises `Refused` with the reason."""
    shown = repr(value) if isinstance(value, str) else str(value)
    match = _SIZE.fullmatch(str(value)) if len(str(value)) <= 32 else None
    if match is None:
        raise Refused(f"{shown} is not a size (expected such as 100Mi)")
    number, exponent, unit = match.groups()
    if exponent is None and unit not in _UNITS:
        raise Refused(f"{shown} is not a size ({_unit_hint(unit)})")
    factor: int = 10 ** int(exponent) if exponent is not None else _UNITS[unit]
    found = math.ceil(Fraction(number) * factor)
    if not 0 < found <= BYTES_MAX:
        raise Refused(f"{shown} is out of range (expected more than 0, and below 8Ei)")
    return found


def duration_s(value: str) -> int:
    """The seconds of a duration: 5400 for "1h30m"; raises `Refused` with the reason."""
    match = _DURATION.fullmatch(value)
    if match is None and _TOO_LONG.fullmatch(value):
        raise Refused(
            f"{value!r} is out of range (expected at most 999999h, 999999m and 99999999s)"
        )
    if not value or match is None:
        raise Refused(f"{value!r} is not a duration (expected such as 45s, 30m or 1h30m)")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def positive_duration_s(value: str) -> int:
    """The seconds of a duration; also raises `Refused` for zero."""
    found = duration_s(value)
    if not found:
        raise Refused(f"{value!r} is no time at all (expected such as 45s, 30m or 1h30m)")
    return found


def size_text(size_bytes: int) -> str:
    """The shortest exact text: "100Mi" for 104857600, "1000" for 1000."""
    for unit, factor in reversed(_BINARY.items()):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return str(size_bytes)


def duration_text(duration_s: int) -> str:
    """The shortest text: "1h30m" for 5400, "0s" for 0."""
    hours, rest = divmod(duration_s, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def _unit_hint(unit: str) -> str:
    if unit in {"m", "n", "u"}:
        return "parts of a byte: expected M or Mi for a million"
    near = [known for known in _UNITS if known and known.lower() == unit.lower().removesuffix("b")]
    if near:
        return f"did you mean the unit {near[0]!r}?"
    return "expected one of the units k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"
