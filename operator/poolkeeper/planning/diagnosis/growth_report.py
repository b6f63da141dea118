"""Replication factors that are not raised: how much capacity is missing, and where.

A topic that is not raised did not fit besides those that are raised, or was not tried
(`replication_factor`). So each of them is told what is missing for all of them together.
"""

from collections.abc import Iterator

import numpy as np

from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.diagnosis.capacity_report import (
    PoolLoad,
    amounts,
    conflict_of,
    remedies_of,
)
from poolkeeper.planning.diagnosis.incoming_load import IncomingLoad
from poolkeeper.planning.facts.capacity import FactorNotRaised, Growth, Lack
from poolkeeper.planning.facts.conflicts import Member
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import count_slots

_NAMED_MAX = 5


def unraised_factors(
    layout: Layout, members: tuple[Member, ...], incoming: IncomingLoad
) -> Iterator[tuple[str, FactorNotRaised]]:
    """Every topic that keeps fewer replicas than it declares, and why."""
    wanted = layout.with_all_factors
    if wanted is None:
        return
    problem = wanted.problem
    found = count_slots(problem.lists >= 0)
    rows = np.flatnonzero(problem.placed & (problem.rf > count_slots(layout.lists >= 0)))
    topics, starts = np.unique(problem.topic[rows], return_index=True)
    why = _growth(wanted, len(topics), members, incoming)
    for topic, own in zip(topics.tolist(), np.split(rows, starts[1:]), strict=True):
        before = tuple(distinct(found[own]).tolist())
        yield problem.topics[topic], FactorNotRaised(before, int(problem.rf[own].max()), why)


def _growth(
    wanted: Layout, topics: int, members: tuple[Member, ...], incoming: IncomingLoad
) -> Growth:
    """What is missing for that many topics, and the remedies."""
    lacks, remedies = [], []
    for amount in amounts(wanted, incoming):
        lack = _lack(wanted, amount)
        lacks.append(lack)
        if lack.over or lack.beyond > 0:
            conflict = conflict_of(wanted, amount, members)
            remedies.append(None if conflict is None else remedies_of(conflict))
    return Growth(topics, tuple(lacks), tuple(remedies))


def _lack(wanted: Layout, amount: PoolLoad) -> Lack:
    """How much is missing on which brokers, the largest amount first."""
    brokers, pool = wanted.problem.brokers, wanted.problem.pool
    inside = brokers.rows(pool.brokers)
    over = {b: int(amount.held[b] - amount.bounds[b]) for b in inside}
    rows = sorted((b for b in inside if over[b] > 0), key=lambda b: (-over[b], b))
    rest = rows[_NAMED_MAX:]
    return Lack(
        quantity=amount.quantity,
        over=sum(over[b] for b in rows),
        brokers=tuple((brokers.ids[b], over[b]) for b in rows[:_NAMED_MAX]),
        rest=len(rest),
        rest_lacks=sum(over[b] for b in rest),
        beyond=int(amount.held[inside].sum()) - amount.pool_bound,
        headroom=pool.headroom,
    )
