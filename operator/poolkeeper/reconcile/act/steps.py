"""Writes steps of a plan that are no moves: topics, partitions, configs, elections, deletions."""

from collections.abc import Iterable, Iterator, Sequence

from poolkeeper.errors import Forbidden, Refused, Stale, TooLarge, WhyUnwritten
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind, Deletion
from poolkeeper.model.execution.outcomes import Result
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    SetConfig,
    Step,
)
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.problem.topic_rights import namespaces_of_doomed
from poolkeeper.planning.run_state.deletions import with_asked
from poolkeeper.reconcile.act import (
    unwritable_configs,
)
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.steps import WriteSteps, action_of, records_for
from poolkeeper.reconcile.observe.observation import Observation

TOGETHER_MAX = 100
"""Creations and configs that are sent without waiting for each other's answers."""


def write_steps(
    context: PassContext,
    desired: Desired,
    observed: Observation,
    decision: WriteSteps,
    *,
    by_person: bool = False,
) -> Result:
    """Write steps, each in its own transaction.

    A step that cannot be written keeps no other from being written. Of a person's plan all have to
    be, and the error is raised, but for a topic's nodes that we may not write or that are too
    large: that is remembered, and told in the end. A config that is refused is left out of both.
    """
    due, refused = unwritable_configs.judge_steps(
        context, desired, observed.cluster, decision.steps
    )
    did: list[Action] = []
    waits = [*decision.waits, *(() if by_person else refused)]
    for together in _together(due, 1 if by_person else TOGETHER_MAX):
        errors = _write_together(context, desired, observed, together)
        for step, error in zip(together, errors, strict=True):
            if error is None:
                did.append(action_of(step))
            elif by_person:
                left = _left_of_topic(step, error)
                if left is None:
                    raise error
                context.memory.unwritten[left.topic] = left
            elif isinstance(error, TooLarge) and isinstance(step, _OfTopic):
                size, most = error.bytes, error.bytes_max
                waits.append(
                    Wait(WaitReason.TOPIC_TOO_LARGE, topic=step.topic, count=size, of=most)
                )
            else:
                waits.append(after_error(error))
    return Result(tuple(did), tuple(waits))


_OfTopic = CreateTopic | AddPartitions | SetConfig
"""Steps that write the nodes of one topic."""


def _left_of_topic(step: Step, error: WhyUnwritten) -> Action | None:
    """Return what is told of a step whose topic's own nodes cannot be written; None of others."""
    if isinstance(step, _OfTopic) and isinstance(error, TooLarge):
        size, most = error.bytes, error.bytes_max
        return Action(ActionKind.TOPIC_TOO_LARGE, topic=step.topic, count=size, of=most)
    if (
        isinstance(step, AddPartitions | SetConfig)
        and isinstance(error, Forbidden)
        and error.path.endswith(f"/{step.topic}")
    ):
        return Action(ActionKind.STEP_NOT_ALLOWED, topic=step.topic)
    return None


def _together(due: Iterable[Step], most: int) -> Iterator[list[Step]]:
    """Yield the steps in their order, in lists of those whose writes are sent together."""
    together: list[Step] = []
    for step in due:
        is_of_topic = isinstance(step, CreateTopic | SetConfig)
        if together and (not is_of_topic or len(together) == most):
            yield together
            together = []
        if is_of_topic:
            together.append(step)
        else:
            yield [step]
    if together:
        yield together


def _write_together(
    context: PassContext, desired: Desired, observed: Observation, together: Sequence[Step]
) -> Sequence[WhyUnwritten | None]:
    """Write a list of `_together`; return of each step why it was not written, or None."""
    of_topics = [each for each in together if isinstance(each, CreateTopic | SetConfig)]
    if of_topics:
        records = records_for(desired, observed, of_topics)
        return context.access.write_topics(list(zip(of_topics, records, strict=True)))
    try:
        _write_step(context, observed.cluster, desired, together[0])
    except (Refused, Stale, Forbidden) as error:
        return [error]
    return [None]


def _write_step(context: PassContext, cluster: Cluster, desired: Desired, step: Step) -> None:
    access, memory = context.access, context.memory
    match step:
        case AddPartitions():
            access.add_partitions(step)
        case DeleteTopic():
            access.delete_topic(step, cluster)
            namespace = namespaces_of_doomed(desired).get(step.topic, "")
            now_ms, created = context.now_ms(), cluster.topics[step.topic].created_zxid
            memory.deletions.append(Deletion(now_ms, namespace))
            memory.asked_deletions = with_asked(memory.asked_deletions, step.topic, created, now_ms)
        case ElectLeaders():
            partitions = tuple(TopicPartition(*each) for each in step.partitions)
            memory.elections.update(partitions)
            access.request_election(partitions)
        case _:
            raise Refused(f"{type(step).__name__} is no step that is written by itself")
