"""The laws of stages on thousands of random clusters and plans, other ones in every run.

They end with the plan, unless it puts more on a disk than is declared, as pools come before disks:
no stage copies what has no room.
"""

import pytest
from hypothesis import given, settings

from poolkeeper.model.plans import Plan
from poolkeeper.planning import stages
from poolkeeper.planning.audit_laws import excesses, live_state
from poolkeeper.planning.making import make_plan
from unit.planning.instances import instances
from unit.planning.test_making_laws import Instance
from unit.planning.test_stages_laws import advanced

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@settings(max_examples=2000, derandomize=False)
@given(instances())
def test_stages_of_real_plans_are_lawful_and_end(instance: Instance) -> None:
    desired, cluster, gone = instance
    plan: Plan = make_plan(desired, cluster, gone=gone)
    moves, at = plan.moves, [0] * len(plan.moves)
    for _ in range(sum(len(move.path) for move in moves) + 1):
        stage = stages.next_stage(moves, at, cluster, desired, gone=gone)
        if stage is None:
            break
        if isinstance(stage, stages.NothingFits):
            assert "high-water mark" in stage.reason
            final = {**live_state(cluster), **{(m.topic, m.partition): m.target for m in moves}}
            assert excesses(final, desired, cluster, gone).capacity > 0, stage.reason
            return
        before = live_state(cluster)
        after = stages.after_stage(before, moves, stage)
        stages.assert_lawful(before, after, desired, cluster, gone)
        cluster = advanced(cluster, after)
        for i, step in stage.entries:
            at[i] = step
    assert all(place == len(move.path) - 1 for place, move in zip(at, moves, strict=True))
