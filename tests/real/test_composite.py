"""Everything goes wrong in one migration, on brokers of each era, with clients at work.

The faults come in a fixed order, each as soon as the one before has shown what it does. The process
that executes is killed twice and always started again; nobody else does anything for it.
"""

from pathlib import Path

import pytest

from conditions import until
from matrices import soak
from real.executors import Executor
from real.migrated_topic import ORIGIN, TOPIC
from real.migrations import FAST, SLOW, Migration, migration
from real.support import HOLDER, body

pytestmark = pytest.mark.long
AWAY_S = 8
"""Longer than any session."""
OTHERS = {"retention.ms": "600000"}
RATE = "leader.replication.throttled.rate"


@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1", *soak("2.8.2")])
def test_a_migration_lives_through_everything(kafka: str, tmp_path: Path) -> None:
    with migration(kafka, tmp_path) as under_way:
        under_way.declare(pool="right", execution=SLOW)
        with under_way.applying():
            pass  # killed as soon as its request is worked on
        with under_way.applying("apply", "--yes", "--timeout", "3") as executor:
            somebody_removes_throttles_and_sets_a_config(under_way)
            the_controller_dies_and_comes_back(under_way)
            a_source_stands_still_and_goes_on(under_way)
            zookeeper_is_away(under_way, executor)
            a_target_dies_for_good(under_way)
            what_is_in_flight_is_taken_back(under_way, executor)
        under_way.declare(right={"drain": [5]}, execution=FAST)
        under_way.apply()
        under_way.check(brokers=[3, 4])
        assert under_way.config(f"topics/{TOPIC}") == OTHERS


def somebody_removes_throttles_and_sets_a_config(under_way: Migration) -> None:
    """A tool that knows nothing of ours; the sources stay throttled, or all arrives at once."""
    ours = under_way.config("brokers/3")
    assert RATE in ours
    under_way.edit("brokers/3", dict.fromkeys(ours))
    under_way.edit(f"topics/{TOPIC}", OTHERS)
    until(lambda: under_way.config("brokers/3") == ours, "the rates are back")


def the_controller_dies_and_comes_back(under_way: Migration) -> None:
    controller, epoch = under_way.controller(), under_way.epoch()
    under_way.kill(controller)
    under_way.sandbox.start_broker(controller)
    assert under_way.epoch() > epoch


def a_source_stands_still_and_goes_on(under_way: Migration) -> None:
    leader = under_way.state(0)["leader"]
    under_way.freeze_until_gone(leader)


def a_target_dies_for_good(under_way: Migration) -> None:
    assert any(5 in entry["replicas"] for entry in under_way.requested())
    under_way.kill(5)


def zookeeper_is_away(under_way: Migration, executor: Executor) -> None:
    """It still has the old session when it is back; that is not another executor."""
    under_way.zookeeper_away(AWAY_S)
    executor.await_said("no ZooKeeper answers")
    until(lambda: holder(under_way) == executor.pid, "the executor has its journal again")


def holder(under_way: Migration) -> int | None:
    return body(under_way.zookeeper, HOLDER).get("pid")


def what_is_in_flight_is_taken_back(under_way: Migration, executor: Executor) -> None:
    asked = under_way.run("rollback", "--allow-controller-failover")
    assert asked.code == 0, asked.err
    ended = executor.end()
    assert (ended.code, "rolled back" in ended.out) == (1, True), ended.out
    assert [tuple(replicas) for replicas in under_way.replicas()] == ORIGIN
