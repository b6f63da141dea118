"""Keeps configs from being written with which a broker would not start.

A plan is made by what is known then. Before its steps are written, they are judged again: by the
releases that the brokers may run now, and by the brokers themselves.
"""

from collections.abc import Sequence

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import CreateTopic, SetConfig, Step
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints.topic_configs import (
    ConfigRules,
    config_after,
    live_config,
)
from poolkeeper.reconcile import config_checks
from poolkeeper.reconcile.context import PassContext


def judge_steps(
    context: PassContext, desired: Desired, cluster: Cluster, steps: Sequence[Step]
) -> tuple[tuple[Step, ...], tuple[Wait, ...]]:
    """Return the steps that may be written now, and a wait for each that is refused.

    Of many configs brokers are asked about the first alone; the others are left to the next pass.
    """
    rules = ConfigRules.of(desired, cluster)
    waits: dict[str, Wait] = {}
    asked: list[CreateTopic | SetConfig] = []
    for step in steps:
        if not isinstance(step, CreateTopic | SetConfig):
            continue
        after, live = config_after(step, cluster), live_config(step.topic, cluster)
        refusal = rules.refusal(step.topic, after, live)
        if refusal is None:
            asked.append(step)
        else:
            waits[step.topic] = _refused(step.topic, str(refusal))
    allowed: set[str] = set()
    checks = config_checks.checks_of(asked, cluster)
    most = config_checks.most_in_a_pass(context, checks)
    while checks and not allowed:
        some, checks = checks[:most], checks[most:]
        words = config_checks.refusals(context, some)
        allowed = {each.topic for each in some} - words.keys()
        waits |= {topic: _refused(topic, said) for topic, said in words.items()}
    due = tuple(
        step
        for step in steps
        if not isinstance(step, CreateTopic | SetConfig) or step.topic in allowed
    )
    return due, tuple(waits.values())


def _refused(topic: str, words: str) -> Wait:
    return Wait(WaitReason.CONFIG_REFUSED, topic=topic, detail=words)
