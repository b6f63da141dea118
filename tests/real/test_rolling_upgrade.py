"""Brokers are upgraded one by one, from before 2.4 to after it, in the middle of a migration.

The controller that begins the moves does not say in topic nodes what is added. The one that takes
them up does, and takes the union that it finds for where they came from.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conditions import until
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.servers import artifacts
from real.executors import Executor
from real.faults.harm import rolling_back, taken_back
from real.migrations import FAST, SETTINGS, SLOW, Migration, migration
from real.support import body

pytestmark = pytest.mark.soak

OLD, NEW = "2.0.1", "2.8.2"
PROTOCOL = (("inter.broker.protocol.version", "2.0"),)


class Upgraded(Sandbox):
    """A sandbox whose brokers can be started again as those of another release."""

    def upgrade(self, broker: int, release: str) -> None:
        """Stop a broker gracefully, and start that release over its data."""
        self.stop(broker)
        tools = artifacts.find_tools(None)
        self._jars = artifacts.class_path(release, artifacts.cache_folder(), tools)
        self.start_broker(broker)


@pytest.mark.timeout(900)
def test_a_migration_goes_on_over_an_upgrade(tmp_path: Path) -> None:
    with upgraded(tmp_path) as (under_way, executor):
        told = under_way.run("status").out
        assert "0 of 4 done, 4 in flight" in told, told
        assert "by somebody else" not in executor.said() + told
        executor.kill()
        under_way.declare(execution=FAST)
        under_way.apply()
        under_way.check(brokers=[3, 4, 5])


@pytest.mark.timeout(900)
def test_a_migration_is_taken_back_after_an_upgrade(tmp_path: Path) -> None:
    with upgraded(tmp_path) as (under_way, executor):
        rolling_back(under_way)
        taken_back(under_way, executor.end().code)
        under_way.declare(execution=FAST)
        under_way.apply()
        under_way.check(brokers=[3, 4, 5])


@pytest.mark.timeout(900)
def test_a_growth_is_awaited_over_an_upgrade(tmp_path: Path) -> None:
    """What is added is no less than what is there, so that the new controller has nothing to do."""
    left = {"brokers": {"ids": [1, 2, 3]}, "demote": [3]}  # so that each list is the old one, and 3
    pools = {"left": left, "right": {"brokers": {"ids": [4, 5]}}}
    with under_upgrade(tmp_path, **pools, factor=3) as (under_way, executor):
        until(lambda: not under_way.requested(), "the request is dropped")
        executor.await_said("is not in sync yet")
        assert not under_way.in_sync()
        assert under_way.config("brokers/1"), "the throttle was taken off while it was copied"
        executor.kill()
        under_way.declare(execution=FAST)
        under_way.apply()
        under_way.check(brokers=[1, 2, 3])


@contextmanager
def upgraded(folder: Path) -> Iterator[tuple[Migration, Executor]]:
    """All brokers are upgraded in mid-move, and the executor has seen what became of the moves."""
    with under_upgrade(folder, pool="right") as (under_way, executor):
        until(lambda: taken_over(under_way), "all moves are taken over")
        yield under_way, executor


@contextmanager
def under_upgrade(folder: Path, **declared: object) -> Iterator[tuple[Migration, Executor]]:
    """All brokers are upgraded while what is declared is carried out."""
    settings = (*SETTINGS, *PROTOCOL)
    with migration(OLD, folder, batches=48, kind=Upgraded, settings=settings) as under_way:
        sandbox = under_way.sandbox
        assert isinstance(sandbox, Upgraded)
        began_ms = time.time_ns() // 1_000_000
        under_way.declare(**declared, execution=SLOW)
        with under_way.applying() as executor:
            under_way.touched |= under_way.registered()
            for broker in sorted(under_way.registered()):
                sandbox.upgrade(broker, NEW)
            # Replicas that were away catch up beside a copy that is throttled.
            under_way.lagging.append((began_ms, began_ms + 1_800_000))
            yield under_way, executor


def taken_over(under_way: Migration) -> bool:
    """Whether topic nodes say of all moves what is removed, and of none what is added."""
    node = body(under_way.zookeeper, "/brokers/topics/t")
    return len(node.get("removing_replicas", {})) == 4 and not node.get("adding_replicas")
