"""Patterns of topic names: what they match, and that no name takes long."""

import re
import warnings
from threading import Event, Thread

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


@pytest.mark.slow
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


class SlowCompiler:
    """Compiles a pattern once it is let; `begun` says which patterns it has been given."""

    def __init__(self) -> None:
        self.compile = re.compile
        self.begun = {"one": Event(), "two": Event()}
        self.let = {"one": Event(), "two": Event()}

    def __call__(self, pattern: str, flags: int = 0) -> re.Pattern[str]:
        if pattern in self.begun:
            self.begun[pattern].set()
            assert self.let[pattern].wait(10)
        return self.compile(pattern, flags)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> SlowCompiler:
    slow = SlowCompiler()
    monkeypatch.setattr(re, "compile", slow)
    return slow


@pytest.mark.slow
def test_what_is_done_of_warnings_is_as_before_whichever_thread_ends_first(
    compiler: SlowCompiler,
) -> None:
    before = list(warnings.filters)
    first, second = (
        Thread(target=topic_patterns.problem, args=(pattern,)) for pattern in compiler.begun
    )
    first.start()
    assert compiler.begun["one"].wait(10)
    second.start()
    compiler.begun["two"].wait(0.5)  # it waits for the first one
    compiler.let["one"].set()
    first.join(10)
    compiler.let["two"].set()
    second.join(10)
    assert list(warnings.filters) == before


def test_another_threads_warning_is_no_error_meanwhile(compiler: SlowCompiler) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        checking = Thread(target=topic_patterns.problem, args=("one",))
        checking.start()
        assert compiler.begun["one"].wait(10)
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
        compiler.let["one"].set()
        checking.join(10)
    assert [str(each.message) for each in told] == ["of a library"]
