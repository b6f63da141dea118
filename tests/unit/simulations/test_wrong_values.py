"""Whatever stands in a field of an input, the answer is an output or names the field."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import fields

from poolkeeper.simulations import lines
from poolkeeper.simulations.kinds import KINDS

PAGE = (Path(__file__).parents[3] / "docs" / "simulate.md").read_text()
EXAMPLES = re.findall(r"^\$ echo '(\{.*\})' \| poolkeeper simulate (\w+)$", PAGE, re.MULTILINE)
WRONG = (None, True, "", "x", -1, 1.5, 10**30, [], [None], [[]], {}, {"": 1}, {"x": None})


def places(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Each place in a value, of lists the first two."""
    if place:
        yield place
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places(each, (*place, name))
    if isinstance(value, list):
        for number, each in enumerate(value[:2]):
            yield from places(each, (*place, number))


def spoilt(value: object, place: tuple[str | int, ...]) -> Iterator[object]:
    """The value with something else in that place, or nothing."""
    for wrong in (*WRONG, "nothing at all"):
        changed = copy.deepcopy(value)
        parent: object = changed
        for step in place[:-1]:
            parent = parent[step]  # type: ignore[index]
        if wrong == "nothing at all":
            del parent[place[-1]]  # type: ignore[attr-defined]
        else:
            parent[place[-1]] = wrong  # type: ignore[index]
        yield changed


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_a_field_names_it(kind: str) -> None:
    examples = [json.loads(text) for text, named in EXAMPLES if named == kind]
    assert examples
    known = {each.encode_name for each in fields(KINDS[kind].input)}
    refused = 0
    for example in examples:
        for changed in [each for place in places(example) for each in spoilt(example, place)]:
            told = lines.answer(json.dumps(changed).encode(), 1, kind)
            if told.is_error:
                refused += 1
                error = json.loads(told.line)["error"]
                assert re.split(r"[.\[:]", error)[0] in known, (changed, error)
    assert refused > 5


@pytest.mark.parametrize("value", ["null", "[]", '"x"', "1"])
def test_a_line_that_is_no_object_is_told_as_a_line(value: str) -> None:
    told = lines.answer(value.encode(), 1, "murmur2")
    assert json.loads(told.line)["error"] == f"the line is {value} (expected an object)".replace(
        '"', "'"
    )
