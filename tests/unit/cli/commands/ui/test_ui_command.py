"""Options of `poolkeeper ui` that contradict each other, and tokens that could be guessed."""

from pathlib import Path

import pytest

from poolkeeper.cli.main import main

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
