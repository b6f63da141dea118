"""What a person asks of a run: asking again takes nothing back, and the audit log tells of it."""

import json
from pathlib import Path

import pytest

from poolkeeper.zk import znodes
from simulation.damage import Say
from simulation.our_tree import OF_RUN, OURS, PLAN, OurTree


@pytest.mark.parametrize(
    ("asked", "said", "stored"),
    [
        pytest.param(["stop"], "is ended by the next", {}, id="once"),
        pytest.param(["stop", "stop"], "is ended by the next", {}, id="twice"),
        pytest.param(["stop", "rollback"], "is rolled back", {"at_once": True}, id="more"),
        pytest.param(["stop --now", "stop --now"], "is rolled back", {"at_once": True}, id="all"),
        pytest.param(["rollback", "stop"], "is rolled back", {"at_once": True}, id="less"),
        pytest.param(
            ["rollback --allow-controller-failover", "rollback"],
            "is rolled back",
            {"at_once": True, "allow_failover": True},
            id="less-is-allowed",
        ),
    ],
)
def test_what_a_person_asked_for_before_is_not_taken_back(
    say: Say, asked: list[str], said: str, stored: dict[str, bool]
) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})
    for words in asked:
        told = say(tree, *words.split())
        assert (told.code, told.err) == (0, "")
    assert said in told.out
    found = tree.read(znodes.RUN_STOP)
    assert found is not None
    whole_stop = {"version": 1, "at_once": False, "allow_failover": False, **stored}
    assert json.loads(found or "{}") == (whole_stop if stored else {})


@pytest.mark.parametrize("command", ["stop", "rollback"])
def test_who_asks_notes_the_write_and_what_it_was_for(
    say: Say, tmp_path: Path, command: str
) -> None:
    tree, audit = OurTree.plant({**OURS, **OF_RUN}), tmp_path / "audit.jsonl"
    for _ in range(2):
        assert say(tree, command, "--audit-log", str(audit)).code == 0
    notes = [json.loads(line) for line in audit.read_text().splitlines()]
    begun, write, requested, *again = notes
    assert [note["event"] for note in notes] == ["Decision", "Write", *["Decision"] * 3]
    assert {note["plan"] for note in notes} == {PLAN.hash}
    assert {note["executor"]["command"] for note in notes} == {command}
    epoch, stop = write["nodes"]
    assert (epoch["do"], epoch["path"]) == ("Check", znodes.EPOCH)
    assert (stop["do"], stop["path"], write["result"]) == ("Create", znodes.RUN_STOP, "Done")
    actions = [note["action"] for note in (begun, requested, *again)]
    assert actions == ["CommandBegun", "StopRequested"] * 2
