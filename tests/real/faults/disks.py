"""Disks are full: of a target, or of the origin in a rollback."""

from conditions import until
from real.executors import Executor
from real.faults.harm import END_S, limit, rolling_back, taken_back
from real.migrated_topic import BATCH_BYTES, ORIGIN, TOPIC
from real.migrations import Migration
from real.support import RUN, assert_nothing_left


def log_directory_is_full(under_way: Migration) -> None:
    """Of one target."""
    with under_way.applying() as executor:
        target = target_of(under_way, 0)
        fills_up(under_way, target, executor)
        gets_room(under_way, target)
        ended = executor.end(END_S)
        assert ended.code == 0, ended.out


def origin_is_full_in_a_rollback(under_way: Migration) -> None:
    """Broker 2 cannot store partition 0 any more, to which it shall return.

    Asked by their API, brokers are back at once, with what is left of the origin.
    """
    with under_way.applying() as executor:
        has_no_room(under_way, 2)
        until(lambda: 2 not in under_way.state(0)["isr"], "broker 2 leaves the ISR of partition 0")
        rolling_back(under_way)
        if under_way.sandbox.spec.kafka == "2.0.1":
            executor.await_said("of broker 2 has failed", 180)
            assert under_way.zookeeper.exists(RUN), executor.said()
        else:
            executor.end()
        told = " ".join(under_way.run("status").out.split())
        assert "of broker 2 has failed" in told, told
        gets_room(under_way, 2)
        taken_back(under_way, executor.end().code)


def origin_is_full_in_a_rollback_by_failover(under_way: Migration) -> None:
    """The same where only ZooKeeper is declared: it does not tell why broker 2 is behind."""
    under_way.declare(brokers=False)
    with under_way.applying() as executor:
        has_no_room(under_way, 2)
        until(lambda: 2 not in under_way.state(0)["isr"], "broker 2 leaves the ISR of partition 0")
        rolling_back(under_way)
        executor.await_said("back once broker 2 is in sync again", 180)
        assert under_way.zookeeper.exists(RUN), executor.said()
        gets_room(under_way, 2)
        taken_back(under_way, executor.end().code)


def target_is_full_in_a_rollback(under_way: Migration) -> None:
    """The target of partition 0 cannot store it: nothing keeps it from being taken back.

    What has arrived meanwhile stays.
    """
    with under_way.applying() as executor:
        target = target_of(under_way, 0)
        fills_up(under_way, target, executor)
        rolling_back(under_way)
        assert executor.end().code == 1
        now = [tuple(replicas) for replicas in under_way.replicas()]
        assert now[0] == ORIGIN[0]
        for replicas, origin in zip(now, ORIGIN, strict=True):
            assert replicas == origin or set(replicas) <= {3, 4, 5}, now
        assert_nothing_left(under_way.sandbox, TOPIC)
    gets_room(under_way, target)
    until(under_way.in_sync, "what has arrived at the target is in sync, so that it can lead")


def target_of(under_way: Migration, partition: int) -> int:
    """The first broker that the request adds to a partition."""
    (entry,) = [e for e in under_way.requested() if e["partition"] == partition]
    target: int = entry["replicas"][0]
    return target


def has_no_room(under_way: Migration, broker: int) -> None:
    """Let no file of a broker grow beyond 1.5 MiB: only partition 0 has so much."""
    under_way.failing.add(broker)
    limit(under_way.sandbox.broker(broker), 24 * BATCH_BYTES)


def fills_up(under_way: Migration, broker: int, executor: Executor) -> None:
    """Give a target no room; `executor` tells what comes of that."""
    has_no_room(under_way, broker)
    executor.await_said(f"of broker {broker} has failed", 180)
    told = " ".join(under_way.run("status").out.split())
    assert f"of broker {broker} has failed" in told, told


def gets_room(under_way: Migration, broker: int) -> None:
    """Start a broker again, without the limit."""
    under_way.kill(broker)
    under_way.sandbox.start_broker(broker)
