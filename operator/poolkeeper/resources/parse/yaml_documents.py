"""YAML text to documents: plain values with the line of every field.

libyaml's events are read directly, and their lines are kept. 10,000 documents take about a second;
round-trip loaders, which keep lines too, need ten to twenty. Scalars are resolved by `scalars`, not
by libyaml's own rules, which are those of YAML 1.1.

A file is first cut at its `---` lines, which are markers wherever they stand. So one broken
document does not hide the problems of the next. Three things are bounded: nesting, the expansion of
aliases (a short text can stand for billions of values), and the size of a file (`files`).
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from poolkeeper.errors import Problem
from poolkeeper.frozen import frozen
from poolkeeper.resources.parse.locations import Lines, Path, Places
from poolkeeper.resources.parse.scalars import Ambiguous, resolve

DEPTH_MAX = 40
ALIASED_VALUES_MAX = 10_000

_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
# What may not stand in YAML is listed: a class of all that may takes 30 times as long to compile.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# libyaml takes it for an indent of nothing: what follows its line is another document.
_INNER_MARK = re.compile("(?<=[\r\n])\ufeff")
# In JSON a letter beyond 16 bits may be two escapes, of which YAML knows neither.
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
_MERGE = "<<"

Built = tuple[Any, Lines, int]
"""A value, its lines, and the number of values that it consists of."""


@frozen
class YamlDocument:
    """One document; `problems` are those of its YAML (duplicate keys, ambiguous scalars)."""

    body: Any
    places: Places
    problems: tuple[Problem, ...] = ()


def parse(text: str, file: str, secret: bool = False) -> tuple[list[YamlDocument], list[Problem]]:
    """All documents of a text that are not empty, and the YAML problems.

    With `secret` no problem shows any of the text.
    """
    if unprintable := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, unprintable.start()) + 1
        message = f"character {unprintable.group()!r} is not allowed (expected printable text)"
        return [], [Problem(file, line, "", message)]
    if mark := _INNER_MARK.search(text):
        line = text.count("\n", 0, mark.start()) + 1
        message = "a byte order mark begins this line (expected none but at the begin of the file)"
        return [], [Problem(file, line, "", message)]
    if file.endswith(".json"):
        text = _PAIR.sub(lambda pair: pair[1] + json.loads(f'"{pair[2]}"'), text)
    documents: list[YamlDocument] = []
    problems: list[Problem] = []
    for chunk, line in _chunks(text):
        reader = _Reader(chunk, line, file, secret)
        try:
            documents.extend(reader.documents())
        except MarkedYAMLError as error:
            problems.append(_unreadable(error, chunk, line, file, secret))
        except _Excess as excess:
            problems.append(Problem(file, excess.line, "", excess.message))
    return documents, problems


class _Excess(Exception):
    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(message)


class _Yaml(YAML):
    """Without plug-ins, for which its own looks through a folder, for each chunk."""

    def official_plug_ins(self) -> list[str]:
        """Return none."""
        return []


class _Reader:
    """Builds the documents of one chunk from its events."""

    def __init__(self, chunk: str, line: int, file: str, secret: bool) -> None:
        self.events = _Yaml(typ="safe", pure=False).parse(chunk)
        self.offset = line
        self.file = file
        self.secret = secret
        self.anchors: dict[str, Built] = {}
        self.aliased = 0
        self.path: list[str | int] = []
        self.findings: list[tuple[int, Path, str]] = []

    def documents(self) -> Iterator[YamlDocument]:
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                self.anchors, self.aliased, self.findings = {}, 0, []
                body, lines, _ = self.build(next(self.events))
                places = Places(self.file, lines)
                # Not by path: only the first line of a duplicate key is kept.
                problems = [
                    Problem(self.file, line, places.problem(path, "").field, message)
                    for line, path, message in self.findings
                ]
                if body is not None or problems:
                    yield YamlDocument(body, places, tuple(problems))

    def build(self, event: Any) -> Built:
        line = event.start_mark.line + self.offset
        if isinstance(event, ScalarEvent):
            built: Built = self.scalar(event, line), Lines(line), 1
        elif isinstance(event, AliasEvent):
            return self.alias(event.anchor, line)
        else:
            if len(self.path) > DEPTH_MAX:
                raise _Excess(line, f"is nested too deeply (expected at most {DEPTH_MAX} levels)")
            if event.tag not in (None, "!", *_COLLECTION_TAGS):
                self.find(line, "has a tag (expected none)")
            in_order = isinstance(event, SequenceStartEvent)
            built = self.sequence(line) if in_order else self.mapping(line)
        if event.anchor:
            self.anchors[event.anchor] = built
        return built

    def scalar(self, event: Any, line: int) -> Any:
        if not event.implicit[0]:
            if event.tag not in _TEXT_TAGS:
                self.find(line, "has a tag (expected none)")
            return event.value
        value = resolve(event.value)
        if isinstance(value, Ambiguous):
            self.find(line, "has no quotes (expected them)" if self.secret else value.reason)
            return event.value
        return value

    def alias(self, anchor: str, line: int) -> Built:
        if anchor not in self.anchors:
            raise _Excess(line, "an alias stands for nothing before it (expected an anchor)")
        value, lines, count = self.anchors[anchor]
        self.aliased += count
        if self.aliased > ALIASED_VALUES_MAX:
            expected = f"(expected at most {ALIASED_VALUES_MAX})"
            raise _Excess(line, f"aliases stand for too many values {expected}")
        return value, Lines(line, lines.children), count

    def sequence(self, line: int) -> Built:
        values: list[Any] = []
        lines: list[Lines] = []
        total = 1
        while not isinstance(event := next(self.events), SequenceEndEvent):
            self.path.append(len(values))
            value, where, count = self.build(event)
            self.path.pop()
            values.append(value)
            lines.append(where)
            total += count
        return values, Lines(line, lines), total

    def mapping(self, line: int) -> Built:
        values: dict[str, Any] = {}
        lines: dict[str, Lines] = {}
        merged: list[Built] = []
        total = 1
        while not isinstance(event := next(self.events), MappingEndEvent):
            key, key_line = self.key(event)
            self.path.append(key)
            value, where, count = self.build(next(self.events))
            total += count
            if key == _MERGE:
                merged.append((value, where, count))
            elif key in values:
                self.find(key_line, f"is given twice (first on line {lines[key].line})")
            else:
                values[key], lines[key] = value, Lines(key_line, where.children)
            self.path.pop()
        for value, where, _ in merged:
            self.merge(value, where, values, lines)
        return values, Lines(line, lines), total

    def key(self, event: Any) -> tuple[str, int]:
        line = event.start_mark.line + self.offset
        if not isinstance(event, ScalarEvent):
            raise _Excess(line, "a key is no plain text (expected a name)")
        if event.implicit[0] and isinstance(reading := resolve(event.value), Ambiguous):
            self.path.append(event.value)
            self.find(line, "has no quotes (expected them)" if self.secret else reading.reason)
            self.path.pop()
        return event.value, line

    def merge(
        self, value: Any, where: Lines, values: dict[str, Any], lines: dict[str, Lines]
    ) -> None:
        """Add the keys of `<<`; explicit keys win."""
        if isinstance(value, list) and isinstance(where.children, list):
            for each, place in zip(value, where.children, strict=True):
                self.merge(each, place, values, lines)
        elif isinstance(value, dict) and isinstance(where.children, dict):
            for key, inner in value.items():
                if key not in values:
                    values[key], lines[key] = inner, where.children[key]
        else:
            self.find(where.line, "a merge key brings no fields (expected an alias of a mapping)")

    def find(self, line: int, message: str) -> None:
        self.findings.append((line, tuple(self.path), message))


_COLLECTION_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """The text between `---` lines, each with the number of its first line."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text))]
    line = 1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        chunk = text[start:end]
        if not _is_blank(chunk):
            yield chunk, line
        line += chunk.count("\n")


def _is_blank(chunk: str) -> bool:
    """Whether a chunk holds nothing but comments and directives."""
    if not chunk.startswith(("%", "#", "\n", "\r", " ")):
        return not chunk
    return all(not line.strip() or line.lstrip()[0] in "#%" for line in chunk.splitlines())


def _unreadable(error: MarkedYAMLError, chunk: str, line: int, file: str, secret: bool) -> Problem:
    at = error.problem_mark.line if error.problem_mark else 0
    lines = chunk.split("\n")
    if at < len(lines) and lines[at].startswith("\t"):
        return Problem(file, at + line, "", "a tab indents this line (expected blanks)")
    if secret:
        return Problem(file, at + line, "", "cannot be read (expected YAML)")
    reason = " ".join(part for part in (error.problem, error.context) if part)
    return Problem(
        file, min(at, len(lines) - 1) + line, "", f"cannot be read: {reason} (expected YAML)"
    )
