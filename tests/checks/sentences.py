"""Code decides on values, never on sentences: a check of `make lint`.

A sentence can be reworded at any time. So nothing may ask how one begins or ends, what is in it,
whether it matches a pattern or is equal to certain words. What counts as a sentence is told by its
name (`NAMED`), by being an element of something with such a name, or by being `str(…)` of an error.

Words of other programs are sometimes all there is to decide on. Such a line says so, with a reason:

    late = "timed out" in str(error)  # their words: kafka-python has no class for it

Run it with the folders to check; it prints each offence and fails if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# fmt: off
NAMED = frozenset(
    (
        "complaint", "detail", "did", "halt", "hindrance", "message", "messages", "note", "refusal",
        "said", "sentence", "sentences", "told", "wait", "waits", "why",
    )
)
# fmt: on
METHODS = frozenset(("startswith", "endswith", "find", "index", "count", "translate"))
PATTERNS = frozenset(("match", "search", "fullmatch", "findall", "finditer"))
KEEPING = frozenset(("lower", "upper", "strip", "lstrip", "rstrip", "casefold", "splitlines"))
"""Methods whose result is the same sentence, or parts of it."""
ERRORS = ("error", "refused", "failed", "stale", "away", "exception", "exc", "e")
EXCUSE = "# their words: "


@dataclass(frozen=True, slots=True, order=True)
class Offence:
    """A decision on a sentence."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def offences_in(source: str, path: str = "") -> tuple[Offence, ...]:
    """Return the decisions on sentences in one module."""
    lines = source.splitlines()
    looking = _Looking()
    looking.visit(ast.parse(source))
    return tuple(
        Offence(path, line, what)
        for line, what in sorted(set(looking.found))
        if not _excused(lines[line - 1])
    )


def _excused(line: str) -> bool:
    _, excuse, reason = line.partition(EXCUSE)
    return bool(excuse) and len(reason.split()) > 2


class _Looking(ast.NodeVisitor):
    """Walks a module; `found` are lines and what is wrong with them."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._elements: set[str] = set()
        self._errors: set[str] = set(ERRORS)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._errors.add(node.name)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._iterated(node.target, node.iter)
        self.generic_visit(node)

    def visit(self, node: ast.AST) -> None:
        # Of a comprehension, what it iterates over comes before what it asks of each element.
        for generator in getattr(node, "generators", ()):
            self._iterated(generator.target, generator.iter)
        super().visit(node)

    def _iterated(self, target: ast.expr, over: ast.expr) -> None:
        if isinstance(target, ast.Name) and self._is_sentence(over):
            self._elements.add(target.id)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name in METHODS and self._is_sentence(node.func.value):
                self.found.append((node.lineno, f"decides on a sentence by .{name}()"))
            if name in PATTERNS and any(map(self._is_sentence, node.args)):
                self.found.append((node.lineno, "matches a sentence against a pattern"))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(operator, ast.In | ast.NotIn):
                inside = _is_text(left) and self._is_sentence(right)
                one_of = self._is_sentence(left) and _is_texts(right)
                if inside or one_of:
                    self.found.append((node.lineno, "looks for words in a sentence"))
            elif isinstance(operator, ast.Eq | ast.NotEq):
                pairs = ((left, right), (right, left))
                if any(self._is_sentence(a) and _is_words(b) for a, b in pairs):
                    self.found.append((node.lineno, "compares a sentence with certain words"))
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        if self._is_sentence(node.subject):
            values = [c.pattern for c in node.cases if isinstance(c.pattern, ast.MatchValue)]
            if any(_is_text(pattern.value) for pattern in values):
                self.found.append((node.lineno, "matches a sentence against certain words"))
        self.generic_visit(node)

    def _is_sentence(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in NAMED or name in self._elements
            case ast.Attribute(attr=name):
                return name in NAMED
            case ast.Subscript(value=value):
                return self._is_sentence(value)
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]):
                return name in self._errors
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Attribute(attr="error")]):
                return True
            case ast.Call(func=ast.Attribute(value=value, attr=method)):
                return method in KEEPING and self._is_sentence(value)
        return False


def _is_text(node: ast.expr) -> bool:
    """Whether it is a literal text, or a constant that may be one."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper() and len(name) > 1
    return False


def _is_words(node: ast.expr) -> bool:
    """Whether it is a text other than an empty one."""
    return _is_text(node) and not (isinstance(node, ast.Constant) and not node.value)


def _is_texts(node: ast.expr) -> bool:
    """Whether it is a collection of literal texts."""
    elements = getattr(node, "elts", None)
    return bool(elements) and all(_is_text(each) for each in elements)


def offences(folders: list[str]) -> Iterator[Offence]:
    """Find the decisions on sentences in all modules of some folders."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.py")):
            yield from offences_in(path.read_text(encoding="utf-8"), str(path))


if __name__ == "__main__":
    found = list(offences(sys.argv[1:]))
    for offence in found:
        print(offence)
    sys.exit(bool(found))
