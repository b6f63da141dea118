"""Moves between log directories that brokers refuse, or that somebody takes back, each time."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

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

LOOKS_ONLY = Authority(steps=False, plans=frozenset())


def _held(reason: WaitReason) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.progress is None and has(outcome.waits, reason)


def _requested(case: Case) -> Counter[TopicPartition]:
    return Counter(name for each in case.brokers.requests for name in each.targets)


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


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(_undo_always, WaitReason.LOG_DIR_MOVE_UNDONE, id="taken back"),
        pytest.param(_refuse_all, WaitReason.LOG_DIR_MOVE_REFUSED, id="refused"),
    ],
)
def test_moves_that_come_to_nothing_are_left_alone_for_longer_and_longer(
    spoil: Callable[[Case], None], reason: WaitReason
) -> None:
    case = Case()
    there = case.in_d0
    spoil(case)
    case.executor.at_rest = _held(reason)
    case.executor.finish()
    assert case.in_d0 == there
    case.assert_nothing_is_left()
    assert case.executor.endings == [Ending.FINISHED]
    assert set(_requested(case).values()) == {ASKS_MAX}
    [given_up] = of_kind(case.executor.seen, ActionKind.LOG_DIR_MOVES_GIVEN_UP)
    assert given_up == there

    case.executor.passes, hours = 0, 24
    until = case.cluster.clock.now_ms() + hours * 3_600_000
    case.executor.at_rest = lambda _: case.cluster.clock.now_ms() > until
    case.executor.pause_s = lambda: 60.0
    case.executor.finish(passes_max=5000)
    assert 3 <= len(case.executor.endings) <= 10


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
