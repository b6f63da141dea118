"""Questions answered by processes of this machine: what tasks do, and the command line."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleet import asking
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.errors import Unavailable
from poolkeeper.rebalances.planning import task_runner, text_chunks
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse


@pytest.fixture
def question(zookeeper, tmp_path: Path) -> Iterator[RebalanceRequest]:
    """About two clusters that have a crowded broker, and two that cannot be read."""
    with ExitStack() as stack:
        yield asking.question(stack, zookeeper, tmp_path)


def test_clusters_that_cannot_be_read_have_their_reason(question: RebalanceRequest) -> None:
    answer = RebalanceResponse.from_json(task_runner.write_response(question, InProcess()).text)
    problems = {each.cluster: each.problem for each in answer.clusters}
    assert problems.keys() == {"closed", "locked", "one", "two"}
    assert "no ZooKeeper answers at 127.0.0.1:1" in problems["closed"]
    assert problems["locked"] == "there is no Secret zk for planners"
    plans = {each.cluster: each.plan for each in answer.clusters if each.plan}
    assert {name: len(plan.moves) for name, plan in plans.items()} == {"one": 4, "two": 4}
    assert [(turn.cluster, turn.wave) for turn in answer.waves.turns] == [("one", 1), ("two", 2)]
    assert RebalanceResponse.from_json(answer.to_json()) == answer


def test_the_command_reads_a_question_whole_or_in_pieces(
    question: RebalanceRequest, tmp_path: Path, capsys, without_spark
) -> None:
    text = question.to_json()
    (tmp_path / "question.json").write_text(text)
    pieces = tmp_path / "pieces"
    pieces.mkdir()
    for number, piece in enumerate(text_chunks.chunks_of(text, 100)):
        (pieces / f"chunk-{number:06}").write_bytes(piece)
    found = []
    for words in (
        ["--question", str(tmp_path / "question.json")],
        ["--question", str(pieces), "--digest", question.digest],
    ):
        out, message = tmp_path / "answer.json", tmp_path / "message"
        more = ["--processes", "1", "--out", str(out), "--message", str(message)]
        assert main.main(["fleet", "answer", *words, *more]) == 0
        said = capsys.readouterr()
        assert said.out == "2 of 4 clusters planned, 8 moves\n"
        assert "warning: locked: there is no Secret zk" in said.err
        assert message.read_text() == '{"clusters": 4}'
        found.append(out.read_text())
    assert found == [task_runner.write_response(question, InProcess()).text] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--out", "x", "--job", "a/b"], "expected --out, or --job", id="two-places"),
        pytest.param([], "expected --out, or --job", id="no-place"),
        pytest.param(["--out", "x", "--conf", "a"], "expected KEY=VALUE", id="no-setting"),
    ],
)
def test_usage(words, said, tmp_path: Path, capsys) -> None:
    (tmp_path / "q").write_text("{")
    assert main.main(["fleet", "answer", "--question", str(tmp_path / "q"), *words]) == 1
    assert said in capsys.readouterr().err


def test_a_failure_is_told_where_kubernetes_looks(tmp_path: Path, capsys) -> None:
    (tmp_path / "q").write_text("{")
    message = tmp_path / "message"
    words = ["--question", str(tmp_path / "q"), "--out", "x", "--message", str(message)]
    assert main.main(["fleet", "answer", *words]) == 1
    assert message.read_text().startswith("specs of a fleet cannot be read")


def test_secrets_are_folders_of_files(tmp_path: Path) -> None:
    place = tmp_path / "zk"
    (place / "..data").mkdir(parents=True)
    (place / "username").write_bytes(b"keeper")
    read = task_runner.secrets_in(str(tmp_path))
    assert read("zk") == {"username": b"keeper"}
    for folder in (str(tmp_path), ""):
        with pytest.raises(Unavailable, match="there is no Secret other for planners"):
            task_runner.secrets_in(folder)("other")
