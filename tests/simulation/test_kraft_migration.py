"""A migration to KRaft begins while Poolkeeper works: nothing of Kafka's is written any more."""

import dataclasses
from collections.abc import Iterator

import pytest

from matrices import in_part
from poolkeeper.errors import Stale
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Remedies
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.zk import kraft
from poolkeeper.zk.client.operations import Create
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal.runs import encode_stop
from poolkeeper.zk.znodes import ROOT
from simulation.executors import Executor, converged
from simulation.guarded import WANTED, Guarded
from simulation.invariants import Trail
from simulation.kraft import KRAFT, claim, revert

RUN, STOP = "/poolkeeper/run", "/poolkeeper/run/stop"
REMEDIES = Remedies(remove_stale_requests=True, allow_controller_failover=True)
ALLOWED = dataclasses.replace(
    WANTED,
    cluster=dataclasses.replace(
        WANTED.cluster,
        execution=dataclasses.replace(WANTED.cluster.execution, remedies=REMEDIES),
    ),
)
"""What is declared allows all that Poolkeeper ever does to a controller."""
LATER = 100
"""Passes, of a second each: longer than any request is waited for before something is done."""


class Migrating(Guarded):
    """A cluster that a KRaft controller may claim."""

    claimed_zxid = 0

    def claim(self) -> None:
        self.claimed_zxid = claim(self)

    def revert(self) -> None:
        revert(self)
        self.settle()

    def written(self) -> Iterator[str]:
        """What Poolkeeper wrote since then of what is not its own."""
        others = frozenset({self.client.session_id})
        for transaction in Trail(self.server, self.claimed_zxid, others).ours:
            for change in transaction.changes:
                if not change.path.startswith(ROOT):
                    yield change.path


def claimed_after(passes: int) -> tuple[Migrating, Executor]:
    """A cluster that is claimed after so many passes, and what was seen long after that."""
    cluster = Migrating("3.9.2")
    executor = Executor(cluster, ALLOWED)

    def at_rest(_: Outcome) -> bool:
        if len(executor.seen) == passes:
            cluster.claim()
        return len(executor.seen) == passes + LATER

    executor.at_rest = at_rest
    executor.finish(passes_max=passes + LATER + 1)
    return cluster, executor


PASSES = range(1, 53)
"""After each of a run that nobody disturbs, but the last."""


def test_a_claim_is_tried_after_each_pass_of_a_run() -> None:
    executor = Executor(Guarded("3.9.2"), ALLOWED)
    executor.finish()
    assert executor.passes == PASSES.stop


@pytest.mark.parametrize("passes", in_part(PASSES, 2))
def test_nothing_of_kafka_is_written_once_kraft_leads(passes: int) -> None:
    cluster, executor = claimed_after(passes)
    assert [*cluster.written()] == []
    assert cluster.read("/controller") == KRAFT
    assert has(executor.seen[-1].waits, WaitReason.KRAFT_MIGRATION)


@pytest.mark.parametrize("passes", PASSES[::6])
def test_a_run_goes_on_by_itself_once_the_migration_is_reverted(passes: int) -> None:
    cluster, executor = claimed_after(passes)
    cluster.revert()
    executor.at_rest = converged
    executor.finish()
    assert executor.endings == [Ending.FINISHED]
    assert {broker for ids in cluster.replicas("t").values() for broker in ids} == {3, 4}
    assert cluster.rates() == []


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("passes", PASSES[::6])
def test_a_person_ends_the_run_and_is_told_what_stays(passes: int, at_once: bool) -> None:
    cluster, executor = claimed_after(passes)
    assert cluster.exists(RUN)
    throttled, moving = bool(cluster.rates()), cluster.exists(REQUEST)
    cluster.create(STOP, encode_stop(StopRequest(at_once)))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    assert executor.endings == [Ending.STOPPED]
    assert not cluster.exists(RUN)
    assert [*cluster.written()] == []
    did = {action.kind: action for action in executor.seen[-1].did}
    assert (ActionKind.MOVES_LEFT_TO_KRAFT in did) is moving
    assert (ActionKind.THROTTLES_LEFT_TO_KRAFT in did) is throttled


def test_what_is_left_of_an_ended_run_is_taken_off_after_a_revert() -> None:
    cluster, executor = claimed_after(PASSES[len(PASSES) // 2])
    assert cluster.rates()
    cluster.create(STOP, encode_stop(StopRequest()))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    cluster.revert()
    cluster.delete("/poolkeeper/stopped")
    executor.at_rest = converged
    executor.finish()
    assert cluster.rates() == []


@pytest.mark.parametrize("passes", PASSES[::12])
def test_a_claim_that_cannot_be_read_is_one_as_long_as_there_is_a_migration(passes: int) -> None:
    cluster, executor = claimed_after(passes)
    cluster.set("/controller", b"no JSON")
    executor.at_rest = lambda _: len(executor.seen) == passes + 2 * LATER
    executor.finish()
    assert [*cluster.written()] == []
    assert has(executor.seen[-1].waits, WaitReason.KRAFT_MIGRATION)


def test_requests_of_others_stay_as_they_are() -> None:
    cluster = Migrating("3.9.2")
    cluster.claim()
    cluster.create(REQUEST, {"version": 1, "partitions": []})
    executor = Executor(cluster, ALLOWED)
    executor.at_rest = lambda _: len(executor.seen) == LATER
    executor.finish()
    assert [*cluster.written()] == []


@pytest.mark.parametrize("nodes", [["/config/topics/t"], ["/poolkeeper/asked", "/admin/x"]])
def test_a_write_that_was_decided_before_the_claim_is_not_sent(nodes: list[str]) -> None:
    cluster = Migrating("3.9.2")
    session = FakeSession(cluster.server, cluster.clock)
    with journal.hold(session, "apply", cluster.clock.now_ms(), patience_s=1) as held:
        cluster.claim()
        transaction = [Create(f"{node}-new", b"") for node in nodes]
        with pytest.raises(Stale, match="migrating to KRaft"):
            held.commit(*transaction)
        with pytest.raises(Stale, match="migrating to KRaft"):
            held.commit_each([transaction])
        held.commit(Create("/poolkeeper/asked", b"{}"))
    assert [*cluster.written()] == []


@pytest.mark.parametrize("each", [False, True], ids=["one", "of-many"])
def test_a_write_that_a_claim_overtakes_is_refused(
    monkeypatch: pytest.MonkeyPatch, *, each: bool
) -> None:
    """The claim comes after the look at the controller, and before the transaction."""
    cluster, look = Migrating("3.9.2"), kraft.migrating_and_unclaimed

    def look_before_claim(session: FakeSession) -> object:
        found = look(session)
        if not cluster.claimed_zxid:
            cluster.claim()
        return found

    session = FakeSession(cluster.server, cluster.clock)
    with journal.hold(session, "apply", cluster.clock.now_ms(), patience_s=1) as held:
        monkeypatch.setattr(kraft, "migrating_and_unclaimed", look_before_claim)
        transaction = [Create("/config/topics/t-new", b"")]
        if each:
            (refused,) = held.commit_each([transaction])
        else:
            with pytest.raises(Stale) as raised:
                held.commit(*transaction)
            refused = raised.value
        monkeypatch.undo()
    assert isinstance(refused, Stale)
    assert refused.path == ("/controller_epoch" if each else "/config/topics/t-new")
    assert [*cluster.written()] == []


def test_what_a_write_creates_is_told_without_what_it_checks() -> None:
    cluster = Migrating("3.9.2")
    session = FakeSession(cluster.server, cluster.clock)
    with journal.hold(session, "apply", cluster.clock.now_ms(), patience_s=1) as held:
        assert held.commit(Create("/admin/x", b"")) == ("/admin/x",)
