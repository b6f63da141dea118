"""The remarks about a Topic: each is a function from the Topic's situation to a remark or None.

`REMARKS` lists them in order, and the first that applies is used. A Kafka topic that is as declared
is Ready, also while balance moves a little of it: the message says so. Then come, in this order: a
declared pause, work under way, what a person must fix, what a person must approve, and what the
loop does next by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

from poolkeeper import wording
from poolkeeper.model.outcomes import Outcome
from poolkeeper.model.plans import AddPartitions, CreateTopic, SetConfig
from poolkeeper.model.specs import ApprovalPolicy, DeletionPolicy, Mode, TopicSpec
from poolkeeper.planning.problem.scope import metric_name
from poolkeeper.planning.proposals.identity import is_destructive
from poolkeeper.planning.run_state.convergence import TopicStanding
from poolkeeper.resources.kinds import resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.conditions import Mood, Remark, condition_of
from poolkeeper.resources.status.status_inputs import (
    PlannedWork,
    Survey,
    TopicWork,
    hindrance,
    owned,
)
from poolkeeper.resources.status.wording import about, coarse, coarse_seconds, count, few, size

STEPS = 20
"""The number of steps in which one topic's progress is reported."""

_NOTHING = TopicWork()
_APPLY = "set spec.mode to Apply to go on"


@dataclass(frozen=True, slots=True)
class Situation:
    """The inputs of every remark about one Topic."""

    survey: Survey
    work: PlannedWork
    outcome: Outcome
    each: CustomResource
    spec: TopicSpec
    standing: TopicStanding

    @property
    def run(self) -> TopicWork:
        """The work of the run under way on the topic."""
        return self.work.run.get(self.spec.topic, _NOTHING)

    @property
    def planned(self) -> TopicWork:
        """The work of the latest plan on the topic."""
        return self.work.planned.get(self.spec.topic, _NOTHING)

    @property
    def manual(self) -> bool:
        """Whether plans need a person's approval."""
        desired = self.survey.desired
        return desired is not None and desired.cluster.approval.policy is ApprovalPolicy.MANUAL

    @property
    def cluster(self) -> str:
        """The KafkaCluster as messages name it."""
        return f"KafkaCluster {self.survey.assembly.name}"

    @property
    def speaks(self) -> bool:
        """Whether this Topic is the one that the Kafka topic follows."""
        followed = self.survey.owners.specs.get(self.spec.topic)
        return followed is not None and followed.owner == self.spec.owner


def _deleting(at: Situation) -> Remark | None:
    if not at.each.deleting:
        return None
    message = "its Kafka topic is kept"
    if claimants := at.survey.claimants.get(at.spec.topic):
        message += f", as it is also named by {few(sorted(claimants))}"
    if at.spec.deletion_policy is DeletionPolicy.DELETE and owned(at.survey, at.spec):
        message = f"Kafka topic {at.spec.topic} is being deleted"
        keep = "set spec.deletionPolicy to Retain to delete this Topic and keep the data"
        if at.work.mode is not Mode.APPLY:
            message = f"{at.cluster} is in mode {at.work.mode}: nothing is deleted; {keep}"
        elif at.outcome.progress is not None:
            message = f"waits for the run under way to end; {keep}"
        elif at.work.waiting and at.work.plan:
            message = f"{_approve(at)} to delete Kafka topic {at.spec.topic}; {keep}"
        elif at.planned.problems:
            message = f"{at.planned.problems[0].message}; {keep}"
    return Remark(Mood.BUSY, "Deleting", message)


def _conflict(at: Situation) -> Remark | None:
    topic, found = at.spec.topic, at.survey
    if not at.speaks:
        assert found.seen is not None
        winner = found.owners.specs.get(topic)
        if winner is not None:
            holds = f"belongs to {winner.owner}, which declared it first"
        else:
            rivals = {*found.claimants.get(topic, ())} - {at.spec.owner}
            record = found.seen.records.topics.get(topic)
            # The recorded owner keeps its Kafka topic even if its spec cannot be read.
            others = few(sorted(rivals) or [record.owner if record else "another Topic"])
            holds = f"is {others}'s, too"
        message = f"Kafka topic {topic} {holds}; delete one of the Topics"
        return Remark(Mood.STALLED, "TopicConflict", message)
    twin = at.survey.namesakes.get(metric_name(topic), topic)
    if not at.standing.exists and twin != topic:
        message = f"Kafka cannot tell {topic} from topic {twin} in its metrics: choose another name"
        return Remark(Mood.STALLED, "TopicConflict", message)
    return None


def _torn(at: Situation) -> Remark | None:
    assert at.survey.seen is not None
    if at.spec.topic not in at.survey.seen.cluster.torn:
        return None
    before = condition_of(at.each.status, "Ready")
    if before.get("observedGeneration") == at.each.generation:
        mood = next(m for m in Mood if m.value[0] == before["status"])
        stalled = bool(condition_of(at.each.status, "Stalled"))
        return Remark(Mood.STALLED if stalled else mood, before["reason"], before["message"])
    return Remark(Mood.BUSY, "Waiting", "it changes while it is being read")


def _in_place(at: Situation) -> Remark | None:
    standing = at.standing
    if not standing.in_place:
        return None
    message = (
        f"in place in pool {standing.pool}: {count(standing.partitions, 'partition')}"
        f" of {count(standing.replication_factor, 'replica')}"
    )
    if at.spec.paused:
        message += "; paused"
    if at.run.moves > at.run.arrived:
        message += f"; {count(at.run.moves, 'partition')} move for balance"
    elif at.planned.moves:
        message += f"; {count(at.planned.moves, 'partition')} could move for balance"
    return Remark(Mood.DONE, "InPlace", message)


def _frozen(at: Situation) -> Remark | None:
    verdict = at.survey.assembly.verdicts.get(ObjectKey(resource_pool.KIND, "", at.spec.pool))
    if verdict is None:
        return None
    return Remark(Mood.BUSY, "Waiting", f"ResourcePool {at.spec.pool}: {verdict.message}")


def _paused(at: Situation) -> Remark | None:
    if at.spec.paused:
        message = (
            f"paused, and not as declared: {_differences(at)}; set spec.paused to false to go on"
        )
        return Remark(Mood.BUSY, "Paused", message)
    if at.work.mode in (Mode.PAUSED, Mode.ROLL_BACK):
        message = (
            f"{at.cluster} is in mode {at.work.mode}; left to do: {_differences(at)}; {_APPLY}"
        )
        return Remark(Mood.BUSY, "Paused", message)
    return None


def _in_run(at: Situation) -> Remark | None:
    run, standing = at.run, at.standing
    if not run.moves or not (run.arrived < run.moves or standing.misplaced):
        return None
    where = f"into pool {at.spec.pool}" if standing.outside else f"in pool {at.spec.pool}"
    done = coarse(run.arrived, run.moves, STEPS)
    parts = [f"moving {where}: {done} of {count(run.moves, 'partition')}"]
    left = run.bytes - coarse(run.bytes_arrived, run.bytes, STEPS)
    if left:
        parts.append(f"{size(left)} left")
    progress = at.outcome.progress
    if progress is not None and progress.seconds_left is not None:
        parts.append(about(coarse_seconds(progress.seconds_left)))
    return Remark(Mood.BUSY, "Moving", ", ".join(parts))


def _hindered(at: Situation) -> Remark | None:
    problem = hindrance(at.planned.problems)
    if problem is None or at.planned.steps or at.planned.moves:
        return None
    reason = "QuotaExceeded" if problem.law == "quotas" else "Impossible"
    return Remark(Mood.STALLED, reason, problem.message)


def _only_planned(at: Situation) -> Remark | None:
    if at.work.mode is not Mode.PLAN_ONLY:
        return None
    message = f"{at.cluster} is in mode PlanOnly; would {_differences(at)}; {_APPLY}"
    return Remark(Mood.BUSY, "PlanOnly", message)


def _unapproved(at: Situation) -> Remark | None:
    asks = at.planned.moves or any(map(is_destructive, at.planned.steps))
    if not at.work.waiting or not asks:
        return None
    return Remark(Mood.BUSY, "WaitingForApproval", f"{_approve(at)} to {_differences(at)}")


def _stepping(at: Situation) -> Remark | None:
    for step in at.planned.steps:
        if is_destructive(step) and at.outcome.progress is not None and at.manual:
            message = f"waits for the run under way to end; then: {_differences(at)}"
            return Remark(Mood.BUSY, "Queued", message)
        if isinstance(step, CreateTopic):
            message = f"creating {count(len(step.replicas), 'partition')} in pool {step.pool}"
            return Remark(Mood.BUSY, "Creating", message)
        if isinstance(step, AddPartitions):
            message = f"adding {count(len(step.replicas), 'partition')}"
            return Remark(Mood.BUSY, "Creating", message)
        if isinstance(step, SetConfig):
            return Remark(Mood.BUSY, "Configuring", f"setting {few(at.standing.differing)}")
    if at.standing.unled and not at.standing.misplaced:
        message = f"waiting for leaders of {count(at.standing.unled, 'partition')}"
        return Remark(Mood.BUSY, "Creating", message)
    return None


def _queued(at: Situation) -> Remark | None:
    if not at.planned.moves:
        return None
    if at.outcome.progress is not None:
        message = (
            f"waits for the run of {at.outcome.progress.plan} to end; then: {_differences(at)}"
        )
        return Remark(Mood.BUSY, "Queued", message)
    if at.outcome.waits:
        message = f"waits to {_differences(at)}: {few(wording.sentences(at.outcome.waits), 2)}"
        return Remark(Mood.BUSY, "Waiting", message)
    return Remark(Mood.BUSY, "Queued", f"about to {_differences(at)}")


def _otherwise(at: Situation) -> Remark:
    problems = [p.message for p in at.planned.problems]
    reasons = problems or wording.sentences(at.outcome.waits)
    message = f"waits to {_differences(at)}" + (f": {few(reasons, 2)}" if reasons else "")
    return Remark(Mood.BUSY, "Waiting", message)


def _approve(at: Situation) -> str:
    plan = at.work.plan.hash if at.work.plan else ""
    return f"approve plan {plan} in {at.cluster}"


def _differences(at: Situation) -> str:
    """What is left to do, in a few words."""
    standing = at.standing
    if not standing.exists:
        return _creation(at)
    parts = []
    if standing.missing > 0:
        parts.append(f"add {count(standing.missing, 'partition')}")
    if standing.missing < 0:
        parts.append(f"have {count(-standing.missing, 'partition')} fewer")
    if standing.misplaced:
        parts.append(_moves(at))
    if standing.differing:
        parts.append(f"set config {few(standing.differing)}")
    if standing.unled:
        parts.append(f"get leaders for {count(standing.unled, 'partition')}")
    return ", ".join(parts) or "be read again"


def _creation(at: Situation) -> str:
    created = next((s for s in at.planned.steps if isinstance(s, CreateTopic)), None)
    of = f" with {count(len(created.replicas), 'partition')}" if created else ""
    return f"create topic {at.spec.topic} in pool {at.spec.pool}{of}"


def _moves(at: Situation) -> str:
    standing, spec = at.standing, at.spec
    moves = at.planned.moves or max(
        standing.outside, standing.resized, standing.drained, standing.lost, standing.unpinned
    )
    where = f"into pool {spec.pool}" if standing.outside else f"in pool {spec.pool}"
    why = f" off drained brokers {where}" if standing.drained else f" {where}"
    factor = f" to {count(spec.replication_factor or 0, 'replica')}" if standing.resized else ""
    return f"move {count(moves, 'partition')}{why}{factor}"


REMARKS: tuple[Callable[[Situation], Remark | None], ...] = (
    _deleting,
    _conflict,
    _torn,
    _in_place,
    _frozen,
    _paused,
    _in_run,
    _hindered,
    _only_planned,
    _unapproved,
    _stepping,
    _queued,
    _otherwise,
)
