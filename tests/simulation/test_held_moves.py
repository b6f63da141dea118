"""Moves that a run does not make are named as soon as that is known, while others are under way."""

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.reconcile.steps_during_run import LOOK_EVERY_MS
from simulation.executors import Executor
from simulation.guarded import MB, WANTED, Guarded

CONFIG, CONFIG_OF_U = "/config/topics/t", "/config/topics/u"
UNLOADABLE, IN_FLIGHT = WaitReason.CONFIG_UNLOADABLE, WaitReason.STAGE_IN_FLIGHT


def has(outcome: Outcome, kind: ActionKind) -> bool:
    return any(action.kind is kind for action in outcome.did)


def passes_of_a_run(*, mended_at: int) -> list[Outcome]:
    """A run: no broker can load the config of topic t, until that stage is requested."""
    cluster = Guarded("3.9.2")
    executor = Executor(cluster, WANTED)

    def at_rest(outcome: Outcome) -> bool:
        if has(outcome, ActionKind.RUN_BEGUN):
            cluster.set(CONFIG, {"version": 1, "config": {"retention.ms": "a week"}})
        if any(a.kind is ActionKind.STAGE_REQUESTED and a.stage == mended_at for a in outcome.did):
            body = cluster.read(CONFIG)
            del body["config"]["retention.ms"]
            cluster.set(CONFIG, body)
        return has(outcome, ActionKind.RUN_ENDED)

    executor.at_rest = at_rest
    executor.finish(passes_max=300)
    return list(executor.seen)


def test_what_is_held_and_let_go_within_a_stage_is_told_soon() -> None:
    cluster = Guarded("3.9.2")
    for name in ("t", "u"):
        cluster.simulation.set_size(name, 0, 400 * MB)
    executor = Executor(cluster, WANTED)
    told: list[bool] = []

    def at_rest(outcome: Outcome) -> bool:
        if has(outcome, ActionKind.STAGE_REQUESTED):
            cluster.set(CONFIG_OF_U, {"version": 1, "config": {"retention.ms": "a week"}})
        held = any(wait.reason is UNLOADABLE and wait.topic == "u" for wait in outcome.waits)
        if held and not any(told):
            cluster.set(CONFIG_OF_U, {"version": 1, "config": {}})
        told.append(held)
        assert outcome.progress is None or outcome.progress.stage < 2, "one stage"
        return not held and any(told)

    executor.at_rest = at_rest
    executor.finish(passes_max=300)


def test_a_pass_that_looks_anew_tells_what_it_finds_held() -> None:
    cluster = Guarded("3.9.2")
    for name in ("t", "u"):
        cluster.simulation.set_size(name, 0, 400 * MB)
    executor = Executor(cluster, WANTED, pause_s=lambda: LOOK_EVERY_MS / 1000 + 5)
    told_ms: list[int] = []

    def at_rest(outcome: Outcome) -> bool:
        if has(outcome, ActionKind.STAGE_REQUESTED):
            cluster.set(CONFIG_OF_U, {"version": 1, "config": {"retention.ms": "a week"}})
        held = any(wait.reason is UNLOADABLE for wait in outcome.waits)
        if held:
            told_ms.append(cluster.clock.now_ms())
            cluster.set(CONFIG_OF_U, {"version": 1, "config": {}})
        return not held and bool(told_ms)

    executor.at_rest = at_rest
    executor.finish(passes_max=300)
    assert cluster.clock.now_ms() - told_ms[0] < 2 * LOOK_EVERY_MS


@pytest.mark.parametrize("mended_at", [0, 1], ids=["never-mended", "mended"])
def test_what_stays_is_named_while_other_moves_are_in_flight(mended_at: int) -> None:
    seen = passes_of_a_run(mended_at=mended_at)
    first = [
        {wait.reason: wait for wait in outcome.waits}
        for outcome in seen
        if outcome.progress is not None and outcome.progress.stage == 1
        if any(wait.reason is IN_FLIGHT for wait in outcome.waits)
    ]
    assert first
    for waits in first:
        assert next(iter(waits)) is IN_FLIGHT
        assert waits[UNLOADABLE].topic == "t"
        assert {name.partition for name in waits[UNLOADABLE].partitions} == {0, 1}
    assert any(has(outcome, ActionKind.CONFIG_UNLOADABLE) for outcome in seen) != bool(mended_at)
    later = [o for o in seen if o.progress is not None and o.progress.stage > 1]
    if not mended_at:
        later = [o for o in later if o.progress and o.progress.phase is Phase.ELECTING]
    assert later
    assert not any(wait.reason is UNLOADABLE for o in later for wait in o.waits)
