"""What a document of a plan tells beside what is done: its stages, how long they take, troubles."""

from dataclasses import replace

from poolkeeper import wording
from poolkeeper.model.plans import Plan, PlanProblem
from poolkeeper.planning.diagnosis import health
from poolkeeper.planning.facts.pools import Standstill
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.planning.staging import next_stage


def with_prediction(plan: Plan, at: Circumstances) -> Plan:
    """Add all predicted stages; where they stop before the last move, a problem says why."""
    stages, makespan, halt = next_stage.predict(
        plan, at.cluster, at.desired, records=at.records, gone=at.gone
    )
    waiting = () if halt is None else (PlanProblem("", "", Standstill(wording.sentence(halt))),)
    return replace(plan, stages=stages, makespan=makespan, problems=(*plan.problems, *waiting))


def with_troubles(plan: Plan, at: Circumstances) -> Plan:
    """Add what is wrong with the cluster although it may be as declared."""
    troubles = health.problems(at.desired, at.cluster, at.records)
    return replace(plan, problems=(*plan.problems, *troubles))
