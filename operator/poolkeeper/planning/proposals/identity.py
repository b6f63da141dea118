"""The identity of a plan: its hash and its fingerprint, both SHA-256 of a canonical form.

The canonical form is JSON with sorted keys, no blanks and ASCII only, so that any tool can compute
it again.

The **hash** is what a person approves: where data goes and what is lost. It covers every move
(topic, topic id, partition, path), moves between log directories, and the destructive steps. It
leaves out what needs no approval (creations, added partitions, harmless configs, elections) and
what may differ between two plans for the same thing (sizes, reasons, stages, problems). Order does
not matter. Of topics without an id (before 2.8) it leaves out when they were made: a plan of a
snapshot does not know that.

The **fingerprint** is what the plan was made from: specs, cluster id, brokers that count as gone,
and log directories that count as lost. While it stays the same, the execution of the plan goes on.
Every field of a spec counts unless it is in this table, because two values of these fields give the
same plan:

| left out | because |
|---|---|
| `source` of every spec | the place of a document in a file changes no plan |
| cluster: `zookeeper`, `brokers` | addresses of the same cluster, whose id is counted |
| cluster: `mode`, `approval` | who may execute a plan; approving must not change it |
| cluster: `cluster_id` | only an expected value: the id found is counted |
| cluster: `execution` | pace, bounds and windows; except `replicas_at_a_time`, which shapes paths |
| cluster: `heal` | its outcome, the brokers that count as gone, is counted |
| cluster: `balancing.cool_down_s` | when the next plan may start |
| cluster: `load` | where figures come from; sizes and rates are not counted either |
| cluster: `adoption`, `system_topics`, `topic_prefix` | a Topic without a right leaves `topics` |
| cluster: `limits`, if they only warn | they are laws under `Enforce`, otherwise a remark |
| cluster: limits of Topics and namespaces | a Topic beyond them leaves `topics` |
| pool: `rack_policy: Spread` | as before there was another one |
| pool: the order of `claims` and of allowed names | they are sets |
| `held` and `doomed` topics | a Topic that becomes one leaves `topics`, and that is counted |
| `watched` namespaces | a Topic that is seen no more leaves `topics`, too |

The **concern** of a run is narrower: the cluster, its pools, and the pools that its moving topics
should live in. While that stays the same the run is still wanted. Topics that are created or
deleted, and configs that change, do not affect it. The fingerprint of a part that moves something
is made the same way; that of a part of a topic names what is declared of that topic alone.
"""

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from itertools import groupby
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from types import MappingProxyType

import msgspec
import numpy as np

from poolkeeper.jsontext import canonical
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import DeleteTopic, Move, MoveLogDir, Plan, SetConfig, Step
from poolkeeper.model.specs import (
    AllowedNamespaces,
    KafkaClusterSpec,
    LimitPolicy,
    RackPolicy,
    ResourcePoolSpec,
    TopicSpec,
)
from poolkeeper.model.topology import Cluster, kafka_id

_UNCOUNTED_CLUSTER_FIELDS = frozenset(
    {
        "zookeeper",
        "brokers",
        "cluster_id",
        "mode",
        "approval",
        "execution",
        "heal",
        "balancing",
        "load",
        "limits",
        "topic_limits",
        "namespace_limits",
        "adoption",
        "system_topics",
        "topic_prefix",
    }
)

_BY_PLACE = itemgetter(*map(Move._fields.index, ("topic", "partition", "path")))
_PLACE_FIELDS = ("topic", "pool", "replication_factor", "strategy", "assignment", "paused")
_CONTENT_FIELDS = ("topic", "owner", "config", "deletion_policy", "paused")


def plan_hash(moves: Iterable[Move], steps: Iterable[Step]) -> str:
    """`sha256:` and the hexadecimal digest of the moves and of the steps that need approval."""
    needing_approval = sorted(
        canonical(named) for step in steps if (named := _approved(step)) is not None
    )
    ways = _ways_of_columns(moves.columns) if isinstance(moves, ColumnMoves) else None
    if ways is None:
        # The canonical form, joined from strings: that takes half as long as a JSON encoder.
        ways = f"[{','.join(_ways(sorted(moves, key=_BY_PLACE)))}]"
    return _named(f'{{"moves":{ways},"steps":[{",".join(needing_approval)}]}}')


def for_copies(plan: Plan) -> Plan:
    """The plan for copies of its cluster as well: in each, topics without an id are made anew."""
    steps = tuple(
        replace(step, topic_id=kafka_id(step.topic_id)) if isinstance(step, DeleteTopic) else step
        for step in plan.steps
    )
    moves = plan.moves
    columns = moves.columns if isinstance(moves, ColumnMoves) else MoveColumns.of(moves)
    topics = tuple((name, kafka_id(identity)) for name, identity in columns.topics)
    return replace(plan, steps=steps, moves=ColumnMoves(replace(columns, topics=topics)))


def _ways_of_columns(columns: MoveColumns) -> str | None:
    """The canonical form of moves; None where names or order are such that only moves tell it."""
    texts = [text for topic in columns.topics for text in topic if text is not None]
    if not all(text.isascii() and text.isprintable() for text in texts):
        return None  # the encoder leaves letters as they are
    topic = columns.ranks[columns.topic]
    order = np.lexsort((columns.partition, topic))
    topic, partition = topic[order], columns.partition[order]
    if ((np.diff(topic) == 0) & (np.diff(partition) == 0)).any():
        return None  # of one partition, paths decide
    paths = columns.paths()
    topics = [(name, kafka_id(identity)) for name, identity in columns.topics]
    ways = [
        (*topics[topic], number, paths[row])
        for topic, number, row in zip(
            columns.topic[order].tolist(), partition.tolist(), order.tolist(), strict=True
        )
    ]
    return msgspec.json.encode(ways).decode()


def _ways(moves: Iterable[Move]) -> Iterator[str]:
    """The canonical form of (topic, topic id, partition, path) of all moves of each topic."""
    text = _Texts()
    for (topic, topic_id), group in groupby(moves, key=itemgetter(0, 1)):
        found = kafka_id(topic_id)
        known = "null" if found is None else encode_basestring_ascii(found)
        yield _ways_of_topic(f"[{encode_basestring_ascii(topic)},{known},", list(group), text)


class _Texts(dict[int, str]):
    """Numbers as texts; each text is made once."""

    def __missing__(self, number: int) -> str:
        self[number] = str(number)
        return self[number]


def _ways_of_topic(head: str, moves: Sequence[Move], text: _Texts) -> str:
    for form in (_threes, _twos):
        try:
            return form(head, moves, text)
        except ValueError:  # paths of another shape
            continue
    return ",".join([f"{head}{move.partition},{canonical(move.path)}]" for move in moves])


def _threes(head: str, moves: Iterable[Move], t: _Texts) -> str:
    """The canonical form of moves from three replicas to three others in one step."""
    return ",".join(
        [
            f"{head}{p},[[{t[a]},{t[b]},{t[c]}],[{t[x]},{t[y]},{t[z]}]]]"
            for _, _, p, ((a, b, c), (x, y, z)), _, _, _ in moves
        ]
    )


def _twos(head: str, moves: Iterable[Move], t: _Texts) -> str:
    """The canonical form of moves from two replicas to two others in one step."""
    return ",".join(
        [
            f"{head}{p},[[{t[a]},{t[b]}],[{t[x]},{t[y]}]]]"
            for _, _, p, ((a, b), (x, y)), _, _, _ in moves
        ]
    )


def is_destructive(step: Step) -> bool:
    """Whether the step loses data or safety, so that a person must approve it."""
    return isinstance(step, DeleteTopic) or (isinstance(step, SetConfig) and bool(step.destructive))


LostLogDirs = Mapping[int, frozenset[str]]
"""The log directories that count as lost for good, by broker."""


def lost_log_dirs(cluster: Cluster) -> dict[int, frozenset[str]]:
    """The log directories of a cluster that count as lost for good."""
    return {id_: b.lost_log_dirs for id_, b in cluster.brokers.items() if b.lost_log_dirs}


def fingerprint(
    desired: Desired,
    cluster_id: str | None,
    gone: Collection[int],
    lost: LostLogDirs = MappingProxyType({}),
) -> str:
    """`sha256:` and the hexadecimal digest of what plans for this cluster are made from."""
    topics = sorted(map(_plain, desired.topics), key=canonical)
    return _digest({**_of_cluster(desired, cluster_id, gone, lost), "topics": topics})


def concern(
    desired: Desired,
    moves: Iterable[Move],
    cluster_id: str | None,
    gone: Collection[int],
    lost: LostLogDirs = MappingProxyType({}),
) -> str:
    """`sha256:` and the hexadecimal digest of what the rest of these moves depends on."""
    moving = {move.topic for move in moves}
    return placement_fingerprint(desired, moving, cluster_id, gone, lost)


def placement_fingerprint(
    desired: Desired,
    topics: Collection[str],
    cluster_id: str | None,
    gone: Collection[int],
    lost: LostLogDirs = MappingProxyType({}),
) -> str:
    """`sha256:` and the hexadecimal digest of what moves of these topics depend on."""
    places = (_place(spec) for spec in desired.topics if spec.topic in topics)
    found = _of_cluster(desired, cluster_id, gone, lost)
    return _digest({**found, "topics": sorted(places, key=canonical)})


def _of_cluster(
    desired: Desired, cluster_id: str | None, gone: Collection[int], lost: LostLogDirs
) -> dict[str, object]:
    """What all plans and moves depend on, whichever topics they are of."""
    return {
        **_lost(lost),
        "cluster": _cluster(desired.cluster),
        "pools": sorted(map(_pool, desired.pools), key=canonical),
        "clusterId": cluster_id,
        "gone": sorted(gone),
    }


def topic_fingerprint(desired: Desired, topic: str, cluster_id: str | None) -> str:
    """`sha256:` and the hexadecimal digest of what destructive steps of a topic depend on.

    That is what its Topics declare of it; nothing, for one that nobody declares any longer.
    """
    return _digest(
        {
            "topic": topic,
            "declared": sorted(
                (_contents(spec) for spec in desired.topics if spec.topic == topic), key=canonical
            ),
            "clusterId": cluster_id,
        }
    )


def _lost(lost: LostLogDirs) -> dict[str, object]:
    """The lost log directories; nothing where there are none, as before they were counted."""
    named = sorted([broker, path] for broker, paths in lost.items() for path in paths)
    return {"lostLogDirs": named} if named else {}


def _place(spec: TopicSpec) -> dict[str, object]:
    return {name: _plain(getattr(spec, name)) for name in _PLACE_FIELDS}


def _contents(spec: TopicSpec) -> dict[str, object]:
    return {name: _plain(getattr(spec, name)) for name in _CONTENT_FIELDS}


def _approved(step: Step) -> dict[str, object] | None:
    """The canonical form of a step that needs approval, else None."""
    match step:
        case DeleteTopic():
            return {"kind": "DeleteTopic", "topic": step.topic, "topicId": kafka_id(step.topic_id)}
        case SetConfig() if step.destructive:
            return {
                "kind": "SetConfig",
                "topic": step.topic,
                "set": dict(step.set),
                "unset": sorted(step.unset),
            }
        case MoveLogDir():
            return {
                "kind": "MoveLogDir",
                "topic": step.topic,
                "partition": step.partition,
                "broker": step.broker,
                "from": step.source,
                "to": step.target,
            }
    return None


def _cluster(spec: KafkaClusterSpec) -> dict[str, object]:
    counted = _fields(spec, _UNCOUNTED_CLUSTER_FIELDS)
    counted["replicas_at_a_time"] = spec.execution.replicas_at_a_time.value
    counted["balancing"] = _fields(spec.balancing, frozenset({"cool_down_s"}))
    if spec.limits.policy is LimitPolicy.ENFORCE:
        counted["limits"] = _plain(spec.limits)
    return counted


def _pool(spec: ResourcePoolSpec) -> dict[str, object]:
    spread = spec.rack_policy is RackPolicy.SPREAD
    counted = _fields(spec, frozenset({"rack_policy"} if spread else ()))
    # Sets, kept in the order in which they are written.
    counted["claims"] = sorted(spec.claims)
    allowed = spec.allowed_namespaces
    if isinstance(allowed, AllowedNamespaces) and allowed.names is not None:
        counted["allowed_namespaces"] = _plain(replace(allowed, names=tuple(sorted(allowed.names))))
    return counted


def _fields(value: object, without: Collection[str] = ()) -> dict[str, object]:
    """The fields of a dataclass in plain form, except `source` and those named."""
    kind: type = type(value)
    return {
        name: _plain(getattr(value, name)) for name in _field_names(kind) if name not in without
    }


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    assert dataclasses.is_dataclass(kind)
    return tuple(field.name for field in dataclasses.fields(kind) if field.name != "source")


_PLAIN = frozenset((int, str, bool, type(None)))


def _plain(value: object) -> object:
    """Dataclasses, enums, sets, mappings and tuples as JSON knows them; 1.0 as 1."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(_plain, value), key=canonical)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _digest(value: object) -> str:
    return _named(canonical(value))


def _named(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
