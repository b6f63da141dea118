"""Everything in plain values that is not as declared, each with its place.

msgspec itself stops at the first mistake, so what it refuses is gone through once more, value by
value.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from poolkeeper.typed_json.declared_types import FORMAT, INTEGER_MAX, UNIQUE, duplicates_of
from poolkeeper.typed_json.descriptions import (
    description,
    expectation,
    place_below,
    without_annotation,
)
from poolkeeper.typed_json.type_lookup import look_up

NO_TEXT = "has a text with half a character, which UTF-8 does not have"
_NO_TEXT_KEY = "is a key with half a character, which UTF-8 does not have"
Mistakes = Iterator[tuple[str, str]]
"""Places and messages."""


def half_characters(value: Any, place: str) -> Mistakes:
    """Give every text in the value, of keys as well, that cannot be written as UTF-8."""
    left = [(value, place)]  # of its own: the value may be nested as deeply as calls may be
    while left:
        item, place = left.pop()
        if isinstance(item, Mapping):
            below = [(each, key, place_below(place, key)) for key, each in item.items()]
            yield from ((there, _NO_TEXT_KEY) for _, key, there in below if _is_half(key))
            left += [(each, there) for each, _, there in below]
        elif isinstance(item, list | tuple):
            left += [(each, f"{place}[{number}]") for number, each in enumerate(item)]
        elif _is_half(item):
            yield place, NO_TEXT


def _is_half(value: object) -> bool:
    if not isinstance(value, str) or value.isascii():
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def mistakes_in(value: object, kind: Any, place: str) -> Mistakes:
    """Give everything in the value that is not as declared."""
    bare, meta = without_annotation(kind)
    origin = get_origin(bare) or bare
    expected = expectation(kind)
    if origin in (UnionType, Union):
        yield from _wrong_union(value, get_args(bare), place)
    elif not (why := _why(value, kind)) and not (meta and meta.extra and UNIQUE in meta.extra):
        return
    elif meta and meta.extra and FORMAT in meta.extra:
        yield place, _wrong_format(value, meta.extra[FORMAT])
    elif origin is tuple:
        yield from _wrong_list(value, kind, place, expected)
    elif origin is dict and isinstance(value, Mapping):
        yield from _wrong_items(value, get_args(bare), place)
    elif hasattr(origin, "__struct_fields__") and isinstance(value, Mapping):
        yield from _wrong_fields(value, origin, place)
    else:
        yield place, description(value, expected) if expected else why


def _wrong_union(value: object, kinds: tuple[Any, ...], place: str) -> Mistakes:
    """Look at the one kind that is neither null nor absent, or at the one that a tag names."""
    told = tuple(kind for kind in kinds if kind not in (NoneType, msgspec.UnsetType))
    if len(told) == 1:
        if value is not None or NoneType not in kinds:
            yield from mistakes_in(value, told[0], place)
        return
    kinds = told
    tags = {kind.__struct_config__.tag: kind for kind in kinds}
    key = kinds[0].__struct_config__.tag_field
    tag = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping):
        yield place, description(value, "an object")
    elif isinstance(tag, str) and tag in tags:
        yield from mistakes_in(value, tags[tag], place)
    else:
        yield f"{place}.{key}", description(tag, f"one of {', '.join(tags)}")


def _wrong_format(value: object, known: int) -> str:
    if type(value) is int and known < value <= INTEGER_MAX:
        return f"is {value}: a later Poolkeeper wrote it (this one knows {known}): use that"
    return description(value, str(known))


def _wrong_list(value: object, kind: Any, place: str, expected: str) -> Mistakes:
    bare, meta = without_annotation(kind)
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
        yield from _wrong_names(value, meta.extra[UNIQUE], place)
    for number, (item, each) in enumerate(zip(value, kinds, strict=False)):
        yield from mistakes_in(item, each, f"{place}[{number}]")


def _wrong_names(value: Iterable[object], field: str, place: str) -> Mistakes:
    names = [item.get(field) for item in value if isinstance(item, Mapping)]
    for name in duplicates_of(name for name in names if type(name) in (str, int)):
        yield place, f"has {name} twice"


def _wrong_items(value: Mapping[Any, object], kinds: tuple[Any, ...], place: str) -> Mistakes:
    for key, item in value.items():
        if _why({key: None}, dict[kinds[0], Any]):  # type: ignore[valid-type]
            yield place_below(place, key), f"is no key here (expected {expectation(kinds[0])})"
        yield from mistakes_in(item, kinds[1], place_below(place, key))


def _wrong_fields(value: Mapping[Any, object], kind: type[Struct], place: str) -> Mistakes:
    for field in msgspec.structs.fields(kind):
        there = place_below(place, field.encode_name)
        item = value.get(field.encode_name)
        if item is None and field.required:
            expected = expectation(field.type)
            yield there, f"is missing (expected {expected})" if expected else "is missing"
        elif field.encode_name in value:
            yield from mistakes_in(item, field.type, there)


def _why(value: object, kind: Any) -> str:
    """Return what msgspec has against the value, nothing if it is as declared."""
    try:
        msgspec.convert(value, look_up(kind), str_keys=True)
    except msgspec.ValidationError as wrong:
        return str(wrong)
    except UnicodeEncodeError:
        return NO_TEXT
    return ""
