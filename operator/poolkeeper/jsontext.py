"""JSON text without spaces, and the canonical form for hashes and comparisons.

The same value gives the same bytes on every machine. Text is ASCII with escapes; with
`ascii_only=False` it is unescaped, which is shorter.
"""

from functools import cache
from json import JSONEncoder


def canonical(value: object, *, ascii_only: bool = True) -> str:
    """Write a value with sorted keys and without spaces: {"a":1,"b":[2,3]}."""
    return _encoder(True, ascii_only, False).encode(value)


def compact(value: object, *, ascii_only: bool = True, finite: bool = False) -> str:
    """Write a value with its keys in their order and without spaces.

    With `finite`, numbers that JSON does not have raise `ValueError`.
    """
    return _encoder(False, ascii_only, finite).encode(value)


@cache
def _encoder(sort_keys: bool, ascii_only: bool, finite: bool) -> JSONEncoder:
    return JSONEncoder(
        sort_keys=sort_keys,
        separators=(",", ":"),
        ensure_ascii=ascii_only,
        allow_nan=not finite,
    )
