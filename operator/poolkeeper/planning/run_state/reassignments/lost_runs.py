"""What a run requested whose record is lost: recognised as ours, and taken up by the next executor.

A run's node can be removed, or its document cut. What it requested goes on all the same. The record
of its last request (`RequestRecord`) survives both. A partition counts as moved by the lost run as
long as Kafka says of it what that request asks for. Somebody who moved it elsewhere since has taken
it over. From 2.4 on the topic's node says it, before that the request's node alone.

The next executor records a run again, of those moves alone (`reconcile.act.lost_runs`). It is wound
up like any run that is no longer wanted, and may be stopped, rolled back, or lose a target like any
other. What is left to do is planned after it.
"""

from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.records import RequestRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.move_progress import classify
from poolkeeper.planning.run_state.reassignments.requests import NOTHING_OWNED, Owned


@frozen
class LostRun:
    """The request of a run that is recorded no longer; `record` is None where there is none.

    `in_flight`: those of its moves that go on. `dead`: their targets that are not live. `damage`:
    why the record cannot be read; what goes on then counts as somebody else's.
    """

    record: RequestRecord | None = None
    in_flight: tuple[Move, ...] = ()
    dead: tuple[int, ...] = ()
    damage: NodeDamage | None = None

    @property
    def owned(self) -> Owned:
        """What Kafka's request and its moves hold of the lost run."""
        if not self.in_flight:
            return NOTHING_OWNED
        targets = {move.name: move.path for move in self.in_flight}
        return Owned(targets.keys(), targets)

    def waits(self) -> tuple[Wait, ...]:
        """Name the moves that go on."""
        if self.record is None or not self.in_flight:
            return ()
        names = tuple(move.name for move in self.in_flight)
        reason, plan = WaitReason.RUN_LOST, self.record.plan
        return (Wait(reason, hash=plan, partitions=names, brokers=self.dead),)


NO_LOST_RUN = LostRun()


def find(cluster: Cluster, record: RequestRecord | None) -> LostRun:
    """Return what goes on of a request that no recorded run accounts for."""
    if record is None:
        return NO_LOST_RUN
    progress = classify(record.moves, cluster)
    moving = tuple(move for move, p in zip(record.moves, progress, strict=True) if p.is_at_work)
    added = {broker for move in moving for broker in set(move.target) - set(move.source)}
    return LostRun(record, moving, tuple(sorted(added - set(cluster.brokers))))
