"""Slots are opened for many rows at once as they are opened for each row by itself."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import RackPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints import evictions
from poolkeeper.planning.constraints.evictions import OpenSlots, open_slots
from poolkeeper.planning.layout import pool_layout
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.pool_problem import PoolProblem
from unit.planning.instances import instances

Asked = list[tuple[PoolProblem, np.ndarray]]


def asked_by(desired: Desired, cluster: Cluster, gone: frozenset[int]) -> Asked:
    """Every problem of which the planner asks what must leave."""
    found: Asked = []

    def listen(problem: PoolProblem, load: np.ndarray) -> OpenSlots:
        found.append((problem, load))
        return open_slots(problem, load)

    with patch.object(pool_layout, "open_slots", listen):
        make_plan(desired, cluster, gone=gone)
    return found


def row_by_row(problem: PoolProblem, load: np.ndarray) -> OpenSlots:
    nothing = np.zeros(len(problem), dtype=bool)
    with patch.object(evictions, "whole_but_uneven", lambda *_: nothing):
        return open_slots(problem, load)


def require_equal(one: OpenSlots, other: OpenSlots) -> None:
    for name in ("lists", "stays", "immovable", "stuck", "brokerless", "forced", "forced_by_racks"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    bounds = ([o.spreads[n] for n in o.spread_of.tolist()] for o in (one, other))
    assert next(bounds) == next(bounds)


@pytest.mark.slow
@examples(150)
@given(instances(), st.sampled_from(RackPolicy), st.randoms())
def test_whole_lists_give_up_what_each_would_by_itself(instance, policy, dice):
    desired, cluster, gone = instance
    pools = tuple(replace(pool, rack_policy=policy) for pool in desired.pools)
    for problem, load in asked_by(replace(desired, pools=pools), cluster, gone):
        uneven_load = np.array([dice.randint(0, 3) for _ in load])
        for given_load in (load, uneven_load):
            require_equal(open_slots(problem, given_load), row_by_row(problem, given_load))
