"""One pool's layout where some partitions are kept still, or sizes are unknown."""

import numpy as np
import pytest

import builders
from builders import pool_spec, topic
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import (
    ClusterLimits,
    Goal,
    GoalKind,
)
from poolkeeper.planning.constraints.capacity import eligible_brokers
from poolkeeper.planning.layout.pool_layout import Layout, lay_out
from poolkeeper.planning.problem.arrays import index_brokers
from poolkeeper.planning.problem.partitions import lists_of, table_of
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.problem.pool_problem import pool_problem

MIB = 1024**2
COUNT = (Goal(GoalKind.REPLICAS, count=1),)


def laid_out(
    goals: tuple[Goal, ...], *lists: tuple[int, ...], hold: bool = False, size: int | None = MIB
) -> Layout:
    """Brokers 1 to 4, of which 4 is down; topic t has these lists."""
    pool = pool_spec("p", 1, 2, 3, 4, goals=goals)
    cluster = builders.cluster((1, 2, 3), topic("t", *lists, size_bytes=size))
    desired = builders.desired(pool)
    table = table_of(cluster)
    brokers = index_brokers(cluster, desired, Records(), frozenset(), table.replicas.ids)
    on_hold = frozenset({"t"} if hold else ())
    homes = {"t": TopicHome(TopicRole.PLACED, "p")}
    unit = pool_problem(pool, homes, lists_of(table, brokers), hold=on_hold)
    usable = eligible_brokers(pool, brokers, ClusterLimits())
    return lay_out(unit, usable.bounds, balance=True)


def test_partitions_on_hold_count_as_in_the_next_plan() -> None:
    uneven = ((1,), (1,), (1,), (1,), (1,), (4,))
    kept, free = laid_out(COUNT, *uneven, hold=True), laid_out(COUNT, *uneven)
    assert (kept.lists == kept.problem.lists).all()
    assert kept.unfinished
    assert not free.unfinished
    assert kept.placement.band.share.tolist() == pytest.approx(free.placement.band.share.tolist())


def test_a_layout_with_partitions_on_hold_is_finished_where_the_next_moves_nothing() -> None:
    kept = laid_out(COUNT, (1,), (2,), (3,), (4,), hold=True)
    assert not kept.unfinished


@pytest.mark.parametrize(
    ("size", "moved"),
    [
        pytest.param(MIB, 2, id="sizes that are known are evened out"),
        pytest.param(None, 0, id="sizes that nobody knows are not"),
    ],
)
def test_bytes_are_evened_out_where_sizes_are_known(size: int | None, moved: int) -> None:
    layout = laid_out((Goal(GoalKind.BYTES, percent=10.0),), (1,), (1,), (1,), size=size)
    assert int(np.sum(layout.lists != layout.problem.lists)) == moved
