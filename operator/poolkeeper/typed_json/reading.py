"""JSON read into declared types, by msgspec; every problem is reported with its place.

    class Mark(Struct):
        broker: Natural
        racks: tuple[str, ...] = ()

    decode(b'{"broker": "1", "racks": [2]}', Mark, "marks.json")

raises `InvalidInput` with `marks.json: broker: is '1' (expected an integer of 0 or more)` and
`marks.json: racks[0]: is 2 (expected a string)`. Unknown keys are ignored. What people hand us is
refused where an object holds a key twice (`repeats=False`).
"""

from itertools import islice
from typing import Any, TypeVar

import msgspec

from poolkeeper.errors import InvalidInput, Problem, wrong_file
from poolkeeper.typed_json.descriptions import PROBLEMS_MAX
from poolkeeper.typed_json.mistakes import NO_TEXT, Mistakes, half_characters, mistakes_in
from poolkeeper.typed_json.plain_values import parse_plain
from poolkeeper.typed_json.repeated_keys import holds_no_more, repeated_keys
from poolkeeper.typed_json.type_lookup import look_up

T = TypeVar("T")


def decode(
    data: bytes, kind: type[T], file: str = "", *, halves: bool = True, repeats: bool = True
) -> T:
    """Read a JSON text; raises `InvalidInput`, which names `file`, with every problem.

    `halves`: whether texts may hold halves of surrogate pairs, which cannot be written as UTF-8.
    `repeats`: whether an object may hold a key twice, of which the last one counts.
    """
    again: list[Problem] = []
    try:
        found = msgspec.json.decode(data, type=look_up(kind))
        if not repeats and not holds_no_more(data, found):
            again = repeated_keys(data, file)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # What is wrong is told below. Python's own parser says where; and it reads NaN and halves
        # of surrogate pairs, which Python's own writer wrote into older documents.
        value = parse(data, file)
        again = [] if repeats else repeated_keys(data, file)
        try:
            found = convert(value, kind, file, halves=halves)
        except InvalidInput as wrong:
            raise InvalidInput([*again, *wrong.problems]) from None
    if again:
        raise InvalidInput(again)
    return found


def parse(data: bytes, file: str = "", *, repeats: bool = True) -> Any:
    """Read a JSON text into plain values; raises `InvalidInput`. `repeats`: as for `decode`."""
    found = parse_plain(data, file)
    if not repeats and (again := repeated_keys(data, file)):
        raise InvalidInput(again)
    return found


def convert(value: object, kind: type[T], file: str = "", *, halves: bool = True) -> T:
    """Return the plain values as declared; raises `InvalidInput` with every problem.

    `halves`: as for `decode`.
    """
    if not halves and (no_text := _problems(file, half_characters(value, ""))):
        raise InvalidInput(no_text)
    try:
        return msgspec.convert(value, look_up(kind), str_keys=True)
    except msgspec.ValidationError as first:
        found = _problems(file, mistakes_in(value, kind, ""))
        raise InvalidInput(found or [Problem(file, 0, "", str(first))]) from None
    except UnicodeEncodeError:
        raise wrong_file(file, NO_TEXT) from None


def _problems(file: str, wrong: Mistakes) -> list[Problem]:
    """Return the problems; of very many the first ones, and that there are more."""
    found = [Problem(file, 0, place, message) for place, message in islice(wrong, PROBLEMS_MAX)]
    if next(wrong, None):
        found.append(Problem(file, 0, "", f"has more than {PROBLEMS_MAX} problems, these first"))
    return found
