"""Moves between log directories that brokers refuse, or that somebody takes back, each time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from matrices import soak
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import ASKS_MAX
from poolkeeper.reconcile.authority import Authority
from poolkeeper.sandbox.simulation.codecs import Tp
from simulation.emptied_log_dirs import Case, of_kind
from simulation.executors import EVERYTHING, converged
from simulation.scenarios import MB

LOOKS_ONLY = Authority(steps=False, plans=frozenset())


def _held(reason: WaitReason) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.progress is None and has(outcome.waits, reason)


def _requested(case: Case) -> Counter[TopicPartition]:
    """How often each replica was to leave its directory: to ask for that one cancels the move."""
    there = case.disk.directories[0]
    asked = (each.targets.items() for each in case.brokers.requests)
    return Counter(name for targets in asked for name, path in targets if path != there)


def _refuse_all(case: Case) -> None:
    case.brokers = replace(case.brokers, refuses_moves=True)
    case.executor.brokers = case.brokers


def _undo_always(case: Case) -> None:
    """Another tool asks for the directory that each replica is in, every half second."""

    def undo() -> None:
        for topic, number in [*case.disk.moving]:
            log = case.disk.logs[Tp(topic, number)]
            path = case.disk.directories[log.directory]
            assert not case.cluster.simulation.alter_log_dir(1, topic, number, path)
        case.cluster.clock.after(500, undo)

    case.cluster.clock.after(500, undo)


def _stall_all(case: Case) -> None:
    transfers = case.cluster.simulation.transfers
    transfers.settle()
    for tp in case.disk.copied():
        if case.disk.logs[tp].future_bytes > MB / 2:
            case.disk.stall_move(tp)
    transfers.changed()


def _stall_always(case: Case) -> None:
    """The broker ceases to copy each replica as soon as something of it is copied."""

    def stall() -> None:
        _stall_all(case)
        case.cluster.clock.after(500, stall)

    case.cluster.clock.after(500, stall)


def _until_held(case: Case, spoil: Callable[[Case], None], reason: WaitReason) -> None:
    """Have a run give up what comes to nothing; all stays where it is."""
    there = case.in_d0
    spoil(case)
    case.executor.pause_s = lambda: 60.0
    case.executor.at_rest = _held(reason)
    case.executor.finish()
    assert case.in_d0 == there
    case.assert_nothing_is_left()
    assert case.executor.endings == [Ending.FINISHED]
    assert set(_requested(case).values()) == {ASKS_MAX}
    [given_up] = of_kind(case.executor.seen, ActionKind.LOG_DIR_MOVES_GIVEN_UP)
    assert given_up == there


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(_undo_always, WaitReason.LOG_DIR_MOVE_UNDONE, id="taken back"),
        *soak((_refuse_all, WaitReason.LOG_DIR_MOVE_REFUSED)),
    ],
)
def test_moves_that_come_to_nothing_are_left_alone_for_longer_and_longer(
    spoil: Callable[[Case], None], reason: WaitReason
) -> None:
    case = Case()
    _until_held(case, spoil, reason)

    case.executor.passes, hours = 0, 24
    until = case.cluster.clock.now_ms() + hours * 3_600_000
    case.executor.at_rest = lambda _: case.cluster.clock.now_ms() > until
    case.executor.finish(passes_max=5000)
    assert 3 <= len(case.executor.endings) <= 10


def test_copies_that_stall_each_time_are_cancelled_and_given_up() -> None:
    case = Case()
    _until_held(case, _stall_always, WaitReason.LOG_DIR_MOVE_STALLED)
    stalled = [*of_kind(case.executor.seen, ActionKind.LOG_DIR_MOVES_STALLED)]
    assert sum(stalled) == ASKS_MAX * case.in_d0


def test_a_copy_that_stalls_once_is_asked_for_anew() -> None:
    case = Case()
    case.when(case.copying, lambda: _stall_all(case))
    case.executor.finish(passes_max=2000)
    assert case.in_d0 == 0
    case.assert_nothing_is_left()
    assert case.executor.endings == [Ending.FINISHED]
    assert set(_requested(case).values()) == {1, 2}


def test_a_person_is_told_what_came_to_nothing_and_not_kept_waiting() -> None:
    case = Case()
    _undo_always(case)
    case.executor.authority, case.executor.at_rest = LOOKS_ONLY, lambda _: True
    case.executor.finish()
    case.executor.agreed = case.executor.seen[-1].plan
    case.executor.authority, case.executor.at_rest = EVERYTHING, converged
    case.executor.finish()
    given_up = list(of_kind(case.executor.seen, ActionKind.LOG_DIR_MOVES_GIVEN_UP))
    assert given_up == [case.in_d0]
