"""Moves between log directories in simulated clusters: deaths, restarts, rollback, edits."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from matrices import every
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import Phase, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Mode, Throttle, ThrottleMode
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SESSION_MS
from poolkeeper.sandbox.fake_zookeeper import Call, Fault, FaultKind, Faults, faults
from poolkeeper.zk.journal import history, throttle_records
from poolkeeper.zk.journal.runs import encode_stop
from simulation.emptied_log_dirs import NEWEST, OLD, SIZE, STANDING, Case, of_kind, stopped
from simulation.executors import NeverEnds
from simulation.scenarios import LOG_DIRS_RATE, MB, RATE, STOP

DEATHS = (Fault(FaultKind.DIED), Fault(FaultKind.DIED, done=True))


@pytest.mark.parametrize("kafka", [NEWEST, OLD])
def test_a_directory_is_emptied_a_few_at_a_time_throttled_and_counted(kafka: str) -> None:
    case = Case(kafka)
    there = case.in_d0
    assert there >= 3
    case.executor.finish()
    assert case.in_d0 == 0
    case.assert_nothing_is_left()
    assert [each.rate for each in case.brokers.requests] == [RATE] * len(case.brokers.requests)
    assert max(len(each.targets) for each in case.brokers.requests) == 2
    assert sum(of_kind(case.executor.seen, ActionKind.MOVE_LOG_DIRS)) == there
    copying = [
        outcome.progress
        for outcome in case.executor.seen
        if outcome.progress is not None and outcome.progress.phase is Phase.COPYING
    ]
    assert {progress.moves_total for progress in copying} == {there}
    assert {progress.bytes_total for progress in copying} == {there * SIZE}
    done = [progress.bytes_done for progress in copying]
    assert done == sorted(done)
    assert any(n % SIZE for n in done), "parts of copies count"
    assert max(progress.moves_in_flight for progress in copying) == 2
    told = [outcome.progress for outcome in case.executor.seen if outcome.progress is not None]
    assert (told[-1].moves_done, told[-1].bytes_done) == (there, there * SIZE)


def test_the_history_counts_what_moved_between_directories() -> None:
    case = Case()
    there = case.in_d0
    case.executor.finish()

    session = FakeSession(case.cluster.server, case.cluster.clock, plan=faults.none)
    [run] = history.read(session).runs
    assert (run.moves, run.moves_done) == (there, there)
    assert run.size_bytes == there * SIZE


@pytest.mark.parametrize("kafka", [NEWEST, OLD])
def test_a_broker_that_restarts_in_mid_copy_goes_on_and_so_does_the_run(kafka: str) -> None:
    case = Case(kafka)
    broker = case.cluster.simulation.brokers[1]

    def die() -> None:
        case.cluster.simulation.kill(1)
        case.cluster.clock.after(SESSION_MS + 3000, lambda: broker.start())

    case.when(case.copying, die)
    case.executor.finish()
    assert case.in_d0 == 0
    case.assert_nothing_is_left()
    assert any(
        has(outcome.waits, WaitReason.LOG_DIRS_BROKER_NOT_LIVE) for outcome in case.executor.seen
    )
    partitions = [name for each in case.brokers.requests for name in each.targets]
    assert len(partitions) == len(set(partitions)), "nothing was asked for twice"


def test_what_moved_stays_done_while_its_broker_is_away() -> None:
    case = Case()
    there = case.in_d0

    def die() -> None:
        case.cluster.simulation.kill(1)
        case.cluster.clock.after(60_000, lambda: case.cluster.simulation.start_broker(1))

    case.when(lambda: case.copying() and case.in_d0 < there - 1, die)
    case.executor.finish()
    told = [outcome.progress for outcome in case.executor.seen if outcome.progress is not None]
    done = [progress.moves_done for progress in told]
    assert done == sorted(done)
    away = {
        len(wait.partitions)
        for outcome in case.executor.seen
        for wait in outcome.waits
        if wait.reason is WaitReason.LOG_DIRS_BROKER_NOT_LIVE
    }
    assert away
    assert max(away) < there, "what is done is not waited for"


def test_a_broker_that_never_comes_back_keeps_nobody_once_it_is_drained() -> None:
    case = Case()
    case.when(case.copying, lambda: case.cluster.simulation.kill(1))
    with pytest.raises(NeverEnds, match="too many passes"):
        case.executor.finish(passes_max=150)
    assert has(case.executor.seen[-1].waits, WaitReason.LOG_DIRS_BROKER_NOT_LIVE)
    pool = case.wanted.pools[0]
    case.executor.desired = replace(case.wanted, pools=(replace(pool, drain=frozenset({1})),))
    case.executor.passes = 0
    case.executor.seen.clear()
    case.executor.finish()
    assert sum(1 for _ in of_kind(case.executor.seen, ActionKind.RUN_ENDED)) == 2
    case.cluster.simulation.start_broker(1)
    case.cluster.clock.advance(10_000)
    assert case.rate == STANDING


@pytest.mark.parametrize("death", [None, *DEATHS], ids=["alive", "died before", "died after"])
@every(3)
def test_copies_are_cancelled_by_a_rollback_whoever_dies_meanwhile(
    death: Fault | None, step: int
) -> None:
    plain = Case()
    plain.executor.at_rest = stopped
    writes = _rolled_back(plain, lambda _: faults.none)
    for number in range(1, writes + 1, step) if death is not None else ():
        case = Case()
        case.executor.at_rest = stopped
        plan = faults.at_writes({number: death})
        _rolled_back(case, lambda n, plan=plan: faults.none if n else plan)


def _rolled_back(case: Case, plans: Callable[[int], Faults]) -> int:
    """Run to the end with a rollback in mid-copy; return how many writes it took."""
    count = 0

    def counting(process: int) -> Faults:
        plan = plans(process)

        def noted(call: Call) -> Fault | None:
            nonlocal count
            count += call.write
            return plan(call)

        return noted

    stop = encode_stop(StopRequest(at_once=True))

    def ask() -> None:
        if case.cluster.exists("/poolkeeper/run"):
            case.cluster.create(STOP, stop)

    case.when(case.copying, ask)
    case.executor.finish(counting)
    case.assert_nothing_is_left()
    assert case.in_d0 > 0, "what was in flight is back"
    return count


def test_under_roll_back_copies_are_cancelled_and_the_run_waits() -> None:
    case = Case()

    def roll_back() -> None:
        case.executor.desired = replace(
            case.wanted, cluster=replace(case.wanted.cluster, mode=Mode.ROLL_BACK)
        )
        case.executor.authority = replace(case.executor.authority, paused=True)

    case.when(case.copying, roll_back)
    with pytest.raises(NeverEnds, match="too many passes"):
        case.executor.finish(passes_max=150)
    assert case.disk.moving == set()
    assert case.in_d0 > 0
    assert has(case.executor.seen[-1].waits, WaitReason.PAUSED)
    case.executor.desired = case.wanted
    case.executor.authority = replace(case.executor.authority, paused=False)
    case.executor.passes = 0
    case.executor.finish()
    assert case.in_d0 == 0
    case.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("value", "yielded"), [(None, False), (str(3 * MB), True)], ids=["removed", "changed"]
)
def test_the_rate_that_somebody_removes_is_set_again_and_another_one_stays(
    value: str | None, yielded: bool
) -> None:
    case = Case(change=_slow)

    def edit() -> None:
        config = case.cluster.read("/config/brokers/1")["config"]
        config.pop(LOG_DIRS_RATE)
        if value is not None:
            config[LOG_DIRS_RATE] = value
        case.cluster.set("/config/brokers/1", {"version": 1, "config": config})

    case.when(case.copying, edit)
    case.executor.finish()
    assert case.in_d0 == 0
    seen = case.executor.seen
    assert any(has(outcome.waits, WaitReason.THROTTLES_YIELDED) for outcome in seen) is yielded
    put_back = sum(of_kind(seen, ActionKind.THROTTLES_PUT_BACK))
    assert bool(put_back) is not yielded
    left = case.cluster.read("/config/brokers/1")["config"][LOG_DIRS_RATE]
    assert left == (value if yielded else str(STANDING))


def _slow(wanted: Desired) -> Desired:
    execution = replace(wanted.cluster.execution, throttle=Throttle(ThrottleMode.FIXED, MB))
    return replace(wanted, cluster=replace(wanted.cluster, execution=execution))


def test_without_a_throttle_nothing_is_written_to_brokers() -> None:
    def free(wanted: Desired) -> Desired:
        execution = replace(wanted.cluster.execution, throttle=Throttle(ThrottleMode.NONE))
        return replace(wanted, cluster=replace(wanted.cluster, execution=execution))

    case = Case(change=free)
    case.executor.finish()
    assert case.in_d0 == 0
    assert {each.rate for each in case.brokers.requests} == {STANDING}
    case.assert_nothing_is_left()


def test_a_target_directory_that_fails_in_mid_copy_holds_nothing_up() -> None:
    case = Case()
    case.when(case.copying, lambda: case.disk.fail(1))
    case.executor.finish(passes_max=400)
    case.assert_nothing_is_left()
    assert case.in_d0 > 0


@every(3)
def test_the_rate_that_a_lost_run_left_is_named_and_taken_off(step: int) -> None:
    left = 0
    for number in range(1, 100, step):
        case = Case()
        death = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
        if case.executor._process(death, 1000):
            break
        case.cluster.delete_all("/poolkeeper/run")
        with FakeSession(case.cluster.server, case.cluster.clock) as session:
            recorded = throttle_records.read(session)
        config = case.cluster.read("/config/brokers/1")["config"]
        ours = config[LOG_DIRS_RATE] != str(STANDING)
        assert (1 in recorded.brokers) is ours, number
        left += ours
        case.executor.finish()
        case.assert_nothing_is_left()
        assert case.cluster.read("/config/brokers/1")["config"][LOG_DIRS_RATE] == str(STANDING)
        assert case.in_d0 == 0
    assert left


def _adaptive(wanted: Desired) -> Desired:
    throttle = Throttle(ThrottleMode.ADAPTIVE, MB // 8)
    execution = replace(wanted.cluster.execution, throttle=throttle)
    return replace(wanted, cluster=replace(wanted.cluster, execution=execution))


def test_an_adaptive_rate_rises_while_all_replicas_keep_up_and_is_taken_off() -> None:
    case = Case(change=_adaptive)
    case.executor.finish()
    assert case.in_d0 == 0
    rates = [o.progress.throttle_bytes_per_s for o in case.executor.seen if o.progress is not None]
    known = [rate for rate in rates if rate is not None]
    assert known == sorted(known)
    assert known[-1] > 2 * known[0]
    case.assert_nothing_is_left()


@pytest.mark.parametrize("pause_s", [1.0, 5.0, 20.0])
def test_a_rate_that_is_adapted_is_not_taken_for_one_that_somebody_removed(pause_s: float) -> None:
    case = Case(change=_adaptive)
    case.executor.pause_s = lambda: pause_s
    case.executor.finish()
    assert case.in_d0 == 0
    assert not list(of_kind(case.executor.seen, ActionKind.THROTTLES_PUT_BACK))
