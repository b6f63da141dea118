"""Machines' clocks differ: executors count the ages of what is kept by ZooKeeper's clock."""

import json
import logging
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import Heal
from poolkeeper.resources.checks import folder
from poolkeeper.zk import znodes
from simulation.our_tree import OURS, OurTree, write_manifests

AFTER_S = 1800
MISSING = 3
MACHINES = pytest.mark.parametrize("ahead_s", [-7200, 0, 7200])


def tree_without_a_broker(missing_s: int) -> OurTree:
    """A cluster that lacks a broker, whose record says since when, by ZooKeeper's clock."""
    tree = OurTree.plant({**OURS, f"/brokers/ids/{MISSING}": None})
    since_s = tree.clock.now_ms() // 1000 - missing_s
    brokers = {
        str(id_): {"rack": f"r{id_}", "missing_since_s": since_s if id_ == MISSING else None}
        for id_ in (1, 2, MISSING)
    }
    body = json.dumps({"version": 1, "brokers": brokers})
    tree.put(znodes.RECORD_OF_BROKERS, body.encode())
    return tree


def pass_over(tree: OurTree, declared: Path, passes: int = 3) -> list[Outcome]:
    """Run passes of a loop whose machine's clock is wherever it is."""
    desired = folder.load((declared,)).desired("main")
    heal = Heal(enabled=True, after_s=AFTER_S, max_brokers=1)
    desired = replace(desired, cluster=replace(desired.cluster, heal=heal))
    seen: list[Outcome] = []
    wake, stop = Event(), Event()

    def report(outcome: Outcome) -> None:
        seen.append(outcome)
        if len(seen) == passes:
            stop.set()
        wake.set()

    connections = ClusterConnections(tree.session, lambda: None)
    loop.run_loop(LoopConfig(connections, lambda: desired, report, wake, stop))
    return seen


def set_clock(monkeypatch: pytest.MonkeyPatch, tree: OurTree, ahead_s: int) -> None:
    """Let this machine's clock be so far ahead of ZooKeeper's."""
    now_ns = (tree.clock.now_ms() + 1000 * ahead_s) * 1_000_000
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)


def missing_since_s(tree: OurTree) -> int:
    brokers = json.loads(tree.read(znodes.RECORD_OF_BROKERS) or b"")["brokers"]
    found = brokers[str(MISSING)]["missing_since_s"]
    assert isinstance(found, int)
    return found


@MACHINES
@pytest.mark.parametrize(("missing_s", "rebuilt"), [(60, False), (AFTER_S + 60, True)])
def test_a_broker_is_gone_when_it_is_missing_for_so_long_by_zookeepers_clock(
    declared: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int, missing_s: int, rebuilt: bool
) -> None:
    tree = tree_without_a_broker(missing_s)
    set_clock(monkeypatch, tree, ahead_s)
    since_s = missing_since_s(tree)
    outcomes = pass_over(tree, declared)
    assert any(outcome.plan is not None and outcome.plan.moves for outcome in outcomes) == rebuilt
    assert missing_since_s(tree) == since_s


def test_a_plan_made_by_a_wrong_clock_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tree_without_a_broker(60)
    set_clock(monkeypatch, tree, 7200)
    heal = {"enabled": True, "after": f"{AFTER_S}s"}
    file = write_manifests(tmp_path, heal=heal, approval={"policy": "Auto"})
    said = tree.said(capsys, "apply", "--yes", "-f", str(file))
    assert "replicas" in said.out
    assert (said.code, "plan again" in said.err) == (1, True), said
    assert tree.read(znodes.RUN) is None


@MACHINES
def test_the_time_that_is_kept_is_zookeepers(
    declared: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    tree = OurTree.plant({**OURS, f"/brokers/ids/{MISSING}": None})
    set_clock(monkeypatch, tree, ahead_s)
    pass_over(tree, declared)
    assert abs(missing_since_s(tree) - tree.clock.now_ms() // 1000) <= 5


@pytest.mark.parametrize(
    ("ahead_s", "told"), [(7200, "2 h ahead of"), (-7200, "2 h behind"), (30, None), (-30, None)]
)
def test_a_machine_whose_clock_is_far_off_is_told(
    declared: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ahead_s: int,
    told: str | None,
) -> None:
    tree = OurTree.plant({**OURS})
    set_clock(monkeypatch, tree, ahead_s)
    with caplog.at_level(logging.WARNING):
        pass_over(tree, declared)
    said = [text for text in caplog.messages if "the clock of this machine" in text]
    assert len(said) == (told is not None)
    assert all(told in text for text in said if told)
