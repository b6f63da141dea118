"""The throttle keys of topics and brokers, read and written with their records.

Entities are written in batches. Each batch is one transaction with the record (`throttle_records`)
and the notification of every entity in it. An interrupted batch is simply written again.

An ACL may keep us from one config alone, or the servers do not take the lists of one large topic.
Each entity of its batch is written by itself then, and what is not written is told by entity:
nobody else waits for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Generic, TypeVar

from poolkeeper.errors import DamagedNode, Forbidden, NodeDamage, Refused, Stale, TooLarge
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import ThrottleValues
from poolkeeper.model.execution.throttles import ThrottleRecord
from poolkeeper.zk import znodes
from poolkeeper.zk.apply import config_write
from poolkeeper.zk.client.nodes import HIDDEN, UNREADABLE, Node
from poolkeeper.zk.client.operations import (
    BATCH_BYTES,
    Check,
    Create,
    Delete,
    Operation,
    SetData,
    request_bytes_bound,
)
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import throttle_records
from poolkeeper.zk.journal.journal import Journal
from poolkeeper.zk.journal.throttle_records import Entity

BATCH_ENTITIES = 100
E = TypeVar("E", bound=Entity)


@frozen
class EntityChange:
    """What is written to one entity: throttle keys (None unsets one), and its record (None: none).

    `foreign`: somebody else set a key that we would set; that key stays.
    """

    values: ThrottleValues = field(default_factory=dict)
    record: ThrottleRecord | None = None
    foreign: bool = False


Decision = Callable[[ThrottleValues, ThrottleRecord | None], EntityChange]
"""Maps an entity's live throttle keys and its record to what is written."""


@frozen
class EntityNodes:
    """An entity's nodes; `live` is None if its config cannot be read, and `why` then says why.

    `damage`: what is wrong with its record, which `recorded` then does not tell.
    """

    config: Node | None
    record: Node | None
    live: ThrottleValues | None
    why: str
    recorded: ThrottleRecord | None
    damage: NodeDamage | None


@frozen
class Rewritten(Generic[E]):
    """How many entities' throttles were not as decided, and which somebody else has changed.

    `unreadable`: whose config cannot be read, and why. `unwritable`: whose may not be written.
    """

    changed: int
    foreign: frozenset[E]
    unreadable: Mapping[E, str]
    unwritable: Mapping[E, str]


def rewrite(
    journal: Journal, decisions: Mapping[E, Decision], keys: Sequence[str], *, dry: bool = False
) -> Rewritten[E]:
    """Write the entities' throttles and records as decided; without a write if `dry`.

    Then what would be written counts, and whose may not be written is asked.
    """
    names = list(decisions)
    foreign: set[E] = set()
    unreadable: dict[E, str] = {}
    denied: dict[E, str] = {}
    changed: set[E] = set()
    for start in range(0, len(names), BATCH_ENTITIES):
        batch: dict[E, tuple[Operation, ...]] = {}
        bytes_ = 0
        some = names[start : start + BATCH_ENTITIES]
        for entity, read in read_entities(journal.session, some, keys).items():
            if read.live is None:
                unreadable[entity] = read.why
                continue
            change = decisions[entity](read.live, read.recorded)
            if change.foreign:
                foreign.add(entity)
            write_one = _operations(journal, entity, read, change)
            if change.values and write_one:
                changed.add(entity)
            if dry or not write_one:
                continue
            size = request_bytes_bound(write_one)
            if batch and bytes_ + size > BATCH_BYTES:
                denied |= _commit(journal, batch)
                batch, bytes_ = {}, 0
            batch[entity] = write_one
            bytes_ += size
        if batch:
            denied |= _commit(journal, batch)
    if dry:
        denied = unwritable_entities(journal.session, sorted(changed))
    changed.difference_update(denied)
    return Rewritten(len(changed), frozenset(foreign), unreadable, denied)


def unwritable_entities(session: Session, entities: Sequence[E]) -> dict[E, str]:
    """Return the entities whose config may not be written, and why; nothing is written.

    ZooKeeper looks at the ACL of each node of a transaction before the last check of it, which
    fails always. A config without a node is created, if its topic or broker ever gets one.
    """
    found: dict[E, str] = {}
    for start in range(0, len(entities), BATCH_ENTITIES):
        some = entities[start : start + BATCH_ENTITIES]
        paths = [throttle_records.config_path(entity) for entity in some]
        nodes = session.read_many(paths, unreadable=UNREADABLE)
        tries = (
            (path, (entity, Create(path, b"") if node is None else _unchanged(path, node)))
            for entity, path, node in zip(some, paths, nodes, strict=True)
            if node is not UNREADABLE
        )
        # A create fails where its parent is missing, and no ACL is looked at any more.
        asked = dict(sorted(tries, key=lambda each: isinstance(each[1][1], Create)))
        alone = request_bytes_bound([each for _, each in asked.values()]) > BATCH_BYTES
        while asked:
            tried = list(asked)[: 1 if alone else len(asked)]
            try:
                session.commit((*(asked[path][1] for path in tried), _NEVER))
            except Forbidden as forbidden:
                if forbidden.path not in asked:
                    raise
                entity, _ = asked.pop(forbidden.path)
                found[entity] = str(forbidden)
            except Stale:
                for path in tried:
                    del asked[path]
            except TooLarge as large:
                if len(tried) == 1:
                    found[asked.pop(tried[0])[0]] = str(large)
                alone = True
    return found


def _unchanged(path: str, node: Node) -> SetData:
    return SetData(path, node.data, node.version)


_LATE_PARENTS = (znodes.RECORDS_OF_THROTTLES, znodes.BROKER_CONFIGS)
"""What comes with the first child: up to 1.0 no broker creates the latter when it starts."""
_NEVER = Check(f"{znodes.ROOT}/no-such-node", 0)
"""What fails in every transaction: there is no such node."""


def _commit(journal: Journal, batch: Mapping[E, tuple[Operation, ...]]) -> dict[E, str]:
    """Commit, with the parents of what is created if they do not exist yet.

    Returns the entities whose config may not be written, and why. All others are written. Raises
    `Forbidden` where it is another node that may not be written.
    """
    every = [operation for operations in batch.values() for operation in operations]
    created = [each.path for each in every if isinstance(each, Create)]
    for parent in _LATE_PARENTS:
        needed = any(path.startswith(f"{parent}/") for path in created)
        if needed and not journal.session.exists(parent):
            journal.commit(Create(parent, b""))
    try:
        journal.commit(*every)
    except Forbidden as forbidden:
        if forbidden.path not in map(throttle_records.config_path, batch):
            raise
        return _commit_singly(journal, batch)
    except TooLarge:
        return _commit_singly(journal, batch)
    return {}


def _commit_singly(journal: Journal, batch: Mapping[E, tuple[Operation, ...]]) -> dict[E, str]:
    found: dict[E, str] = {}
    answers = journal.commit_each(list(batch.values()))
    for entity, error in zip(batch, answers, strict=True):
        if isinstance(error, TooLarge) or (
            isinstance(error, Forbidden) and error.path == throttle_records.config_path(entity)
        ):
            found[entity] = str(error)
        elif error is not None:
            raise error
    return found


def _operations(
    journal: Journal, entity: Entity, read: EntityNodes, change: EntityChange
) -> tuple[Operation, ...]:
    config: tuple[Operation, ...] = ()
    if change.values:
        set_ = {key: value for key, value in change.values.items() if value is not None}
        unset = change.values.keys() - set_.keys()
        path = throttle_records.config_path(entity)
        config = config_write(journal, path, read.config, set_, unset)
        if not config:  # the topic is gone
            return ()
    return (*config, *_record_operations(entity, read, change.record))


def _record_operations(
    entity: Entity, read: EntityNodes, record: ThrottleRecord | None
) -> tuple[Operation, ...]:
    path, node = throttle_records.record_path(entity), read.record
    if read.damage is not None and read.damage.later_version:
        return ()  # only that release knows what it holds
    if record is None:
        return () if node is None else (Delete(path, node.version),)
    data = throttle_records.encode(record)
    if node is None:
        return (Create(path, data),)
    return () if node.data == data else (SetData(path, data, node.version),)


def read_entities(
    session: Session, entities: Sequence[E], keys: Sequence[str]
) -> dict[E, EntityNodes]:
    """Return the nodes of each entity, and what they hold of these keys."""
    configs = session.read_many(
        [throttle_records.config_path(entity) for entity in entities], unreadable=UNREADABLE
    )
    records = session.read_many([throttle_records.record_path(entity) for entity in entities])
    return {
        entity: EntityNodes(config, record, *_live(config, keys), *_recorded(record, entity))
        for entity, config, record in zip(entities, configs, records, strict=True)
    }


def _live(node: Node | None, keys: Sequence[str]) -> tuple[ThrottleValues | None, str]:
    """Return the values of these keys, or why there are none to be read."""
    try:
        live = throttle_records.values_of(throttle_records.config_of(node), keys)
    except Refused as damage:
        return None, str(damage)
    return live, HIDDEN if live is None else ""


def _recorded(node: Node | None, entity: Entity) -> tuple[ThrottleRecord | None, NodeDamage | None]:
    """Return the record, or what is wrong with it; neither where there is none."""
    try:
        return None if node is None else throttle_records.decode(node.data, entity), None
    except DamagedNode as damaged:
        return None, damaged.damage
