"""What `docs/whatif-*.md` show is what their commands write; `--update-golden` writes them anew."""

import re
import shlex
from pathlib import Path

import pytest

from poolkeeper.cli import main
from poolkeeper.studies import group_rebalances

ROOT = Path(__file__).parents[3]
PAGES = {name: ROOT / "docs" / f"whatif-{name}.md" for name in ("lose", "keys", "consumers")}
PICTURE = ROOT / "docs" / "whatif-consumers.svg"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ poolkeeper (.*)$", re.MULTILINE)


@pytest.fixture
def written(capsys, monkeypatch):
    """Return what a command writes; without how long it computed."""
    timed = group_rebalances._timed
    monkeypatch.setattr(group_rebalances, "_timed", lambda *given: (0.0, timed(*given)[1]))
    monkeypatch.chdir(ROOT / "examples" / "whatif")

    def call(command: str) -> str:
        assert main.main(shlex.split(command)) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return re.sub(r"\d\.\d\d ms", "x.xx ms", captured.out)

    return call


@pytest.mark.parametrize("study", PAGES)
def test_a_page_shows_what_its_commands_write(study, written, update_golden):
    def block(found: re.Match[str]) -> str:
        commands = COMMAND.findall(found[1])
        assert commands
        shown = [f"$ poolkeeper {command}\n{written(command)}" for command in commands]
        return "```console\n" + "\n".join(shown) + "```"

    page = PAGES[study].read_text(encoding="utf-8")
    made = BLOCK.sub(block, page)
    if update_golden:
        PAGES[study].write_text(made, encoding="utf-8")
    assert made == page or update_golden


def test_the_picture_is_what_the_command_draws(written, update_golden, tmp_path):
    commands = COMMAND.findall(PAGES["consumers"].read_text(encoding="utf-8"))
    (command,) = (each for each in commands if each.endswith("--return C0"))
    drawn = tmp_path / "drawn.svg"
    written(f"{command} --out {drawn}")
    if update_golden:
        PICTURE.write_bytes(drawn.read_bytes())
    assert PICTURE.read_bytes() == drawn.read_bytes()
