"""Topics that declare more than a KafkaCluster allows one Topic, or all Topics of a namespace.

Whoever may create Topics could stop everybody else by their number or size. So a cluster has limits
(`spec.limits.perTopic`, `perNamespace`). What one Topic declares is held against the first; then
the Topics of a namespace count against the second, one by one: those that exist in Kafka already
first, then by name. A Topic beyond a limit is refused, which is said in its status; nobody else
notices. What Kafka has already is never refused for its partitions, only more of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from poolkeeper.model.specs import DeclarationLimits, KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey

_FIELDS = (
    ("topics", "topics", "Topics"),
    ("partitions", "partitions", "partitions"),
    ("config_bytes", "configBytes", "bytes of config"),
    ("manual_lists", "manualLists", "lists of manual assignments"),
)


@dataclass(frozen=True, slots=True)
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
            share = _share(each, each.spec, pools.get(each.spec.pool))
            said = _beyond(share, cluster.topic_limits)
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


def _beyond_in(
    namespace: str, shares: Iterable[_Share], limits: DeclarationLimits
) -> Iterator[tuple[ObjectKey, str]]:
    """The Topics of a namespace that are refused: those with which a limit is exceeded."""
    held = dict.fromkeys((name for name, _, _ in _FIELDS), 0)
    for share in sorted(shares, key=lambda each: (not each.has, each.key.name)):
        after = {name: held[name] + share.amounts[name] for name in held}
        over = [each for each in _FIELDS if after[each[0]] > getattr(limits, each[0])]
        grown = share.amounts["partitions"] > share.has
        if not over or (share.has and not grown):
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
