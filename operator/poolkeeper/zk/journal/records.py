"""What is remembered of a cluster between runs, as read from the nodes below `records`.

* `topics/NAME`: who owns a topic, the config keys that its Topic declared, its deletion policy.
* `brokers`: the rack of each broker, since when it is missing, and since when directories failed.
* `cluster`: the cluster's id.
* `balance`: when the last run began that balanced the cluster (`balancing.coolDown`).
* `request`: what the run requested last. It is removed with the run, and survives one that is lost.

They are written by `journal`, each in a fenced transaction. A damaged record is told beside the
others, and stops only what needs it.
"""

from poolkeeper.errors import NodeDamage
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.records import (
    BalanceRecord,
    RecordKind,
    Records,
    RequestRecord,
    TopicRecord,
)
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import (
    BalanceBody,
    BrokersBody,
    ClusterBody,
    RequestBody,
    TopicRecordBody,
)


def read(session: Session) -> Records:
    """Return all records; empty before the first write. A damaged one is told in the result."""
    paths = (znodes.RECORD_OF_CLUSTER, znodes.RECORD_OF_BROKERS, znodes.RECORD_OF_BALANCE)
    cluster_node, brokers_node, balance_node = session.read_many(paths)
    cluster, cluster_damage = our_nodes.decode_if_there(
        znodes.RECORD_OF_CLUSTER, cluster_node, ClusterBody
    )
    brokers, brokers_damage = our_nodes.decode_if_there(
        znodes.RECORD_OF_BROKERS, brokers_node, BrokersBody
    )
    _, balance_damage = our_nodes.decode_if_there(
        znodes.RECORD_OF_BALANCE, balance_node, BalanceBody
    )
    topics, damaged_topics = _topic_records(session)
    damage = {
        RecordKind.CLUSTER: cluster_damage,
        RecordKind.BROKERS: brokers_damage,
        RecordKind.BALANCE: balance_damage,
    }
    return Records(
        cluster_id=None if cluster is None else cluster.id,
        topics=topics,
        brokers={} if brokers is None else brokers.records,
        damaged_topics=damaged_topics,
        damage={kind: each for kind, each in damage.items() if each is not None},
    )


def _topic_records(session: Session) -> tuple[dict[str, TopicRecord], dict[str, NodeDamage]]:
    names = session.children(znodes.RECORDS_OF_TOPICS) or ()
    nodes = session.read_many([znodes.record_of_topic(topic) for topic in names])
    records: dict[str, TopicRecord] = {}
    damaged: dict[str, NodeDamage] = {}
    for topic, node in zip(names, nodes, strict=True):
        body, damage = our_nodes.decode_if_there(
            znodes.record_of_topic(topic), node, TopicRecordBody
        )
        if body is not None:
            records[topic] = body.record
        if damage is not None:
            damaged[topic] = damage
    return records, damaged


def read_topic(session: Session, topic: str) -> TopicRecord | None:
    """Return the record of one topic; `None` without one, and for one that is damaged."""
    path = znodes.record_of_topic(topic)
    body, _ = our_nodes.decode_if_there(path, session.read(path), TopicRecordBody)
    return None if body is None else body.record


def read_request(session: Session) -> RequestRecord | None:
    """Return what a run requested last; `None` if it has ended. Raises `DamagedNode`."""
    node = session.read(znodes.RECORD_OF_REQUEST)
    if node is None:
        return None
    return our_nodes.decode(znodes.RECORD_OF_REQUEST, node.data, RequestBody).record


def read_balance(session: Session) -> BalanceRecord | None:
    """Return when balance began last; `None` if it never did. Raises `DamagedNode`."""
    node = session.read(znodes.RECORD_OF_BALANCE)
    if node is None:
        return None
    body = our_nodes.decode(znodes.RECORD_OF_BALANCE, node.data, BalanceBody)
    return BalanceRecord(body.started_ms)


def encode_topic(record: TopicRecord) -> bytes:
    """The body of a topic's record."""
    body = {
        "version": 1,
        "owner": record.owner,
        "declared": list(record.declared_keys),
        "deletion_policy": record.deletion_policy.value,
    }
    told = {
        "topic_id": record.topic_id,
        "created_zxid": record.created_zxid,
        "adoption": record.adoption,
        "released": record.released or None,
    }
    body |= {name: value for name, value in told.items() if value is not None}
    return canonical(body).encode()
