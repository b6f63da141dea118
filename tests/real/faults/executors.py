"""Executors stand still or die, one that rolls back above all."""

import signal

from conditions import until
from real.faults.harm import END_S, Do, rolling_back, taken_back
from real.migrations import Migration
from real.support import HOLDER, RUN

SLOWEST = {"throttle": {"mode": "Fixed", "rate": "24Ki"}}
DEATHS_MIN, DEATHS_MAX = 5, 60
"""Of executors in one rollback: it takes a few writes, and not without end."""


def overtaken_while_it_stood_still(under_way: Migration) -> None:
    with under_way.applying() as first:
        first.freeze()
        until(lambda: not under_way.zookeeper.exists(HOLDER), "the session of the first has ended")
        with under_way.applying() as second:
            first.thaw()
            assert first.end().code == 1, first.said()
            ended = second.end(END_S)
            assert ended.code == 0, ended.out


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
