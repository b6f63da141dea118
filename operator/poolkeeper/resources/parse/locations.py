"""Where in a file a field stands, and how a field is named in a message.

A path is a tuple of keys and indices. It reads as in Kubernetes' own messages: a dot before a plain
key, brackets round an index and round any other key: `spec.brokers.ids[2]`,
`spec.config[retention.ms]`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from poolkeeper.errors import Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.specs import SourceLocation

Path = tuple[str | int, ...]
V = TypeVar("V")
T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class Lines(NamedTuple):
    """The line (1-based) of a value or of its key, and the lines of the values inside."""

    line: int
    children: dict[str, "Lines"] | list["Lines"] | None = None


@frozen
class Places:
    """The locations of one body's fields; a body from the API server has none.

    `prefix` leads from the file's document to the body (`items[3]` of a List).
    """

    file: str = ""
    lines: Lines | None = None
    prefix: Path = ()

    @property
    def source(self) -> SourceLocation:
        """The location of the body's start."""
        return SourceLocation(self.file, self.line(()))

    def line(self, path: Path) -> int:
        """The line of a field, or of its parent if the field is absent; 0 without a file."""
        found = self.lines
        for step in path:
            inner = found and _inner(found, step)
            if inner is None:
                break
            found = inner
        return found.line if found else 0

    def inside(self, path: Path) -> "Places":
        """The locations of a body inside this one."""
        lines = self.lines
        for step in path:
            lines = lines and _inner(lines, step)
        return Places(self.file, lines, (*self.prefix, *path))

    def problem(self, path: Path, message: str) -> Problem:
        """A problem with that field."""
        return Problem(self.file, self.line(path), field_name((*self.prefix, *path)), message)


class Findings:
    """Collects the problems of one body."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.problems: list[Problem] = []
        self._dropped: set[Path] = set()
        self._incomplete: set[Path] = set()

    def drop(self, path: Path, message: str) -> None:
        """Add a problem of a field that is ignored from now on."""
        self.tell(path, message)
        self._dropped.add(path)
        # An item of a list has a stand-in, which counts; a field of a mapping may be left out.
        self._incomplete.update(path[:n] for n, step in enumerate(path) if isinstance(step, str))

    def tell(self, path: Path, message: str) -> None:
        """Add a problem of a field that is judged further."""
        self.problems.append(self.places.problem(path, message))

    def add(self, path: Path, message: str | None, *others: Path) -> None:
        """Add the problem of a field, if there is one and the field is not ignored.

        `others`: fields of which the message speaks as well.
        """
        if message and not any(map(self.ignores, (path, *others))):
            self.tell(path, message)

    def ignores(self, path: Path) -> bool:
        """Whether a field is ignored, or in one that is, or a mapping without one of its fields."""
        return path in self._incomplete or any(
            path[:length] in self._dropped for length in range(len(path) + 1)
        )

    def read(self, path: Path, reader: Callable[[V], T], value: V, instead: T) -> T:
        """Return the reader's result, or `instead` after adding the reason of its refusal."""
        try:
            return reader(value)
        except Refused as refusal:
            self.add(path, str(refusal))
            return instead


def field_name(path: Path) -> str:
    """The path as text."""
    name = ""
    for step in path:
        if isinstance(step, str) and _PLAIN.fullmatch(step):
            name += f".{step}" if name else step
        else:
            name += f"[{step}]"
    return name


def _inner(lines: Lines, step: str | int) -> Lines | None:
    found: Lines | None = None
    inside = lines.children
    if isinstance(inside, dict) and isinstance(step, str):
        found = inside.get(step)
    elif isinstance(inside, list) and isinstance(step, int) and step < len(inside):
        found = inside[step]
    return found
