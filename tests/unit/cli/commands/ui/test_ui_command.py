"""Options of `poolkeeper ui`: those that contradict each other, and tokens that can be guessed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from poolkeeper.cli.commands.ui.ui import TokenFile
from poolkeeper.cli.main import main
from unit.cli.small_cluster import CLUSTER

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--kubernetes",), "--kubernetes needs --token-file", id="no-token"),
        pytest.param(
            ("--kubernetes", "main", "-f", ".", "--port", "1"),
            "--kubernetes takes clusters from the API server: not --port, CLUSTER, -f",
            id="other-clusters",
        ),
        pytest.param(
            ("-f", ".", "--listen", "0.0.0.0:1"), "--listen goes with --kubernetes", id="a-listener"
        ),
        pytest.param(
            ("-f", ".", "--watch-namespace", "a"),
            "--watch-namespace goes with --kubernetes",
            id="a-namespace",
        ),
        pytest.param((), "no cluster is given", id="nothing"),
    ],
)
def test_options_that_contradict_each_other(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(("ui", *words)) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("token", "said"),
    [
        pytest.param(GOOD[:-1], "holds 31 characters", id="short"),
        pytest.param("", "holds 0 characters", id="empty"),
        pytest.param(f"{GOOD} {GOOD}", "holds 65 characters", id="two"),
        pytest.param(f"{GOOD};", "holds 33 characters", id="no-cookie"),
        pytest.param(f"{GOOD}\u00e4", "letters, digits, - . _ or ~", id="no-ascii"),
    ],
)
def test_a_token_that_could_be_guessed_or_sent_wrong_is_refused(
    tmp_path: Path, token: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{token}\n", encoding="utf-8")
    assert main(("ui", "--kubernetes", "--token-file", str(file))) == 1
    found = capsys.readouterr().err
    assert said in found
    assert str(file) in found


def test_a_token_that_is_changed_counts_and_a_wrong_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text(GOOD)
    token = TokenFile.read(file)
    assert (token.is_another(), token.token) == (False, GOOD)
    file.write_text(GOOD.upper())
    assert (token.is_another(), token.token) == (True, GOOD.upper())
    for _ in range(2):
        file.write_text("short")
        assert (token.is_another(), token.token) == (False, GOOD.upper())
    file.unlink()
    assert (token.is_another(), token.token) == (False, GOOD.upper())
    told = capsys.readouterr().err.splitlines()
    assert [line.endswith("the token before it counts on") for line in told] == [True, True]


@pytest.mark.slow
def test_the_address_is_one_document_for_a_program(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    with subprocess.Popen(
        (sys.executable, "-m", "poolkeeper", "ui", "-f", str(tmp_path), "--output", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            os.kill(process.pid, signal.SIGINT)
            rest, told = process.communicate(timeout=30)
        finally:
            process.kill()
    assert json.loads("".join((*lines, rest)))["url"].startswith("http://127.0.0.1:")
    assert (process.returncode, told) == (130, "\ninterrupted\n")
