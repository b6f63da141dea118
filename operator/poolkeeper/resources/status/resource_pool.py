"""The status of a ResourcePool: its topics, brokers being drained, and limits exceeded."""

from typing import Any

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Mode, ResourcePoolSpec
from poolkeeper.planning.facts.balance import BalanceHeld
from poolkeeper.planning.run_state.progress.convergence import PoolStanding
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.cluster_conditions import run_delay
from poolkeeper.resources.status.conditions import (
    ReadyCondition,
    ReadyStatus,
    conditions,
    ready_before,
)
from poolkeeper.resources.status.health import in_place_condition
from poolkeeper.resources.status.status_inputs import (
    PlannedWork,
    StatusInputs,
    TopicWork,
)
from poolkeeper.resources.status.wording import coarse, count, few, foreign_finalizers_phrase

STEPS = 20
_NOTHING = TopicWork()
_APPLY = "set spec.mode to Apply to go on"
_FACTS = (
    *("brokers", "brokersUp", "topics", "partitions", "replicas"),
    *("drained", "drains", "draining", "quota"),
)


def pool_status(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    now_ms: int,
) -> dict[str, Any]:
    """The whole status of a ResourcePool."""
    facts = {
        name: (resource.status or {})[name] for name in _FACTS if name in (resource.status or {})
    }
    spec = resource.spec
    standing = inputs.standings.pools.get(resource.name)
    changing = standing is not None and standing.changing
    if isinstance(spec, ResourcePoolSpec) and standing is not None and not (changing and facts):
        facts = _facts(spec, standing)
    if inputs.assembly.cluster is None:
        facts = {}  # who waits for a drained broker must not be told of another cluster's
    condition = _ready_condition(inputs, work, outcome, resource, standing)
    return {
        "observedGeneration": resource.generation,
        **facts,
        "conditions": conditions(condition, resource.generation, resource.status, now_ms),
    }


def _facts(spec: ResourcePoolSpec, standing: PoolStanding) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "brokers": len(standing.live),
        "brokersUp": f"{len(standing.live)}/{len(spec.brokers)}",
        "topics": standing.topics,
        "partitions": standing.partitions,
        "replicas": standing.replicas,
    }
    if standing.drained:
        facts["drained"] = list(standing.drained)
    if standing.draining:
        facts["drains"] = few(list(map(str, standing.draining)))
        facts["draining"] = [
            {"broker": broker, "replicas": left} for broker, left in standing.draining.items()
        ]
    if spec.quotas is not None:
        bounds = {"topicsMax": spec.quotas.topics, "partitionsMax": spec.quotas.partitions}
        facts["quota"] = {
            "topics": standing.topics,
            "partitions": standing.partitions,
            **{name: bound for name, bound in bounds.items() if bound is not None},
        }
    return facts


def _ready_condition(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    standing: PoolStanding | None,
) -> ReadyCondition:
    verdict = inputs.assembly.verdicts.get(resource.key)
    if resource.deleting:
        named = inputs.topics_of_pool.get(resource.name)
        waits = (
            f"kept while Topics name it: {few(named)}" if named else "no Topic needs it any more"
        )
        message = f"{waits}{foreign_finalizers_phrase(resource.keepers)}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Deleting", message)
    if verdict is not None:
        return ReadyCondition(ReadyStatus.STALLED, verdict.reason, verdict.message)
    hold = inputs.assembly.hold
    if hold:
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", f"nothing is done: {hold}")
    name = f"KafkaCluster {inputs.assembly.name}"
    if standing is None or work is None:
        if outcome.error is None:
            return ReadyCondition(
                ReadyStatus.UNKNOWN, "Waiting", f"{name} has not been observed yet"
            )
        message = f"{name} cannot be read; see its status"
        return ReadyCondition(ReadyStatus.UNKNOWN, "Unreachable", message)
    found = _progress_condition(inputs, work, outcome, resource.name, standing)
    is_even_unknown = any(map(_awaits_reading, _pool_problems(outcome, resource.name)))
    if standing.changing or (found.status is ReadyStatus.READY and is_even_unknown):
        message = "topics change while they are being read"
        waiting = ReadyCondition(ReadyStatus.RECONCILING, "Waiting", message)
        return ready_before(resource.status, resource.generation) or waiting
    return found


def _progress_condition(
    inputs: StatusInputs, work: PlannedWork, outcome: Outcome, pool: str, standing: PoolStanding
) -> ReadyCondition:
    running = work.run_of_pools.get(pool, _NOTHING)
    planned = work.plan_of_pools.get(pool, _NOTHING)
    emptying = [f"broker {b} holds {count(n, 'replica')}" for b, n in standing.draining.items()]
    if running.needed and (running.arrived < running.moves or pool in work.pools_behind):
        done = coarse(running.arrived, running.moves, STEPS)
        message = f"moving: {done} of {count(running.moves, 'partition')}"
        why = run_delay(outcome, running.waits)
        said = [message, *emptying, *([why] if why else ())]
        return ReadyCondition(ReadyStatus.RECONCILING, "Moving", "; ".join(said))
    unplanned = 0 if work.planned else standing.misplaced
    if not emptying and not planned.needed and not unplanned:
        of_pool = (p for p in _pool_problems(outcome, pool) if not _awaits_reading(p))
        problems = [*inputs.health.pools.get(pool, ()), *of_pool]
        return in_place_condition(["in place"], problems)
    what = "; ".join(emptying) or f"{count(planned.needed or unplanned, 'partition')} to move"
    leaving = any(work.leaving.get(broker) for broker in standing.draining)
    paused = work.mode in (Mode.PAUSED, Mode.ROLL_BACK)
    if work.planned and not (paused or leaving or planned.needed):
        return ReadyCondition(
            ReadyStatus.STALLED, "Impossible", _drain_problem(outcome, pool, standing)
        )
    cluster = f"KafkaCluster {inputs.assembly.name}"
    return _pending_condition(work, outcome, cluster, what, leaving=leaving)


def _pending_condition(
    work: PlannedWork, outcome: Outcome, cluster: str, what: str, *, leaving: bool
) -> ReadyCondition:
    """The condition for the work left, `what`, and what it waits for."""
    if work.mode in (Mode.PAUSED, Mode.ROLL_BACK):
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Paused", f"{cluster} is in mode {work.mode}; {what}; {_APPLY}"
        )
    if work.mode is Mode.PLAN_ONLY:
        message = f"{cluster} is in mode PlanOnly; {what}; {_APPLY}"
        return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", message)
    if work.waiting and work.plan is not None:
        message = f"approve plan {work.plan.hash} in {cluster}; {what}"
        return ReadyCondition(ReadyStatus.RECONCILING, "WaitingForApproval", message)
    if outcome.progress is not None:
        reason = "Moving" if leaving else "Queued"
        return ReadyCondition(ReadyStatus.RECONCILING, reason, f"{what}; a run is under way")
    why = f": {work.delay}" if outcome.waits else ""
    return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", f"{what}{why}")


def _drain_problem(outcome: Outcome, pool: str, standing: PoolStanding) -> str:
    left = {name for names in standing.left.values() for name in names}
    found = [
        problem
        for problem in outcome.problems
        if problem.topic in left or (problem.pool == pool and problem.law == "drained")
    ]
    said = [_problem_text(problem) for problem in found]
    if [problem.reason for problem in found] == [ProblemReason.BROKER_NOT_EMPTIED]:
        return said[0]  # it names the brokers and what they keep
    drained = [
        f"broker {broker} keeps {count(replicas, 'replica')} ({few(standing.left[broker])})"
        for broker, replicas in standing.draining.items()
    ]
    return f"{'; '.join(drained)}: {few(said, 3)}" if said else "; ".join(drained)


def _pool_problems(outcome: Outcome, pool: str) -> list[PlanProblem]:
    """Rules and goals that the pool as a whole does not meet."""
    return [p for p in outcome.problems if p.pool == pool and not p.topic]


def _awaits_reading(problem: PlanProblem) -> bool:
    """Whether the next reading tells if the pool is even: topics changed during this one."""
    return isinstance(problem.facts, BalanceHeld) and problem.facts.changing


def _problem_text(problem: PlanProblem) -> str:
    return f"{problem.topic}: {problem.message}" if problem.topic else problem.message
