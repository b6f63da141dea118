"""A run's throttles on the brokers: written, changed, restored.

The values are those of `planning.run_state.throttles`.

Entities are written in batches, each batch one transaction with the notification of every entity in
it. An interrupted batch is simply written again; entities that already have our values are skipped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from poolkeeper.model.runs import RunDocument, Saved, ThrottleConflicts, ThrottleValues
from poolkeeper.planning.run_state import throttles
from poolkeeper.zk import znodes
from poolkeeper.zk.apply import config_operations
from poolkeeper.zk.client.operations import TRANSACTION_BYTES_MAX, Operation, size_bytes
from poolkeeper.zk.journal import Journal
from poolkeeper.zk.znodes import ConfigNode

BATCH_ENTITIES = 100
BATCH_BYTES = TRANSACTION_BYTES_MAX // 2


Desired = Callable[[ThrottleValues], Mapping[str, str | None] | None]
"""Maps an entity's live throttle keys to those to write; None if somebody else has set them."""


def lists_of(document: RunDocument) -> dict[str, dict[str, str]]:
    """Return the throttle lists of a run; of the topics whose values were saved at its start."""
    if not document.saved.topics:
        return {}
    return throttles.lists_of(document.plan.moves)


def save(journal: Journal, topics: Iterable[str], brokers: Iterable[int]) -> Saved:
    """Read the throttle values before the run."""
    topics = tuple(topics)
    brokers = tuple(brokers)
    topic_values = _live(journal, [znodes.topic_config(t) for t in topics], throttles.TOPIC_KEYS)
    broker_values = _live(
        journal, [znodes.broker_config(b) for b in brokers], throttles.BROKER_KEYS
    )
    return Saved(
        dict(zip(topics, topic_values, strict=True)),
        dict(zip(brokers, broker_values, strict=True)),
    )


def write(
    journal: Journal, saved: Saved, lists: Mapping[str, ThrottleValues], rates: Sequence[int]
) -> ThrottleConflicts:
    """Write the lists and the rate (the first of `rates`) wherever they are not yet set.

    An entity whose throttle keys are neither the saved ones nor ours was changed by somebody else.
    Nothing is written to it, and the result names it.
    """

    def topic(name: str) -> Desired:
        return lambda live: _unless_foreign(live, lists[name], [saved.topics[name], lists[name]])

    def broker(id_: int) -> Desired:
        ours = [throttles.rates(rate) for rate in rates]
        return lambda live: _unless_foreign(live, ours[0], [saved.brokers[id_], *ours])

    topics = {znodes.topic_config(t): topic(t) for t in lists}
    foreign = _rewrite(journal, topics, throttles.TOPIC_KEYS)
    named = tuple(t for t in lists if znodes.topic_config(t) in foreign)
    if not rates:
        return ThrottleConflicts(named)
    brokers = {znodes.broker_config(b): broker(b) for b in saved.brokers}
    foreign = _rewrite(journal, brokers, throttles.BROKER_KEYS)
    others = tuple(b for b in saved.brokers if znodes.broker_config(b) in foreign)
    return ThrottleConflicts(named, others)


def restore(
    journal: Journal, saved: Saved, lists: Mapping[str, ThrottleValues], rates: Sequence[int]
) -> None:
    """Restore the saved values wherever the live ones are still ours."""

    def topic(name: str) -> Desired:
        return lambda live: throttles.restored(live, saved.topics[name], [lists[name]])

    def broker(id_: int) -> Desired:
        ours = [throttles.rates(rate) for rate in rates]
        return lambda live: throttles.restored(live, saved.brokers[id_], ours)

    _rewrite(
        journal, {znodes.topic_config(t): topic(t) for t in saved.topics}, throttles.TOPIC_KEYS
    )
    _rewrite(
        journal, {znodes.broker_config(b): broker(b) for b in saved.brokers}, throttles.BROKER_KEYS
    )


def _unless_foreign(
    live: ThrottleValues, wanted: ThrottleValues, known: Sequence[ThrottleValues]
) -> Mapping[str, str | None] | None:
    if all(live.get(key) == value for key, value in wanted.items()):
        return {}
    if not any(all(live.get(k) == v for k, v in values.items()) for values in known):
        return None
    return wanted


def _rewrite(
    journal: Journal, entities: Mapping[str, Desired], keys: Sequence[str]
) -> frozenset[str]:
    """Write the entities' throttles; return the entities that somebody else has changed."""
    names = list(entities)
    foreign: list[str] = []
    batch: list[Operation] = []
    for start in range(0, len(names), BATCH_ENTITIES):
        some = names[start : start + BATCH_ENTITIES]
        for entity, live in zip(some, _live(journal, some, keys), strict=True):
            values = entities[entity](live)
            if values is None:
                foreign.append(entity)
            if not values:
                continue
            changed = {key: value for key, value in values.items() if value is not None}
            unset = values.keys() - changed.keys()
            write_one = config_operations(journal, entity, changed, unset)
            if batch and size_bytes((*batch, *write_one)) > BATCH_BYTES:
                journal.commit(*batch)
                batch = []
            batch.extend(write_one)
        if batch:
            journal.commit(*batch)
            batch = []
    return frozenset(foreign)


def _live(
    journal: Journal, entities: Sequence[str], keys: Sequence[str]
) -> list[dict[str, str | None]]:
    nodes = journal.session.read_many(entities)
    return [
        throttles.values_of({} if node is None else ConfigNode.read(path, node.data).config, keys)
        for path, node in zip(entities, nodes, strict=True)
    ]
