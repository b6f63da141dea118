"""What tests of requests that nobody works on share: entries, and what was said and done."""

from dataclasses import replace
from typing import Any

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster, body_of
from simulation.executors import Executor

R, C = WaitReason, Consequence


def entry(topic: str, partition: int, *ids: Any) -> dict[str, Any]:
    return body_of({(topic, partition): ids})


def without_detail(wait: Wait) -> Wait:
    return replace(wait, detail="")


def said(executor: Executor) -> set[Wait]:
    return {without_detail(wait) for outcome in executor.seen for wait in outcome.waits}


def kinds(executor: Executor) -> list[ActionKind]:
    return [action.kind for outcome in executor.seen for action in outcome.did]


def assert_moved(cluster: SimulatedCluster) -> None:
    cluster.settle()
    assert {id_ for ids in cluster.replicas("t").values() for id_ in ids} == {3, 4}
    assert cluster.replicas("u")["0"] in ([3, 4], [4, 3])
    for path in (REQUEST, "/poolkeeper/run"):
        assert not cluster.exists(path), path
    epoch = cluster.epoch()
    cluster.fail_over()
    cluster.clock.advance(5_000)
    assert cluster.epoch() == epoch + 1, "nothing is left that stops a controller"


def at_rest_after(executor: Executor, time_ms: int):  # type: ignore[no-untyped-def]
    executor.pause_s = lambda: 5.0  # nothing comes of another look
    inner, end_ms = executor.at_rest, executor.cluster.clock.now_ms() + time_ms
    return lambda outcome: inner(outcome) or executor.cluster.clock.now_ms() > end_ms
