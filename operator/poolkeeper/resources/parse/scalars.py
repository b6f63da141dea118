"""The value of a plain YAML scalar, and the scalars on which YAML parsers disagree.

kubectl reads YAML 1.1 (`on` is true, 0777 is 511), most other tools read YAML 1.2 (`on` is text,
0777 is 777). A manifest must mean one thing. So a scalar that the two read differently is refused;
all others are read as YAML 1.2. `.inf` and `.nan` are text: JSON has no such numbers.
"""

import functools
import math
import re

from poolkeeper.frozen import frozen

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_TRUE_OF_1_1 = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE_OF_1_1 = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ODD_NUMBER = re.compile(
    r"[-+]?(0[0-9_]+|0[oO][0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+|[1-9][0-9_]*_[0-9_]*)"
)
_DIGITS_MAX = 100


@frozen
class Ambiguous:
    """A scalar that YAML parsers read differently; `reason` says so and what to write instead."""

    reason: str


@functools.lru_cache(maxsize=20_000)
def resolve(text: str) -> str | int | float | bool | Ambiguous | None:
    """The value of a plain scalar."""
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text in _TRUE_OF_1_1 or text in _FALSE_OF_1_1:
        word = "true" if text in _TRUE_OF_1_1 else "false"
        return Ambiguous(
            f"'{text}' is {word} for kubectl, elsewhere text (expected {word}, or quotes)"
        )
    if text[0] in "-+.0123456789":
        return _number(text)
    return text


def _number(text: str) -> str | int | float | Ambiguous:
    if len(text) > _DIGITS_MAX:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    if _ODD_NUMBER.fullmatch(text):
        return Ambiguous(
            f"'{text}' is not the same number to all readers (expected decimal, or quotes)"
        )
    if not _FRACTION.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        return text
    # 1e3 becomes the whole number 1000 in JSON; 12.0 stays a float.
    written_out = "e" not in text.lower()
    return number if written_out or not number.is_integer() else int(number)
