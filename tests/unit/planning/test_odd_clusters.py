"""Plans and forecasts of odd clusters come to an end, and are lawful."""

import pytest

from odd_clusters import odd_cluster
from poolkeeper.model.execution.records import Records
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.staging import next_stage


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_odd_clusters_have_lawful_plans_and_stages(seed: int) -> None:
    check(seed, 60, brokers=(3, 6, 10, 20))


def check(seed: int, partitions: int, brokers: tuple[int, ...]) -> None:
    wanted, seen = odd_cluster(seed, partitions, brokers)
    plan = make_plan(wanted, seen)
    assert check_plan(plan, wanted, seen, Records(), frozenset()) == ()
    forecast = next_stage.predict(plan, seen, wanted)
    done = sum(len(stage.moves) for stage in forecast.stages)
    steps = sum(len(move.path) - 1 for move in plan.moves)
    assert (done == steps) is (forecast.halt is None)
