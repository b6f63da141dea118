"""A run of moves between log directories of two brokers, for tables of what is decided."""

from dataclasses import replace

import builders
from builders import partition, plan, topic
from poolkeeper.model.execution.runs import (
    Health,
    Phase,
    RunDocument,
    Saved,
)
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Broker, Controller, LogDir, TopicPartition
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyLimits,
    CopyProgress,
    CopyState,
)
from poolkeeper.planning.run_state.throttling.throttles import ThrottleWatch
from poolkeeper.reconcile.decide.decisions import (
    RunSituation,
)
from poolkeeper.reconcile.observe.run_view import RunView
from poolkeeper.reconcile.pass_memory import CopyMemory
from unit.reconcile.situations import NOW_MS, RUN, desired

A, B = "/a", "/b"
STEPS = tuple(MoveLogDir("t", p, 1 if p < 4 else 2, A, B, 10) for p in range(6))
HOME = {p: 1 if p < 4 else 2 for p in range(6)}
P, F, D = CopyState.PENDING, CopyState.IN_FLIGHT, CopyState.DONE
LEFT, AWAY, UNKNOWN = CopyState.LEFT, CopyState.AWAY, CopyState.UNKNOWN
UNREADABLE = CopyState.UNREADABLE
LIMITS = CopyLimits(2, 100)
KEY = "replica.alter.log.dirs.io.max.bytes.per.second"


def cluster(arriving=(), *, at=None, brokers=(1, 2), more=None):
    """Partitions 0 to 3 on broker 1, and 4 and 5 on broker 2; some are on their way to /b."""
    at = at or {}
    partitions = (
        partition(p, b, leader=b, isr=(b,), log_dirs=None if at.get(p) == "" else {b: at.get(p, A)})
        for p, b in HOME.items()
    )
    live = (
        Broker(
            b,
            log_dirs={A: LogDir(), B: LogDir()},
            arriving={TopicPartition("t", p): B for p in arriving if HOME[p] == b},
        )
        for b in brokers
    )
    live = (replace(each, **(more or {}).get(each.id, {})) for each in live)
    return builders.cluster(live, topic("t", *partitions), name="c", controller=Controller(1, 5, 5))


def states(*found):
    return tuple(CopyProgress(state) for state in found)


def situation(*found, run=RUN, seen=None, spec=None, rates=(), memory=None, **view):
    saved = Saved({}, {1: {KEY: None}, 2: {KEY: None}} if rates else {})
    document = RunDocument(plan(steps=STEPS[: len(found)]), saved, Health())
    seen = seen or cluster([p for p, state in enumerate(found) if state is F])
    return RunSituation(
        replace(run, phase=Phase.COPYING, rates=rates),
        document,
        RunView(ClusterReading(seen), copies=states(*found), **view),
        spec or desired(max_moves_per_broker=2),
        NOW_MS,
        asks_brokers=True,
        copies=memory or CopyMemory(),
        throttles=ThrottleWatch(checked_ms=NOW_MS),
    )
