"""Whether the brokers have applied the throttles of a run, as far as that can be told."""

from collections.abc import Collection

from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import Run, RunDocument
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.reconcile.context import PassContext

SETTLE_MS = 5_000
"""The time in which brokers apply a throttle, for brokers that cannot be asked."""
LISTS_SETTLE_MS = 1_000
"""The time in which brokers that have applied the rate have applied the lists of topics as well.

They handle both by notifications, in their order, within a tenth of a second.
"""
DENIED_MS = 30_000
"""The time after which a stage starts although a broker says that it has not applied the rate."""


@frozen
class Settling:
    """Whether the throttles count as applied, and the brokers that say that theirs are not."""

    done: bool
    unsettled: tuple[int, ...] = ()


def settling_of(
    context: PassContext, run: Run, document: RunDocument, foreign: Collection[int]
) -> Settling:
    """Return whether the brokers have applied the throttles, as far as that can be told.

    Each live broker is asked for its rate; `foreign` ones do not have ours. A broker cannot be
    asked for the lists of topics: in ZooKeeper mode it answers from ZooKeeper. So the stage waits
    `LISTS_SETTLE_MS` for them, `SETTLE_MS` for a rate that a broker does not show, and `DENIED_MS`
    for one that a broker says it has not applied.
    """
    age_ms = context.now_ms() - run.throttled_ms
    if context.brokers is None:
        return Settling(age_ms >= SETTLE_MS)
    ours = document.saved.brokers.keys() - set(foreign)
    try:
        asked = sorted(ours & set(context.brokers.ids()))
    except Unavailable:
        return Settling(age_ms >= SETTLE_MS)
    answers: dict[int, bool | None] = {}
    keys = {broker: tuple(document.saved.brokers[broker]) for broker in asked}
    for alike in sorted(set(keys.values())):
        same = [broker for broker in asked if keys[broker] == alike]
        expected = throttles.rates(run.rates[0], alike)
        answers |= context.brokers.throttles_settled(same, expected)
    denying = tuple(broker for broker, answer in answers.items() if answer is False)
    if denying:
        return Settling(age_ms >= DENIED_MS, denying)
    known = all(answers.values())
    return Settling(age_ms >= (LISTS_SETTLE_MS if known else SETTLE_MS))
