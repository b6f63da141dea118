"""Requests that nobody works on: named for what they are, withdrawn where that is allowed.

Each was left by somebody, or put over or beside a request of a run. What the controllers of each
era make of it is in `test_irregular`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from matrices import in_part, soak
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Remedies, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.reassignments.stalls import ATTEMPTS_MAX
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, body_of
from poolkeeper.sandbox.simulation.controller import reassignment_steps
from simulation import invariants
from simulation.executors import Executor, converged
from simulation.stuck_requests import (
    C,
    R,
    assert_moved,
    at_rest_after,
    entry,
    kinds,
    said,
    without_detail,
)
from simulation.stuck_runs import MB, made

ALLOWED = Remedies(remove_stale_requests=True, allow_controller_failover=True)
U0 = (TopicPartition("u", 0),)


def keyed() -> dict[str, Any]:
    body = body_of({("u", 0): [1, 2]})
    body["partitions"][0]["log_dirs"] = ["any", "any"]
    return body


DAMAGED: dict[str, tuple[Any, Wait]] = {
    "malformed": (b"{", Wait(R.UNREADABLE_REQUEST, consequence=C.BLOCKS)),
    "empty": (b"", Wait(R.UNREADABLE_REQUEST, consequence=C.BLOCKS)),
    "no entries": (
        {"version": 1, "partitions": []},
        Wait(R.REQUEST_EMPTY, consequence=C.BLOCKS),
    ),
    "log dirs": (keyed(), Wait(R.REQUEST_KEY_UNKNOWN, partitions=U0, consequence=C.BLOCKS)),
    "no object": (
        {"version": 1, "partitions": [7]},
        Wait(R.REQUEST_ENTRY_UNREADABLE, consequence=C.BLOCKS),
    ),
}
"""What a controller of 2.4 or later leaves there, and notices no request any more."""

CARRIED_OUT = ("string ids", "no replicas", "ids twice", "unknown broker", "good")
"""What a controller up to 1.0 carries out at once where it is added."""

ADDED: dict[str, tuple[Any, Wait]] = {
    **DAMAGED,
    "string ids": (
        entry("u", 0, "1", "2"),
        Wait(R.REQUEST_IDS_INVALID, partitions=U0, consequence=C.CRASH_LOOP),
    ),
    "no replicas": (
        entry("u", 0),
        Wait(R.REQUEST_WITHOUT_REPLICAS, partitions=U0, consequence=C.CRASH_LOOP),
    ),
    "ids twice": (
        entry("u", 0, 1, 1, 2),
        Wait(R.REQUEST_IDS_TWICE, partitions=U0, consequence=C.BLOCKS),
    ),
    "unknown topic": (
        entry("no", 0, 1, 2),
        Wait(
            R.REQUEST_PARTITION_UNKNOWN,
            partitions=(TopicPartition("no", 0),),
            consequence=C.DROPPED,
        ),
    ),
    "unknown partition": (
        entry("u", 9, 1, 2),
        Wait(
            R.REQUEST_PARTITION_UNKNOWN,
            partitions=(TopicPartition("u", 9),),
            consequence=C.DROPPED,
        ),
    ),
    "unknown broker": (
        entry("u", 0, 99, 4),
        Wait(R.REQUEST_BROKER_NOT_LIVE, partitions=U0, brokers=(99,), consequence=C.HANGS),
    ),
    "good": (
        entry("u", 0, 1, 2),
        Wait(R.REQUEST_NOT_BEGUN, partitions=U0, consequence=C.CARRIED_OUT),
    ),
}

BY_BOTH = [(kind, by) for by in ("brokers", "zookeeper") for kind in DAMAGED]


@pytest.mark.parametrize(("kind", "by"), in_part(BY_BOTH, 2))
def test_what_the_controller_left_is_withdrawn_and_the_controller_woken(kind: str, by: str) -> None:
    api = by == "brokers"
    cluster, executor = made("3.9.2", ALLOWED, api=api)
    body, expected = DAMAGED[kind]
    cluster.create(REQUEST, body)
    cluster.clock.advance(5_000)
    assert executor.finish(passes_max=200) == 1
    assert expected in said(executor)
    woken = ActionKind.CONTROLLER_WOKEN if api else ActionKind.CONTROLLER_FAILOVER
    assert kinds(executor)[0] in (
        ActionKind.STALE_REQUEST_WITHDRAWN,
        ActionKind.UNNOTICED_REQUEST_WITHDRAWN,
    )
    assert kinds(executor)[1] is woken
    assert_moved(cluster)


@pytest.mark.parametrize("kind", DAMAGED)
def test_without_the_remedy_it_is_named_and_left(kind: str) -> None:
    cluster, executor = made("3.9.2", Remedies(), api=True)
    body, expected = DAMAGED[kind]
    cluster.create(REQUEST, body)
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    last = executor.seen[-1]
    assert last.state is State.WAITING
    assert without_detail(last.waits[0]) == expected
    assert {wait.reason for wait in last.waits} & {R.REQUEST_STALE, R.REQUEST_UNNOTICED}
    assert cluster.exists(REQUEST)
    assert kinds(executor) == []


def added_to_ours(executor: Executor, body: Any) -> None:
    """Put an entry beside ours, or write over ours, as soon as a request of ours is at work."""
    cluster, done = executor.cluster, []

    def at_rest(outcome: Outcome) -> bool:
        at_work = any(len(ids) > 2 for ids in cluster.replicas("t").values())
        if not done and at_work and cluster.exists(REQUEST):
            if isinstance(body, bytes):
                cluster.set(REQUEST, body)
            else:
                ours = cluster.read(REQUEST)
                both = [*ours["partitions"], *body["partitions"]]
                cluster.set(REQUEST, {**body, "partitions": both})
            done.append(True)
        return outcome.state is State.CONVERGED

    executor.at_rest = at_rest


@pytest.mark.parametrize(
    ("kafka", "kind"),
    [
        *(("3.9.2", kind) for kind in ADDED),
        *soak(
            *(("2.8.2", kind) for kind in ADDED),
            *(("2.0.1", kind) for kind in ADDED),
            *(("0.10.2.2", kind) for kind in ADDED if kind not in CARRIED_OUT),
        ),
        ("2.0.1", "good"),
    ],
)
def test_what_was_added_to_ours_does_not_hold_the_run_up(kafka: str, kind: str) -> None:
    new = kafka in ("2.8.2", "3.9.2")
    cluster, executor = made(kafka, ALLOWED, api=new)
    body, expected = ADDED[kind]
    added_to_ours(executor, body)
    assert executor.finish(passes_max=500) == 1
    if new and not isinstance(body, bytes) and kind != "no entries":
        assert expected in said(executor)
    assert_moved(cluster)


def never_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """No controller hears of new replicas that are in sync, as if its writes had lost their answer.

    It looks at them when it begins with a request.
    """
    monkeypatch.setattr(reassignment_steps, "isr_changed", lambda *_: iter(()))


@pytest.mark.parametrize("api", [True, False])
def test_a_move_that_the_controller_does_not_end_is_requested_again(monkeypatch, api) -> None:
    never_ended(monkeypatch)
    cluster, executor = made("3.9.2", ALLOWED, api=api)
    assert executor.finish(passes_max=1000) == 1
    assert ActionKind.UNNOTICED_REQUEST_WITHDRAWN in kinds(executor)
    assert_moved(cluster)


def test_a_move_that_the_controller_does_not_end_is_named(monkeypatch) -> None:
    never_ended(monkeypatch)
    _, executor = made("3.9.2", Remedies(), api=True)
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    assert executor.seen[-1].waits[-1].reason is R.REQUEST_UNNOTICED
    assert kinds(executor)[-1] is ActionKind.STAGE_REQUESTED


def ended_late(monkeypatch: pytest.MonkeyPatch, late_ms: int) -> None:
    """Controllers end a move only so long after its replicas are in sync."""
    end = reassignment_steps.isr_changed

    def end_late(controller: Any, tp: Any) -> Iterator[None]:
        controller.world.clock.after(late_ms, lambda: controller.post(lambda: end(controller, tp)))
        return iter(())

    monkeypatch.setattr(reassignment_steps, "isr_changed", end_late)


@pytest.mark.parametrize("remedies", [Remedies(), ALLOWED], ids=["named", "remedied"])
def test_moves_that_each_end_in_a_moment_are_no_request_that_is_ignored(
    monkeypatch: pytest.MonkeyPatch, remedies: Remedies
) -> None:
    """The last of each stage is seen in sync before it ends, 20 seconds and more after another."""
    ended_late(monkeypatch, 3_000)
    cluster, executor = made("3.9.2", remedies, api=False)
    for partition in range(2):
        cluster.simulation.set_size("t", partition, 40 * MB)
    assert executor.finish(passes_max=1000) == 1
    assert R.REQUEST_UNNOTICED not in {wait.reason for wait in said(executor)}
    assert ActionKind.UNNOTICED_REQUEST_WITHDRAWN not in kinds(executor)
    assert ActionKind.CONTROLLER_FAILOVER not in kinds(executor)
    assert kinds(executor).count(ActionKind.STAGE_REQUESTED) == 2
    assert_moved(cluster)


@pytest.mark.parametrize("kind", ["string ids", "unknown topic", "good"])
def test_without_the_remedy_the_run_waits_and_names_what_was_added(kind: str) -> None:
    cluster, executor = made("3.9.2", Remedies(), api=True)
    body, expected = ADDED[kind]
    added_to_ours(executor, body)
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    last = executor.seen[-1]
    assert expected in set(map(without_detail, last.waits))
    assert last.waits[-1].reason in (R.REQUEST_STALE, R.REQUEST_UNNOTICED)
    assert cluster.exists(REQUEST)


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2", "2.0.1", "1.1.1"])
def test_a_request_for_an_unknown_broker_is_cancelled(kafka: str) -> None:
    cluster, executor = made(kafka, ALLOWED, api=kafka in ("2.8.2", "3.9.2"))
    cluster.request({("u", 0): [99, 4]})
    cluster.clock.advance(5_000)
    assert executor.finish(passes_max=500) == 1
    expected = Wait(R.REQUEST_BROKER_UNKNOWN, partitions=U0, brokers=(99,), consequence=C.HANGS)
    assert expected in said(executor)
    assert ActionKind.FOREIGN_MOVE_CANCELLED in kinds(executor)
    assert_moved(cluster)


@pytest.mark.parametrize(
    ("kafka", "remedies", "reason"),
    [
        ("3.9.2", Remedies(), R.REQUEST_UNREACHABLE),
        ("3.9.2", Remedies(remove_stale_requests=True), R.FOREIGN_CANCEL_NEEDS_BROKERS),
        ("2.0.1", Remedies(), R.REQUEST_UNREACHABLE),
        ("2.0.1", Remedies(remove_stale_requests=True), R.FOREIGN_CANCEL_NEEDS_FAILOVER),
    ],
)
def test_what_cancelling_it_takes_is_named(
    kafka: str, remedies: Remedies, reason: WaitReason
) -> None:
    cluster, executor = made(kafka, remedies, api=False)
    cluster.request({("u", 0): [99, 4]})
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    assert executor.seen[-1].waits[-1].reason is reason
    assert cluster.exists(REQUEST)


def test_a_known_broker_that_is_away_is_waited_for() -> None:
    cluster, executor = made("3.9.2", ALLOWED, api=True)
    cluster.simulation.kill(2)
    cluster.clock.advance(10_000)
    cluster.request({("u", 0): [2, 4]})
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    expected = Wait(R.REQUEST_BROKER_NOT_LIVE, partitions=U0, brokers=(2,), consequence=C.HANGS)
    assert expected in executor.seen[-1].waits
    assert kinds(executor) == []


def test_a_request_that_is_ignored_again_and_again_stays_for_the_next_controller() -> None:
    cluster, executor = made("2.8.2", Remedies(remove_stale_requests=True), api=False)
    execution = replace(
        executor.desired.cluster.execution, throttle=Throttle(ThrottleMode.ADAPTIVE, 2 * MB)
    )
    spec = replace(executor.desired.cluster, execution=execution)
    executor.desired = replace(executor.desired, cluster=spec)
    cluster.create(REQUEST, b"{")
    cluster.settle()
    cluster.delete(REQUEST)  # the controller is deaf from now on
    since, began_ms = cluster.server.zxid, cluster.clock.now_ms()
    executor.at_rest = lambda _: cluster.clock.now_ms() - began_ms > 1_500_000
    executor.pause_s = lambda: 10.0
    executor.finish()
    trail = invariants.Trail(cluster.server, since, frozenset({cluster.client.session_id}))
    assert len(invariants.requests(trail)) == ATTEMPTS_MAX + 2  # one more each ten minutes
    assert Wait(R.REQUEST_IGNORED, count=ATTEMPTS_MAX) in executor.seen[-1].waits
    run = cluster.read("/poolkeeper/run")
    assert (run["rates"], run["stage"]) == ([2 * MB], 1)  # nothing is copied that could keep up
    assert cluster.exists(REQUEST)
    cluster.fail_over()
    executor.at_rest = converged
    executor.finish()
    assert_moved(cluster)


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "not-allowed"])
@pytest.mark.parametrize("kafka", ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1"])
def test_what_the_controller_takes_for_done_is_carried_out_by_another(
    kafka: str, allowed: bool
) -> None:
    """Somebody restored a topic node to how it was: the controller goes by what it remembers."""
    cluster, executor = made(kafka, ALLOWED if allowed else Remedies(), api=False)
    executor.finish()
    lists = cluster.replicas("t")
    body = cluster.read("/brokers/topics/t")
    union = [*lists["0"], 1]
    cluster.set("/brokers/topics/t", {**body, "partitions": {**lists, "0": union}})
    cluster.settle()
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    epoch = 2 if allowed else 1
    assert (cluster.replicas("t"), cluster.epoch()) == (
        {**lists, "0": lists["0"] if allowed else union},
        epoch,
    )
    assert Wait(R.REQUEST_IGNORED, count=ATTEMPTS_MAX) in said(executor)
    if allowed:
        assert_moved(cluster)
