"""A run of two moves on a small cluster, for tables of what is decided about it."""

from dataclasses import replace

from poolkeeper.model.plans import Move, Plan, Urgency
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.runs import Health, Phase, Run, RunDocument, Saved
from poolkeeper.model.specs import Desired, Execution, KafkaClusterSpec, ZooKeeperSpec
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    Partition,
    ReassignmentEntry,
    Topic,
    TopicPartition,
)
from poolkeeper.planning.run_state.progress import classify
from poolkeeper.reconcile.decisions import RunSituation
from poolkeeper.reconcile.observation import RunView

NOW_MS = 1_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MOVES = (
    Move("t", None, 0, ((1, 2), (3, 2)), 100, "drain", Urgency.DRAIN),
    Move("t", None, 1, ((2, 1), (2, 3)), 100, "drain", Urgency.DRAIN),
)
PLAN = Plan("c", "sha256:p", "f", moves=MOVES)
RUN = Run("sha256:p", "f", "concern", Phase.MOVING, "digest", 1, 0)
BEFORE, AFTER = ((1, 2), (2, 1)), ((3, 2), (2, 3))


def cluster(lists=BEFORE, *, live=(1, 2, 3), leaders=None, isr=None, **more) -> Cluster:
    """The partitions of t with these lists, all led and in sync unless said otherwise."""
    partitions = tuple(
        Partition(n, ids, leader=(leaders or {}).get(n, ids[0]), isr=(isr or {}).get(n, ids))
        for n, ids in enumerate(lists)
    )
    told = {"controller": Controller(1, 5, 5), "topics": {"t": Topic("t", partitions)}} | more
    return Cluster("c", {id_: Broker(id_) for id_ in live}, **told)


def requested(*lists) -> tuple[ReassignmentEntry, ...]:
    return tuple(ReassignmentEntry("t", n, ids) for n, ids in enumerate(lists) if ids)


def desired(**execution) -> Desired:
    return Desired(KafkaClusterSpec("c", ZooKeeperSpec("z"), execution=Execution(**execution)))


def between(seen: Cluster, run: Run = RUN, **known) -> RunSituation:
    """A situation with nothing in flight, of which this much is known."""
    view = RunView(ClusterReading(seen), classify(MOVES, seen), **known)
    return RunSituation(run, RunDocument(PLAN, Saved(), Health()), view, desired(), NOW_MS)


def flying(seen: Cluster, age_ms: int = 0, **run) -> RunSituation:
    """A situation with both moves requested so long ago."""
    step = ((0, 1), (1, 1))
    ours = replace(RUN, stage=1, step=step, requested_ms=NOW_MS - age_ms, **run)
    view = RunView(ClusterReading(seen), classify(MOVES, seen), in_flight=True)
    return RunSituation(ours, RunDocument(PLAN, Saved(), Health()), view, desired(), NOW_MS)
