"""What a person asks of a run: asking again takes nothing back, and the audit log tells of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from poolkeeper.errors import Stale
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Operation
from poolkeeper.zk.journal import journal
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


@contextmanager
def overtaken(tree: OurTree, by: Callable[[], None], times: int = 1) -> Iterator[FakeSession]:
    """A session whose writes somebody else's come before."""
    with tree.session() as session:
        send, left = session.send, [times]

        def send_second(transaction: Sequence[Operation]) -> object:
            if left[0]:
                left[0] -= 1
                by()
            return send(transaction)

        session.send = send_second
        yield session


def test_a_run_that_ends_while_it_is_stopped_is_none() -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})

    def end() -> None:
        for path in sorted(OF_RUN, reverse=True):
            tree.delete(path)

    with overtaken(tree, end) as session:
        assert journal.request_stop(session) is None


def test_who_asks_at_the_same_time_as_somebody_else_is_heard_as_well() -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})

    def ask() -> None:
        with tree.session() as other:
            journal.request_stop(other)

    with overtaken(tree, ask) as session:
        assert journal.request_stop(session, StopRequest(at_once=True)) is not None
        assert journal.read_stop(session) == StopRequest(at_once=True)


def test_approvals_that_come_at_the_same_time_are_both_kept() -> None:
    tree = OurTree.plant(OURS)

    def approve() -> None:
        with tree.session() as other:
            journal.hand_over_approval(other, "sha256:theirs")

    with overtaken(tree, approve) as session:
        journal.hand_over_approval(session, "sha256:ours")
        assert journal.read_approvals(session)[-2:] == ("sha256:theirs", "sha256:ours")


def test_who_is_overtaken_again_and_again_does_not_ask_for_ever() -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})

    def deny() -> None:
        tree.put(znodes.EPOCH, b"7")

    with overtaken(tree, deny, times=9) as session, pytest.raises(Stale):
        journal.request_stop(session)
