"""JSON read into declared types: what Python's parser reads is read, what is wrong is told."""

from typing import Annotated

import pytest
from msgspec import UNSET, Meta, UnsetType

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput
from poolkeeper.model.execution.records import BrokerRecord
from poolkeeper.typed_json import (
    BrokerId,
    Finite,
    FormatVersion,
    JsonObject,
    Natural,
    ReplicaList,
    SparseObject,
)


class Circle(JsonObject, tag_field="kind", tag="Circle"):
    radius: Finite


class Square(JsonObject, tag_field="kind", tag="Square"):
    side_length: Natural


class Picture(JsonObject):
    version: FormatVersion
    name: str = ""
    shapes: tuple[Circle | Square, ...] = ()
    pairs: tuple[Annotated[tuple[str, Natural], Meta(description="a list of two")], ...] = ()
    lists: dict[BrokerId, ReplicaList] | None = None
    known: dict[str, BrokerRecord] | None = None
    added: tuple[Circle, ...] | UnsetType = UNSET


def test_values_are_as_declared() -> None:
    text = b"""{"version": 1, "shapes": [{"kind": "Circle", "radius": 2}, {"kind": "Square",
        "sideLength": 3, "unknown": 4}], "pairs": [["a", 1]], "lists": {"7": [1, 2]}}"""
    assert typed_json.decode(text, Picture) == Picture(
        version=1,
        shapes=(Circle(2.0), Square(3)),
        pairs=(("a", 1),),
        lists={7: (1, 2)},
    )


def test_half_a_surrogate_pair_is_read_as_python_reads_it() -> None:
    assert typed_json.decode(b'{"version": 1, "name": "\\ud800"}', Picture).name == "\ud800"


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(b"3", ["f: is 3 (expected an object)"], id="no-object"),
        pytest.param(b"{}", ["f: version: is missing (expected 1)"], id="missing"),
        pytest.param(
            b'{"version": null, "name": null, "lists": null}',
            ["f: name: is null (expected a string)", "f: version: is missing (expected 1)"],
            id="null-where-it-is-not-allowed",
        ),
        pytest.param(
            b'{"version": true, "shapes": [{"kind": "Cube"}, {"kind": ["Circle"]}, {}, 1]}',
            [
                "f: shapes[0].kind: is 'Cube' (expected one of Circle, Square)",
                'f: shapes[1].kind: is ["Circle"] (expected one of Circle, Square)',
                "f: shapes[2].kind: is null (expected one of Circle, Square)",
                "f: shapes[3]: is 1 (expected an object)",
                "f: version: is true (expected 1)",
            ],
            id="of-several-kinds",
        ),
        pytest.param(
            b'{"version": 1, "shapes": [{"kind": "Circle", "radius": NaN}, {"kind": "Square"},'
            b' {"kind": "Circle", "radius": 1e999}]}',
            [
                "f: shapes[0].radius: is NaN (expected a number)",
                "f: shapes[1].sideLength: is missing (expected an integer from 0 to 2^53)",
                "f: shapes[2].radius: is Infinity (expected a number)",
            ],
            id="numbers",
        ),
        pytest.param(
            b'{"version": 1, "lists": {"x": [1], "-1": [1], "2": []}, "pairs": [["a"], [1, -1]]}',
            [
                "f: lists.-1: is no key here (expected a broker id)",
                "f: lists.2: is [] (expected a list of at least one broker id)",
                "f: lists.x: is no key here (expected a broker id)",
                'f: pairs[0]: is ["a"] (expected a list of two)',
                "f: pairs[1][0]: is 1 (expected a string)",
                "f: pairs[1][1]: is -1 (expected an integer from 0 to 2^53)",
            ],
            id="keys-and-pairs",
        ),
        pytest.param(
            b'{"version": 1, "known": {"1": {"rack": 5}}}',
            ["f: known.1: Expected `str | null`, got `int` - at `$.rack`"],
            id="inside-a-dataclass-in-the-words-of-msgspec",
        ),
        pytest.param(
            b'{"version": 1, "name": 1, "added": [{"kind": "Circle", "radius": 2}]}',
            ["f: name: is 1 (expected a string)"],
            id="beside-what-may-be-absent",
        ),
        pytest.param(
            b'{"version": 1, "added": [{"kind": "Circle", "radius": "2"}]}',
            ["f: added[0].radius: is '2' (expected a number)"],
            id="in-what-may-be-absent",
        ),
        pytest.param(
            b'{"version": 1, "added": null}',
            ["f: added: is null (expected a list)"],
            id="null-is-not-absent",
        ),
        pytest.param(
            b'{"version": 2, "name": 1}',
            [
                "f: name: is 1 (expected a string)",
                "f: version: is 2: a later Poolkeeper wrote it (this one knows 1): use that",
            ],
            id="a-later-format",
        ),
        pytest.param(b'{"version": 0}', ["f: version: is 0 (expected 1)"], id="no-format-of-ours"),
        pytest.param(
            b'{"version": 1,\n "x" }',
            ["f:2: is not JSON: Expecting ':' delimiter, at character 21"],
        ),
        pytest.param(b'{"name": "\xff"}', ["f: is not UTF-8"], id="no-utf-8"),
        pytest.param(b'{"x": ' + b"[" * 100_000, ["f: is nested too deeply"], id="nested"),
        pytest.param(
            b'{"version": 1, "name": [' + b"1," * 50 + b"1]}",
            [f"f: name: is {str([1] * 99)[:59]}… (expected a string)"],
            id="a-long-value-is-cut",
        ),
    ],
)
def test_everything_that_is_wrong_is_told_with_its_place(text: bytes, messages: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        typed_json.decode(text, Picture, "f")
    assert [str(problem) for problem in caught.value.problems] == messages


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(
            '{"version": 1,\n "name": "a",\n "name": "b"}',
            ["f:3: name: is given twice (first on line 2)"],
            id="a-field",
        ),
        pytest.param(
            '{"version": 1, "shapes": [{"kind": "Circle", "radius": 1},\n'
            ' {"kind": "Circle", "radius": 2, "radius": 2, "radius": 3}]}',
            ["f:2: shapes[1].radius: is given twice (first on line 2)"],
            id="in-an-item-of-a-list-several-times",
        ),
        pytest.param(
            '{"version": 1, "lists": {"7": [1, 2],\n\n "7": [1, 2]}}',
            ["f:3: lists.7: is given twice (first on line 1)"],
            id="a-key-of-a-mapping",
        ),
        pytest.param(
            '{"version": 1, "more": {"a:": ":", "b\\"": [{"c": 1, "\\u0063": [":"]}]}}',
            ["""f:1: more.b"[0].c: is given twice (first on line 1)"""],
            id="in-what-is-ignored-and-written-otherwise",
        ),
        pytest.param(
            '{"version" : 2, "version": 3, "name": 1}',
            [
                "f: name: is 1 (expected a string)",
                "f: version: is 3: a later Poolkeeper wrote it (this one knows 1): use that",
                "f:1: version: is given twice (first on line 1)",
            ],
            id="beside-other-problems",
        ),
    ],
)
def test_a_key_that_is_there_twice_is_told_with_its_place(text: str, messages: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        typed_json.decode(text.encode(), Picture, "f", repeats=False)
    assert [str(problem) for problem in refused.value.problems] == messages
    with pytest.raises(InvalidInput):
        typed_json.decode(text.encode("utf-16"), Picture, "f", repeats=False)


class Spot(SparseObject):
    at: Natural | None = None
    name: str | None = None


class Spots(SparseObject):
    spots: tuple[Spot, ...] | None = None


@pytest.mark.parametrize(
    "text",
    [
        '{"spots": [{"at": 1, "name": "a:b"}, {"name": ":"}, {}]}',
        '{"spots": [{"at" :1, "name": null, "more": {"at": 1}}], "name": "\\u003a"}',
        '{"spots": null}',
    ],
)
def test_an_object_of_which_little_is_there_may_hold_a_key_once(text: str) -> None:
    assert typed_json.decode(text.encode(), Spots, repeats=False)
    for key in ('"spots"', '"at"', '"name"'):
        again = text.replace(f"{{{key}", f"{{{key}: 1, {key}", 1)
        again = again.replace('": 1, "spots"', '": null, "spots"')
        if again != text:
            with pytest.raises(InvalidInput, match="is given twice"):
                typed_json.decode(again.encode(), Spots, repeats=False)


def test_what_is_ignored_may_not_be_nested_without_end() -> None:
    text = b'{"spots": null, "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(InvalidInput, match="is nested too deeply"):
        typed_json.decode(text, Spots, "f", repeats=False)
