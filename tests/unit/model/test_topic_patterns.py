"""Patterns of topic names: what they match, and that no name takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model import topic_patterns

NAMES = st.text("ab.-_1", max_size=8)
ATOMS = st.sampled_from(("a", "b", ".", r"\.", "[ab]", "[^a]", r"\w", r"\d", "(a|b)", "(?:a.)"))
REPEATED = st.builds(str.__add__, ATOMS, st.sampled_from(("", "*", "+", "?", "{2}", "{1,3}", "*?")))
PATTERNS = st.lists(st.lists(REPEATED, max_size=4).map("".join), min_size=1, max_size=2).map(
    "|".join
)


@examples(300)
@given(pattern=PATTERNS, name=NAMES)
def test_names_are_matched_as_pythons_own_expressions_match_them(pattern, name) -> None:
    assert topic_patterns.problem(pattern) is None
    found = re.fullmatch(pattern, name) is not None
    assert topic_patterns.matches((pattern,), name) is found


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["(a+)+", "(a|a)*", r"(.+\.)*x", "(a*)*b", ".*a.*a.*a.*b"])
def test_no_name_takes_long_whoever_chose_it(pattern: str) -> None:
    assert not topic_patterns.matches((pattern,), "a." * 124 + "-")
    assert not topic_patterns.matches((pattern,), "a" * 248 + "-")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?!__).*", "invalid perl operator: (?!"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a{,3}", "{0,n}"),
        ("a++", "bad repetition operator"),
        ("[[:alpha:]]+", "Possible nested set"),
        ("(a", "missing ), unterminated subpattern at position 0"),
        ("(a{1000}){1000}", "invalid repetition size"),
        ("\ud800", "surrogates"),
    ],
)
def test_what_the_matcher_would_take_otherwise_is_refused(pattern: str, why: str) -> None:
    assert why in (topic_patterns.problem(pattern) or "")


def test_names_that_are_no_text_are_matched_all_the_same() -> None:
    assert topic_patterns.matches((".*",), "a\ud800")
    assert not topic_patterns.matches(("[a-z]*",), "a\ud800")
    assert not topic_patterns.matches((), "a")
