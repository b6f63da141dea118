"""The commands of the README and of `docs/fleet.md` about fleets, run in their order.

They are run in this process, with what Spark would do; `test_spark` has Spark do the same.
"""

import re
import shlex
from pathlib import Path

import pytest

from control_plane.building import CHECKOUT
from poolkeeper.cli.commands.fleet import fleet as commands
from poolkeeper.fleet.storage import schemas


def section(document: str, title: str) -> str:
    """What stands below a title, up to the next of its kind."""
    text = (CHECKOUT / document).read_text()
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def typed(text: str) -> list[list[str]]:
    """The commands of blocks of a console."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    assert all(line.startswith("$ poolkeeper ") for line in lines if line)
    return [shlex.split(line)[2:] for line in lines if line]


@pytest.mark.parametrize(
    ("document", "title", "least"),
    [
        pytest.param("README.md", "Many clusters at once", 3, id="readme"),
        pytest.param("docs/fleet.md", "The first run", 7, id="the-first-run"),
    ],
)
def test_every_command_does_what_it_says(
    document: str, title: str, least: int, fleet: Path, run, monkeypatch
) -> None:
    monkeypatch.chdir(fleet)
    (fleet / "manifests").rename(fleet / "clusters")
    found = typed(section(document, title))
    assert len(found) >= least
    for words in found:
        code, out, err = run(*words)
        assert (code, err) == (0, ""), words
        assert out
    assert list((fleet / "lake").glob("report-*.html"))
    assert (fleet / "plan.json").exists()


def test_every_command_of_fleet_is_in_the_table_of_steps() -> None:
    text = section("docs/fleet.md", "Steps")
    named = set(re.findall(r"^\| `fleet ([a-z]+)", text, re.MULTILINE))
    assert named == set(commands.fleet.commands) - {"answer"}
    tables = set(re.findall(r"`([a-z_]+)`", text))
    assert schemas.TABLES.keys() - tables <= {"current"}


def test_every_option_that_the_page_names_exists() -> None:
    text = (CHECKOUT / "docs" / "fleet.md").read_text()
    known = {
        option
        for command in commands.fleet.commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    others = {"--namespace", "--set", "--zookeeper", "--cluster", "--features"}
    others |= {"--from-literal", "--deploy-mode", "--reset-then-reuse-values"}
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= known | others
