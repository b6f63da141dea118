"""Where in a file a field stands, and how a field is named in a message.

A path is a tuple of keys and indices. It reads as in Kubernetes' own messages: a dot before a plain
key, brackets round an index and round any other key: `spec.brokers.ids[2]`,
`spec.config[retention.ms]`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from poolkeeper.errors import Problem, Refused
from poolkeeper.model.specs import SourceLocation

Path = tuple[str | int, ...]
V = TypeVar("V")
T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class Lines(NamedTuple):
    """The line (1-based) of a value, or of its key, and the same of what is inside."""

    line: int
    children: dict[str, "Lines"] | list["Lines"] | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one body's fields; those of a body from the API server are all nowhere.

    `prefix` leads from the file's document to the body (`items[3]` of a List).
    """

    file: str = ""
    lines: Lines | None = None
    prefix: Path = ()

    @property
    def source(self) -> SourceLocation:
        """Where the body starts."""
        return SourceLocation(self.file, self.line(()))

    def line(self, path: Path) -> int:
        """The line of that field, or of what would hold it if it is not there; 0 if nowhere."""
        found = self.lines
        for step in path:
            inner = found and _inner(found, step)
            if inner is None:
                break
            found = inner
        return found.line if found else 0

    def inside(self, path: Path) -> "Places":
        """The places of a body that is part of this one."""
        lines = self.lines
        for step in path:
            lines = lines and _inner(lines, step)
        return Places(self.file, lines, (*self.prefix, *path))

    def problem(self, path: Path, message: str) -> Problem:
        """A problem of that field."""
        return Problem(self.file, self.line(path), field_name((*self.prefix, *path)), message)


class Findings:
    """The problems of one body as they are found."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.problems: list[Problem] = []
        self._dropped: list[Path] = []

    def drop(self, path: Path, message: str) -> None:
        """Note the problem of a field that is left out of everything from now on."""
        self.problems.append(self.places.problem(path, message))
        self._dropped.append(path)

    def add(self, path: Path, message: str | None) -> None:
        """Note the problem of a field, if there is one and it was not merely left out."""
        if message and all(dropped[: len(path)] != path for dropped in self._dropped):
            self.problems.append(self.places.problem(path, message))

    def read(self, path: Path, reader: Callable[[V], T], value: V, instead: T) -> T:
        """What the reader makes of the value; if it refuses, its reason is noted."""
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
