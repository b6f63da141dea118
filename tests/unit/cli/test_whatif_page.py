"""What `docs/whatif.md` shows is what its commands write; `--update-golden` writes it anew."""

import re
import shlex
from pathlib import Path

import pytest

from poolkeeper.cli import main

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "whatif.md"
PICTURE = ROOT / "docs" / "whatif-consumers.svg"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ poolkeeper (.*)$", re.MULTILINE)


@pytest.fixture
def written(capsys, monkeypatch):
    """Return what a command writes; without how long it computed."""
    monkeypatch.chdir(ROOT / "examples" / "whatif")

    def call(command: str) -> str:
        assert main.main(shlex.split(command)) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return re.sub(r"\d\.\d\d ms", "x.xx ms", captured.out)

    return call


def test_the_page_shows_what_its_commands_write(written, update_golden):
    def block(found: re.Match[str]) -> str:
        commands = COMMAND.findall(found[1])
        assert commands
        shown = [f"$ poolkeeper {command}\n{written(command)}" for command in commands]
        return "```console\n" + "\n".join(shown) + "```"

    page = PAGE.read_text(encoding="utf-8")
    made = BLOCK.sub(block, page)
    if update_golden:
        PAGE.write_text(made, encoding="utf-8")
    assert made == page or update_golden


def test_the_picture_is_what_the_command_draws(written, update_golden, tmp_path):
    (command,) = (c for c in COMMAND.findall(PAGE.read_text("utf-8")) if c.endswith("--return C0"))
    drawn = tmp_path / "drawn.svg"
    written(f"{command} --out {drawn}")
    if update_golden:
        PICTURE.write_bytes(drawn.read_bytes())
    assert PICTURE.read_bytes() == drawn.read_bytes()
