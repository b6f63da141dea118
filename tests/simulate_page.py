"""The examples of `docs/simulate.md`: what is typed there, and what it answers."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "simulate.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """A command of the page: the lines that it reads, its kind (None without one), its answer."""

    command: str
    lines: tuple[str, ...]
    kind: str | None
    answer: str


def examples(page: str) -> Iterator[Example]:
    """Give the examples of the page, in its order."""
    for block in _BLOCK.findall(page):
        for command, answer in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE):
            echo, _, simulate = command.rpartition(" | poolkeeper simulate")
            words = shlex.split(echo)
            lines = words[1:] if words[0] == "echo" else words[2:]
            yield Example(command, tuple(lines), simulate.strip() or None, answer)


def answered(page: str, answers: dict[str, str]) -> str:
    """Return the page with other answers, by command."""

    def block(found: re.Match[str]) -> str:
        commands = re.findall(r"^\$ (.*)$", found[1], re.MULTILINE)
        inside = "".join(f"$ {command}\n{answers[command]}" for command in commands)
        return f"```console\n{inside}```"

    return _BLOCK.sub(block, page)
