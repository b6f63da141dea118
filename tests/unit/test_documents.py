"""Documents name files and commands that exist."""

import re
from pathlib import Path

import pytest

from poolkeeper.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "operator" / "poolkeeper"
DOCUMENTS = ("docs/architecture.md", "CONTRIBUTING.md")
PATH = re.compile(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|yaml))`")


def paths(document: str) -> list[str]:
    """All that stands between backquotes and looks like a file or a folder."""
    return PATH.findall((ROOT / document).read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_exists(document: str) -> None:
    named = [path for path in paths(document) if not path.startswith(("/", "."))]
    assert len(named) > 10
    assert [p for p in named if not (ROOT / p).exists() and not (PACKAGE / p).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)", (ROOT / document).read_text()))
    assert named
    assert named - targets == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_exists(document: str) -> None:
    named = set(re.findall(r"`poolkeeper ([a-z]+)", (ROOT / document).read_text()))
    assert named - set(COMMANDS) == set()


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if not re.search(rf"\b{room}\b", page)} == set()


def test_every_module_of_a_room_is_named_where_the_room_says_how_to_read_it() -> None:
    """Of rooms inside rooms: their docstring is the list of their modules."""
    missing = []
    for init in sorted(PACKAGE.glob("*/*/__init__.py")):
        if init.read_text().startswith('"""A module per'):
            continue
        named = set(re.findall(r"`([a-z_]+)`", init.read_text()))
        modules = {f.stem for f in init.parent.glob("*.py")} - {"__init__"}
        missing += [f"{init.parent.name}.{m}" for m in sorted(modules - named)]
    assert missing == []
