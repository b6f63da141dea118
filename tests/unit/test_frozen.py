"""Frozen values: what the standard library's frozen dataclasses do, at less cost."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.frozen import frozen

Decorator = Callable[[type], type]


def _point(decorator: Decorator) -> type:
    class Point:
        """A place."""

        x: int
        y: float = 2.5
        tags: Mapping[str, int] = field(default_factory=dict)
        note: str = field(default="", compare=False, repr=False)
        far: bool = field(default=False, kw_only=True)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x is negative")

        @property
        def length(self) -> float:
            return abs(self.x) + abs(self.y)

    Point.__qualname__ = "Point"
    return decorator(Point)


OURS = _point(frozen)
THEIRS = _point(dataclasses.dataclass(frozen=True, slots=True))
GIVEN = st.fixed_dictionaries(
    {"x": st.integers(0, 3)},
    optional={
        "y": st.floats(0, 2, width=16),
        "tags": st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)),
        "note": st.sampled_from("mn"),
        "far": st.booleans(),
    },
)


@frozen
class Pair:
    """Two hashable values."""

    first: int
    second: str = "b"


@frozen
class Triple(Pair):
    """One more field than its base."""

    third: int = 3


@frozen
class Single:
    """One value."""

    only: int


@frozen
class Empty:
    """No value."""


@given(GIVEN, GIVEN)
def test_values_are_those_of_the_standard_library(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    ours, theirs = OURS(**one), THEIRS(**one)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert (ours == OURS(**other)) == (theirs == THEIRS(**other))
    changed = dataclasses.replace(ours, **other)
    assert dataclasses.asdict(changed) == dataclasses.asdict(dataclasses.replace(theirs, **other))
    assert copy.deepcopy(ours) == ours
    assert ours.length == theirs.length


def test_classes_are_described_as_the_standard_library_describes_them() -> None:
    ours, theirs = (inspect.signature(each).parameters for each in (OURS, THEIRS))
    assert [(p.name, p.kind, p.annotation) for p in ours.values()] == [
        (p.name, p.kind, p.annotation) for p in theirs.values()
    ]
    assert OURS.__match_args__ == THEIRS.__match_args__
    assert OURS.__slots__ == THEIRS.__slots__
    assert OURS.__doc__ == THEIRS.__doc__


@pytest.mark.parametrize(
    "given",
    [
        pytest.param((), id="a field without a default is missing"),
        pytest.param((1, 2.0, {}, "", True), id="a field by name alone is given by place"),
    ],
)
def test_wrong_arguments_are_refused_as_by_the_standard_library(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError) as theirs:
        THEIRS(*given)
    with pytest.raises(TypeError) as ours:
        OURS(*given)
    assert str(ours.value).replace("_point.<locals>.", "") == str(theirs.value).replace(
        "_point.<locals>.", ""
    )


def test_what_a_class_checks_is_checked() -> None:
    with pytest.raises(ValueError, match="x is negative"):
        OURS(-1)


@pytest.mark.parametrize("name", ["x", "other"])
def test_nothing_is_set_or_deleted(name: str) -> None:
    value = OURS(1)
    with pytest.raises(FrozenInstanceError, match=name):
        setattr(value, name, 2)
    with pytest.raises(FrozenInstanceError, match=name):
        delattr(value, name)
    assert value == OURS(1)


@pytest.mark.parametrize(
    ("value", "its_hash", "shown"),
    [
        pytest.param(Pair(1), hash((1, "b")), "Pair(first=1, second='b')", id="two fields"),
        pytest.param(
            Triple(1, third=4), hash((1, "b", 4)), "Triple(first=1, second='b', third=4)", id="base"
        ),
        pytest.param(Single(5), hash((5,)), "Single(only=5)", id="one field"),
        pytest.param(Empty(), hash(()), "Empty()", id="no field"),
    ],
)
def test_a_value_is_hashed_shown_and_pickled(value: object, its_hash: int, shown: str) -> None:
    assert (hash(value), repr(value)) == (its_hash, shown)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value


def test_another_class_is_another_value() -> None:
    assert Pair(1) != Triple(1)
    assert Single(1) != 1
    assert {Pair(1), Pair(1), Pair(1, "c")} == {Pair(1), Pair(1, "c")}


def test_a_method_of_the_class_stays() -> None:
    @frozen
    class Odd:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "odd"

    assert (Odd(1) == Odd(2), hash(Odd(1)), repr(Odd(1))) == (True, 7, "odd")
