"""Throttles on the brokers: written, changed and restored for a run; removed if they were left.

The values are those of `planning.run_state.throttling.throttles`.

Topics are written before brokers (`throttle_entities`); those that already have our values are
skipped.

A broker handles notifications in the order of their numbers. So a broker that has applied the rate
of a round of writes has handled the topics' lists of that round as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.errors import DamagedNode, Forbidden, PoolkeeperError, Refused
from poolkeeper.model.execution.runs import (
    RunDocument,
    Saved,
    ThrottleConflicts,
    ThrottleValues,
    UnreadableConfig,
)
from poolkeeper.model.execution.throttles import (
    LeftThrottles,
    Throttled,
    ThrottleRecord,
    is_value,
    short_value,
)
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.zk.client.nodes import UNREADABLE
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import throttle_records
from poolkeeper.zk.journal.journal import Journal
from poolkeeper.zk.journal.throttle_records import Entity
from poolkeeper.zk.throttle_entities import (
    Decision,
    E,
    EntityChange,
    EntityNodes,
    Rewritten,
    read_entities,
    rewrite,
    unwritable_entities,
)

ORIGINAL_BYTES_MAX = 32 * 1024
"""The longest value of somebody else that is replaced: it must fit a transaction beside ours."""
Lists = Mapping[str, Mapping[str, str]]
"""The throttle lists of topics, by config key."""


def throttled_lists(document: RunDocument) -> Lists:
    """Return the throttle lists of a run; of the topics whose values were saved at its start."""
    if not document.saved.topics:
        return {}
    return throttles.throttled_lists(document.plan.moves)


class ThrottleListCache:
    """The throttle lists of the run that was asked about last: every pass asks for the same."""

    def __init__(self) -> None:
        self._known: tuple[RunDocument, Lists] | None = None

    def of(self, document: RunDocument) -> Lists:
        """Return the throttle lists of a run."""
        if self._known is None or self._known[0] is not document:
            self._known = document, throttled_lists(document)
        return self._known[1]


def save(journal: Journal, topics: Iterable[str], brokers: Mapping[int, Sequence[str]]) -> Saved:
    """Return the throttle values before the run; values that a run of ours left are none of them.

    `brokers`: the keys that the run sets, by broker. Raises `Refused` for a config that cannot be
    decoded and for values too long to be kept, and `DamagedNode` for a record that cannot be read:
    it would say which values were left.
    """
    return Saved(
        _original(journal, dict.fromkeys(topics, throttles.TOPIC_KEYS), throttles.TOPIC_KEYS),
        _original(journal, brokers, throttles.BROKER_KEYS),
    )


def unlimited(
    session: Session, topics: Sequence[str], brokers: Sequence[int]
) -> dict[Entity, UnreadableConfig]:
    """Return whose throttles could not be saved or set, and why; writes nothing."""
    found: dict[Entity, UnreadableConfig] = {
        **_unsaveable(session, topics, throttles.TOPIC_KEYS),
        **_unsaveable(session, brokers, throttles.BROKER_KEYS),
    }
    entities: tuple[Entity, ...] = (*topics, *brokers)
    others = [entity for entity in entities if entity not in found]
    for entity, why in unwritable_entities(session, others).items():
        found[entity] = UnreadableConfig(entity, throttle_records.config_path(entity), why)
    return found


def _unsaveable(
    session: Session, entities: Sequence[E], keys: Sequence[str]
) -> dict[E, UnreadableConfig]:
    found: dict[E, UnreadableConfig] = {}
    for entity, read in read_entities(session, entities, keys).items():
        path = throttle_records.config_path(entity)
        try:
            _values_before(entity, read, keys)
        except DamagedNode as damaged:
            found[entity] = UnreadableConfig(entity, damaged.damage.path, str(damaged))
        except (Refused, Forbidden) as error:
            found[entity] = UnreadableConfig(entity, path, str(error))
    return found


def write(
    journal: Journal,
    document: RunDocument,
    lists: Lists,
    rates: Sequence[int],
    topics: Collection[str] | None = None,
    *,
    dry: bool = False,
) -> ThrottleConflicts:
    """Write the run's lists and its rate (the first of `rates`) wherever they are not yet set.

    `topics` restricts the topics; `dry` writes nothing and tells what could be written. A key whose
    value is neither the saved one nor ours was changed by somebody else. It is not written, and the
    result names its topic or broker. A key that was removed is written again. The result also names
    configs that cannot be read, or may not be written: nothing is written there.
    """
    saved, plan = document.saved, document.plan.hash
    chosen = {
        topic: values
        for topic, values in lists.items()
        if topic in saved.topics and (topics is None or topic in topics)
    }
    by_topic = {
        topic: _setting(plan, values, saved.topics[topic], [values])
        for topic, values in chosen.items()
    }
    by_broker = {
        broker: _setting(plan, throttles.rates(rates[0], values), values, _ours(values, rates))
        for broker, values in (saved.brokers.items() if rates else ())
    }
    first = rewrite(journal, by_topic, throttles.TOPIC_KEYS, dry=dry)
    second = rewrite(journal, by_broker, throttles.BROKER_KEYS, dry=dry)
    return ThrottleConflicts(
        tuple(topic for topic in by_topic if topic in first.foreign),
        tuple(broker for broker in by_broker if broker in second.foreign),
        unset=first.changed + second.changed,
        unreadable=(*_named(first.unreadable), *_named(second.unreadable)),
        unwritable=(*_named(first.unwritable), *_named(second.unwritable)),
    )


def _named(unreadable: Mapping[E, str]) -> tuple[UnreadableConfig, ...]:
    return tuple(
        UnreadableConfig(entity, throttle_records.config_path(entity), why)
        for entity, why in unreadable.items()
    )


def restore(
    journal: Journal,
    document: RunDocument,
    lists: Lists,
    rates: Sequence[int],
    topics: Collection[str] | None = None,
) -> Throttled:
    """Restore the saved values wherever the live ones are still ours, and remove the records.

    `topics`: those of these topics alone; else of all, and of brokers. A record knows better than
    the run what was before: somebody may have removed it in mid-run. Returns whose config cannot be
    read or written: what they have stays, with its record.
    """
    saved = document.saved
    by_topic = {
        topic: _restoring(values, [lists[topic]] if topic in lists else [])
        for topic, values in saved.topics.items()
        if topics is None or topic in topics
    }
    by_broker = {
        broker: _restoring(values, _ours(values, rates))
        for broker, values in (saved.brokers.items() if topics is None else ())
    }
    first = rewrite(journal, by_topic, throttles.TOPIC_KEYS)
    second = rewrite(journal, by_broker, throttles.BROKER_KEYS)
    return _staying(_with_records(journal, first), _with_records(journal, second))


def _with_records(journal: Journal, written: Rewritten[E]) -> Rewritten[E]:
    """Leave those out whose config cannot be read and of which no record says that ours is set."""
    if not written.unreadable:
        return written
    paths = [throttle_records.record_path(entity) for entity in written.unreadable]
    records = journal.session.read_many(paths)
    found = zip(written.unreadable.items(), records, strict=True)
    return replace(written, unreadable=dict(each for each, record in found if record is not None))


def _staying(topics: Rewritten[str], brokers: Rewritten[int]) -> Throttled:
    """Return the topics and brokers whose throttles stay."""
    return Throttled(
        tuple(sorted({*topics.unreadable, *topics.unwritable})),
        tuple(sorted({*brokers.unreadable, *brokers.unwritable})),
    )


def take_off(journal: Journal, left: LeftThrottles) -> Throttled:
    """Restore what was before the throttles that runs of ours left, and remove their records.

    Returns whose config cannot be read or written: what they have stays, with its record.
    """

    def decide(live: ThrottleValues, record: ThrottleRecord | None) -> EntityChange:
        if record is None:
            return EntityChange()
        return EntityChange(throttles.values_to_restore(live, record.original, [record.ours]))

    return _staying(
        rewrite(journal, dict.fromkeys(left.recorded.topics, decide), throttles.TOPIC_KEYS),
        rewrite(journal, dict.fromkeys(left.recorded.brokers, decide), throttles.BROKER_KEYS),
    )


def remove(journal: Journal, throttled: Throttled) -> None:
    """Unset the throttle keys of topics and brokers, whoever set them, and remove any record.

    The rate of copies between log directories is unset only where a record says that it is ours: it
    may be a setting for good. Raises `Forbidden` once all others are unset.
    """

    def decide(live: ThrottleValues, record: ThrottleRecord | None) -> EntityChange:
        ours = {} if record is None else record.ours
        unset = {
            key: None
            for key, value in live.items()
            if value is not None and (key != LOG_DIRS_RATE or is_value(value, ours.get(key)))
        }
        return EntityChange(unset)

    first = rewrite(journal, dict.fromkeys(throttled.topics, decide), throttles.TOPIC_KEYS)
    defaults = (throttle_records.DEFAULT,) if throttled.default else ()
    brokers: tuple[Entity, ...] = (*throttled.brokers, *defaults)
    second = rewrite(journal, dict.fromkeys(brokers, decide), throttles.BROKER_KEYS)
    for why in (*first.unwritable.values(), *second.unwritable.values()):
        raise Forbidden(why)


def _ours(saved: ThrottleValues, rates: Sequence[int]) -> list[ThrottleValues]:
    """Return the values that the run may have set on a broker with these keys."""
    return [throttles.rates(rate, saved) for rate in rates]


def _setting(
    plan: str, wanted: ThrottleValues, saved: ThrottleValues, known: Sequence[ThrottleValues]
) -> Decision:
    """Set the keys that are as saved, absent or ours; `known` are the values of this run."""

    def decide(live: ThrottleValues, record: ThrottleRecord | None) -> EntityChange:
        ours = [saved, *known, *([] if record is None else [record.ours])]
        values, foreign = throttles.to_set(live, wanted, ours)
        known_ours = {} if record is None else record.ours
        original = {**saved, **({} if record is None else record.original)}
        # A key that somebody removed in mid-run had no value before it any more. The rate between
        # log directories is no such throttle: it may be a setting for good.
        removed = {key for key in wanted if live.get(key) is None} - {LOG_DIRS_RATE}
        original |= dict.fromkeys(removed)
        then = {**live, **values}
        if not any(then[key] == value != original.get(key) for key, value in wanted.items()):
            return EntityChange(values, record, bool(foreign))
        # What is not written keeps what a run before left in it; all of that is ours still.
        left = {k: v for k, v in known_ours.items() if k not in values and _has(live.get(k), v)}
        after = ThrottleRecord(
            plan,
            {**known_ours, **{key: short_value(value) for key, value in wanted.items()}, **left},
            {key: original.get(key) for key in (*known_ours, *wanted)},
        )
        return EntityChange(values, after, bool(foreign))

    return decide


def _has(live: str | None, ours: str | None) -> bool:
    return is_value(live, ours) or throttles.includes(live, ours)


def _restoring(saved: ThrottleValues, known: Sequence[ThrottleValues]) -> Decision:
    def decide(live: ThrottleValues, record: ThrottleRecord | None) -> EntityChange:
        if record is None:
            return EntityChange(throttles.values_to_restore(live, saved, known))
        original = {**saved, **record.original}
        return EntityChange(throttles.values_to_restore(live, original, [*known, record.ours]))

    return decide


def _unreadable(entity: Entity, read: EntityNodes) -> PoolkeeperError:
    path = throttle_records.config_path(entity)
    if read.config is UNREADABLE:
        return Forbidden(f"reading {path} is not allowed for this ZooKeeper identity")
    return Refused(f"{path} cannot be read: repair it first")


def _original(
    journal: Journal, wanted: Mapping[E, Sequence[str]], keys: Sequence[str]
) -> dict[E, dict[str, str | None]]:
    """Return the values of the `wanted` keys of each entity, of all `keys` that it may have."""
    nodes = read_entities(journal.session, tuple(wanted), keys)
    return {entity: _values_before(entity, read, wanted[entity]) for entity, read in nodes.items()}


def _values_before(
    entity: Entity, read: EntityNodes, wanted: Sequence[str]
) -> dict[str, str | None]:
    """Return the values of the `wanted` keys of one entity; raises as `save`."""
    if read.live is None:
        raise _unreadable(entity, read)
    if read.damage is not None:
        raise DamagedNode(read.damage)
    values = {key: read.live[key] for key in wanted}
    if read.recorded is not None:
        values |= throttles.values_to_restore(values, read.recorded.original, [read.recorded.ours])
    for key, value in values.items():
        if value is not None and len(value.encode()) > ORIGINAL_BYTES_MAX:
            path = throttle_records.config_path(entity)
            raise Refused(f"{path}: {key} has {len(value)} characters: remove it first")
    return values
