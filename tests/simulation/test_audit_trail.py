"""Who asks for an audit trail gets nothing done without it, and reads who began when."""

import json
from pathlib import Path
from threading import Event

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.resources.checks import folder
from poolkeeper.telemetry.audit import AuditLog
from poolkeeper.zk import znodes
from simulation.damage import Say
from simulation.our_tree import OF_RUN, OURS, OurTree, Repair

PASSES = 3
KEPT = tuple(path for path in (*OURS, *OF_RUN) if path != znodes.EPOCH)


def nodes_of(tree: OurTree) -> dict[str, bytes | None]:
    return {path: tree.read(path) for path in KEPT}


def test_apply_does_nothing_while_the_trail_cannot_be_written(say: Say) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})
    before = nodes_of(tree)
    said = say(tree, "apply", "--yes", "--audit-log", "/dev/full")
    assert said.code == 1
    assert "the audit trail cannot be written to /dev/full" in said.err
    assert nodes_of(tree) == before


@pytest.mark.parametrize("command", ["stop", "rollback"])
def test_who_asks_for_an_end_asks_for_nothing_either(say: Say, command: str) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})
    said = say(tree, command, "--audit-log", "/dev/full")
    assert said.code == 1
    assert "the audit trail cannot be written to /dev/full" in said.err
    assert tree.read(znodes.RUN_STOP) is None


def test_repair_mends_nothing_either(repair: Repair, tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, znodes.HOLDER: b"{"})
    backup = tmp_path / "old.json"
    said = repair(tree, "--yes", "--audit-log", "/dev/full", "--backup", str(backup))
    assert said.code == 1
    assert "the audit trail cannot be written to /dev/full" in said.err
    assert tree.read(znodes.HOLDER) == b"{"
    assert not backup.exists()


def test_a_loop_that_tries_again_does_nothing_either(
    declared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_pause_after", lambda config, failures: None)
    tree = OurTree.plant({**OURS, **OF_RUN})
    before = nodes_of(tree)
    desired = folder.load((declared,)).desired("main")
    seen: list[Outcome] = []
    wake, stop = Event(), Event()

    def report(outcome: Outcome) -> None:
        seen.append(outcome)
        if len(seen) == PASSES:
            stop.set()

    connections = ClusterConnections(tree.session, lambda: None)
    full = AuditLog.open("/dev/full")
    loop.run_loop(LoopConfig(connections, lambda: desired, report, wake, stop, emit=full.emit))
    full.close()
    assert all("the audit trail cannot be written" in str(each.error) for each in seen)
    assert nodes_of(tree) == before


def test_the_first_line_says_who_took_the_journal(say: Say, tmp_path: Path) -> None:
    trail = tmp_path / "audit.jsonl"
    say(OurTree.plant({**OURS, **OF_RUN}), "apply", "--yes", "--audit-log", str(trail))
    first = json.loads(trail.read_text().splitlines()[0])
    assert (first["event"], first["action"]) == ("Decision", "JournalTaken")
    assert first["message"].startswith("poolkeeper apply of ")
