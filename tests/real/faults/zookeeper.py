"""ZooKeeper is away, cut off, stands still or has a full disk."""

import re
import signal
import time
from contextlib import suppress

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from conditions import until
from frozen import freeze
from real.faults.harm import END_S, Do, limit, lives_on
from real.migrations import Migration, pass_time

LAG_MAX_S = 30
LAG_SEEN_S = 60
"""Within this time a leader has noticed all who lag, on a busy machine."""

DEAF = re.compile(
    r"broker (\d+) is live and (?:has not begun to copy|leads [^:;]* does not know of the new)"
)


def now_ms() -> int:
    return int(time.time() * 1000)


def away(seconds: float) -> Do:
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


def cut_off(under_way: Migration) -> None:
    """It stands still for longer than all sessions, which end at once when it goes on.

    Brokers that register again at one moment may ignore the next controller for good. The executor
    names them and what helps, and the person does that.
    """
    with under_way.applying() as executor:
        stands_still(under_way)
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


def stands_still(under_way: Migration) -> None:
    server = under_way.sandbox.zookeeper_process
    under_way.touched |= under_way.registered()
    freeze(server.pid)
    pass_time(20)
    server.signal(signal.SIGCONT)
    under_way.await_connected()
    until(lambda: len(under_way.zookeeper.get_children("/brokers/ids")) == 5, "all are registered")


def disk_full(under_way: Migration) -> None:
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
