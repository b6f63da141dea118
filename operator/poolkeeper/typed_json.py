"""JSON read into declared types, by msgspec; what is wrong is told with its place, all of it.

    class Mark(Struct):
        broker: Natural
        racks: tuple[str, ...] = ()

    decode(b'{"broker": "1", "racks": [2]}', Mark, "marks.json")

raises `InvalidInput` with `marks.json: broker: is '1' (expected an integer of 0 or more)` and
`marks.json: racks[0]: is 2 (expected a string)`. msgspec itself stops at the first mistake, so what
it refuses is gone through once more, value by value. Unknown keys are ignored.

All parsers take the last of several keys of one name. What people hand us is refused then
(`repeats=False`): whoever reads the file may see the first.

Annotations say more than types do: `Meta(description=…)` what is expected, in words; and `unique`
the field in which no two items of a list may be alike.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from poolkeeper.errors import InvalidInput, Problem

T = TypeVar("T")
INTEGER_MAX = 2**31 - 1
"""Of what Kafka keeps as an integer: broker ids, numbers of partitions."""
Natural = Annotated[int, Meta(ge=0, le=2**53, description="an integer from 0 to 2^53")]
"""A count, or bytes: as far as every reader of JSON has it exactly, and sums fit into 64 bits."""
ByteSum = Annotated[int, Meta(ge=0, le=2**63 - 1, description="an integer from 0 to 2^63 - 1")]
"""Bytes of several replicas: what fits into 64 bits."""
Milliseconds = Annotated[
    int, Meta(ge=0, le=253_402_300_799_999, description="milliseconds since 1970")
]
"""A point in time that a calendar has: up to the end of the year 9999."""
Finite = Annotated[
    float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a number")
]
BrokerId = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description="a broker id")]
PartitionNumber = Annotated[
    int, Meta(ge=0, le=INTEGER_MAX, description="the number of a partition")
]
BrokerIds = Annotated[tuple[BrokerId, ...], Meta(description="a list of broker ids")]
ReplicaList = Annotated[
    tuple[BrokerId, ...], Meta(min_length=1, description="a list of at least one broker id")
]

_WORDS = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    tuple: "a list",
    list: "a list",
    dict: "an object",
}
_VALUE_CHARACTERS_MAX = 60
_PROBLEMS_MAX = 100
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PLAIN = rf'{_TEXT}|[^\s"{{}}\[\],]+|\[[^"{{}}\[\]]*\]'
_TOKEN = re.compile(rf",?({_TEXT})\s*:\s*(?:{_PLAIN})?|{_TEXT}|[{{}}\[\],]", re.DOTALL)
"""Of a JSON text, what says where a value is: a key with a plain value is one token."""
_UNIQUE = "unique"
_NO_TEXT = "has a text with half a character, which UTF-8 does not have"
_NO_TEXT_KEY = "is a key with half a character, which UTF-8 does not have"
_Wrong = Iterator[tuple[str, str]]
"""Places and messages."""


class JsonObject(Struct, gc=False, rename="camel"):
    """A JSON object whose keys are the fields' names in camel case."""


class SparseObject(JsonObject, gc=False, omit_defaults=True):
    """An object that is written with the keys that are not as by default.

    If all objects of a document are such ones, repeated keys are looked for at little cost.
    """


def unique(field: str) -> Meta:
    """Annotate a list of objects, no two of which may have the same value in that field.

    Types cannot forbid it: the object that holds the list calls `refuse_twice` when it is made.
    """
    return Meta(extra={_UNIQUE: field})


def refuse_twice(names: Iterable[object]) -> None:
    """Raise `ValueError` if a name is there twice, for an object's `__post_init__`."""
    for name in _twice(names):
        raise ValueError(f"has {name} twice")


def decode(
    data: bytes, kind: type[T], file: str = "", *, halves: bool = True, repeats: bool = True
) -> T:
    """Read a JSON text; raises `InvalidInput`, which names `file`, with every problem.

    `halves`: whether texts may hold halves of surrogate pairs, which cannot be written as UTF-8.
    `repeats`: whether an object may hold a key twice, of which the last one counts.
    """
    again: list[Problem] = []
    try:
        found = msgspec.json.decode(data, type=kind)
        if not repeats and not _holds_no_more(data, found):
            again = _repeated_keys(data, file)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # What is wrong is told below. Python's own parser says where; and it reads NaN and halves
        # of surrogate pairs, which Python's own writer wrote into older documents.
        value = parse(data, file)
        again = [] if repeats else _repeated_keys(data, file)
        try:
            found = convert(value, kind, file, halves=halves)
        except InvalidInput as wrong:
            raise InvalidInput([*again, *wrong.problems]) from None
    if again:
        raise InvalidInput(again)
    return found


def said_of(wrong: json.JSONDecodeError) -> str:
    """What is wrong and at which character; some of the library's texts end before the place."""
    return (
        f"{wrong.msg.removesuffix(' at').removesuffix(' starting')}, at character {wrong.pos + 1}"
    )


def _holds_no_more(data: bytes, found: object) -> bool:
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


def _repeated_keys(data: bytes, file: str) -> list[Problem]:
    """Return a problem for each key that an object of a JSON text holds once more."""
    try:
        _parse(data, file, _refuse_key_twice)
    except _KeyTwiceError:
        found = _keys_twice(data.decode(json.detect_encoding(data), "surrogatepass"))
        return [
            Problem(file, line, place, f"is given twice (first on line {first})")
            for line, place, first in islice(found, _PROBLEMS_MAX)
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
        return f"{self.place}[{self.number}]" if self.keys is None else _below(self.place, self.key)


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


def parse(data: bytes, file: str = "", *, repeats: bool = True) -> Any:
    """Read a JSON text into plain values; raises `InvalidInput`. `repeats`: as for `decode`."""
    found = _parse(data, file)
    if not repeats and (again := _repeated_keys(data, file)):
        raise InvalidInput(again)
    return found


def _parse(
    data: bytes, file: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    try:
        return json.loads(data, object_pairs_hook=hook)
    except json.JSONDecodeError as wrong:
        message = f"is not JSON: {said_of(wrong)}"
        raise InvalidInput([Problem(file, wrong.lineno, "", message)]) from None
    except UnicodeDecodeError:
        raise InvalidInput([Problem(file, 0, "", "is not UTF-8")]) from None
    except RecursionError:
        raise InvalidInput([Problem(file, 0, "", "is nested too deeply")]) from None
    except ValueError:
        raise InvalidInput([Problem(file, 0, "", "has a number that is too long")]) from None


def convert(value: object, kind: type[T], file: str = "", *, halves: bool = True) -> T:
    """Return the plain values as declared; raises `InvalidInput` with every problem.

    `halves`: as for `decode`.
    """
    if not halves and (no_text := _problems(file, _half_characters(value, ""))):
        raise InvalidInput(no_text)
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as first:
        found = _problems(file, _wrong(value, kind, ""))
        raise InvalidInput(found or [Problem(file, 0, "", str(first))]) from None
    except UnicodeEncodeError:
        raise InvalidInput([Problem(file, 0, "", _NO_TEXT)]) from None


def _problems(file: str, wrong: _Wrong) -> list[Problem]:
    """Return the problems; of very many the first ones, and that there are more."""
    found = [Problem(file, 0, place, message) for place, message in islice(wrong, _PROBLEMS_MAX)]
    if next(wrong, None):
        found.append(Problem(file, 0, "", f"has more than {_PROBLEMS_MAX} problems, these first"))
    return found


def _half_characters(value: Any, place: str) -> _Wrong:
    """Give every text in the value, of keys as well, that cannot be written as UTF-8."""
    left = [(value, place)]  # of its own: the value may be nested as deeply as calls may be
    while left:
        item, place = left.pop()
        if isinstance(item, Mapping):
            below = [(each, key, _below(place, key)) for key, each in item.items()]
            yield from ((there, _NO_TEXT_KEY) for _, key, there in below if _is_half(key))
            left += [(each, there) for each, _, there in below]
        elif isinstance(item, list | tuple):
            left += [(each, f"{place}[{number}]") for number, each in enumerate(item)]
        elif _is_half(item):
            yield place, _NO_TEXT


def _is_half(value: object) -> bool:
    if not isinstance(value, str) or value.isascii():
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def _below(place: str, key: object) -> str:
    """Return the place of a key's value, in characters that can be printed and of bounded length.

    A key of an object comes from the document, as anything else there.
    """
    name = str(key)
    if len(name) > _VALUE_CHARACTERS_MAX:
        name = f"{name[: _VALUE_CHARACTERS_MAX - 1]}…"
    if not name.isprintable():
        name = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"{place}.{name}" if place else name


def _wrong(value: object, kind: Any, place: str) -> _Wrong:
    """Give everything in the value that is not as declared."""
    bare, meta = _bare(kind)
    origin = get_origin(bare) or bare
    expected = _described(kind)
    if origin in (UnionType, Union):
        yield from _wrong_union(value, get_args(bare), place)
    elif not (why := _why(value, kind)) and not (meta and meta.extra):
        return
    elif origin is tuple:
        yield from _wrong_list(value, kind, place, expected)
    elif origin is dict and isinstance(value, Mapping):
        yield from _wrong_items(value, get_args(bare), place)
    elif hasattr(origin, "__struct_fields__") and isinstance(value, Mapping):
        yield from _wrong_fields(value, origin, place)
    else:
        yield place, description(value, expected) if expected else why


def _wrong_union(value: object, kinds: tuple[Any, ...], place: str) -> _Wrong:
    """Look at the one kind that is not null, or at the one that the value's tag names."""
    if NoneType in kinds:
        if value is not None:
            yield from _wrong(value, kinds[0], place)
        return
    tags = {kind.__struct_config__.tag: kind for kind in kinds}
    key = kinds[0].__struct_config__.tag_field
    tag = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping):
        yield place, description(value, "an object")
    elif isinstance(tag, str) and tag in tags:
        yield from _wrong(value, tags[tag], place)
    else:
        yield f"{place}.{key}", description(tag, f"one of {', '.join(tags)}")


def _wrong_list(value: object, kind: Any, place: str, expected: str) -> _Wrong:
    bare, meta = _bare(kind)
    kinds = get_args(bare)
    if not isinstance(value, list | tuple):
        yield place, description(value, expected)
        return
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(value)
    least = meta.min_length if meta and meta.min_length else 0
    if len(value) != len(kinds) or len(value) < least:
        yield place, description(value, expected)
    if meta and meta.extra:
        yield from _wrong_names(value, meta.extra[_UNIQUE], place)
    for number, (item, each) in enumerate(zip(value, kinds, strict=False)):
        yield from _wrong(item, each, f"{place}[{number}]")


def _wrong_names(value: Iterable[object], field: str, place: str) -> _Wrong:
    names = [item.get(field) for item in value if isinstance(item, Mapping)]
    for name in _twice(name for name in names if type(name) in (str, int)):
        yield place, f"has {name} twice"


def _wrong_items(value: Mapping[Any, object], kinds: tuple[Any, ...], place: str) -> _Wrong:
    for key, item in value.items():
        if _why({key: None}, dict[kinds[0], Any]):  # type: ignore[valid-type]
            yield _below(place, key), f"is no key here (expected {_described(kinds[0])})"
        yield from _wrong(item, kinds[1], _below(place, key))


def _wrong_fields(value: Mapping[Any, object], kind: type[Struct], place: str) -> _Wrong:
    for field in msgspec.structs.fields(kind):
        there = _below(place, field.encode_name)
        item = value.get(field.encode_name)
        if item is None and field.required:
            expected = _described(field.type)
            yield there, f"is missing (expected {expected})" if expected else "is missing"
        elif field.encode_name in value:
            yield from _wrong(item, field.type, there)


def _twice(names: Iterable[object]) -> list[object]:
    return [name for name, count in Counter(names).items() if count > 1]


def _why(value: object, kind: Any) -> str:
    """Return what msgspec has against the value, nothing if it is as declared."""
    try:
        msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as wrong:
        return str(wrong)
    except UnicodeEncodeError:
        return _NO_TEXT
    return ""


def _bare(kind: Any) -> tuple[Any, Meta | None]:
    """Return a type without its annotation, and the annotation."""
    if get_origin(kind) is not Annotated:
        return kind, None
    bare, meta = get_args(kind)
    return bare, meta


def _described(kind: Any) -> str:
    """Return in words what is expected, nothing where only msgspec has words for it."""
    bare, meta = _bare(kind)
    origin = get_origin(bare) or bare
    if meta is not None and meta.description:
        return meta.description
    if origin is Literal:
        return " or ".join(map(str, get_args(bare)))
    if origin in (UnionType, Union):
        return _described(get_args(bare)[0])
    return "an object" if hasattr(origin, "__struct_fields__") else _WORDS.get(origin, "")


def word(value: object) -> str:
    """Say what a value read from JSON is, without the value."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return _WORDS[type(value)]


def description(value: object, expected: str) -> str:
    """Say what a value is and what was expected, in bounded length."""
    shown = "null" if value is None else _shown(value)
    if len(shown) > _VALUE_CHARACTERS_MAX:
        shown = f"{shown[: _VALUE_CHARACTERS_MAX - 1]}…"
    return f"is {shown} (expected {expected})"


def _shown(value: object) -> str:
    """Return a value for a message; Python refuses to print integers of thousands of digits."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large"
