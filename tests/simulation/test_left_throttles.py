"""Throttles that a run leaves because its record is damaged or gone: named, and taken off.

A process dies at every write of a run, and its record is harmed. From then on every throttle key
that is not as it was before the run is named by what `status` and `plan` show, until it is as
before. Where nothing tells what was before, it stays named.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import move, plan
from matrices import soak
from poolkeeper.algorithms.throttles import FOLLOWER_LIST, TOPIC_KEYS
from poolkeeper.cli.output.runs import status_values
from poolkeeper.model.execution.runs import Health, RunDocument, Saved
from poolkeeper.model.execution.throttles import LeftThrottles, Throttled
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import throttling
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from simulation.courses import plain_course
from simulation.executors import Executor, converged
from simulation.our_tree import IN_FORCE, OURS, OurTree, write_manifests
from simulation.scenarios import SCENARIOS

NAME = "foreign throttles"
RECORDS = "/poolkeeper/records/throttles"
RUN = "/poolkeeper/run"
RATE = 2_000_000
FOREIGN_REQUEST = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,3]}]}'
CASES = [("3.9.2", 7), *soak(*((kafka, 1) for kafka in ("3.9.2", "2.8.2", "2.0.1", "0.10.2.2")))]
"""The release, and how far from one write at which the process dies to the next."""
Throttles = Mapping[str, Mapping[str, str]]


def truncate(cluster: SimulatedCluster) -> None:
    """Cut the run's document short."""
    path = f"{RUN}/plan-0000"
    found = cluster.client.get(path)
    if found is not None:
        cluster.set(path, found[0][: len(found[0]) // 2])


HARMS: dict[str, Callable[[SimulatedCluster], None]] = {
    "run removed": lambda cluster: cluster.delete_all(RUN),
    "document truncated": truncate,
    "records removed": lambda cluster: cluster.delete_all(RECORDS),
    "everything wiped": lambda cluster: cluster.delete_all("/poolkeeper"),
}
FORGOTTEN = ("everything wiped",)
"""After these nothing tells what was before the run."""


def throttles(cluster: SimulatedCluster) -> dict[str, dict[str, str]]:
    """Return the throttle keys by entity."""
    found: dict[str, dict[str, str]] = {}
    for kind in ("topics", "brokers"):
        for name in cluster.client.children(f"/config/{kind}") or ():
            config = (cluster.read(f"/config/{kind}/{name}") or {}).get("config", {})
            keys = {key: value for key, value in config.items() if "throttled" in key}
            if keys:
                found[f"{kind}/{name}"] = keys
    return found


def others(cluster: SimulatedCluster) -> dict[str, Any]:
    """Return the config that is no throttle, by entity."""
    return {
        f"{kind}/{name}": {
            key: value
            for key, value in cluster.read(f"/config/{kind}/{name}")["config"].items()
            if "throttled" not in key
        }
        for kind in ("topics", "brokers")
        for name in cluster.client.children(f"/config/{kind}") or ()
    }


def names(throttled: Throttled) -> set[str]:
    return {f"topics/{name}" for name in throttled.topics} | {
        f"brokers/{id_}" for id_ in throttled.brokers
    }


def look(cluster: SimulatedCluster) -> tuple[journal.JournalView, LeftThrottles]:
    """Look as `status` and `plan` do, and see that both show the same."""
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
        recorded = journal.read_status(session)
    stored = recorded.stored
    left = left_throttles.find(seen, recorded.throttles, stored.running, stored.saved)
    assert status_values.status_of(seen, recorded).throttles_left == left_throttles.waits(left)
    return recorded, left


def unnamed(cluster: SimulatedCluster, before: Throttles) -> list[str]:
    """Return the entities throttled otherwise than before the run, unless somebody says so."""
    recorded, left = look(cluster)
    accounted = set[str]()
    if recorded.run is not None and recorded.document is not None:
        saved = recorded.document.saved
        accounted = names(Throttled(tuple(saved.topics), tuple(saved.brokers)))
    known = accounted | names(left.ours) | names(left.others)
    now = throttles(cluster)
    return [entity for entity in now if now[entity] != before.get(entity) and entity not in known]


def remove_damaged_run(cluster: SimulatedCluster) -> None:
    """Remove a run that no executor takes further, as `repair` does."""
    with FakeSession(cluster.server, cluster.clock) as session:
        damage = journal.read_status(session).run_damage
    if damage is not None:
        assert damage.path == f"{RUN}/plan-0000"
        cluster.delete_all(RUN)


@pytest.mark.parametrize(("kafka", "step"), CASES)
@pytest.mark.parametrize("harm", HARMS)
def test_whatever_happens_to_a_run_its_throttles_are_named_and_taken_off(
    harm: str, kafka: str, step: int
) -> None:
    left_ours = 0
    for number in range(1, plain_course(NAME, kafka).writes + 1, step):
        cluster, wanted = SCENARIOS[NAME].made(kafka)
        before, foreign = throttles(cluster), others(cluster)
        death = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
        executor = Executor(cluster, wanted, at_rest=converged)
        assert not executor._process(death, 1000)
        HARMS[harm](cluster)
        assert unnamed(cluster, before) == [], number
        left_ours += bool(look(cluster)[1].ours)
        remove_damaged_run(cluster)
        executor.finish()
        cluster.settle()
        assert unnamed(cluster, before) == [], number
        assert {name: values for name, values in others(cluster).items() if values} == foreign
        if harm not in FORGOTTEN:
            assert throttles(cluster) == before, number
            assert look(cluster)[1].ours == Throttled()
        assert (cluster.client.children(RECORDS) or ()) == ()
    assert bool(left_ours) == (harm in ("run removed", "document truncated"))


@pytest.mark.parametrize(("kafka", "step"), CASES)
@pytest.mark.parametrize("harm", ["run removed", "document truncated"])
def test_repair_alone_restores_what_was_before_the_run(
    harm: str, kafka: str, step: int, tmp_path: Path
) -> None:
    restored = 0
    for number in range(1, plain_course(NAME, kafka).writes + 1, step):
        cluster, wanted = SCENARIOS[NAME].made(kafka)
        before, foreign = throttles(cluster), others(cluster)
        death = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
        assert not Executor(cluster, wanted, at_rest=converged)._process(death, 1000)
        HARMS[harm](cluster)
        restored += throttles(cluster) != before
        tree = OurTree(cluster.server, cluster.clock, cluster.client)
        words = ("--yes", "--backup", str(tmp_path / "backup.json"))
        assert tree.command("repair", "fake:2181", *words) in (0, 4), number
        assert throttles(cluster) == before, number
        assert {name: values for name, values in others(cluster).items() if values} == foreign
        assert look(cluster)[1].recorded == Throttled()
        assert (cluster.client.children(RECORDS) or ()) == ()
    assert restored


def test_what_nobody_accounts_for_is_removed_on_request() -> None:
    cluster, _ = SCENARIOS[NAME].made("3.9.2")
    _, left = look(cluster)
    assert (left.ours, left.others) == (Throttled(), Throttled(("t",), (1,)))
    with (
        FakeSession(cluster.server, cluster.clock) as session,
        journal.hold(session, "repair", 0, patience_s=1) as held,
    ):
        throttling.remove(held, left.others)
    assert throttles(cluster) == {}
    assert look(cluster)[1] == LeftThrottles()
    assert others(cluster)["brokers/1"] == {"log.cleaner.threads": "2"}


@pytest.mark.parametrize("theirs", ["", "7:1"])
@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [pytest.param((3, 4), (2, 3), id="some-of-it"), pytest.param((1, 3), (1, 4), id="none-of-it")],
)
def test_a_list_that_a_run_left_goes_with_the_next_whatever_that_wants(
    first: Replicas, second: Replicas, theirs: str, dies: bool
) -> None:
    """Its config was hidden when the first run ended, and shown before the second began."""
    cluster = SimulatedCluster(SimulationSpec(spread(4)))
    cluster.start()
    cluster.create_topic("t", [1, 2])
    unset = dict.fromkeys(TOPIC_KEYS)
    documents = [
        RunDocument(plan(move("t", 0, (1, 2), target)), Saved({"t": unset}), Health())
        for target in (first, second)
    ]
    lists = [throttling.throttled_lists(document) for document in documents]
    with (
        FakeSession(cluster.server, cluster.clock) as session,
        journal.hold(session, "apply", 0, patience_s=1) as held,
    ):
        throttling.write(held, documents[0], lists[0], [RATE])
        left = throttles(cluster)["topics/t"]
        added = {FOLLOWER_LIST: f"{left[FOLLOWER_LIST]},{theirs}".strip(",")}
        cluster.set("/config/topics/t", {"version": 1, "config": {**left, **added}})
        after = throttling.save(held, ["t"], {})
        assert after.topics == {"t": {**unset, FOLLOWER_LIST: theirs or None}}
        document = replace(documents[1], saved=after)
        conflicts = throttling.write(held, document, lists[1], [RATE])
        has_none = not set(first) & set(second) - {1, 2}
        assert conflicts.topics == (("t",) if theirs and has_none else ())
        if dies:
            throttling.take_off(held, LeftThrottles(recorded=Throttled(("t",))))
        else:
            throttling.restore(held, document, lists[1], [RATE])
    assert throttles(cluster) == ({"topics/t": {FOLLOWER_LIST: theirs}} if theirs else {})
    assert (cluster.client.children(RECORDS) or ()) == ()


def test_apply_does_not_wait_for_what_others_move_to_take_throttles_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = OurTree.plant({**OURS, **IN_FORCE, "/admin/reassign_partitions": FOREIGN_REQUEST})
    monkeypatch.setattr(FakeSession, "wait", lambda *_: pytest.fail("it waits for others"))
    assert tree.command("apply", "--yes", "-f", str(write_manifests(tmp_path))) == 4
    told = capsys.readouterr().out
    assert "/admin/reassign_partitions names t-0, and the controller has not begun" in told
    assert "a run that is gone left throttles on topic t and broker 1" in told
    assert {path: tree.read(path) for path in IN_FORCE} == IN_FORCE
