"""A run of two moves on a small cluster, for tables of what is decided about it."""

from dataclasses import replace

import builders
from builders import move, partition, plan, pool_spec, topic
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.runs import (
    Health,
    Phase,
    Run,
    RunDocument,
    Saved,
    UnreadableConfig,
)
from poolkeeper.model.plans import Urgency
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Execution
from poolkeeper.model.topology import Cluster, Controller, ReassignmentEntry, TopicPartition
from poolkeeper.planning.run_state.progress.move_progress import classify
from poolkeeper.planning.run_state.returns import classify_returns
from poolkeeper.planning.staging.next_stage import Stage
from poolkeeper.reconcile.decide.decisions import RunSituation
from poolkeeper.reconcile.observe.run_view import RunView

NOW_MS = 1_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MOVES = (
    move("t", 0, (1, 2), (3, 2), bytes=100, reason="drain", urgency=Urgency.DRAIN),
    move("t", 1, (2, 1), (2, 3), bytes=100, reason="drain", urgency=Urgency.DRAIN),
)
PLAN = plan(*MOVES, cluster="c", hash="sha256:p")
RUN = Run("sha256:p", "f", "concern", Phase.MOVING, "digest", 1, 0)
THROTTLED = Saved({"t": {}}, {1: {}, 2: {}, 3: {}})
HIDDEN_T = UnreadableConfig("t", "/config/topics/t", "hidden")
STAGE = Stage(((0, 1), (1, 1)), 200)
ASKED = {"ending_read": True}
SOUGHT = {**ASKED, "stage_computed": True, "stage": STAGE}
BEFORE, AFTER = ((1, 2), (2, 1)), ((3, 2), (2, 3))


def cluster(lists=BEFORE, *, live=(1, 2, 3), leaders=None, isr=None, **more) -> Cluster:
    """The partitions of t with these lists, all led and in sync unless said otherwise."""
    partitions = (
        partition(n, *ids, leader=(leaders or {}).get(n, ids[0]), isr=(isr or {}).get(n, ids))
        for n, ids in enumerate(lists)
    )
    told = {"name": "c", "controller": Controller(1, 5, 5), **more}
    return builders.cluster(live, topic("t", *partitions, config=None), **told)


def requested(*lists) -> tuple[ReassignmentEntry, ...]:
    return tuple(ReassignmentEntry("t", n, ids) for n, ids in enumerate(lists) if ids)


def desired(**execution) -> Desired:
    pool = pool_spec("p", 1, 2, 3, cluster="c")
    return builders.desired(pool, name="c", execution=Execution(**execution))


def between(seen: Cluster, run: Run = RUN, **known) -> RunSituation:
    """A situation with nothing in flight, of which this much is known."""
    view = RunView(ClusterReading(seen), classify(MOVES, seen), **known)
    return RunSituation(run, RunDocument(PLAN, Saved(), Health()), view, desired(), NOW_MS)


def flying(seen: Cluster, age_ms: int = 0, **run) -> RunSituation:
    """A situation with both moves requested so long ago."""
    step = ((0, 1), (1, 1))
    ours = replace(RUN, stage=1, step=step, requested_ms=NOW_MS - age_ms, **run)
    returns = classify_returns(ours, PLAN, seen)
    view = RunView(ClusterReading(seen), classify(MOVES, seen), in_flight=True, returns=returns)
    return RunSituation(ours, RunDocument(PLAN, Saved(), Health()), view, desired(), NOW_MS)
