"""Moves in flight are cancelled and return to where they were: every era, both ways."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

import builders
from builders import pool_spec
from matrices import in_part, soak
from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import NO_CANCEL_API, has
from poolkeeper.model.specs import (
    Execution,
    Heal,
    Mode,
    Remedies,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.reassignments.stalls import IGNORED_PAUSE_MS, STALL_MS
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.reconcile.act.return_moves import FAILOVERS_MAX
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SESSION_MS,
    SimulatedCluster,
)
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Faults, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import journal, runs
from simulation import invariants
from simulation.asked import AskedBrokers
from simulation.executors import Executor, converged
from simulation.invariants import Trail

MB = 1_000_000
VERSIONS = ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1", "2.8.2", "3.9.2"]
WITH_API = ["2.8.2", "3.9.2"]
STOP = "/poolkeeper/run/stop"
RUN = "/poolkeeper/run"
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, MB), max_moves=8)
ALLOWED = replace(SLOW, remedies=Remedies(allow_controller_failover=True))
LISTS = ([1, 2], [2, 1], [1, 2], [2, 3])
FIRST = {str(p): ids for p, ids in enumerate(LISTS)}


def desired(execution: Execution, *homes: int, drain: tuple[int, ...] = (), **said) -> Desired:
    pool = pool_spec("p", *homes, cluster="c", drain=frozenset(drain))
    topic = TopicSpec("t", "default", "t", "p", partitions=4, replication_factor=2)
    wanted = builders.desired(pool, topic, name="c", execution=execution)
    return replace(wanted, cluster=replace(wanted.cluster, **said))


def moving(
    kafka: str,
    execution: Execution = SLOW,
    dead: int | None = None,
    homes: tuple[int, ...] = (4, 5),
    network: int = 100 * MB,
) -> tuple[SimulatedCluster, Executor]:
    """Give a cluster that moves t to other brokers, perhaps with one of these dead, mid-flight."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka, network_bytes_per_s=network))
    cluster.start()
    cluster.create_topic("t", *LISTS)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    executor = Executor(cluster, desired(execution, *homes), at_rest=in_flight)
    if dead is not None:
        cluster.client.exists(REQUEST, lambda _: cluster.simulation.kill(dead))
    executor.finish()
    cluster.clock.advance(8_000)
    return cluster, executor


def in_flight(outcome: Outcome) -> bool:
    return has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)


def stopped(outcome: Outcome) -> bool:
    return outcome.state is State.STOPPED or has(outcome.waits, WaitReason.STOPPED_BY_PERSON)


def ask(cluster: SimulatedCluster, stop: StopRequest) -> None:
    cluster.create(STOP, runs.encode_stop(stop))


def assert_lawful(cluster: SimulatedCluster) -> None:
    """Nothing was ever worse than in the beginning, told from the log of all that was written."""
    cluster.settle()
    first = {("t", p): tuple(ids) for p, ids in enumerate(LISTS)}
    made = next(t.zxid for t in cluster.server.log if t.changes and t.changes[0].path == RUN)
    trail = Trail(cluster.server, made - 1, frozenset({cluster.client.session_id}))
    assert invariants.unfenced(trail) == []
    assert invariants.unrecorded(trail) == []
    assert invariants.repeated(trail) == []
    assert invariants.out_of_sync(trail, first) == []
    assert invariants.half_way(trail, first) == []


def assert_back(cluster: SimulatedCluster) -> None:
    """Every list is the first one, in its order, led and in sync; nothing of ours is left."""
    assert_lawful(cluster)
    assert cluster.replicas("t") == FIRST
    for partition, ids in enumerate(LISTS):
        leader, isr, _ = cluster.state("t", partition)
        assert (leader in ids, sorted(isr)) == (True, sorted(ids))
    body = cluster.read("/brokers/topics/t")
    assert not body.get("adding_replicas")
    assert not body.get("removing_replicas")
    for path in (REQUEST, RUN, "/poolkeeper/holder"):
        assert not cluster.exists(path), path
    for id_ in cluster.simulation.brokers:
        assert (cluster.read(f"/config/brokers/{id_}") or {}).get("config", {}) == {}
    assert (cluster.read("/config/topics/t") or {}).get("config", {}) == {}


def kinds(executor: Executor) -> list[ActionKind]:
    return [action.kind for outcome in executor.seen for action in outcome.did]


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_rollback_that_allows_a_failover_brings_everything_back(kafka: str) -> None:
    cluster, executor = moving(kafka)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = stopped
    executor.finish()
    assert_back(cluster)
    assert cluster.epoch() == 2
    assert kinds(executor).count(ActionKind.CONTROLLER_FAILOVER) == 1


@pytest.mark.parametrize("kafka", ["2.0.1", "2.3.1"])
def test_a_rollback_is_not_kept_by_its_own_throttle_from_an_origin_that_is_behind(
    kafka: str,
) -> None:
    """A broker of the origin was away while records came: it catches up, and is named until then.

    What is to be copied was frozen for the failover.
    """
    cluster, executor = moving(kafka, ALLOWED)
    cluster.simulation.kill(1)
    cluster.clock.advance(SESSION_MS + 1_000)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 30 * MB)
    cluster.simulation.start_broker(1)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = stopped
    executor.finish(passes_max=400)
    told = [w for o in executor.seen for w in o.waits if w.reason is WaitReason.RETURN_BEHIND]
    assert {wait.brokers for wait in told} == {(1,)}
    assert cluster.replicas("t") == FIRST


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1", "2.3.1"])
def test_a_rollback_does_not_freeze_what_its_failover_waits_for(kafka: str) -> None:
    """Somebody has another partition moved meanwhile, and deletes the request.

    Only the controller remembers that move: it is let go on, so that it ends.
    """
    allowed = replace(ALLOWED, max_moves=1)
    cluster, executor = moving(kafka, allowed)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda _: cluster.read(RUN)["rates"] == [FROZEN_BYTES_PER_S]
    executor.finish()
    body = cluster.read(REQUEST)
    number = {0, 1, 2, 3}.difference(entry["partition"] for entry in body["partitions"]).pop()
    foreign = {"topic": "t", "partition": number, "replicas": [4, 5]}
    cluster.set(REQUEST, {**body, "partitions": [*body["partitions"], foreign]})
    cluster.delete("/controller")
    cluster.clock.advance(1_000)
    cluster.delete(REQUEST)
    executor.at_rest = stopped
    executor.finish()
    told = {w.cause.reason for o in executor.seen for w in o.waits if w.cause is not None}
    assert told == {WaitReason.MOVES_WITHOUT_REQUEST}
    assert cluster.replicas("t")[str(number)] == [4, 5]
    assert not cluster.exists(RUN)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1", "2.3.1"])
def test_a_rollback_does_not_wait_for_what_nobody_works_on_any_more(kafka: str) -> None:
    """Somebody deletes the request and has another controller elected, which forgets the moves.

    Nothing limits the copying: it goes on until all is in sync.
    """
    free = replace(ALLOWED, throttle=Throttle(ThrottleMode.NONE))
    cluster, executor = moving(kafka, free, network=MB)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.ARRIVALS_FIRST)
    executor.finish()
    cluster.delete(REQUEST)
    cluster.delete("/controller")
    executor.at_rest = stopped
    executor.finish(passes_max=400)
    assert_back(cluster)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1", "2.3.1"])
def test_a_return_that_the_controller_takes_for_done_is_carried_out_by_another(kafka: str) -> None:
    """Somebody writes the lists of before into the topic node, which its controller does not read.

    What it remembers is where the moves were to return to.
    """
    cluster, executor = moving(kafka, replace(ALLOWED, max_moves=1), network=MB)
    body = cluster.read("/brokers/topics/t")
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda _: ActionKind.CONTROLLER_FAILOVER in kinds(executor)
    executor.finish()
    cluster.settle()
    assert cluster.replicas("t") == FIRST
    cluster.set("/brokers/topics/t", body)
    executor.at_rest = stopped
    executor.finish(passes_max=400)
    assert kinds(executor).count(ActionKind.CONTROLLER_FAILOVER) == 2
    assert kinds(executor).count(ActionKind.ORDER_REQUESTED) == 1
    assert cluster.replicas("t") == FIRST
    assert not cluster.exists(RUN)


@pytest.mark.parametrize("kafka", ["0.10.2.2", "2.0.1", "2.3.1"])
def test_a_run_that_is_lost_while_its_throttle_is_lowered_goes_on(kafka: str) -> None:
    """Its request goes on: neither may it arrive at next to nothing, nor is it asked to return."""
    cluster, executor = moving(kafka)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = lambda _: cluster.read(RUN)["rates"] == [FROZEN_BYTES_PER_S]
    executor.finish()
    cluster.delete_all(RUN)
    executor.at_rest = converged
    executor.finish(passes_max=400)
    assert kinds(executor).count(ActionKind.RUN_TAKEN_UP) == 1
    for id_ in cluster.simulation.brokers:
        assert (cluster.read(f"/config/brokers/{id_}") or {}).get("config", {}) == {}
    assert (cluster.read("/config/topics/t") or {}).get("config", {}) == {}
    assert {broker for ids in cluster.replicas("t").values() for broker in ids} == {4, 5}


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


DROPPED = [
    (kafka, dead, by) for kafka in VERSIONS for dead in (4, 5) for by in ("zookeeper", "brokers")
]


@pytest.mark.parametrize(("kafka", "dead", "by"), in_part(DROPPED, 3))
def test_a_target_that_is_gone_and_drained_is_dropped(kafka: str, dead: int, by: str) -> None:
    asked = by == "brokers"
    cluster, executor = moving(kafka, ALLOWED, dead)
    executor.desired = desired(ALLOWED, 1, 2, 3, 4, 5, drain=(dead,))
    executor.brokers, executor.at_rest = AskedBrokers(cluster) if asked else None, converged
    executor.finish()
    assert_lawful(cluster)
    lists = cluster.replicas("t").values()
    assert all(dead not in ids and len(ids) == 2 for ids in lists)
    assert not cluster.exists(RUN)
    assert cluster.epoch() == (1 if asked and kafka in WITH_API else 2)


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


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_target_that_heal_counts_as_gone_is_dropped(kafka: str) -> None:
    cluster, executor = moving(kafka, ALLOWED, dead=5)
    heal = Heal(enabled=True, after_s=60, max_brokers=1)
    executor.desired = desired(ALLOWED, 4, 5, heal=heal)
    executor.at_rest = lambda _: not cluster.exists(RUN)
    executor.finish()
    assert_lawful(cluster)
    assert all(5 not in ids for ids in cluster.replicas("t").values())


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_mode_roll_back_returns_the_stage_and_the_run_can_go_on(kafka: str) -> None:
    cluster, executor = moving(kafka, ALLOWED)
    rolling = desired(ALLOWED, 4, 5, mode=Mode.ROLL_BACK)
    executor.desired, before = rolling, executor.authority
    executor.authority = replace(before, paused=True, steps=False)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.PAUSED)
    executor.finish()
    assert_lawful(cluster)
    assert cluster.replicas("t") == FIRST
    assert cluster.exists(RUN)
    executor.desired, executor.authority = desired(ALLOWED, 4, 5), before
    executor.at_rest = converged
    executor.finish()
    assert {b for ids in cluster.replicas("t").values() for b in ids} == {4, 5}


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_stage_over_its_deadline_returns_and_is_not_begun_again(kafka: str) -> None:
    late = replace(ALLOWED, stage_deadline_s=20, roll_back_on_deadline=True)
    cluster, executor = moving(kafka, late)
    executor.at_rest = stopped
    executor.finish()
    assert_back(cluster)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.STOPPED_BY_PERSON)
    executor.finish()


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_move_whose_old_broker_is_dead_too_blocks_nothing(kafka: str) -> None:
    """Up to 2.3 its list cannot go back: it is let go, and the next plan takes it from there."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1], [2, 3], [3, 2])
    cluster.simulation.kill(1)
    cluster.clock.advance(6_000)
    executor = Executor(cluster, desired(ALLOWED, 1, 2, 3, 4, drain=(1,)), at_rest=in_flight)
    cluster.client.exists(REQUEST, lambda _: cluster.simulation.kill(4))
    executor.finish()
    cluster.clock.advance(8_000)
    executor.desired = desired(ALLOWED, 1, 2, 3, 4, 5, drain=(1, 4))
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert {b for ids in cluster.replicas("t").values() for b in ids} <= {2, 3, 5}
    assert all(len(ids) == 2 for ids in cluster.replicas("t").values())
    assert not cluster.exists(RUN)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_confirmed_plan_whose_target_is_gone_is_given_up(kafka: str) -> None:
    heal = Heal(enabled=True, after_s=60, max_brokers=1)
    cluster, executor = moving(kafka, ALLOWED, dead=5)
    executor.desired = desired(ALLOWED, 4, 5, heal=heal)
    executor.agreed = executor.seen[-1].plan
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    assert_lawful(cluster)
    assert not cluster.exists(RUN)


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
