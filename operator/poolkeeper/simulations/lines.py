"""A line in, a line out, whatever the line is.

A line is `{"id": …, "kind": KIND, "input": …}`, or with a kind given beforehand the input alone,
whose id is then the number of the line. The answer is `{"id": …, "output": …}`, or `{"id": …,
"error": "…"}` with everything that is wrong, each with its place. Where the id cannot be read, it
is null. Unknown keys are ignored.

JSON is read strictly: NaN, repeated keys and bytes that are no UTF-8 are refused.
"""

import json
import math
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO, NoReturn

from poolkeeper import jsontext
from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.simulations.bounds import ERROR_CHARACTERS_MAX, LINE_BYTES_MAX, PROBLEMS_MAX
from poolkeeper.simulations.kinds import KINDS
from poolkeeper.text import size
from poolkeeper.typed_json import convert, description, json_error

_REQUEST = "an object with id, kind and input"
_ID = "a text or a number"


@frozen
class LineAnswer:
    """A line of output, in UTF-8 without its end, and whether it is an error."""

    line: bytes
    is_error: bool


class _RepeatedKeys(dict[str, Any]):
    """An object of which some keys were there twice; the last of each counts."""

    repeated: tuple[str, ...] = ()


def lines(stream: BinaryIO, bytes_max: int = LINE_BYTES_MAX) -> Iterator[bytes | None]:
    """Give each line as soon as it is there; None for one that is longer than may be."""
    while line := stream.readline(bytes_max + 1):
        too_long = len(line) > bytes_max and not line.endswith(b"\n")
        yield None if too_long else line
        while too_long and line and not line.endswith(b"\n"):
            line = stream.readline(bytes_max + 1)


def answer(line: bytes | None, number: int, kind: str | None = None) -> LineAnswer:
    """Answer a line, the `number`th one; with `kind`, it is an input of that kind alone.

    The first line may begin with the mark by which some programs begin a file in UTF-8.
    """
    id_: object = None if kind is None else number
    try:
        value = _parsed(line.removeprefix(BOM_UTF8) if line and number == 1 else line)
        problems = list(islice(_repeated(value), PROBLEMS_MAX))
        if kind is None:
            id_ = _id(value)
            problems += _request_problems(value)
            kind, given, place = value.get("kind"), value.get("input"), "input"
        else:
            given, place = value, ""
        output = _output(kind, given, place, problems, halves=b"\\u" not in (line or b""))
    except Refused as refused:
        return _error(id_, refused)
    return LineAnswer(_written({"id": id_, "output": output}), is_error=False)


def _output(
    kind: object, given: object, place: str, before: Iterable[Problem], *, halves: bool
) -> object:
    """Return what the kind makes of its input; raises InvalidInput with all that is wrong."""
    found = list(before)
    known = KINDS.get(kind) if isinstance(kind, str) else None
    if known is None or (place and given is None):
        raise InvalidInput(found)
    try:
        input_ = convert(given, known.input, halves=halves)
        if not found:
            return known.output(input_)
    except InvalidInput as wrong:
        found += [_placed(each, place) for each in wrong.problems]
    raise InvalidInput(found)


def _placed(problem: Problem, place: str) -> Problem:
    """The problem with its place in the line; what is wrong with all of an input names the line."""
    field = _below(place, problem.field)
    return replace(
        problem, field=field, message=problem.message if field else f"the line {problem.message}"
    )


def _parsed(line: bytes | None) -> Any:
    """Return the value of a line; raises InvalidInput if it is no JSON."""
    if line is None:
        raise _no_line(f"is longer than {size(LINE_BYTES_MAX)}")
    try:
        text = line.decode()
    except UnicodeDecodeError as wrong:
        raise _no_line(f"is not UTF-8, from byte {wrong.start + 1} on") from None
    if not text.strip():
        raise _no_line("is empty (expected an object)")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as wrong:
        raise _no_line(f"is not JSON: {json_error(wrong)}") from None
    except RecursionError:
        raise _no_line("is nested too deeply") from None
    except ValueError:
        raise _no_line("has a number that is too long") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    several = _RepeatedKeys(found)
    times = Counter(name for name, _ in pairs)
    several.repeated = tuple(name for name, count in times.items() if count > 1)
    return several


def _no_number(name: str) -> NoReturn:
    raise _no_line(f"is not JSON: it has {name}")


def _no_line(message: str) -> InvalidInput:
    return InvalidInput([Problem("", 0, "", f"the line {message}")])


def _repeated(value: object) -> Iterator[Problem]:
    """Give every key that is twice in its object."""
    left: list[tuple[object, str]] = [(value, "")]  # of its own: values nest as deeply as calls may
    while left:
        item, place = left.pop()
        if isinstance(item, _RepeatedKeys):
            for name in item.repeated:
                yield Problem("", 0, _below(place, name), "is there twice (expected once)")
        if isinstance(item, dict):
            left += [(each, _below(place, name)) for name, each in item.items()]
        elif isinstance(item, list):
            left += [(each, f"{place}[{number}]") for number, each in enumerate(item)]


def _request_problems(value: Mapping[str, object]) -> Iterator[Problem]:
    if _id(value) is None and "id" not in getattr(value, "repeated", ()):
        yield _missing("id", value, _ID)
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        yield _missing("kind", value, f"one of {', '.join(KINDS)}")
    if value.get("input") is None:
        yield _missing("input", value, "an object")


def _missing(field: str, value: Mapping[str, object], expected: str) -> Problem:
    if field not in value:
        return Problem("", 0, field, f"is missing (expected {expected})")
    return Problem("", 0, field, description(value[field], expected))


def _id(value: object) -> str | float | None:
    """Return the id of a request, or None where it has none that can be repeated."""
    if not isinstance(value, dict):
        raise _no_line(description(value, _REQUEST))
    found = value.get("id")
    if isinstance(value, _RepeatedKeys) and "id" in value.repeated:
        return None
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else found


def _below(place: str, field: str) -> str:
    joined = f"{place}.{field}" if place and field else place or field
    return joined.replace(".[", "[")


def _error(id_: object, refused: Refused) -> LineAnswer:
    wrong = refused.problems if isinstance(refused, InvalidInput) else [refused]
    text = "; ".join(map(str, wrong))
    if len(text) > ERROR_CHARACTERS_MAX:
        text = f"{text[: ERROR_CHARACTERS_MAX - 1]}…"
    return LineAnswer(_written({"id": id_, "error": text}), is_error=True)


def _written(value: Mapping[str, object]) -> bytes:
    try:
        return jsontext.compact(value, ascii_only=False).encode()
    except UnicodeEncodeError:  # half a character, in an id or in the key of a problem
        return jsontext.compact(value).encode()
