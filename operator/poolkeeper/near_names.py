"""Known names that are most like a given one, for `did you mean`.

The answers are those of `difflib.get_close_matches`, which compares a name with every known one:
thousands of wrong names beside thousands of known ones took minutes. The likeness of two names is
twice the letters that match, divided by the letters of both. Two numbers bound the letters that
match, and most known names are out by them:

- the letters that the names have in common in any order, counted by one `and` of two numbers;
- their longest common subsequence, by the bits of one number for each letter.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappush, heappushpop

_INDEXES_MAX = 16
_ANSWERS_MAX = 10_000
_LIKENESS = 0.6


def nearest(name: str, known: Iterable[str], most: int, likeness: float = _LIKENESS) -> list[str]:
    """The known names that are at least so much like the name, the most similar first."""
    return list(_index(tuple(known)).nearest(name, most, likeness))


class _NameIndex:
    """Known names with their letters as bits: one for the first `a`, another for the second."""

    def __init__(self, known: Sequence[str]) -> None:
        self._bits: dict[tuple[str, int], int] = {}
        self._known = [(self._letters(each, grow=True), len(each), each) for each in known]
        self._answers: dict[tuple[str, int, float], tuple[str, ...]] = {}

    def nearest(self, name: str, most: int, likeness: float) -> tuple[str, ...]:
        asked = (name, most, likeness)
        answer = self._answers.get(asked)
        if answer is None:
            answer = tuple(self._find(name, most, likeness))
            if len(self._answers) < _ANSWERS_MAX:
                self._answers[asked] = answer
        return answer

    def _letters(self, name: str, *, grow: bool = False) -> int:
        found = 0
        seen: Counter[str] = Counter()
        for letter in name:
            seen[letter] += 1
            place = (letter, seen[letter])
            if grow:
                self._bits.setdefault(place, 1 << len(self._bits))
            found |= self._bits.get(place, 0)
        return found

    def _find(self, name: str, most: int, likeness: float) -> Iterator[str]:
        candidates = sorted(self._candidates(name, likeness), reverse=True)
        if not candidates:
            return iter(())  # as for a name of a million letters
        found: list[tuple[float, str]] = []
        matcher = difflib.SequenceMatcher()
        matcher.set_seq2(name)
        places = _places(name)
        for bound, each in candidates:
            least = found[0][0] if len(found) == most else likeness
            if bound < least:
                break
            common = _common_subsequence(places, len(name), each)
            if _ratio(common, len(name) + len(each)) < least:
                continue
            matcher.set_seq1(each)
            ratio = matcher.ratio()
            if ratio >= likeness:
                push = heappushpop if len(found) == most else heappush
                push(found, (ratio, each))
        return (each for _, each in sorted(found, reverse=True))

    def _candidates(self, name: str, likeness: float) -> Iterator[tuple[float, str]]:
        """The names that may be so similar, each with what its likeness is at most."""
        letters, length = self._letters(name), len(name)
        for theirs, their_length, each in self._known:
            bound = _ratio((letters & theirs).bit_count(), length + their_length)
            if bound >= likeness:
                yield bound, each


@lru_cache(maxsize=_INDEXES_MAX)
def _index(known: tuple[str, ...]) -> _NameIndex:
    return _NameIndex(known)


def _ratio(matching: int, length: int) -> float:
    return 2.0 * matching / length if length else 1.0


def _places(name: str) -> Mapping[str, int]:
    """The places of each letter, as bits."""
    found: Counter[str] = Counter()
    for place, letter in enumerate(name):
        found[letter] |= 1 << place
    return found


def _common_subsequence(places: Mapping[str, int], length: int, other: str) -> int:
    """The length of the longest common subsequence of two names (Hyyrö 2004)."""
    whole = (1 << length) - 1
    open_places = whole
    for letter in other:
        met = open_places & places.get(letter, 0)
        open_places = ((open_places + met) | (open_places - met)) & whole
    return length - open_places.bit_count()
