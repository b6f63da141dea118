"""The throttles that no run accounts for, told from live values and our records of them.

A run accounts for what is recorded under its plan. A run that an earlier release began may have no
such records, and accounts for all that it saved. Everything else that is throttled was left behind:
by a run of ours, if a record says so, otherwise by somebody else. An empty list throttles nothing.
A rate without a list throttles nothing either, but it is named: the next list makes it count.
"""

from collections.abc import Collection
from dataclasses import replace

from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.model.execution.runs import NOTHING_SAVED, Saved, ThrottleValues
from poolkeeper.model.execution.throttles import (
    LeftThrottles,
    RecordedThrottles,
    Throttled,
    ThrottleReading,
    is_value,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, damage_wait
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.throttling import throttles

DEFAULT_CONFIG = "/config/brokers/<default>"
"""Where the default of all brokers is."""


def find(
    cluster: Cluster,
    reading: ThrottleReading,
    running: Collection[str],
    saved: Saved = NOTHING_SAVED,
) -> LeftThrottles:
    """Return the throttles that no run accounts for; `running`: the plans of the run under way.

    There is none without a run, and for a run whose document is lost. `saved`: what that run saved.
    Topics are looked at as far as `cluster` knows their config.
    """
    every = (*reading.topics.values(), *reading.brokers.values())
    accounted = NOTHING_SAVED if any(each.record.plan in running for each in every) else saved
    topics = {
        name: each for name, each in reading.topics.items() if each.record.plan not in running
    }
    brokers = {
        id_: each for id_, each in reading.brokers.items() if each.record.plan not in running
    }
    ours = Throttled(
        tuple(sorted(name for name, each in topics.items() if _is_in_force(each))),
        tuple(sorted(id_ for id_, each in brokers.items() if _is_in_force(each))),
    )
    unused = {*topics, *brokers} - {*ours.topics, *ours.brokers}
    return LeftThrottles(
        ours=ours,
        recorded=Throttled(
            tuple(sorted(name for name, each in topics.items() if each.live is not None)),
            tuple(sorted(id_ for id_, each in brokers.items() if each.live is not None)),
        ),
        others=Throttled(
            tuple(
                topic.name
                for _, topic in sorted(cluster.topics.items())
                if any((topic.config or {}).get(key) for key in throttles.TOPIC_KEYS)
                and (topic.name not in reading.topics or topic.name in unused)
                and topic.name not in accounted.topics
            ),
            tuple(
                id_
                for id_, values in sorted(reading.broker_values.items())
                if _is_limited(values)
                and (id_ not in reading.brokers or id_ in unused)
                and id_ not in accounted.brokers
            ),
            _is_limited(reading.default_values),
        ),
        damaged=reading.damaged,
        damage=reading.damage,
        hidden=tuple(
            each.unreadable
            for each in (*topics.values(), *brokers.values())
            if each.unreadable is not None and each.unreadable.path not in reading.damaged
        ),
        migrating=cluster.controller.kraft,
    )


def _is_limited(values: ThrottleValues) -> bool:
    """Whether a broker's config, or the default of all, limits replication between brokers."""
    return any(value for key, value in values.items() if key != LOG_DIRS_RATE)


def changed_throttles(
    reading: ThrottleReading, running: Collection[str], damaged: Collection[str] = ()
) -> tuple[Wait, ...]:
    """Name the throttles of the run under way that somebody else has changed to another value.

    Also those whose config cannot be read, but for `damaged` topics: all of these is named already.
    """
    every = (*reading.topics.values(), *reading.brokers.values())
    mine = (each.unreadable for each in every if each.record.plan in running)
    unreadable = throttles.waits_for_configs(
        each for each in mine if each is not None and each.entity not in damaged
    )
    topics = (name for name, each in sorted(reading.topics.items()) if _is_changed(each, running))
    brokers = (id_ for id_, each in sorted(reading.brokers.items()) if _is_changed(each, running))
    yielded = _named(WaitReason.THROTTLES_YIELDED, Throttled(tuple(topics), tuple(brokers)))
    return (*unreadable, *yielded)


def _is_changed(recorded: RecordedThrottles, running: Collection[str]) -> bool:
    record, live = recorded.record, recorded.live or {}
    return record.plan in running and any(
        value is not None
        and not is_value(value, record.ours.get(key))
        and not throttles.includes(value, record.ours.get(key))
        for key, value in live.items()
    )


def waits(left: LeftThrottles) -> tuple[Wait, ...]:
    """Name everything that was left, ours first."""
    return (
        *waits_for_ours(left),
        *(damage_wait(each) for each in left.damage),
        *(
            Wait(WaitReason.THROTTLED_CONFIG_DAMAGED, path=path, detail=why)
            for path, why in sorted(left.damaged.items())
        ),
        *_named(WaitReason.THROTTLES_UNACCOUNTED, left.others),
    )


def waits_for_ours(left: LeftThrottles) -> tuple[Wait, ...]:
    """Name the throttles that runs of ours left; those in hidden configs with what hides them."""
    if left.migrating:
        return _named(WaitReason.THROTTLES_LEFT_TO_KRAFT, left.ours)
    hidden = {each.entity for each in left.hidden}
    readable = Throttled(
        tuple(topic for topic in left.ours.topics if topic not in hidden),
        tuple(broker for broker in left.ours.brokers if broker not in hidden),
    )
    reason = WaitReason.THROTTLES_LEFT
    unreadable = (
        replace(wait, reason=reason, path="", detail=f"{wait.path}: {wait.detail}")
        for wait in throttles.waits_for_configs(left.hidden)
    )
    return (*_named(reason, readable), *unreadable)


def _named(reason: WaitReason, throttled: Throttled) -> tuple[Wait, ...]:
    path = DEFAULT_CONFIG if throttled.default else ""
    found = Wait(reason, topics=throttled.topics, brokers=throttled.brokers, path=path)
    return (found,) if throttled else ()


def _is_in_force(recorded: RecordedThrottles) -> bool:
    """Whether a value of ours is in place; also where that cannot be read."""
    record, live = recorded.record, recorded.live
    return live is None or bool(throttles.values_to_restore(live, record.original, [record.ours]))
