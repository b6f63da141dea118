"""Reading JSON values that others wrote: each is checked, none stops the reading.

A `View` is a value and its place in the document. A method that finds another type than it should
adds a problem and answers something harmless, so that one pass finds everything that is wrong.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from poolkeeper import errors
from poolkeeper.model.topology import Replicas

T = TypeVar("T")
ABSENT = object()
"""The value of a key that is not there, which is something else than null."""


@dataclass
class Complaints:
    """Everything wrong so far; shared by all views of one document."""

    file: str
    problems: list[errors.Problem] = field(default_factory=list)

    def add(self, place: str, message: str) -> None:
        """Note a problem; `place` is a dotted path."""
        self.problems.append(errors.Problem(self.file, 0, place, message))


@dataclass(frozen=True)
class View:
    """One JSON value and its place. Reading a wrong value complains and gives a harmless one."""

    value: object
    place: str
    complaints: Complaints

    def wrong(self, expected: str) -> None:
        """Complain that something else was expected here."""
        shown = "is missing" if self.value is ABSENT else f"is {_shown(self.value)}"
        self.complaints.add(self.place, f"{shown} (expected {expected})")

    def get(self, key: str, default: object = ABSENT) -> "View":
        """The value under a key, or the default."""
        inside = self.value.get(key, default) if isinstance(self.value, Mapping) else default
        place = f"{self.place}.{key}" if self.place else key
        return View(inside, place, self.complaints)

    def mapping(self) -> bool:
        """Whether it is an object; complains if not."""
        if isinstance(self.value, Mapping):
            return True
        self.wrong("an object")
        return False

    def items(self) -> Iterator["View"]:
        """The members of a list."""
        if not isinstance(self.value, list | tuple):
            self.wrong("a list")
            return
        for index, item in enumerate(self.value):
            yield View(item, f"{self.place}[{index}]", self.complaints)

    def each(self, read: Callable[["View"], T]) -> tuple[T, ...]:
        """Every member of a list, read by the function."""
        return tuple(read(item) for item in self.items())

    def text(self) -> str:
        """A text, else the empty one."""
        if isinstance(self.value, str):
            return self.value
        self.wrong("text")
        return ""

    def optional_text(self) -> str | None:
        """A text or null."""
        return None if self.value is None else self.text()

    def whole(self) -> int:
        """A whole number ≥ 0, else 0."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and self.value >= 0:
            return self.value
        self.wrong("a whole number, 0 or more")
        return 0

    def number(self) -> float:
        """A finite number, else 0."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            number = float(self.value)
            if math.isfinite(number):
                return number
        self.wrong("a number")
        return 0.0

    def replicas(self) -> Replicas:
        """A replica list: at least one broker id."""
        before = len(self.complaints.problems)
        ids = self.each(View.whole)
        if not ids and len(self.complaints.problems) == before:
            self.wrong("at least one broker id")
        return ids

    def pair(self) -> tuple["View", "View"] | None:
        """The two members of a list of two, else None."""
        pair = tuple(self.items()) if isinstance(self.value, list | tuple) else ()
        if len(pair) == 2:
            return pair[0], pair[1]
        self.wrong("a list of two")
        return None

    def texts_by_key(self) -> dict[str, str]:
        """An object whose values are texts."""
        if not self.mapping():
            return {}
        assert isinstance(self.value, Mapping)
        return {str(key): self.get(str(key)).text() for key in self.value}


def _shown(value: object) -> str:
    """A wrong value in an error message, cut to what a line holds."""
    shown = repr(value) if not isinstance(value, Mapping) else "an object"
    return shown if len(shown) <= 60 else shown[:57] + "…"
