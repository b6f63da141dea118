"""Requests in flight that are cancelled, for tables of what is decided about them."""

from dataclasses import replace

from builders import partition, topic
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.specs import Remedies
from poolkeeper.reconcile.decide.decisions import CancelMoves
from unit.reconcile.situations import cluster, desired, flying, requested

ALLOWED = {"remedies": Remedies(allow_controller_failover=True)}
IN_SYNC = {0: (1, 2), 1: (2, 1)}
UNIONS = ((3, 1, 2), (2, 3, 1))
"""As Kafka up to 2.3 writes them; later releases say what is added and removed."""

ENTRIES = requested((3, 2), (2, 3))
AT_WORK = cluster(UNIONS, isr=IN_SYNC, reassignment=ENTRIES)


def newer(lists, isr, entries):
    """The same lists as Kafka from 2.4 on writes them: with what is added and removed."""
    found = (
        partition(n, *ids, adding=(3,), removing=(1,), isr=isr[n])
        if len(ids) > 2
        else partition(n, *ids)
        for n, ids in enumerate(lists)
    )
    return replace(cluster(lists, reassignment=entries), topics={"t": topic("t", *found)})


NEWER = newer(UNIONS, IN_SYNC, ENTRIES)
_TAKEN_OVER = (partition(n, *ids, removing=(1,), isr=IN_SYNC[n]) for n, ids in enumerate(UNIONS))
TAKEN_OVER = replace(AT_WORK, topics={"t": topic("t", *_TAKEN_OVER)})
"""As Kafka from 2.4 on goes on with what an earlier one began."""
DEAD = replace(AT_WORK, brokers=cluster(live=(1, 2)).brokers)
NOW = StopRequest(at_once=True)
BACK = requested((1, 2), (2, 1))


def at(seen, *, stop=None, execution=ALLOWED, brokers=False, gone=None, age_ms=0, **run):
    made = flying(seen, age_ms, **run)
    view = replace(made.view, stop=stop, gone_read=gone is not None, gone=frozenset(gone or ()))
    return replace(made, view=view, desired=desired(**execution), asks_brokers=brokers)


def cancel(*moves, step=((0, 1), (1, 1)), returning=(0, 1), brokers=False):
    return CancelMoves(moves, step, returning, by_brokers=brokers, may_fail_over=True)


LOST = {0: (3,), 1: (2, 1)}
BOTH = {"returning": (0, 1), "age_ms": 20_000}
BEHIND = cluster(UNIONS, isr={0: (1,), 1: (2, 1)}, reassignment=BACK)
"""Broker 2 is behind in partition 0."""


def alone(seen, **run):
    """Only the first move is requested; the second goes on without that."""
    made = at(replace(seen, reassignment=ENTRIES[:1]), returning=(0,), **run)
    view = replace(made.view, returns={0: made.view.returns[0]})
    return replace(made, run=replace(made.run, step=((0, 1),)), view=view)


THAWED = {"rates": (100,), "declared_rate": 100}
