"""Replication factors that were asked for and are not raised: how much room lacks where.

Of those that are not, none finds room besides what is raised, or too few were tried (`raising`); so
each of the topics is told what lacks for all of them.
"""

from collections.abc import Iterator

import numpy as np

from poolkeeper.planning.arrivals import Arrived
from poolkeeper.planning.capacities import Amount, amounts, conflict_of, ways
from poolkeeper.planning.columns import count_slots
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.quotas import lost
from poolkeeper.planning.witnesses import Member

_NAMED_MAX = 5


def messages(
    layout: Layout, members: tuple[Member, ...], arrived: Arrived
) -> Iterator[tuple[str, str]]:
    """(topic, sentence) of every topic that keeps fewer replicas than it asks for."""
    wished = layout.wished
    if wished is None:
        return
    unit = wished.unit
    found = count_slots(unit.lists >= 0)
    rows = np.flatnonzero(unit.placed & (unit.rf > count_slots(layout.lists >= 0)))
    topics, starts = np.unique(unit.topic[rows], return_index=True)
    why = _why(wished, members, arrived)
    count = f"{len(topics)} topics of the pool want more replicas, and with them " * (
        len(topics) > 1
    )
    for topic, own in zip(topics.tolist(), np.split(rows, starts[1:]), strict=True):
        before = " or ".join(map(str, np.unique(found[own]).tolist()))
        raised = f"the replication factor is not raised from {before} to {unit.rf[own].max()}"
        yield unit.topics[topic], f"{raised}: {count}{why}"


def _why(wished: Layout, members: tuple[Member, ...], arrived: Arrived) -> str:
    """What lacks on which brokers, the most first, and what helps."""
    unit = wished.unit
    inside = unit.brokers.rows(unit.pool.brokers)
    lacks, helps = [], []
    for amount in amounts(wished, arrived):
        over = int(np.maximum(amount.held - amount.bounds, 0)[inside].sum())
        more = int(amount.held[inside].sum()) - amount.pool_bound
        if over:
            finds = "finds" if over == 1 else "find"
            lacks.append(f"{amount.text(over)} {finds} no room: {_listed(wished, amount)}")
        if more > 0:
            does = "does" if more == 1 else "do"
            lacks.append(f"{amount.text(more)} {does} not fit with {lost(unit.pool)}")
        if over or more > 0:
            conflict = conflict_of(wished, amount, members)
            helps += ["make room there or on new brokers"] if conflict is None else ways(conflict)
    helps = list(dict.fromkeys([*helps, "ask for fewer replicas"]))
    return f"{'; '.join(lacks)}. What helps: {', or '.join(helps)}"


def _listed(wished: Layout, amount: Amount) -> str:
    """`broker 4 lacks 8 GiB, broker 5 lacks 4 GiB, and 3 brokers more lack 345 MiB`."""
    brokers = wished.unit.brokers
    inside = brokers.rows(wished.unit.pool.brokers)
    over = {b: int(amount.held[b] - amount.bounds[b]) for b in inside}
    rows = sorted((b for b in inside if over[b] > 0), key=lambda b: (-over[b], b))
    named = [f"broker {brokers.ids[b]} lacks {amount.text(over[b])}" for b in rows[:_NAMED_MAX]]
    if rest := rows[_NAMED_MAX:]:
        more = f"{len(rest)} broker{'' if len(rest) == 1 else 's'} more"
        left = amount.text(sum(over[b] for b in rest))
        named.append(f"and {more} lack{'s' if len(rest) == 1 else ''} {left}")
    return ", ".join(named)
