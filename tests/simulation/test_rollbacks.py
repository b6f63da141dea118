"""A person rolls a run back: its moves return to where they were, every era, both ways."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from matrices import soak
from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import NO_CANCEL_API, has
from poolkeeper.model.specs import Mode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.reassignments.stalls import IGNORED_PAUSE_MS, STALL_MS
from poolkeeper.reconcile.act.return_moves import FAILOVERS_MAX
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SESSION_MS
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Faults, faults
from poolkeeper.zk.journal import journal
from simulation.asked import AskedBrokers
from simulation.executors import converged
from simulation.returning import (
    ALLOWED,
    FIRST,
    RUN,
    SLOW,
    VERSIONS,
    WITH_API,
    ask,
    assert_back,
    assert_lawful,
    desired,
    kinds,
    moving,
    stopped,
)


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_rollback_that_allows_a_failover_brings_everything_back(kafka: str) -> None:
    cluster, executor = moving(kafka)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = stopped
    executor.finish()
    assert_back(cluster)
    assert cluster.epoch() == 2
    assert kinds(executor).count(ActionKind.CONTROLLER_FAILOVER) == 1


def test_a_rollback_over_which_many_controllers_were_elected_goes_on_after_a_while() -> None:
    cluster, executor = moving("2.0.1", ALLOWED, dead=4)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda _: ActionKind.MOVES_CANCELLED in kinds(executor)
    executor.finish()
    now_ms = cluster.clock.now_ms()
    run = {**cluster.read(RUN), "attempts": FAILOVERS_MAX, "requested_ms": now_ms}
    cluster.set(RUN, run)
    executor.at_rest, executor.pause_s = stopped, lambda: 30.0
    executor.finish(passes_max=400)
    assert any(has(outcome.waits, WaitReason.REQUEST_IGNORED) for outcome in executor.seen)
    assert cluster.clock.now_ms() - now_ms >= IGNORED_PAUSE_MS
    assert cluster.replicas("t") == FIRST


@pytest.mark.parametrize("homes", [(4, 5), (2, 4)], ids=["all-leave", "one-stays"])
@pytest.mark.parametrize("kafka", WITH_API)
def test_a_rollback_by_the_brokers_needs_no_failover(kafka: str, homes: tuple[int, ...]) -> None:
    cluster, executor = moving(kafka, homes=homes)
    ask(cluster, StopRequest(at_once=True))
    executor.brokers, executor.at_rest = AskedBrokers(cluster), stopped
    executor.finish()
    assert_back(cluster)
    assert cluster.epoch() == 1
    assert (ActionKind.ORDER_REQUESTED in kinds(executor)) == (2 in homes)


@pytest.mark.parametrize(("kafka", "asked"), [("2.0.1", False), ("2.0.1", True), ("3.9.2", False)])
def test_what_a_failover_would_cancel_is_told_until_it_is_allowed(kafka: str, asked: bool) -> None:
    cluster, executor = moving(kafka, SLOW, dead=5)
    executor.desired = desired(SLOW, 1, 2, 3, 4)
    executor.brokers = AskedBrokers(cluster) if asked else None
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.CANCEL_NEEDS_FAILOVER)
    executor.finish()
    found = [w for w in executor.seen[-1].waits if w.reason is WaitReason.CANCEL_NEEDS_FAILOVER]
    assert (found[0].brokers, found[0].detail) == ((5,), NO_CANCEL_API if asked else "")
    assert ActionKind.MOVES_CANCELLED not in kinds(executor)
    executor.desired = desired(ALLOWED, 1, 2, 3, 4)
    executor.at_rest = converged
    executor.finish()
    assert not cluster.exists(RUN)
    assert all(5 not in ids for ids in cluster.replicas("t").values())


@pytest.mark.parametrize("allowed", [False, True])
def test_brokers_that_do_not_answer_are_asked_again_before_a_failover(allowed: bool) -> None:
    class Silent(AskedBrokers):
        def cancel_moves(self, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
            raise Unavailable("no answer in time")

    cluster, executor = moving("3.9.2")
    ask(cluster, StopRequest(at_once=True, allow_failover=allowed))
    began_ms = cluster.clock.now_ms()
    executor.brokers = Silent(cluster)
    executor.at_rest = (
        stopped if allowed else lambda outcome: has(outcome.waits, WaitReason.CANCEL_NEEDS_FAILOVER)
    )
    executor.finish()
    if allowed:
        assert cluster.clock.now_ms() - began_ms > STALL_MS
        assert_back(cluster)
    else:
        assert executor.seen[-1].waits[-1].detail == "no answer in time"


def test_a_controller_that_knows_of_no_move_is_asked_now_and_then_and_that_is_told() -> None:
    """ZooKeeper was restored under it: it refuses nothing, and the topic node stays as it is."""
    asked_ms: list[int] = []

    class Restored(AskedBrokers):
        def cancel_moves(self, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
            asked_ms.append(self.cluster.clock.now_ms())
            return {}

    cluster, executor = moving("3.9.2", SLOW, dead=5)
    ask(cluster, StopRequest(at_once=True))
    executor.brokers, executor.pause_s = Restored(cluster), lambda: 0.2
    told: list[bool] = []

    def is_told_often(outcome: Outcome) -> bool:
        told.append(has(outcome.waits, WaitReason.CANCEL_REFUSED))
        return sum(told) == 4

    executor.at_rest = is_told_often
    executor.finish()
    assert asked_ms[-1] - asked_ms[0] >= STALL_MS
    assert all(after - before >= 5_000 for before, after in pairwise(asked_ms))
    assert told[-4:] == [True] * 4


@pytest.mark.parametrize("seed", [*range(6), *soak(*range(6, 400))])
def test_a_rollback_lives_through_brokers_and_controllers_that_come_and_go(seed: int) -> None:
    """Targets die and return, controllers fail over and our process dies, at random times."""
    dice = random.Random(seed)
    homes = dice.choice([(4, 5), (2, 4), (3, 5)])
    cluster, executor = moving(dice.choice(VERSIONS), ALLOWED, dice.choice([None, 4, 5]), homes)
    began_ms = cluster.clock.now_ms()

    def soon(action: Callable[[], None], within_ms: int = 12_000) -> None:
        cluster.clock.after(dice.randrange(within_ms), action)

    rollback = StopRequest(at_once=True)
    soon(lambda: ask(cluster, rollback) if cluster.exists(RUN) else None, 60_000)
    for id_ in (4, 5):
        broker = cluster.simulation.brokers[id_]
        if not broker.alive or dice.random() < 0.5:
            soon(broker.kill)
        back_ms = 12_000 + SESSION_MS + dice.randrange(20_000)
        cluster.clock.after(back_ms, lambda b=broker: None if b.alive else b.start())
    for _ in range(dice.randrange(3)):
        soon(lambda: cluster.delete("/controller") if cluster.exists("/controller") else None)
    executor.brokers = AskedBrokers(cluster) if dice.random() < 0.5 else None
    executor.at_rest = lambda outcome: stopped(outcome) or converged(outcome)
    executor.finish(lambda n: dying(dice) if n < 2 else faults.none)
    cluster.clock.run_until(lambda: cluster.clock.now_ms() - began_ms > 120_000, 120_000)
    assert_lawful(cluster)
    assert not cluster.exists(RUN)
    assert not cluster.exists(REQUEST)
    for partition, ids in cluster.replicas("t").items():
        leader, isr, _ = cluster.state("t", int(partition))
        assert (leader in ids, sorted(isr)) == (True, sorted(ids))


def dying(dice: random.Random) -> Faults:
    """Faults that end the process at one of its next writes."""
    return faults.at_writes({dice.randrange(1, 9): Fault(FaultKind.DIED, done=dice.random() < 0.5)})


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda d: desired(ALLOWED, 1, 2), id="other-homes"),
        pytest.param(lambda d: replace(d, topics=()), id="no-topic-any-more"),
        pytest.param(lambda d: replace(d, pools=()), id="no-pool-any-more"),
        pytest.param(
            lambda d: replace(d, cluster=replace(d.cluster, mode=Mode.APPLY)), id="nothing-of-it"
        ),
    ],
)
def test_what_is_declared_is_edited_in_the_middle_of_a_rollback(
    kafka: str, edit: Callable[[Desired], Desired]
) -> None:
    """All that was in flight returns first, whatever is declared by then."""
    cluster, executor = moving(kafka, ALLOWED)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda outcome: ActionKind.MOVES_CANCELLED in kinds(executor)
    executor.finish()
    executor.desired = edit(executor.desired)
    executor.at_rest = lambda _: not cluster.exists(RUN)
    executor.finish(passes_max=200)
    assert_back(cluster)


def test_a_stop_is_sharpened_and_never_taken_back() -> None:
    cluster, _ = moving("3.9.2")
    session = FakeSession(cluster.server, cluster.clock)
    for asked, recorded in (
        (StopRequest(), StopRequest()),
        (StopRequest(at_once=True), StopRequest(at_once=True)),
        (StopRequest(), StopRequest(at_once=True)),
        (StopRequest(True, allow_failover=True), StopRequest(True, allow_failover=True)),
        (StopRequest(at_once=True), StopRequest(True, allow_failover=True)),
    ):
        assert journal.request_stop(session, asked) is not None
        assert journal.read_stop(session) == recorded
    session.close()
