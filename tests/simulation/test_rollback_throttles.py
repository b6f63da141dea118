"""A rollback by a failover lowers the throttle first: nobody waits for ever because of that."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Throttle, ThrottleMode
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SESSION_MS
from simulation.executors import converged
from simulation.returning import ALLOWED, FIRST, MB, RUN, ask, assert_back, kinds, moving, stopped


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
