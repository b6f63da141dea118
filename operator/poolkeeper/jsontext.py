"""JSON text without spaces, and the canonical form for hashes and comparisons.

The same value gives the same bytes on every machine. Text is ASCII with escapes; with
`ascii_only=False` it is unescaped, which is shorter. `indented` is for people to read.
"""

import json
import re
from functools import cache, lru_cache
from json import JSONEncoder

import msgspec

_DELETE = "\x7f"
"""The one ASCII character that the standard library escapes and msgspec does not."""

_ESCAPED = re.compile("[^\x00-\x7e]+")


def canonical(value: object, *, ascii_only: bool = True) -> str:
    """Write a value with sorted keys and without spaces: {"a":1,"b":[2,3]}."""
    return _encoder(True, ascii_only, False).encode(value)


def canonical_of(value: object) -> bytes:
    """Write a value that may hold typed objects in that form; in a tenth of the time.

    Numbers are finite; a fraction may be written in another form of the same number.
    """
    try:
        text = msgspec.json.encode(value, order="sorted")
    except (UnicodeEncodeError, OverflowError):  # half a character, or more than 64 bits
        return canonical(msgspec.to_builtins(value)).encode()
    if text.isascii() and _DELETE.encode() not in text:
        return text
    return _ESCAPED.sub(_escaped, text.decode()).encode()


def _escaped(found: re.Match[str]) -> str:
    return _escapes(found[0])


@lru_cache(maxsize=1024)
def _escapes(text: str) -> str:
    return json.dumps(text)[1:-1]


def compact(value: object, *, ascii_only: bool = True, finite: bool = False) -> str:
    """Write a value with its keys in their order and without spaces.

    With `finite`, numbers that JSON does not have raise `ValueError`.
    """
    return _encoder(False, ascii_only, finite).encode(value)


def indented(value: object, indent: int, *, ascii_only: bool = True) -> str:
    """Write a value on lines of their own, as `json.dumps` does with `indent`.

    The library's encoder is compiled only for text without indents, so these come afterwards: a
    tenth of the time. What has no place in UTF-8 or in JSON (half a character, NaN) is left to it.
    """
    text = compact(value, ascii_only=ascii_only)
    try:
        return msgspec.json.format(text, indent=indent)
    except (UnicodeEncodeError, msgspec.DecodeError):
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


@cache
def _encoder(sort_keys: bool, ascii_only: bool, finite: bool) -> JSONEncoder:
    return JSONEncoder(
        sort_keys=sort_keys,
        separators=(",", ":"),
        ensure_ascii=ascii_only,
        allow_nan=not finite,
    )
