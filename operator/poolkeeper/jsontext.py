"""JSON text without spaces, and the canonical form for hashes and comparisons.

The same value gives the same bytes on every machine. Text is ASCII with escapes; with
`ascii_only=False` it is unescaped, which is shorter. `indented` is for people to read.
"""

import codecs
import json
from functools import cache, lru_cache
from json import JSONEncoder

import msgspec

_DELETE = b"\x7f"
"""The one ASCII character that the standard library escapes and msgspec does not."""


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
    return _in_ascii(text)


def _in_ascii(text: bytes) -> bytes:
    """Escape what the standard library escapes in JSON that is ASCII."""
    escaped = text if text.isascii() else text.decode().encode("ascii", _AS_ESCAPES)
    return escaped.replace(_DELETE, _escapes(_DELETE.decode()).encode())


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Escape a run of characters that an encoder has no bytes for."""
    assert isinstance(error, UnicodeEncodeError)
    return _escapes(error.object[error.start : error.end]), error.end


_AS_ESCAPES = "poolkeeper.jsontext"
codecs.register_error(_AS_ESCAPES, _escaped)


@lru_cache(maxsize=1024)
def _escapes(text: str) -> str:
    return json.dumps(text)[1:-1]


def compact(value: object, *, ascii_only: bool = True, finite: bool = False) -> str:
    """Write a value with its keys in their order and without spaces.

    With `finite`, numbers that JSON does not have raise `ValueError`.
    """
    return _encoder(False, ascii_only, finite).encode(value)


def indented(value: object, indent: int, *, ascii_only: bool = True) -> str:
    """Write a value on lines of their own, as `json.dumps` does with `indent`, in less time.

    A fraction may be written in another form of the same number; one that is no number is null.
    """
    try:
        text = msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError):  # half a character, or more than 64 bits
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    return msgspec.json.format(_in_ascii(text) if ascii_only else text, indent=indent).decode()


@cache
def _encoder(sort_keys: bool, ascii_only: bool, finite: bool) -> JSONEncoder:
    return JSONEncoder(
        sort_keys=sort_keys,
        separators=(",", ":"),
        ensure_ascii=ascii_only,
        allow_nan=not finite,
    )
