"""Asks the brokers about topic configs before they are written, and remembers what they refuse.

A config that they refuse is left out of the next plan, with their words as the problem of its
topic. So it is asked about once, and again after `ASK_AGAIN_MS`: policies and defaults change.
Where no broker answers, the table of keys decides alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import CreateTopic, Plan, SetConfig, Step
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topology import Cluster, RefusedConfig
from poolkeeper.planning.constraints.topic_configs import config_after
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.pass_memory import KnownRefusal

if TYPE_CHECKING:
    from poolkeeper.brokers.requests import BrokerClient

ASKED_MAX = 200
"""How many configs brokers are asked about in one pass; others are written by later passes."""
DEADLINE_S = 10.0
ASK_AGAIN_MS = 600_000
SILENCE_MS = 60_000
"""How long brokers are not asked again that did not answer."""


def checks_of(steps: Iterable[Step], cluster: Cluster) -> list[ConfigCheck]:
    """Return the questions of the steps that write configs."""
    return [
        ConfigCheck(
            step.topic,
            config_after(step, cluster),
            step.replicas if isinstance(step, CreateTopic) else None,
        )
        for step in steps
        if isinstance(step, CreateTopic | SetConfig)
    ]


def refused_of_plan(
    brokers: "BrokerClient", plan: Plan, cluster: Cluster
) -> dict[str, RefusedConfig]:
    """Return the configs of a plan that the brokers refuse; none where they do not answer."""
    found: dict[str, RefusedConfig] = {}
    checks = checks_of(plan.steps, cluster)
    try:
        for first in range(0, len(checks), ASKED_MAX):
            some = checks[first : first + ASKED_MAX]
            refused = brokers.refused_configs(some, DEADLINE_S)
            found |= {
                each.topic: RefusedConfig(each.config, refused[each.topic])
                for each in some
                if each.topic in refused
            }
    except Unavailable:
        pass
    return found


def with_refusals(context: PassContext, desired: Desired, observed: Observation) -> Observation:
    """Add to an observation the configs that the brokers refused and that are still declared.

    What they refused long ago is asked about again.
    """
    memory, now_ms = context.memory.configs, context.now_ms()
    declared = {spec.topic for spec in desired.topics}
    memory.refused = {name: each for name, each in memory.refused.items() if name in declared}
    old = [each for each in memory.refused.values() if now_ms - each.asked_ms >= ASK_AGAIN_MS]
    for each in old[:ASKED_MAX]:
        del memory.refused[each.check.topic]
    ask(context, [each.check for each in old[:ASKED_MAX]])
    if not memory.refused:
        return observed
    refused = {n: RefusedConfig(k.check.config, k.words) for n, k in memory.refused.items()}
    return replace(observed, cluster=replace(observed.cluster, refused_configs=refused))


def refusals(context: PassContext, checks: Sequence[ConfigCheck]) -> dict[str, str]:
    """Return the brokers' words by topic for each config that they refuse, asking where needed."""
    known = context.memory.configs.refused
    new = [each for each in checks if each.topic not in known or known[each.topic].check != each]
    for each in new:
        known.pop(each.topic, None)
    ask(context, new)
    return {each.topic: known[each.topic].words for each in checks if each.topic in known}


def most_in_a_pass(context: PassContext, checks: Sequence[ConfigCheck]) -> int:
    """Return of how many configs a pass finds out whether they are refused: all if nobody can say.

    At least one.
    """
    return ASKED_MAX if _can_ask(context) else max(1, len(checks))


def _can_ask(context: PassContext) -> bool:
    return (
        context.brokers is not None and context.now_ms() >= context.memory.configs.silent_until_ms
    )


def ask(context: PassContext, checks: Sequence[ConfigCheck]) -> None:
    """Ask the brokers, where they can be asked; remember what they refuse."""
    memory, now_ms = context.memory.configs, context.now_ms()
    if context.brokers is None or not checks or not _can_ask(context):
        return
    try:
        refused = context.brokers.refused_configs(checks, DEADLINE_S)
    except Unavailable:
        memory.silent_until_ms = now_ms + SILENCE_MS
        return
    for check in checks:
        if check.topic in refused:
            memory.refused[check.topic] = KnownRefusal(check, refused[check.topic], now_ms)
