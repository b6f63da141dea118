"""The inputs of all statuses of one cluster: topic owners, progress, planned work.

A `StatusInputs` depends only on the resources and the observation, and may be reused while both are
unchanged. `PlannedWork` is the outcome of one pass, by topic.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from poolkeeper.algorithms.names import metric_name
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution import wait_reasons, waits
from poolkeeper.model.execution.outcomes import LastObservation, Outcome
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import ElectLeaders, Move, Plan, PlanProblem, Step, Urgency
from poolkeeper.model.problems import ProblemReason, awaits_next_plan
from poolkeeper.model.specs import ApprovalPolicy, Mode, TopicSpec
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.diagnosis.health import ClusterHealth, cluster_health
from poolkeeper.planning.parts.choose import is_free
from poolkeeper.planning.problem.adoption_requests import AdoptionRequest, adoption_requests
from poolkeeper.planning.problem.topic_ownership import (
    TopicOwners,
    topic_owners,
    without_unfollowed,
)
from poolkeeper.planning.problem.topic_rights import TopicsFound
from poolkeeper.planning.run_state.progress.convergence import Standings, standings
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import topic
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.plan_fields import PlanApproval

_PASSING = frozenset(
    {
        ProblemReason.LEFT_OUT,
        ProblemReason.UNTOUCHED,
        ProblemReason.AWAITS_KAFKA,
        ProblemReason.CONFIG_KEY_UNKNOWN_TO_SOME,
    }
)
"""Problems that nobody needs to mend, beside those that only await the next plan.

Why a topic is untouched is another problem, which is looked at by itself.
"""


@frozen
class StatusInputs:
    """An assembly compared with an observation; `observation` is None without an observation.

    `claimants`: the owners of all Topics that name a Kafka topic, rightly or not, except Topics
    that are being deleted; sorted, each once. `topics_of_pool`: the Topics that each pool is kept
    for. `topic_of_metric_name`: the existing Kafka topic by the name that it has in Kafka's
    metrics.
    `health`: what is wrong although it may be as declared.
    `adoptions`: what Topics ask to take over, and nobody has approved; `adoption_of` by namespace
    and topic. `stalled_pools`: the ResourcePools that a person must see to, for the status of the
    KafkaCluster.
    """

    assembly: Assembly
    desired: Desired | None
    observation: LastObservation | None
    standings: Standings = field(default_factory=Standings)
    owners: TopicOwners = field(default_factory=lambda: TopicOwners({}, frozenset()))
    claimants: Mapping[str, Sequence[str]] = field(default_factory=dict)
    topics_of_pool: Mapping[str, Sequence[str]] = field(default_factory=dict)
    topic_of_metric_name: Mapping[str, str] = field(default_factory=dict)
    health: ClusterHealth = field(default_factory=ClusterHealth)
    adoptions: tuple[AdoptionRequest, ...] = ()
    adoption_of: Mapping[tuple[str, str], AdoptionRequest] = field(default_factory=dict)
    stalled_pools: tuple[str, ...] = ()

    @property
    def found(self) -> TopicsFound:
        """What decides on the rights to topics; only with an observation."""
        assert self.observation is not None
        return TopicsFound(self.observation.cluster, self.observation.records)


def status_inputs_of(assembly: Assembly, observation: LastObservation | None) -> StatusInputs:
    """Compare the declared state with the observation."""
    users = _grouped(
        (each.refers, f"{key.namespace}/{key.name}")
        for key, each in assembly.objects.items()
        if key.kind == topic.KIND and _needs_its_pool(assembly, each)
    )
    desired = assembly.desired
    if desired is None or observation is None:
        return StatusInputs(assembly, desired, observation, topics_of_pool=users)
    cluster, records = observation.cluster, observation.records
    owners = topic_owners(desired, records, cluster)
    wanted = without_unfollowed(desired, owners)
    found = standings(wanted, observation.cluster, observation.records, observation.gone)
    adoptions = adoption_requests(desired, cluster, records, owners)
    return StatusInputs(
        assembly,
        wanted,
        observation,
        found,
        owners,
        _grouped({*((each.topic, each.owner) for each in desired.topics), *desired.held}),
        users,
        {metric_name(name): name for name in sorted(cluster.topics)},
        cluster_health(wanted, cluster, found.homes),
        adoptions,
        {(each.namespace, asked.topic): each for each in adoptions for asked in each.topics},
    )


def _needs_its_pool(assembly: Assembly, resource: CustomResource) -> bool:
    """Whether a pool is kept for a Topic that names it.

    It is not for one that it does not admit, unless that has its Kafka topic there: whoever may
    create Topics somewhere would keep a pool from being deleted.
    """
    lives_there = (resource.status or {}).get("pool") == resource.refers
    return lives_there or resource.key not in assembly.not_admitted


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in sorted(pairs):
        found.setdefault(name, []).append(value)
    return found


@dataclass(slots=True)
class TopicWork:
    """What a plan does to one topic, or its moves to all topics of a pool.

    `arrived` counts the moves that are done. `targets`: the brokers that replicas move to.
    `waits`: what moves of the run wait for, with partitions of this topic or pool alone.
    """

    moves: int = 0
    arrived: int = 0
    bytes: int = 0
    bytes_arrived: int = 0
    needed: int = 0
    steps: list[Step] = field(default_factory=list)
    problems: list[PlanProblem] = field(default_factory=list)
    targets: set[int] = field(default_factory=set)
    waits: list[Wait] = field(default_factory=list)


@dataclass(slots=True)
class PlannedWork:
    """The work of the run under way (`run_work`) and of the latest plan (`plan_work`), by topic.

    `run_of_pools`, `plan_of_pools`: the same by pool that the topics are, or will be, in.
    `pools_behind`: those with topics of the run that are not where they are declared, as last seen.
    `planned`: whether the pass came to a plan of what is declared. `delay`: what the pass waits
    for, as a text that thousands of Topics share.
    `leaving`: the partitions still to leave each broker. `waiting`: the plan needs a person's
    approval and does not have it; under `auto` only many deletions at once need it. `needed`: the
    plan does more than balance and elections.
    """

    mode: Mode
    leaving: Mapping[int, int] = field(default_factory=dict)
    run_work: dict[str, TopicWork] = field(default_factory=dict)
    plan_work: dict[str, TopicWork] = field(default_factory=dict)
    run_of_pools: dict[str, TopicWork] = field(default_factory=dict)
    plan_of_pools: dict[str, TopicWork] = field(default_factory=dict)
    pools_behind: frozenset[str] = frozenset()
    planned: bool = False
    delay: str = ""
    plan: Plan | None = None
    approval: PlanApproval = PlanApproval.NOT_NEEDED
    auto: bool = False
    needed: bool = False

    @property
    def waiting(self) -> bool:
        """Whether moves and destructive steps wait for a person's approval."""
        return self.approval is PlanApproval.WAITING and self.mode is not Mode.PLAN_ONLY


def planned_work(
    desired: Desired, outcome: Outcome, standing: Standings, delay: str
) -> PlannedWork:
    """The work of the run and of the plan of one pass, by topic and by pool."""
    homes = standing.homes
    running = outcome.progress is not None
    latest = outcome.fresh if running else outcome.plan
    work = PlannedWork(desired.cluster.mode, plan=outcome.plan, delay=delay)
    work.planned = latest is not None
    work.auto = desired.cluster.approval.policy is ApprovalPolicy.AUTO
    if outcome.plan is not None:
        work.approval = _approval(desired, outcome, outcome.plan, running=running)
    if outcome.plan is not None and outcome.progress is not None:
        work.run_work = _work_of_run(outcome.plan, outcome.progress.arrived)
        work.run_of_pools = _by_pool(work.run_work, homes)
        work.pools_behind = frozenset(
            homes[name]
            for name in work.run_work
            if name in homes and name in standing.topics and standing.topics[name].misplaced
        )
        blocking = [*filter(waits.blocks, outcome.waits)]
        _add_waits(work.run_work, blocking, {name: name for name in work.run_work})
        _add_waits(work.run_of_pools, blocking, homes)
    work.plan_work = _work_of_plan(latest, outcome.problems)
    work.plan_of_pools = _by_pool(work.plan_work, homes)
    work.leaving = _leaving(outcome, latest)
    work.needed = any(each.needed or each.steps for each in work.plan_work.values())
    return work


def _work_of_run(plan: Plan, arrived: Collection[int]) -> dict[str, TopicWork]:
    """The moves of a run by topic; `arrived` are the positions of the moves that are done."""
    found: dict[str, TopicWork] = {}
    for index, move in enumerate(plan.moves):
        _count(found.setdefault(move.topic, TopicWork()), move, done=index in arrived)
    return found


def _by_pool(work: Mapping[str, TopicWork], homes: Mapping[str, str]) -> dict[str, TopicWork]:
    """The moves of all topics of each pool."""
    found: dict[str, TopicWork] = {}
    for name, each in work.items():
        if name in homes:
            of_pool = found.setdefault(homes[name], TopicWork())
            of_pool.moves += each.moves
            of_pool.arrived += each.arrived
            of_pool.needed += each.needed
    return found


def _add_waits(
    work: Mapping[str, TopicWork], found: Iterable[Wait], names: Mapping[str, str]
) -> None:
    """Give each work what its moves wait for; `names`: whose work a topic belongs to."""
    for wait in found:
        own: dict[str, list[TopicPartition]] = {}
        for partition in wait.partitions:
            if (name := names.get(partition.topic)) is not None:
                own.setdefault(name, []).append(partition)
        for name in own.keys() & work.keys():
            work[name].waits.append(replace(wait, partitions=tuple(own[name])))


def _work_of_plan(plan: Plan | None, problems: Iterable[PlanProblem]) -> dict[str, TopicWork]:
    """The steps, moves and problems of a plan, by topic."""
    found: dict[str, TopicWork] = {}
    for move in plan.moves if plan else ():
        _count(found.setdefault(move.topic, TopicWork()), move, done=False)
    for step in plan.steps if plan else ():
        if not isinstance(step, ElectLeaders):
            found.setdefault(step.topic, TopicWork()).steps.append(step)
    for problem in problems:
        if problem.topic:
            found.setdefault(problem.topic, TopicWork()).problems.append(problem)
    return found


def _leaving(outcome: Outcome, latest: Plan | None) -> Counter[int]:
    arrived = outcome.progress.arrived if outcome.progress else frozenset()
    ahead = {(m.topic, m.partition): m for m in (latest.moves if latest else ())}
    if outcome.progress and outcome.plan:
        under_way = (m for n, m in enumerate(outcome.plan.moves) if n not in arrived)
        ahead.update(((m.topic, m.partition), m) for m in under_way)
    found: Counter[int] = Counter()
    for move in ahead.values():
        found.update(set(move.source) - set(move.target))
    return found


def _count(work: TopicWork, move: Move, *, done: bool) -> None:
    work.moves += 1
    work.bytes += move.bytes
    work.needed += move.urgency < Urgency.BALANCE
    work.targets.update(set(move.target) - set(move.source))
    if done:
        work.arrived += 1
        work.bytes_arrived += move.bytes


def _approval(desired: Desired, outcome: Outcome, plan: Plan, *, running: bool) -> PlanApproval:
    """Whether the plan has the approval that it needs."""
    approval = desired.cluster.approval
    asks = bool(plan.moves) or not all(map(is_free, plan.steps))
    if approval.policy is ApprovalPolicy.AUTO:
        # Many deletions wait for a person even under Auto.
        asks = waits.has(outcome.waits, wait_reasons.WaitReason.APPROVAL_REQUIRED)
    if not asks:
        return PlanApproval.NOT_NEEDED
    by_person = bool(outcome.approved_by) and approval.policy is ApprovalPolicy.MANUAL
    given = running or by_person or plan.hash in approval.plans
    return PlanApproval.APPROVED if given else PlanApproval.WAITING


def blocking_problem(problems: list[PlanProblem]) -> PlanProblem | None:
    """The problem that a person must fix, quota problems first; None without one."""
    real = [
        problem
        for problem in problems
        if problem.reason not in _PASSING and not awaits_next_plan(problem.reason)
    ]
    return min(real, key=lambda problem: (problem.law != "quotas", problem.message), default=None)


def is_owned(inputs: StatusInputs, spec: TopicSpec) -> bool:
    """Whether the Kafka topic exists, is recorded as this Topic's, and no other may have it."""
    if inputs.observation is None or inputs.desired is None:
        return False
    record = inputs.found.record_of(spec.topic)
    owned = record is not None and record.owner == spec.owner
    others = spec.topic in inputs.owners.specs or spec.topic in inputs.owners.held
    return inputs.found.exists(spec.topic) and owned and not others
