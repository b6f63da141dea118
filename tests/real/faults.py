"""What goes wrong in a migration, in the scripts of `test_faults`: a function a fault.

Each is called with a migration that is declared and not begun. It begins it, does harm, and shows
what is said meanwhile. What it leaves undone, an `apply` afterwards completes.
"""

import re
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from conditions import until
from frozen import freeze
from poolkeeper.sandbox.servers.processes import Child
from real.migrations import (
    BATCH_BYTES,
    FAST,
    ORIGIN,
    TOPIC,
    Executor,
    Migration,
    pass_time,
)
from real.support import HOLDER, REQUEST, RUN, assert_nothing_left

Do = Callable[[Migration], None]
ALLOWED = {"remedies": {"allowControllerFailover": True, "removeStaleRequests": True}}
KEPT = {"mode": "Apply", "approval": {"policy": "Auto"}}
END_S = 300.0
LAG_MAX_S = 30
LAG_SEEN_S = 60
"""Within this time a leader has noticed all who lag, on a busy machine."""
SLOWEST = {"throttle": {"mode": "Fixed", "rate": "24Ki"}}
DEATHS_MIN, DEATHS_MAX = 5, 60
"""Of executors in one rollback: it takes a few writes, and not without end."""
DEAF = re.compile(
    r"broker (\d+) is live and"
    r" (?:has not begun to copy [^:]*|leads [^:]* does not know of the new replicas): restart it"
)


def now_ms() -> int:
    return int(time.time() * 1000)


def lives_on(harm: Do) -> Do:
    """While `harm` is done, the executor goes on, and comes to the end by itself."""

    def do(under_way: Migration) -> None:
        with under_way.applying() as executor:
            harm(under_way)
            ended = executor.end(END_S)
            assert ended.code == 0, ended.out

    return do


# Servers


def controller_dies_and_returns(under_way: Migration) -> None:
    controller = under_way.controller()
    assert controller is not None
    under_way.kill(controller)
    under_way.sandbox.start_broker(controller)


def controller_stays_away(under_way: Migration) -> None:
    under_way.elect(1)
    with under_way.applying() as executor:
        under_way.kill(1)
        ended = executor.end(END_S)
        assert ended.code == 0, ended.out
    under_way.sandbox.start_broker(1)


def controller_stands_still(under_way: Migration) -> None:
    controller = under_way.controller()
    assert controller is not None
    under_way.freeze_until_gone(controller)


def targets_die_and_return(under_way: Migration) -> None:
    under_way.kill(3, 4, 5)
    for broker in (3, 4, 5):
        under_way.sandbox.start_broker(broker)


def target_stands_still(under_way: Migration) -> None:
    under_way.freeze_until_gone(under_way.requested()[0]["replicas"][0])


def origin_dies_and_returns(under_way: Migration) -> None:
    leader = under_way.state(0)["leader"]
    under_way.kill(leader)
    under_way.sandbox.start_broker(leader)


def everything_dies(under_way: Migration) -> None:
    under_way.touched |= under_way.registered()
    with under_way.applying():
        for broker in sorted(under_way.registered()):
            under_way.sandbox.kill(broker)
        under_way.sandbox.kill_zookeeper()
    under_way.sandbox.start_zookeeper()
    for broker in sorted(under_way.registered()):
        under_way.sandbox.start_broker(broker)
    under_way.await_connected()


# Executors


def overtaken_while_it_stood_still(under_way: Migration) -> None:
    with under_way.applying() as first:
        first.freeze()
        until(lambda: not under_way.zookeeper.exists(HOLDER), "the session of the first has ended")
        with under_way.applying() as second:
            first.thaw()
            assert first.end().code == 1, first.said()
            ended = second.end(END_S)
            assert ended.code == 0, ended.out


def rolling_back(under_way: Migration) -> None:
    asked = under_way.run("rollback", "--allow-controller-failover")
    assert asked.code == 0, asked.err


def rollback_dies(under_way: Migration) -> None:
    with under_way.applying():
        rolling_back(under_way)
    taken_back(under_way, under_way.run("apply", "--yes").code)


def rollback_dies_at_each_write(under_way: Migration) -> None:
    """Each executor makes one write and is killed; in the end one has nothing left to write.

    Nothing arrives while they die, one after the other.
    """
    under_way.declare(execution=SLOWEST)
    with under_way.applying():
        rolling_back(under_way)
    deaths = 0
    while under_way.zookeeper.exists(RUN):
        ended = under_way.start_dying(1, "after", "apply", "--yes").end(END_S)
        deaths += ended.code == -signal.SIGKILL
        assert deaths <= DEATHS_MAX, ended.out
        assert ended.code == -signal.SIGKILL or not under_way.zookeeper.exists(RUN), ended.out
    assert deaths >= DEATHS_MIN, deaths
    until(lambda: not under_way.zookeeper.exists(HOLDER), "the session of the last has ended")
    taken_back(under_way)


def without_brokers(do: Do) -> Do:
    """Only ZooKeeper is declared: what is in flight is cancelled by a failover."""

    def done(under_way: Migration) -> None:
        under_way.declare(brokers=False)
        do(under_way)

    return done


def taken_back(under_way: Migration, code: int = 1) -> None:
    """The run has ended, and everything is as it was before it, in order."""
    assert code == 1
    assert [tuple(replicas) for replicas in under_way.replicas()] == ORIGIN
    assert_nothing_left(under_way.sandbox, TOPIC)


# A target that never comes back


def stopped_with_a_dead_target(under_way: Migration) -> None:
    with under_way.applying() as executor:
        under_way.kill(5)
        assert under_way.run("stop").code == 0
        executor.await_said("broker 5 is not live")
        told = " ".join(under_way.run("status").out.split())
        assert "broker 5 is not live" in told
        assert "drain it" in told
        assert under_way.run("stop", "--now", "--allow-controller-failover").code == 0
        taken_back(under_way, executor.end().code)
    under_way.sandbox.start_broker(5)


def removed_from_its_pool(under_way: Migration) -> None:
    with under_way.applying():
        under_way.kill(5)
    under_way.declare(right={"brokers": {"ids": [3, 4]}}, execution=FAST | ALLOWED)
    under_way.apply()


# ZooKeeper


def zookeeper_away(seconds: float) -> Do:
    """It is killed and started again.

    Before Kafka 2.4 a leader writes a replica that has caught up into ZooKeeper itself, and answers
    nobody until it has. Where that takes longer than a replica may lag, its followers leave the ISR
    for a moment, soon after ZooKeeper is back.
    """

    def harm(under_way: Migration) -> None:
        since_ms = now_ms()
        under_way.zookeeper_away(seconds)
        if seconds > LAG_MAX_S and under_way.sandbox.spec.kafka == "2.0.1":
            under_way.lagging.append((since_ms, now_ms() + LAG_SEEN_S * 1000))

    return lives_on(harm)


def zookeeper_cut_off(under_way: Migration) -> None:
    """It stands still for longer than all sessions, which end at once when it goes on.

    Brokers that register again at one moment may ignore the next controller for good. The executor
    names them and what helps, and the person does that.
    """
    with under_way.applying() as executor:
        zookeeper_stands_still(under_way)
        restarted: set[int] = set()

        def ended() -> bool:
            named = {int(found) for found in DEAF.findall(executor.said())}
            for broker in sorted(named - restarted):
                restarted.add(broker)
                under_way.kill(broker)  # an orderly stop leaves the ISR before the registry
                under_way.sandbox.start_broker(broker)
            return executor.process.poll() is not None

        until(ended, "the executor ends", END_S)
        assert executor.end().code == 0, executor.said()


def zookeeper_stands_still(under_way: Migration) -> None:
    server = under_way.sandbox.zookeeper_process
    under_way.touched |= under_way.registered()
    freeze(server.pid)
    pass_time(20)
    server.signal(signal.SIGCONT)
    under_way.await_connected()
    until(lambda: len(under_way.zookeeper.get_children("/brokers/ids")) == 5, "all are registered")


def zookeeper_disk_full(under_way: Migration) -> None:
    """It ends at its next write, and is started again where there is room."""
    server = under_way.sandbox.zookeeper_process
    under_way.touched |= under_way.registered()
    limit(server, 1)

    def ended() -> bool:
        if server.exit_code() is None:
            with suppress(KazooException, KazooTimeoutError):
                under_way.zookeeper.set_async("/brokers/seqid", b"").get(timeout=1)
        return server.exit_code() is not None

    until(ended, "ZooKeeper ends")
    pass_time(20)
    under_way.sandbox.start_zookeeper()
    under_way.await_connected()


def limit(server: Child, file_bytes: int) -> None:
    """Let no file of a process grow beyond this any more: for it, the disk is full."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))


# Damaged nodes


def plan_of_the_run_is_cut(under_way: Migration) -> None:
    with under_way.applying():
        pass
    (chunk,) = [c for c in under_way.zookeeper.get_children(RUN) if c != "stop"]
    path = f"{RUN}/{chunk}"
    data = under_way.zookeeper.get(path)[0]
    under_way.zookeeper.set(path, data[: len(data) // 2])
    refused = under_way.run("apply", "--yes")
    assert (refused.code, path in refused.err) == (1, True), refused
    assert "repair" in refused.err
    repaired(under_way, path, (0, 4))  # what moves needs its throttles
    taken_up(under_way)


def topic_record_is_damaged(under_way: Migration) -> None:
    path = f"/poolkeeper/records/topics/{TOPIC}"
    with under_way.applying() as executor:
        under_way.zookeeper.set(path, b'{"version":1,"owner":')
        ended = executor.end(END_S)
        assert ended.code in (0, 4), ended.out
    repaired(under_way, path)


def repaired(under_way: Migration, path: str, codes: tuple[int, ...] = (0,)) -> None:
    """All commands name the node; `repair` shows what it would do, and does it."""
    for command in ("status", "plan"):
        told = under_way.run(command)
        assert path in told.out + told.err, told
    shown = under_way.run("repair")
    assert (shown.code, path in shown.out) == (2, True), shown
    backup = under_way.folder.parent / "backup.json"
    mended = under_way.run("repair", "--yes", "--backup", backup)
    assert mended.code in codes, mended
    assert path not in under_way.run("status").out


# Throttles


def run_node_is_removed(under_way: Migration) -> None:
    with under_way.applying():
        pass
    under_way.zookeeper.delete(RUN, recursive=True)
    for command in ("status", "plan"):
        told = under_way.run(command)
        words = " ".join((told.out + told.err).split())
        assert "a run that is gone left throttles" in words, told
        assert "is lost, and what it requested goes on" in words, told
        assert "foreign" not in words, told
    taken_up(under_way)


def taken_up(under_way: Migration) -> None:
    """What a lost run requested is ours: the next executor takes it up, and comes to the end."""
    with under_way.applying() as executor:
        executor.await_said("took up")
        assert executor.end(END_S).code == 0, executor.said()


def old_throttles_are_restored(under_way: Migration) -> None:
    """Somebody restores a backup of the configs that was made in the middle of the run."""
    entities = [f"topics/{TOPIC}", *(f"brokers/{broker}" for broker in range(1, 6))]
    with under_way.applying() as executor:
        saved = {entity: under_way.config(entity) for entity in entities}
        assert executor.end(END_S).code == 0
    for entity, config in saved.items():
        under_way.edit(entity, config)
    told = under_way.run("status")
    assert "no run accounts for the throttles" in " ".join(told.out.split()), told
    backup = under_way.folder.parent / "backup.json"
    asked = ("--remove-unaccounted-throttles", "--yes", "--backup", backup)
    mended = under_way.run("repair", *asked)
    assert mended.code == 0, mended


# Requests


def request_is_deleted(under_way: Migration) -> None:
    under_way.zookeeper.delete(REQUEST)


def request_that_nobody_can_read(under_way: Migration) -> None:
    """It lies there before; nobody but us notices ever."""
    under_way.zookeeper.create(REQUEST, b"{")
    under_way.declare(execution=FAST | ALLOWED)
    told = under_way.run("status")
    assert REQUEST in told.out, told
    under_way.apply()


def somebody_moves_one_of_ours(under_way: Migration) -> None:
    """By the brokers' API, in mid-run: it is left to them until the run has ended."""
    with under_way.applying() as executor:
        admin = KafkaAdminClient(bootstrap_servers=under_way.sandbox.bootstrap.split(","))
        admin.alter_partition_reassignments({TopicPartition(TOPIC, 0): [2, 3]})
        admin.close()
        ended = executor.end(END_S)
        assert ended.code == 4, ended.out
        assert f"{TOPIC}-0" in ended.out


# Log directories


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


# The folder and the mode


def folder_is_empty(under_way: Migration) -> None:
    under_way.declare(**KEPT)
    manifests = under_way.folder / "all.yaml"
    with under_way.applying("run") as executor:
        text = manifests.read_text()
        manifests.unlink()
        executor.await_said("these manifests are ignored until they are right")
        assert under_way.zookeeper.exists(RUN)
        manifests.write_text(text)
        until(lambda: not under_way.zookeeper.exists(RUN), "the run ends", END_S)
        executor.stop()


def plan_only_in_mid_run(under_way: Migration) -> None:
    under_way.declare(**KEPT)
    with under_way.applying("run") as executor:
        under_way.declare(mode="PlanOnly")
        executor.await_said("a run is recorded, and the mode is PlanOnly")
        assert "foreign" not in executor.said()
        assert "throttle" in under_way.run("status").out
        assert under_way.zookeeper.exists(RUN)
        under_way.declare(mode="Apply")
        until(lambda: not under_way.zookeeper.exists(RUN), "the run ends", END_S)
        executor.stop()
    assert under_way.brokers() <= {3, 4, 5}
