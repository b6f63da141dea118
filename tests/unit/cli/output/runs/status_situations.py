"""A cluster, and a run on it that is half way, for tables of what `status` tells."""

import builders
from builders import topic
from poolkeeper.model.execution.runs import (
    Health,
    Phase,
    Run,
    RunDocument,
    Saved,
    StopRequest,
    StoredRun,
)
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import (
    Controller,
    ReassignmentEntry,
)
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal.journal import JournalView

NOTHING = JournalView()
MIB = 1024**2
RATE = "leader.replication.throttled.rate"


def cluster(*partitions, requested=None, controller=1, **more):
    return builders.cluster(
        (1, 2, 3, 4),
        topic("t", *partitions),
        controller=Controller(broker=controller),
        reassignment=requested,
        **{"id": None, **more},
    )


def partition(number, replicas, isr=None, **more):
    return builders.partition(number, *replicas, isr=replicas if isr is None else isr, **more)


def move(number, source, target):
    return builders.move("t", number, source, target, reason="moving into pool fast")


MOVES = (move(0, (1, 2), (3, 4)), move(1, (1, 2), (3, 4)), move(2, (1, 2), (3, 4)))
RUN = Run(
    "sha256:ab", "sha256:fp", "sha256:c", Phase.MOVING, "d", 1, started_ms=0, stage=2, rates=(MIB,)
)


def journal(holder=True, stopping=False):
    plan = Plan("main", "sha256:ab", "sha256:fp", moves=MOVES)
    who = Holder("host-1", 42, "apply", 0) if holder else None
    stop = StopRequest() if stopping else None
    return JournalView(who, StoredRun(RUN, RunDocument(plan, Saved(), Health()), stop))


HALFWAY = cluster(
    partition(0, (3, 4)),
    partition(1, (1, 2, 3, 4), isr=(1, 2), adding=(3, 4), removing=(1, 2)),
    partition(2, (1, 2)),
    requested=(ReassignmentEntry("t", 1, (3, 4)),),
)
