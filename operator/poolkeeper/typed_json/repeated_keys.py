"""Keys that an object of a JSON text holds more than once, each with its line and the first one's.

All parsers take the last of several keys of one name: whoever reads the file may see the first.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from poolkeeper.errors import Problem
from poolkeeper.typed_json.declared_types import SparseObject
from poolkeeper.typed_json.descriptions import PROBLEMS_MAX, place_below
from poolkeeper.typed_json.plain_values import parse_plain

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PLAIN = rf'{_TEXT}|[^\s"{{}}\[\],]+|\[[^"{{}}\[\]]*\]'
_TOKEN = re.compile(rf",?({_TEXT})\s*:\s*(?:{_PLAIN})?|{_TEXT}|[{{}}\[\],]", re.DOTALL)
"""Of a JSON text, what says where a value is: a key with a plain value is one token."""


def holds_no_more(data: bytes, found: object) -> bool:
    """Whether a JSON text surely holds no keys but those of which the values were made.

    A text has a colon for each key, and those in strings; and a `SparseObject` is written with no
    key that was not there.
    """
    return (
        isinstance(found, SparseObject)
        and b"\\" not in data  # else a colon in a string may be written otherwise
        and data.count(b":") == msgspec.json.encode(found).count(b":")
    )


class _KeyTwiceError(Exception):
    pass


def _refuse_key_twice(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _KeyTwiceError


def repeated_keys(data: bytes, file: str) -> list[Problem]:
    """Return a problem for each key that an object of a JSON text holds once more."""
    try:
        parse_plain(data, file, _refuse_key_twice)
    except _KeyTwiceError:
        found = _keys_twice(data.decode(json.detect_encoding(data), "surrogatepass"))
        return [
            Problem(file, line, place, f"is given twice (first on line {first})")
            for line, place, first in islice(found, PROBLEMS_MAX)
        ]
    return []


class _Opened:
    """An object or a list whose end has not come yet; `keys`: those of an object, by line."""

    def __init__(self, place: str, keys: dict[str, int] | None) -> None:
        self.place = place
        self.keys = keys
        self.key = ""
        self.number = 0

    def inside(self) -> str:
        """The place of the value that has come last."""
        return (
            f"{self.place}[{self.number}]"
            if self.keys is None
            else place_below(self.place, self.key)
        )


def _keys_twice(text: str) -> Iterator[tuple[int, str, int]]:
    """Give the line and the place of every such key of a JSON text, and the line of the first."""
    inner = _Opened("", {})
    opened = []
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        mark, written = token[0], token[1]
        if written and inner.keys is not None:
            line += text.count("\n", end, token.start(1))
            end = token.start(1)
            inner.key = json.loads(written) if "\\" in written else written[1:-1]
            if inner.key in inner.keys:
                yield line, inner.inside(), inner.keys[inner.key]
            inner.keys.setdefault(inner.key, line)
        elif mark in "{[":
            opened.append(inner)
            place = inner.inside() if len(opened) > 1 else ""
            inner = _Opened(place, {} if mark == "{" else None)
        elif mark in "}]":
            inner = opened.pop()
        elif mark == ",":
            inner.number += 1
