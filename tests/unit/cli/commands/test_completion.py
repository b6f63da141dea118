"""What a shell is told when somebody presses the tabulator."""

import subprocess
import sys
from pathlib import Path

import pytest

from poolkeeper.cli import main
from poolkeeper.cli.commands.completion import SHELLS, VARIABLE

ROOT = Path(__file__).parents[4]
MANIFESTS = ROOT / "examples" / "manifests"


def completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> list[str]:
    """Return what bash is offered for the last of the words."""
    monkeypatch.setenv(VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit) as ended:
        main.main([])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.partition(",")[2] for line in lines if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param("poolkeeper re", ["rehearse", "repair"], id="commands"),
        pytest.param("poolkeeper plan --out", ["--out", "--output"], id="options"),
        pytest.param("poolkeeper plan --output m", ["markdown"], id="values of an option"),
        pytest.param("poolkeeper whatif l", ["lose"], id="commands of a command"),
        pytest.param(
            f"poolkeeper plan -f {MANIFESTS} --cluster ", ["demo"], id="clusters of the manifests"
        ),
        pytest.param(
            "poolkeeper plan -f nowhere --cluster ",
            [],
            id="no clusters, as the folder is not there",
        ),
    ],
)
def test_a_shell_is_offered(monkeypatch, capsys, words, offered):
    assert completed(monkeypatch, capsys, words) == offered


def test_commands_are_completed_without_importing_any(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("poolkeeper.cli.commands.")]:
        monkeypatch.delitem(sys.modules, name)
    assert completed(monkeypatch, capsys, "poolkeeper ") == list(main.COMMANDS)
    assert not [name for name in sys.modules if name.startswith("poolkeeper.cli.commands.")]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_asks_poolkeeper(capsys, shell):
    assert main.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"{VARIABLE}={shell}_complete" in script
    assert "%(" not in script


def test_bash_takes_its_script(capsys):
    assert main.main(["completion", "bash"]) == 0
    asked = f"{capsys.readouterr().out}\ncomplete -p poolkeeper"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("_poolkeeper_completion poolkeeper\n"), done.stderr
