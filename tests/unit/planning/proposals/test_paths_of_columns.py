"""Paths that columns find without a search are those of the search."""

import pytest
from hypothesis import given

from laws import examples
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED
from poolkeeper.model.topology import Cluster
from poolkeeper.planning import planner
from poolkeeper.planning.layout.changes import rack_badness
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.proposals.moves import moves_of
from poolkeeper.planning.proposals.paths import path
from unit.planning.instances import instances


def checked(
    layout: Layout, cluster: Cluster, table: PartitionTable, *, one_at_a_time: bool
) -> MoveColumns:
    columns = moves_of(layout, cluster, table, one_at_a_time=one_at_a_time)
    badness, live = rack_badness(layout.problem), cluster.brokers
    for move in ColumnMoves(columns):
        searched = path(move.source, move.target, badness, one_at_a_time=one_at_a_time, live=live)
        assert move.path == searched
    return columns


@pytest.mark.slow
@given(instances())
@examples(30)
def test_paths_are_those_of_the_search(drawn: tuple[Desired, Cluster, frozenset[int]]) -> None:
    desired, cluster, gone = drawn
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planner, "moves_of", checked)
        planner.make_plan(desired, cluster, NOTHING_RECORDED, gone)
