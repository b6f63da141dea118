"""The laws of stages on thousands of random clusters and plans, other ones in every run.

They end with the plan, unless disks are in the way: where it puts more on a disk than is declared,
as pools come before disks, or where no order of its copies finds room for all of them, as each
exists beside its origin until it is complete. That is judged by trying every order.
"""

from itertools import pairwise

import pytest
from hypothesis import event, given, settings

from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.excess import live_state
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.staging import next_stage
from poolkeeper.planning.staging.disks.disk_order import CopyStep
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.limits import Bounds
from unit.planning.instances import instances
from unit.planning.staging.disks.test_disk_order import can_end
from unit.planning.staging.test_next_stage_laws import advanced
from unit.planning.test_planner_laws import Instance

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@settings(max_examples=2000, derandomize=False)
@given(instances())
def test_stages_of_real_plans_are_lawful_and_end(instance: Instance) -> None:
    desired, cluster, gone = instance
    plan: Plan = make_plan(desired, cluster, gone=gone)
    observed = cluster
    moves, at = plan.moves, [0] * len(plan.moves)
    for _ in range(sum(len(move.path) for move in moves) + 1):
        stage = next_stage.next_stage(moves, at, cluster, desired, gone=gone)
        if stage is None:
            break
        if isinstance(stage, next_stage.NothingFits):
            event("comes to a halt")
            assert stage.wait.room is not None
            assert stage.wait.room.needs
            assert stage.wait.room.ways
            assert not can_end(*copies(plan, desired, observed, gone)), stage.wait
            return
        before = live_state(cluster)
        after = next_stage.after_stage(before, moves, stage)
        next_stage.assert_lawful(before, after, desired, cluster, gone)
        cluster = advanced(cluster, after)
        for i, step in stage.entries:
            at[i] = step
    assert all(place == len(move.path) - 1 for place, move in zip(at, moves, strict=True))


def copies(
    plan: Plan, desired: Desired, cluster: Cluster, gone: frozenset[int]
) -> tuple[list[list[CopyStep]], dict[int, int]]:
    """What every step takes and frees on declared disks, and what is free before."""
    rules = Rules(desired, cluster, gone)
    free = dict(Disks(rules, Bounds()).free)
    chains = []
    for index, move in enumerate(plan.moves):
        size = rules.mib.get((move.topic, move.partition), 0) * 2**20
        chains.append(
            [
                CopyStep(
                    index,
                    step,
                    tuple(b for b in set(after) - set(before) if b in free),
                    tuple(b for b in set(before) - set(after) if b in free),
                    size,
                    size,
                    heals=move.urgency == 0,
                )
                for step, (before, after) in enumerate(pairwise(move.path), 1)
            ]
        )
    return chains, free
