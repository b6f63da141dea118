"""Topics that declare more than a KafkaCluster allows one Topic, or all Topics of a namespace.

Whoever may create Topics could stop everybody else by their number or size. So a cluster has limits
(`spec.limits.perTopic`, `perNamespace`). What one Topic declares is held against the first; then
the Topics of a namespace count against the second, one by one: those that exist in Kafka already
first, then by name. A Topic beyond a limit is refused, which is said in its status; nobody else
notices. What Kafka has already is never refused for being there or for its partitions, only for
more of them; its config and its manual lists count as everybody's do.

No Topic alone may put more replicas on a broker than `replicasPerBroker`, whatever the policy of
the limits is: a small broker does not survive 10,000 partitions that somebody pinned to it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.model.tenancy import DeclarationLimits
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey

_FIELDS = (
    ("topics", "topics", "Topics"),
    ("partitions", "partitions", "partitions"),
    ("config_bytes", "configBytes", "bytes of config"),
    ("manual_lists", "manualLists", "lists of manual assignments"),
)


@frozen
class _Share:
    """A sound Topic, and what it counts for: its amounts by field; `has`: its live partitions."""

    key: ObjectKey
    has: int
    amounts: Mapping[str, int]


def beyond_limits(
    cluster: KafkaClusterSpec,
    pools: Mapping[str, ResourcePoolSpec],
    topics: Iterable[CustomResource],
) -> dict[ObjectKey, str]:
    """Return the Topics that are refused, each with why and what to do."""
    refused: dict[ObjectKey, str] = {}
    namespaces: dict[str, list[_Share]] = {}
    for each in topics:
        if isinstance(each.spec, TopicSpec) and not each.deleting:
            pool = pools.get(each.spec.pool)
            share = _share(each, each.spec, pool)
            said = _beyond(share, cluster.topic_limits) or (
                "" if pool is None else _crowded(share, each.spec, pool, cluster)
            )
            if said:
                refused[each.key] = said
            else:
                namespaces.setdefault(each.namespace, []).append(share)
    for namespace, shares in namespaces.items():
        refused.update(_beyond_in(namespace, shares, cluster.namespace_limits))
    return refused


def _share(each: CustomResource, spec: TopicSpec, pool: ResourcePoolSpec | None) -> _Share:
    has = int((each.status or {}).get("partitions", 0))
    default = (pool.defaults.partitions if pool else None) or 1
    declared = spec.declared_partitions
    return _Share(
        each.key,
        has,
        {
            "topics": 1,
            "partitions": (has or default) if declared is None else declared,
            "config_bytes": sum(len((k + v).encode()) for k, v in spec.config.items()),
            "manual_lists": len(spec.manual or ()),
        },
    )


def _beyond(share: _Share, limits: DeclarationLimits) -> str:
    for name, field, noun in _FIELDS[1:]:
        amount, most = share.amounts[name], getattr(limits, name)
        if amount > most and not (name == "partitions" and amount <= share.has):
            return (
                f"it declares {amount} {noun}, the KafkaCluster allows {most}: declare fewer, or"
                f" have its spec.limits.perTopic.{field} raised"
            )
    return ""


def _crowded(
    share: _Share, spec: TopicSpec, pool: ResourcePoolSpec, cluster: KafkaClusterSpec
) -> str:
    """Why the Topic alone is too much for a broker; lists are counted, and else evenly spread."""
    most, partitions = cluster.limits.replicas_per_broker, share.amounts["partitions"]
    if spec.manual:
        listed = Counter(broker for replicas in spec.manual for broker in replicas)
        broker, count = max(listed.items(), key=lambda each: (each[1], -each[0]))
        where = f"broker {broker}"
    else:
        factor = spec.replication_factor or pool.defaults.replication_factor or 1
        count = -(-partitions * factor // max(len(pool.brokers), 1))
        where = f"each broker of pool {pool.name}"
        if partitions <= share.has:
            return ""
    if count <= most:
        return ""
    return (
        f"it alone would put {count} replicas on {where}, the KafkaCluster has {most} as the limit:"
        " declare fewer, or have its spec.limits.replicasPerBroker raised"
    )


def _granted(share: _Share) -> tuple[str, ...]:
    """The limits of a namespace that a Topic does not exceed with what Kafka has already."""
    if not share.has:
        return ()
    grown = share.amounts["partitions"] > share.has
    return ("topics",) if grown else ("topics", "partitions")


def _beyond_in(
    namespace: str, shares: Iterable[_Share], limits: DeclarationLimits
) -> Iterator[tuple[ObjectKey, str]]:
    """The Topics of a namespace that are refused: those with which a limit is exceeded."""
    held = dict.fromkeys((name for name, _, _ in _FIELDS), 0)
    for share in sorted(shares, key=lambda each: (not each.has, each.key.name)):
        after = {name: held[name] + share.amounts[name] for name in held}
        over = [each for each in _FIELDS if after[each[0]] > getattr(limits, each[0])]
        over = [each for each in over if each[0] not in _granted(share)]
        if not over:
            held = after
            continue
        name, field, noun = over[0]
        yield (
            share.key,
            f"with it the Topics of namespace {namespace} would declare {after[name]} {noun}, the"
            f" KafkaCluster allows {getattr(limits, name)}: declare fewer, or have its"
            f" spec.limits.perNamespace.{field} raised",
        )
        if share.has:
            held["partitions"] += share.has
