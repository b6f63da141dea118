"""Names that are most like another one: the answers of difflib, in bounded time."""

import difflib
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper import near_names

NAMES = st.text("pol-012", max_size=12)


@given(NAMES, st.lists(NAMES, max_size=12), st.integers(1, 4), st.sampled_from((0.3, 0.6, 0.7)))
def test_the_names_are_those_of_difflib(
    name: str, known: list[str], most: int, likeness: float
) -> None:
    expected = difflib.get_close_matches(name, known, most, likeness)
    assert near_names.nearest(name, known, most, likeness) == expected


@pytest.mark.parametrize("letters", [199, 240], ids=["short", "so long that difflib drops letters"])
def test_long_names_are_compared_as_difflib_does(letters: int) -> None:
    name = ("pool-0123456789" * letters)[:letters]
    known = [name[shift:] + "x" * shift for shift in range(0, 100, 9)]
    assert near_names.nearest(name, known, 3) == difflib.get_close_matches(name, known, 3)


def test_thousands_of_questions_about_a_thousand_names_that_look_alike_are_answered_at_once() -> (
    None
):
    known = [sha256(b"%d" % number).hexdigest()[:40] for number in range(1000)]
    asked = [sha256(b"no %d" % number).hexdigest()[:40] for number in range(20)]
    assert not any(near_names.nearest(name, known, 1, 0.7) for name in asked * 250)


@pytest.mark.slow
def test_a_name_of_a_million_letters_is_like_none() -> None:
    assert near_names.nearest("To" * 500_000, ["Topic", "KafkaCluster"], 1) == []
