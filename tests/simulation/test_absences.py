"""Missing brokers in whole passes: what an executor does that was away, and what a run sees."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.specs import Heal
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import znodes
from simulation.executors import Executor, converged
from simulation.our_tree import OurTree
from simulation.returning import ALLOWED, LISTS, MB, desired, in_flight
from simulation.test_clocks import AFTER_S, MISSING, pass_over, tree_without_a_broker

AFTER_MS = 60_000
HEAL = Heal(enabled=True, after_s=AFTER_MS // 1000, max_brokers=1)
HOURS_S = 2 * 3600
RECORD = znodes.RECORD_OF_BROKERS


def tree_with_looks(**looks: object) -> OurTree:
    """A cluster that lacks a broker since yesterday, which somebody last looked for hours ago."""
    tree = tree_without_a_broker(24 * 3600)
    body = json.loads(tree.read(RECORD) or b"")
    last_s = tree.clock.now_ms() // 1000 - HOURS_S
    known = {"last_s": last_s, "watched_s": 0, "gaps": 0, "in_outage": False, "lost": False}
    body["brokers"][str(MISSING)]["looks"] = known | looks
    tree.put(RECORD, json.dumps(body).encode())
    return tree


@pytest.mark.parametrize(
    ("looks", "rebuilt"),
    [
        pytest.param({"watched_s": AFTER_S - 60}, False, id="it-may-be-booting"),
        pytest.param({"in_outage": True, "watched_s": AFTER_S - 60}, False, id="after-an-outage"),
        pytest.param({"gaps": 1}, True, id="found-missing-by-a-command-for-the-third-time"),
        pytest.param({"lost": True}, True, id="it-was-lost-before"),
    ],
)
def test_what_an_executor_does_that_was_away(
    declared: Path, looks: dict[str, object], rebuilt: bool
) -> None:
    tree = tree_with_looks(**looks)
    outcomes = pass_over(tree, declared)
    assert any(outcome.plan is not None and outcome.plan.moves for outcome in outcomes) == rebuilt
    found = json.loads(tree.read(RECORD) or b"")["brokers"][str(MISSING)]["looks"]
    assert found["lost"] == rebuilt


def moving_without(broker: int, back: bool) -> tuple[SimulatedCluster, Executor]:
    """A run is in flight that began while a broker of its pool was restarting.

    The broker comes back if `back`.
    """
    cluster = SimulatedCluster(SimulationSpec(spread(6), kafka="3.9.2"))
    cluster.start()
    cluster.create_topic("t", *LISTS)
    cluster.create_topic("u", (5, broker))  # so that it is known
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 100 * MB)
    cluster.simulation.kill(broker)
    cluster.clock.run_until(lambda: not cluster.exists(f"/brokers/ids/{broker}"), 60_000)
    execution = replace(ALLOWED, max_moves=2)
    executor = Executor(cluster, desired(execution, 4, 5, 6, heal=HEAL), at_rest=in_flight)
    executor.finish()
    if back:
        cluster.simulation.start_broker(broker)
        cluster.clock.run_until(lambda: cluster.exists(f"/brokers/ids/{broker}"), 60_000)
    return cluster, executor


def test_a_broker_that_was_missing_when_a_run_began_and_is_back_does_not_replace_it() -> None:
    cluster, executor = moving_without(6, back=True)
    cluster.clock.advance(2 * AFTER_MS)
    executor.at_rest = converged
    executor.finish()
    assert set(executor.endings) == {Ending.FINISHED}
    missing = json.loads(cluster.server.tree.get(RECORD).data)["brokers"]["6"]
    assert missing["missing_since_s"] is None


def test_looks_are_noted_while_a_run_is_under_way() -> None:
    """A broker that stays away is lost on time, although its run began after it went."""
    cluster, executor = moving_without(6, back=False)
    began_ms = cluster.clock.now_ms()

    def lost(_: Outcome) -> bool:
        record = json.loads(cluster.server.tree.get(RECORD).data)["brokers"]["6"]
        return bool(record["looks"]["lost"])

    executor.at_rest = lost
    executor.finish()
    assert cluster.clock.now_ms() - began_ms <= AFTER_MS + 30_000
