"""Moves between log directories of a broker whose config holds no throttle: they wait for it."""

from kazoo.security import OPEN_ACL_UNSAFE as OPEN
from kazoo.security import make_acl, make_digest_acl

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from simulation.emptied_log_dirs import Case, of_kind
from simulation.executors import converged

CONFIG = "/config/brokers/1"
READABLE = [make_acl("world", "anyone", read=True), make_digest_acl("kafka", "right", all=True)]


def awaits_config(outcome: Outcome) -> bool:
    reasons = {wait.reason: wait for wait in outcome.waits}
    wait = reasons.get(WaitReason.THROTTLES_UNWRITABLE)
    return wait is not None and (wait.brokers, wait.path) == ((1,), CONFIG)


def finishes(case: Case) -> None:
    case.executor.at_rest = converged
    case.executor.finish()
    case.assert_nothing_is_left()
    assert case.in_d0 == 0


def test_none_begins_that_could_not_be_throttled() -> None:
    case = Case()
    case.cluster.client.log_in("kafka", "right")
    case.cluster.client.set_acl(CONFIG, READABLE)
    case.executor.at_rest = awaits_config
    case.executor.finish(passes_max=100)
    assert case.executor.endings == []
    assert case.brokers.requests == []
    case.cluster.client.set_acl(CONFIG, [*OPEN])
    finishes(case)
    assert case.executor.endings == [Ending.FINISHED]


def test_what_has_begun_ends_and_nothing_more_begins() -> None:
    case = Case()
    there = case.in_d0
    before = case.cluster.client.get(CONFIG)[0]
    case.when(case.copying, lambda: case.cluster.set(CONFIG, b"no JSON"))
    case.executor.at_rest = awaits_config
    case.executor.finish(passes_max=400)
    assert case.executor.endings == [Ending.FINISHED]
    (left,) = (
        action
        for outcome in case.executor.seen
        for action in outcome.did
        if action.kind is ActionKind.MOVES_UNLIMITED
    )
    asked = sum(of_kind(case.executor.seen, ActionKind.MOVE_LOG_DIRS))
    assert (left.broker, len(left.partitions)) == (1, there - asked)
    assert case.in_d0 == there - asked > 0
    case.cluster.set(CONFIG, before)
    finishes(case)
    assert case.executor.endings == [Ending.FINISHED] * 2
