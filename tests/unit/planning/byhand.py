"""Plans for clusters that a person can check by hand: made, audited, and read."""

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import (
    Plan,
)
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import PlanOptions, make_plan
from unit.planning.instances import after

RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
COUNT_1 = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))


def lawful(
    wanted: Desired,
    seen: Cluster,
    records: Records = NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
    prune: bool = False,
) -> Plan:
    """The plan, after it was audited and found to be final."""
    plan = make_plan(wanted, seen, records, gone, PlanOptions(prune))
    assert check_plan(plan, wanted, seen, records, gone) == ()
    assert make_plan(wanted, after(plan, seen), records, gone, PlanOptions(prune)).moves == ()
    return plan


def paths(plan: Plan) -> dict[str, tuple[tuple[int, ...], ...]]:
    return {f"{move.topic}-{move.partition}": move.path for move in plan.moves}


def messages(plan: Plan) -> list[str]:
    return [f"{problem.topic}: {problem.message}" for problem in plan.problems]
