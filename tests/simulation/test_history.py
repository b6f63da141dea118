"""What stays of runs that have ended, and the trail of what an executor did."""

from contextlib import suppress
from typing import Any

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.controller.loops.audit_notes import note_commits, note_decisions
from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.runs import Ending, Phase, Run
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, faults
from poolkeeper.sandbox.fake_zookeeper.transactions import TransactionKind
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.telemetry.audit import AuditTrail
from poolkeeper.zk import znodes
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from poolkeeper.zk.journal import history, journal
from simulation.executors import EVERYTHING, Executor

SPEC = cluster_spec("c", execution=Execution(throttle=Throttle(ThrottleMode.NONE)))
DESIRED = Desired(
    SPEC, (pool_spec("p", 3, 4, cluster="c"),), (topic_spec("t", "p", replication_factor=2),)
)


@pytest.fixture
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(SimulationSpec(spread(4), kafka="2.8.2"))
    found.start()
    found.create_topic("t", [1, 2], [2, 1])
    return found


def session(cluster: SimulatedCluster) -> FakeSession:
    return FakeSession(cluster.server, cluster.clock)


def finished(number: int) -> FinishedRun:
    return FinishedRun(f"sha256:{number}", number, number + 1, Ending.FINISHED, 1, 1, 1, 0)


def end(cluster: SimulatedCluster, run: FinishedRun) -> None:
    begun = Run(run.plan, "f", "c", Phase.STORING, "", 0, run.started_ms)
    with journal.hold(session(cluster), "apply", 0, patience_s=30) as held:
        access = ZooKeeperAccess(held)
        access.end_run(held.begin(begun, ()), run)


def test_a_run_that_ended_is_in_the_history(cluster: SimulatedCluster) -> None:
    assert history.read(session(cluster)) == history.History(())
    Executor(cluster, DESIRED).finish()
    [run] = history.read(session(cluster)).runs
    assert (run.ending, run.stages, run.moves, run.moves_done) == (Ending.FINISHED, 1, 2, 2)
    assert run.bytes_done == run.size_bytes
    assert run.approved_by == "approval policy Auto"
    assert run.ended_ms > run.started_ms > 0


def test_the_last_fifty_are_kept(cluster: SimulatedCluster) -> None:
    for number in range(history.RUNS_MAX + 2):
        end(cluster, finished(number))
    kept = history.read(session(cluster))
    assert kept.runs == tuple(map(finished, range(2, history.RUNS_MAX + 2)))


def test_an_entry_that_cannot_be_read_costs_itself_alone(cluster: SimulatedCluster) -> None:
    for number in range(3):
        end(cluster, finished(number))
    cluster.set(znodes.finished_run(1), b"{")
    kept = history.read(session(cluster))
    assert kept.runs == (finished(0), finished(2))
    assert [damage.path for damage in kept.damage] == [znodes.finished_run(1)]
    end(cluster, finished(3))
    assert history.read(session(cluster)).runs[-1] == finished(3)


def notes_of(cluster: SimulatedCluster, fault: faults.Faults) -> list[dict[str, Any]]:
    """What an executor noted until it was at rest, dead, or without its session."""
    notes: list[dict[str, Any]] = []
    alive = FakeSession(cluster.server, cluster.clock, plan=fault)
    trail = AuditTrail(notes.append, "c", "apply")  # type: ignore[arg-type]
    with (
        suppress(faults.ClientKilled, Unavailable),
        journal.hold(alive, "apply", 0, patience_s=30) as held,
    ):
        held.on_commit = note_commits(trail)
        context = PassContext(ZooKeeperAccess(held), cluster.clock.now_ms, trail=trail)
        for _ in range(20):
            note_decisions(trail, reconcile_cluster(context, DESIRED, EVERYTHING))
            cluster.clock.advance(1000)
    return notes


def written(cluster: SimulatedCluster, holder: int) -> list[list[dict[str, Any]]]:
    """Every fenced transaction of a session, as the log of ZooKeeper has it."""
    names = {TransactionKind.CHECK: "Check", TransactionKind.SET: "Set"}
    return [
        [{"do": names.get(o.kind, o.kind.name.title()), "path": o.path} for o in t.operations]
        for t in cluster.server.log
        if t.session == holder and not t.failed and t.operations[0].kind is TransactionKind.CHECK
    ]


@pytest.mark.parametrize("number", [None, 8, 10, 12])
def test_every_write_is_noted_with_its_nodes_also_of_who_dies(
    cluster: SimulatedCluster, number: int | None
) -> None:
    dying = {} if number is None else {number: Fault(FaultKind.DIED, done=False)}
    since = len(cluster.server.log)
    notes = notes_of(cluster, faults.at_writes(dying))
    holder = next(
        t.session
        for t in cluster.server.log[since:]
        if any(o.path == znodes.HOLDER for o in t.operations)
    )
    writes = [note for note in notes if note["event"] == "Write"]
    told = [[{"do": n["do"], "path": n["path"]} for n in note["nodes"]] for note in writes]
    assert told == written(cluster, holder)
    assert {note["result"] for note in writes} == {"Done"}
    assert {note["nodes"][0]["path"] for note in writes} == {znodes.EPOCH}
    request = [n for n in writes if any(o["path"] == znodes.REASSIGNMENT for o in n["nodes"])]
    if number is None:
        assert [note["approvedBy"] for note in request] == ["approval policy Auto"]
        decided = [note["action"] for note in notes if note["event"] == "Decision"]
        assert decided[0] == "RunBegun"
        assert "StageRequested" in decided
        assert decided[-1] == "RunEnded"


def test_a_write_whose_answer_was_lost_is_not_called_done(cluster: SimulatedCluster) -> None:
    lost = faults.at_writes({10: Fault(FaultKind.LOST, done=True)})
    writes = [note for note in notes_of(cluster, lost) if note["event"] == "Write"]
    assert [note["result"] for note in writes[-2:]] == ["Done", "Unknown"]
