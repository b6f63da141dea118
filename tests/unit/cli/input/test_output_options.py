"""What a command may write to, told before anything is read."""

import pytest

SAID = "--audit-log -: --output json is one document there (expected a file)\n"


@pytest.mark.parametrize("command", ["apply", "stop", "rollback", "repair"])
@pytest.mark.parametrize("words", [("-o", "json"), ("--output=json",)])
def test_a_trail_does_not_go_into_the_one_document_of_json(run, tmp_path, command, words) -> None:
    code, out, err = run(command, "-f", tmp_path, "--audit-log", "-", *words)
    assert (code, err) == (1, SAID)
    assert '"errors"' in out


@pytest.mark.parametrize(
    "words", [("apply", "--audit-log", "-"), ("run", "--audit-log", "-", "-o", "json")]
)
def test_it_may_stand_beside_lines(run, tmp_path, words) -> None:
    code, _, err = run(*words, "-f", tmp_path)
    assert (code, SAID in err) == (1, False)
    assert "holds no manifests" in err
