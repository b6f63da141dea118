"""The record of a run is lost in the middle of it: what it requested is still known as ours.

Whatever is lost, at whatever write: `status` and `plan` never call our own moves somebody else's,
throttles of ours stay as long as these moves go on, and the next executor comes to the end that was
to be, without a person. Where somebody else moves something beside, that is named as theirs.
"""

from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from matrices import every, soak
from poolkeeper.cli.output.runs import status_values
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SESSION_MS,
    SimulatedCluster,
)
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Faults, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import Event
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from simulation import invariants
from simulation.courses import plain_course
from simulation.executors import Executor, converged
from simulation.our_tree import OurTree
from simulation.scenarios import SCENARIOS, THROTTLED, Wanted

RUN = znodes.RUN
NEWEST, OLDER = "3.9.2", "2.0.1"
ERAS = [NEWEST, OLDER, *soak("2.8.2", "0.10.2.2")]
FOREIGN = (WaitReason.FOREIGN_REQUEST, WaitReason.FOREIGN_MOVE)
LONG_BYTES = 80_000_000
"""What the throttle lets pass in no less than the time of a session."""
UNTHROTTLED_BYTES = 1_000_000_000
"""The same of a broker's network."""
LOSSES = ("run removed", "document truncated")


def lose(cluster: SimulatedCluster, how: str) -> None:
    """Remove the run; or cut its document, and repair it."""
    path = f"{RUN}/plan-0000"
    found = cluster.client.get(path)
    if how == "run removed" or found is None:
        cluster.delete_all(RUN)
        return
    cluster.set(path, found[0][: len(found[0]) // 2])
    tell(cluster)


def repair(cluster: SimulatedCluster, folder: Path) -> None:
    tree = OurTree(cluster.server, cluster.clock, cluster.client)
    words = ("--yes", "--backup", str(folder / "backup.json"))
    assert tree.command("repair", "fake:2181", *words) in (0, 4)


def tell(cluster: SimulatedCluster) -> status_values.Status:
    """Return what `status` shows, and see that nothing of ours is called somebody else's."""
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
        status = status_values.status_of(seen, journal.read_status(session))
    assert [w for w in status.waits if w.reason in FOREIGN] == []
    return status


def is_copying(cluster: SimulatedCluster) -> bool:
    """Whether any replica is being added."""
    return any(
        set(ids) - set(cluster.state(topic, int(number))[1])
        for topic in cluster.client.children("/brokers/topics") or ()
        for number, ids in cluster.replicas(topic).items()
    )


def throttled(cluster: SimulatedCluster) -> bool:
    config = (cluster.read("/config/topics/t") or {}).get("config", {})
    return any("throttled" in key for key in config)


def dying_at(number: int) -> Faults:
    return faults.at_writes({number: Fault(FaultKind.DIED, done=True)})


CASES = [
    ("end of run", "run removed", NEWEST),
    *soak(
        *(
            (name, how, kafka)
            for name in ("end of run", "migration", "drain", "growth")
            for how in LOSSES
            for kafka in (NEWEST, "2.8.2", OLDER, "0.10.2.2")
        )
    ),
]


@pytest.mark.parametrize(("name", "how", "kafka"), CASES)
def test_whenever_a_run_is_lost_the_next_executor_takes_it_up(
    name: str, how: str, kafka: str, tmp_path: Path
) -> None:
    taken = 0
    plain = plain_course(name, kafka)
    for number in range(1, plain.writes + 1):
        cluster, wanted = SCENARIOS[name].made(kafka)
        throttle = wanted.cluster.execution.throttle
        size = UNTHROTTLED_BYTES if throttle.mode is ThrottleMode.NONE else LONG_BYTES
        for partition in cluster.replicas("t"):
            cluster.simulation.set_size("t", int(partition), size)
        executor = Executor(cluster, wanted, at_rest=converged)
        assert not executor._process(dying_at(number), 1000)
        lose(cluster, how)
        told, is_throttled = tell(cluster), throttled(cluster)
        lost = [w for w in told.waits if w.reason is WaitReason.RUN_LOST]
        assert bool(lost) or not cluster.exists(REQUEST), number
        repair(cluster, tmp_path)
        if lost and is_throttled:
            assert throttled(cluster), number
        executor.seen.clear()
        executor.finish()
        cluster.settle()
        did = [action.kind for outcome in executor.seen for action in outcome.did]
        taken += ActionKind.RUN_TAKEN_UP in did
        assert (ActionKind.RUN_TAKEN_UP in did) == bool(lost), number
        told_of = {wait.reason for outcome in executor.seen for wait in outcome.waits}
        assert not told_of & set(FOREIGN), number
        assert not throttled(cluster)
        assert not cluster.exists(znodes.RECORD_OF_REQUEST)
        assert end_of(invariants.everything(cluster.server)) == end_of(plain.end), number
    assert taken


def end_of(everything: dict[str, Any]) -> dict[str, Any]:
    """What is of the topic in the end: of its lists, how many replicas each broker has.

    What is left of a plan is planned anew, and of two that even brokers out it may be the other.
    """
    found = {k: v for k, v in everything.items() if "/topics/t" in k}
    lists = found.pop("/brokers/topics/t")["partitions"]
    return found | {"lists": len(lists), "replicas": Counter(chain.from_iterable(lists.values()))}


@pytest.mark.parametrize("kafka", ERAS)
def test_throttles_stay_until_the_moves_of_a_lost_run_have_ended(kafka: str) -> None:
    cluster, wanted = lost_in_flight(kafka)
    executor = Executor(cluster, wanted, at_rest=lambda _: not throttled(cluster))
    assert throttled(cluster)
    assert is_copying(cluster)
    executor.finish()
    assert not is_copying(cluster)


@pytest.mark.parametrize("kafka", [NEWEST, *soak("2.8.2", OLDER)])
@every(3)
def test_a_process_may_die_at_every_write_that_takes_a_run_up(kafka: str, step: int) -> None:
    cluster, wanted = lost_in_flight(kafka)
    plain = Executor(cluster, wanted)
    plain.finish()
    cluster.settle()
    end = invariants.assignments(cluster.server)
    for number in range(1, plain.writes + 1, step):
        for done in (True, *([False] if number == 1 else ())):  # else as after the one before
            cluster, wanted = lost_in_flight(kafka)
            death = faults.at_writes({number: Fault(FaultKind.DIED, done=done)})
            executor = Executor(cluster, wanted)
            executor.finish(lambda n, plan=death: faults.none if n else plan)
            cluster.settle()
            assert invariants.assignments(cluster.server) == end
            assert invariants.leftovers(cluster.server) == []
            assert not throttled(cluster)


@pytest.mark.parametrize("kafka", [NEWEST, *soak("2.8.2")])
def test_somebody_who_moves_beside_a_lost_run_is_named_and_waited_for(kafka: str) -> None:
    cluster, wanted = lost_in_flight(kafka)
    cluster.simulation.alter_reassignments({("u", 0): [3, 1]})
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
        told = status_values.status_of(seen, journal.read_status(session)).waits
    named = {w.reason: w.partitions for w in told if w.reason in (*FOREIGN, WaitReason.RUN_LOST)}
    assert named[WaitReason.FOREIGN_MOVE] == (TopicPartition("u", 0),)
    assert {p.topic for p in named[WaitReason.RUN_LOST]} == {"t"}
    executor = Executor(cluster, wanted)
    executor.finish()
    waited = [w for outcome in executor.seen for w in outcome.waits]
    assert {p.topic for w in waited if w.reason in FOREIGN for p in w.partitions} <= {"u"}
    assert set(cluster.replicas("t")["0"]) == {3, 4}


@pytest.mark.parametrize("kafka", [NEWEST, *soak("2.8.2")])
def test_what_somebody_took_over_of_a_lost_run_is_theirs(kafka: str) -> None:
    cluster, _ = lost_in_flight(kafka)
    cluster.simulation.alter_reassignments({("t", 0): [2, 3]})
    with FakeSession(cluster.server, cluster.clock) as session:
        seen = observe.cluster(session, "c").cluster
        told = status_values.status_of(seen, journal.read_status(session)).waits
    (foreign,) = [w for w in told if w.reason in FOREIGN]
    (lost,) = [w for w in told if w.reason is WaitReason.RUN_LOST]
    assert foreign.partitions == (TopicPartition("t", 0),)
    assert TopicPartition("t", 0) not in lost.partitions


@pytest.mark.parametrize("kafka", [NEWEST, OLDER, *soak("2.8.2")])
def test_a_target_that_never_comes_back_does_not_hold_a_lost_run(kafka: str) -> None:
    """The moves that wait for it are cancelled, as in any run, once it counts as gone."""
    cluster, wanted = SCENARIOS["gone target"].made(kafka)
    lost_at(cluster, wanted)
    executor = Executor(cluster, wanted)
    executor.finish()
    cluster.settle()
    kinds = {action.kind for outcome in executor.seen for action in outcome.did}
    assert {ActionKind.RUN_TAKEN_UP, ActionKind.MOVES_CANCELLED} <= kinds
    assert all(4 not in ids for ids in invariants.assignments(cluster.server).values())
    assert invariants.leftovers(cluster.server) == []


@pytest.mark.parametrize("command", ["stop", "rollback"])
def test_a_lost_run_is_told_to_who_would_stop_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, _ = lost_in_flight(NEWEST)
    tree = OurTree(cluster.server, cluster.clock, cluster.client)
    said = tree.said(capsys, command, "fake:2181")
    assert "`poolkeeper apply -f DIR` takes it up" in said.out, said


@pytest.mark.parametrize("kafka", [NEWEST, OLDER, *soak("2.8.2")])
def test_a_lost_run_that_was_taken_up_can_be_taken_back(kafka: str) -> None:
    """Up to 2.3 what can still arrive does so first, as in any run that sets no throttles."""
    cluster, wanted = lost_in_flight(kafka, allow_failover=True)
    before = {("t", 0): (1, 2), ("t", 1): (2, 1), ("t", 2): (1, 2)}

    def ask() -> None:
        with FakeSession(cluster.server, cluster.clock) as session:
            journal.request_stop(session, StopRequest(at_once=True, allow_failover=True))

    def soon(_: Event) -> None:
        cluster.clock.after(50, ask)

    cluster.client.exists(RUN, soon)
    executor = Executor(cluster, wanted, at_rest=lambda o: o.state.value == "stopped")
    executor.finish()
    ended = {k: v for k, v in invariants.assignments(cluster.server).items() if k[0] == "t"}
    arrived = all(set(ids) == {3, 4} for ids in ended.values())
    assert arrived if kafka == "2.0.1" else ended == before


def lost_in_flight(kafka: str, *, allow_failover: bool = False) -> tuple[SimulatedCluster, Desired]:
    """A throttled migration of topic t whose process died, and whose run node is gone."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("u", [1, 2])
    cluster.simulation.set_size("u", 0, 40_000_000)
    cluster.create_topic("t", [1, 2], [2, 1], [1, 2])
    for partition in range(3):
        cluster.simulation.set_size("t", partition, 40_000_000)
    execution = replace(THROTTLED, max_moves=8)
    if allow_failover:
        remedies = replace(execution.remedies, allow_controller_failover=True)
        execution = replace(execution, remedies=remedies)
    wanted = Wanted((3, 4), 3, 2, execution).desired()
    lost_at(cluster, wanted)
    return cluster, wanted


def lost_at(cluster: SimulatedCluster, wanted: Desired) -> None:
    """Let an executor request its first stage and die; its run's node is removed."""

    def dies_after_request(call: faults.Call) -> Fault | None:
        asks = call.write and REQUEST in call.paths
        return Fault(FaultKind.DIED, done=True) if asks else None

    assert not Executor(cluster, wanted)._process(dies_after_request, 1000)
    cluster.clock.advance(SESSION_MS)
    cluster.delete_all(RUN)
    tell(cluster)
