"""The records of throttles: which keys of a topic or broker runs of ours set, and what was before.

A record is a node below `/poolkeeper/records/throttles`. It is created in the transaction that sets
the keys, and removed in the transaction that restores them. So a throttle of ours never exists
without its record, and it is told apart from somebody else's even if the run that set it is gone.
"""

from collections.abc import Mapping, Sequence

from poolkeeper.algorithms.throttles import BROKER_KEYS, TOPIC_KEYS
from poolkeeper.errors import DamagedNode, Forbidden, NodeDamage, Refused
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.runs import ThrottleValues, UnreadableConfig
from poolkeeper.model.execution.throttles import RecordedThrottles, ThrottleReading, ThrottleRecord
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import HIDDEN, UNREADABLE, Node
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.kafka_nodes import ConfigNode
from poolkeeper.zk.codecs.our_nodes import ThrottlesBody

_KEYS = {int: frozenset(BROKER_KEYS), str: frozenset(TOPIC_KEYS)}

Entity = str | int
"""The name of a topic, the id of a broker, or `DEFAULT`, which no topic can be named."""
DEFAULT = "<default>"
"""The default of all brokers. No run sets it; it has no record."""


def record_path(entity: Entity) -> str:
    """Return the path of the entity's record."""
    if isinstance(entity, int):
        return znodes.throttles_of_broker(entity)
    return znodes.throttles_of_topic(entity)


def config_path(entity: Entity) -> str:
    """Return the path of the entity's config."""
    if isinstance(entity, int) or entity == DEFAULT:
        return znodes.broker_config(entity)
    return znodes.topic_config(entity)


def encode(record: ThrottleRecord) -> bytes:
    """Encode a record; the same record gives the same bytes."""
    body = {
        "version": our_nodes.VERSION,
        "plan": record.plan,
        "ours": dict(record.ours),
        "original": dict(record.original),
    }
    return canonical(body).encode()


def decode(data: bytes, entity: Entity) -> ThrottleRecord:
    """Decode the record of an entity; raises `DamagedNode` for any other body."""
    path = record_path(entity)
    record = our_nodes.decode(path, data, ThrottlesBody).record
    strange = sorted({*record.ours, *record.original} - _KEYS[type(entity)])
    if strange:
        raise our_nodes.damaged_node(path, f"{strange[0]} is no throttle key")
    return record


def read(session: Session) -> ThrottleReading:
    """Read all records with the live values beside them, and the throttles of all brokers."""
    records, damage = _read_records(session)
    ids = _configured_brokers(session)
    entities: list[Entity] = [*records, *(id_ for id_ in ids if id_ not in records), DEFAULT]
    configs, damaged = _read_configs(session, entities)
    recorded = {
        entity: _recorded(entity, record, configs[entity], damaged)
        for entity, record in records.items()
    }
    values = {id_: values_of(configs[id_], BROKER_KEYS) for id_ in ids}
    return ThrottleReading(
        {each: found for each, found in recorded.items() if isinstance(each, str)},
        {each: found for each, found in recorded.items() if isinstance(each, int)},
        {id_: found for id_, found in values.items() if found and any(found.values())},
        damaged,
        damage,
        values_of(configs[DEFAULT], BROKER_KEYS) or {},
    )


def _recorded(
    entity: Entity,
    record: ThrottleRecord,
    config: Mapping[str, str] | None,
    damaged: Mapping[str, str],
) -> RecordedThrottles:
    path = config_path(entity)
    if config is None:
        unreadable = UnreadableConfig(entity, path, damaged.get(path, HIDDEN))
        return RecordedThrottles(record, None, unreadable)
    return RecordedThrottles(record, values_of(config, [*record.ours]))


def _configured_brokers(session: Session) -> list[int]:
    """Return the brokers that have a config; none where the ACL hides them."""
    try:
        names = session.children(znodes.BROKER_CONFIGS) or ()
    except Forbidden:
        return []
    ids = (name for name in names if name.isascii() and name.isdecimal() and len(name) <= 10)
    return sorted(map(int, ids))


def values_of(config: Mapping[str, str] | None, keys: Sequence[str]) -> ThrottleValues | None:
    """Return the values of these keys in a config; None for an unknown config."""
    return None if config is None else {key: config.get(key) for key in keys}


def _read_records(
    session: Session,
) -> tuple[dict[Entity, ThrottleRecord], tuple[NodeDamage, ...]]:
    names = sorted(session.children(znodes.RECORDS_OF_THROTTLES) or ())
    nodes = session.read_many([f"{znodes.RECORDS_OF_THROTTLES}/{name}" for name in names])
    found: dict[Entity, ThrottleRecord] = {}
    damage: list[NodeDamage] = []
    for name, node in zip(names, nodes, strict=True):
        entity = znodes.throttled_entity(name)
        path = f"{znodes.RECORDS_OF_THROTTLES}/{name}"
        if node is None:
            continue
        if entity is None:
            damage.append(
                our_nodes.damaged_node(path, "it is named after no topic or broker").damage
            )
            continue
        try:
            found[entity] = decode(node.data, entity)
        except DamagedNode as damaged:
            damage.append(damaged.damage)
    return found, tuple(damage)


def _read_configs(
    session: Session, entities: Sequence[Entity]
) -> tuple[dict[Entity, Mapping[str, str] | None], dict[str, str]]:
    paths = [config_path(entity) for entity in entities]
    nodes = session.read_many(paths, unreadable=UNREADABLE)
    found: dict[Entity, Mapping[str, str] | None] = {}
    damaged: dict[str, str] = {}
    for entity, path, node in zip(entities, paths, nodes, strict=True):
        try:
            found[entity] = config_of(node)
        except Refused as damage:
            damaged[path] = str(damage)
            found[entity] = None
    return found, damaged


def config_of(node: Node | None) -> Mapping[str, str] | None:
    """Return the config in a node: empty without a node, None where the ACL hides it.

    Raises `Refused` for a damaged one.
    """
    if node is None:
        return {}
    return None if node is UNREADABLE else ConfigNode.decode(node.data).config
