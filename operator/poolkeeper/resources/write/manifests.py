"""Specs to manifests that parse to the same specs: fields in schema order, defaults left out.

Text is quoted unless every version of YAML reads it as text. Lists of plain values are written on
one line.
"""

import io
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter
from ruamel.yaml.tag import Tag

from poolkeeper.model.names import API_VERSION
from poolkeeper.model.specs import (
    DEFAULT_GOALS,
    AllowedNamespaces,
    Capacity,
    Execution,
    Goal,
    Headroom,
    KafkaClusterSpec,
    Quotas,
    RackPolicy,
    ResourcePoolSpec,
    Strategy,
    Tls,
    TopicSpec,
)
from poolkeeper.model.tenancy import NAMESPACE_LIMITS, TOPIC_LIMITS, DeclarationLimits
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.parse.quantities import duration_text, size_text
from poolkeeper.resources.parse.scalars import resolve

Body = dict[str, Any]

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")


def text_of(bodies: Iterable[Body], comment: str = "") -> str:
    """The bodies as YAML documents, below a comment of one or more lines."""
    above = "".join(f"# {line}\n" for line in comment.splitlines())
    writer: Any = YAML(typ="safe", pure=False)
    writer.Representer = _Representer
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False
    writer.width = _WIDTH
    documents = io.StringIO()
    writer.dump_all(bodies, documents)
    return above + documents.getvalue()


def cluster_body(spec: KafkaClusterSpec) -> Body:
    """A KafkaCluster."""
    load, brokers = spec.load, spec.brokers
    return _body("KafkaCluster", {"name": spec.name}, {
        "zookeeper": _fields_set({
            "connect": spec.zookeeper.connect,
            "credentialsSecretRef": _reference(spec.zookeeper.credentials_secret),
            "tls": _tls(spec.zookeeper.tls),
        }),
        "brokers": brokers and _fields_set({
            "bootstrapServers": ",".join(brokers.bootstrap_servers),
            "credentialsSecretRef": _reference(brokers.credentials_secret),
            "tls": _tls(brokers.tls),
        }),
        "kafkaVersion": spec.kafka_version,
        "clusterId": spec.cluster_id,
        "mode": spec.mode.value,
        "approval": _fields_set({
            "policy": spec.approval.policy.value,
            "plans": list(spec.approval.plans) or None,
            "by": dict(spec.approval.by) or None,
        }),
        "execution": _execution(spec.execution),
        "heal": {
            "enabled": spec.heal.enabled,
            "after": duration_text(spec.heal.after_s),
            "maxBrokers": spec.heal.max_brokers,
        },
        "balancing": {
            "enabled": spec.balancing.enabled,
            "coolDown": duration_text(spec.balancing.cool_down_s),
            "minGain": _number(spec.balancing.min_gain_percent),
        },
        "unmanagedTopics": spec.unmanaged_topics.value,
        "defaultPool": spec.default_pool,
        "adoption": _fields_set({
            "policy": spec.adoption.policy and spec.adoption.policy.value,
            "namespaces": _listed(spec.adoption.namespaces),
            "topics": _listed(spec.adoption.topics),
        }) or None,
        "systemTopics": _systems(spec.system_topics),
        "topicNames": spec.topic_prefix and {"prefix": spec.topic_prefix},
        "load": _fields_set({"source": load.source, "prometheus": dict(load.prometheus) or None}),
        "limits": _fields_set({
            "partitions": spec.limits.partitions,
            "replicasPerBroker": spec.limits.replicas_per_broker,
            "policy": spec.limits.policy.value,
            "perTopic": _limits(spec.topic_limits, TOPIC_LIMITS),
            "perNamespace": _limits(spec.namespace_limits, NAMESPACE_LIMITS),
        }),
    })  # fmt: skip


def _execution(execution: Execution) -> Body:
    remedies = execution.remedies
    return _fields_set({
        "maxMoves": execution.max_moves,
        "maxMovesPerBroker": execution.max_moves_per_broker,
        "maxBytes": size_text(execution.max_bytes),
        "replicasAtATime": execution.replicas_at_a_time.value,
        "throttle": {
            "mode": execution.throttle.mode.value,
            "rate": size_text(execution.throttle.rate_bytes_per_s),
        },
        "stageDeadline": duration_text(execution.stage_deadline_s),
        "onDeadline": "RollBack" if execution.roll_back_on_deadline else "Wait",
        "windows": [
            {
                "cron": window.cron,
                "duration": duration_text(window.duration_s),
                "timeZone": window.time_zone,
            }
            for window in execution.windows
        ] or None,
        "remedies": {
            "removeStaleRequests": remedies.remove_stale_requests,
            "finishOrphanedMoves": remedies.finish_orphaned_moves,
            "allowControllerFailover": remedies.allow_controller_failover,
            "overwriteLargerLogs": remedies.overwrite_larger_logs,
        },
        "restartLock": execution.restart_lock,
    })  # fmt: skip


def _limits(limits: DeclarationLimits, usual: DeclarationLimits) -> Body | None:
    """What differs from the defaults."""
    fields = {
        "topics": (limits.topics, usual.topics),
        "partitions": (limits.partitions, usual.partitions),
        "configBytes": (limits.config_bytes, usual.config_bytes),
        "manualLists": (limits.manual_lists, usual.manual_lists),
    }
    return {name: found for name, (found, default) in fields.items() if found != default} or None


def pool_body(spec: ResourcePoolSpec) -> Body:
    """A ResourcePool; its brokers are listed one by one, not as ranges."""
    return _body("ResourcePool", {"name": spec.name}, {
        "clusterRef": {"name": spec.cluster}, "brokers": {"ids": list(spec.brokers)}, "racks":
        {str(broker): rack for broker, rack in sorted(spec.racks.items())} or None, "rackPolicy":
        None if spec.rack_policy is RackPolicy.SPREAD else spec.rack_policy.value, "drain":
        sorted(spec.drain) or None, "demote": sorted(spec.demote) or None, "drainLogDirs":
        _drained_log_dirs(spec), "capacity": _fields_set({**_capacity(spec.capacity), "overrides":
        _overrides(spec) or None}), "headroom": _headroom(spec.headroom), "quotas": spec.quotas and
        _quotas(spec.quotas), "allowedNamespaces": _namespaces(spec.allowed_namespaces), "claims":
        list(spec.claims) or None, "defaults": _fields_set({
            "partitions": spec.defaults.partitions,
            "replicationFactor": spec.defaults.replication_factor,
        }),
        "balance": _balance(spec.goals),
    })  # fmt: skip


def topic_body(spec: TopicSpec) -> Body:
    """A Topic."""
    manual = spec.strategy is Strategy.MANUAL and spec.assignment is not None
    lists = [list(replicas) for replicas in spec.assignment or ()]
    return _body("Topic", {"name": spec.name, "namespace": spec.namespace}, {
        "topicName": spec.topic if spec.topic != spec.name else None,
        "poolRef": {"name": spec.pool},
        "partitions": spec.partitions,
        "replicationFactor": spec.replication_factor,
        "keyed": spec.keyed,
        "acceptKeyRemapTo": spec.accept_key_remap_to,
        "config": dict(spec.config),
        "placement": _fields_set({
            "strategy": spec.strategy.value,
            "assignment": lists if manual else None,
        }),
        "deletionPolicy": spec.deletion_policy.value,
        "paused": spec.paused,
    })  # fmt: skip


def _body(kind: str, metadata: Body, spec: Body) -> Body:
    schema = schemas.kinds()[kind].schema["properties"]["spec"]
    body = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
    return {**body, "spec": _without_defaults(schema, _fields_set(spec))}


def _fields_set(fields: Body) -> Body:
    return {name: value for name, value in fields.items() if value is not None}


def _without_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_without_defaults(schema["items"], item) for item in value]
    properties = schema.get("properties", {})
    if not isinstance(value, dict) or not properties:
        return value
    kept = {}
    for name, inner in value.items():
        short = _without_defaults(properties[name], inner)
        if "default" not in properties[name] or short != properties[name]["default"]:
            kept[name] = short
    return kept


def _reference(name: str | None) -> Body | None:
    return None if name is None else {"name": name}


def _tls(tls: Tls | None) -> Body | None:
    if tls is None:
        return None
    files = {"ca": tls.ca, "certificate": tls.certificate, "key": tls.key}
    return _fields_set({**files, "secretRef": _reference(tls.secret)})


def _capacity(capacity: Capacity) -> Body:
    disk = None if capacity.disk_bytes is None else size_text(capacity.disk_bytes)
    weight = None if capacity.weight == Capacity().weight else _number(capacity.weight)
    return _fields_set({"weight": weight, "disk": disk, "replicas": capacity.replicas})


def _overrides(spec: ResourcePoolSpec) -> list[Body]:
    groups: dict[Capacity, list[int]] = {}
    for broker, capacity in sorted(spec.capacity_of.items()):
        groups.setdefault(capacity, []).append(broker)
    # An override has its weight even if it is 1: the pool's own may be different.
    return [
        {"ids": ids, "weight": _number(capacity.weight), **_capacity(capacity)}
        for capacity, ids in groups.items()
    ]


def _drained_log_dirs(spec: ResourcePoolSpec) -> list[Body] | None:
    return [{"broker": each.broker, "path": each.path} for each in spec.drain_log_dirs] or None


def _headroom(headroom: Headroom | None) -> Body | None:
    if headroom is None:
        return None
    return {"domain": headroom.domain.value, "failures": headroom.failures}


def _namespaces(allowed: AllowedNamespaces | None) -> Body | None:
    if allowed is None:
        return None
    return _fields_set({
        "names": None if allowed.names is None else list(allowed.names),
        "selector": None if allowed.selector is None else dict(allowed.selector),
    })  # fmt: skip


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _systems(namespaces: tuple[str, ...] | None) -> Body | None:
    return None if namespaces is None else {"namespaces": list(namespaces)}


def _balance(goals: tuple[Goal, ...]) -> Body | None:
    if goals == DEFAULT_GOALS:
        return None
    return {
        goal.kind.value: _fields_set({"percent": _number(goal.percent), "count": goal.count})
        for goal in goals
    }


def _quotas(quotas: Quotas) -> Body:
    inner = {namespace: _quotas(quota) for namespace, quota in quotas.per_namespace.items()}
    each = {"topics": quotas.topics, "partitions": quotas.partitions}
    return _fields_set({**each, "perNamespace": inner or None})


def _number(number: float | None) -> float | None:
    return int(number) if number is not None and number == int(number) else number


class _Representer(SafeRepresenter):
    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out."""
        return True


# The library makes a tag of each node, and decodes its text whenever one is compared.
_TEXT, _LIST, _OBJECT = (Tag(suffix=f"tag:yaml.org,2002:{kind}") for kind in ("str", "seq", "map"))


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar(_TEXT, value, style=None if _is_plain(value) else '"')


@lru_cache(maxsize=4096)
def _is_plain(value: str) -> bool:
    return bool(_PLAIN.fullmatch(value)) and resolve(value) == value


def _list(dumper: Any, values: list[Any]) -> Any:
    flow = not any(isinstance(value, dict | list) for value in values)
    return dumper.represent_sequence(_LIST, values, flow_style=flow)


def _object(dumper: Any, fields: Body) -> Any:
    return dumper.represent_mapping(_OBJECT, fields)


_Representer.add_representer(str, _text)
_Representer.add_representer(list, _list)
_Representer.add_representer(dict, _object)
