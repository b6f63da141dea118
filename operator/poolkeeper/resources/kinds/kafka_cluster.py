"""KafkaCluster bodies to specs."""

from collections.abc import Iterable, Mapping
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.model.addresses import connect_problem, servers_problem
from poolkeeper.model.names import COMMIT
from poolkeeper.model.specs import (
    Approval,
    ApprovalPolicy,
    Balancing,
    BrokersSpec,
    ClusterLimits,
    Execution,
    Heal,
    KafkaClusterSpec,
    LimitPolicy,
    LoadSource,
    Mode,
    Remedies,
    ReplicasAtATime,
    Throttle,
    ThrottleMode,
    Tls,
    UnmanagedTopics,
    Window,
    ZooKeeperSpec,
)
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy, DeclarationLimits
from poolkeeper.model.versions import KafkaVersion, support_problem
from poolkeeper.resources.parse.body import ParsedBody, parse_body
from poolkeeper.resources.parse.locations import Findings, Path, Places
from poolkeeper.resources.parse.quantities import duration_s, positive_duration_s, size_bytes
from poolkeeper.resources.parse.schedules import cron_problem, time_zone_problem
from poolkeeper.resources.parse.schema_messages import pattern_problem

KIND = "KafkaCluster"
DEFAULT_TIME_ZONE = "UTC"
_NOWHERE = Places()
_COMMIT_MAX = 64


def read_cluster(
    body: Mapping[str, Any], places: Places = _NOWHERE
) -> ParsedBody[KafkaClusterSpec]:
    """The spec, as far as the body is readable, and every problem."""
    return parse_body(KIND, body, places, _spec)


def _spec(body: Mapping[str, Any], findings: Findings) -> KafkaClusterSpec:
    spec = body["spec"]
    _check_together(spec, findings)
    return KafkaClusterSpec(
        name=body["metadata"]["name"],
        zookeeper=_zookeeper(spec["zookeeper"], findings),
        brokers=_brokers(spec["brokers"], findings) if "brokers" in spec else None,
        kafka_version=_version(spec.get("kafkaVersion"), findings),
        cluster_id=spec.get("clusterId"),
        mode=Mode(spec["mode"]),
        approval=Approval(
            policy=ApprovalPolicy(spec["approval"]["policy"]),
            plans=tuple(spec["approval"].get("plans", ())),
            by=dict(spec["approval"].get("by", {})),
            commit=_commit(body["metadata"]),
        ),
        execution=_execution(spec["execution"], findings),
        heal=_heal(spec["heal"], findings),
        balancing=_balancing(spec["balancing"], findings),
        unmanaged_topics=UnmanagedTopics(spec["unmanagedTopics"]),
        default_pool=spec.get("defaultPool"),
        load=_load(spec["load"], findings),
        limits=ClusterLimits(
            partitions=spec["limits"]["partitions"],
            replicas_per_broker=spec["limits"]["replicasPerBroker"],
            policy=LimitPolicy(spec["limits"]["policy"]),
        ),
        topic_limits=_limits(spec["limits"]["perTopic"]),
        namespace_limits=_limits(spec["limits"]["perNamespace"]),
        adoption=_adoption(spec.get("adoption", {}), findings),
        system_topics=_names(spec.get("systemTopics", {}).get("namespaces")),
        topic_prefix=spec.get("topicNames", {}).get("prefix"),
        source=findings.places.source,
    )


def _commit(metadata: Mapping[str, Any]) -> str:
    """The commit that the approvals are in, as the GitOps controller notes it."""
    annotations = metadata.get("annotations")
    found = annotations.get(COMMIT, "") if isinstance(annotations, Mapping) else ""
    return found[:_COMMIT_MAX] if isinstance(found, str) else ""


def _limits(found: Mapping[str, Any]) -> DeclarationLimits:
    return DeclarationLimits(
        partitions=found["partitions"],
        config_bytes=found["configBytes"],
        manual_lists=found["manualLists"],
        topics=found.get("topics", 1),
    )


def _adoption(found: Mapping[str, Any], findings: Findings) -> Adoption:
    policy = found.get("policy")
    for number, pattern in enumerate(found.get("topics", ())):
        findings.add(("spec", "adoption", "topics", number), pattern_problem(pattern))
    return Adoption(
        None if policy is None else AdoptionPolicy(policy),
        _names(found.get("namespaces")),
        _names(found.get("topics")),
    )


def _names(found: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if found is None else tuple(found)


def _check_together(spec: Mapping[str, Any], findings: Findings) -> None:
    if spec["unmanagedTopics"] == UnmanagedTopics.MANAGE and "defaultPool" not in spec:
        message = "Manage places topics in the default pool (expected spec.defaultPool as well)"
        findings.add(("spec", "unmanagedTopics"), message, ("spec", "defaultPool"))
    if spec["load"]["source"] == "LogDirs" and "brokers" not in spec:
        message = "LogDirs asks the brokers (expected spec.brokers as well)"
        findings.add(("spec", "load", "source"), message, ("spec", "brokers"))


def _zookeeper(found: Mapping[str, Any], findings: Findings) -> ZooKeeperSpec:
    path: Path = ("spec", "zookeeper")
    findings.add((*path, "connect"), connect_problem(found["connect"]))
    return ZooKeeperSpec(found["connect"], _secret(found), _tls(found, path, findings))


def _brokers(found: Mapping[str, Any], findings: Findings) -> BrokersSpec:
    path: Path = ("spec", "brokers")
    servers = found["bootstrapServers"]
    findings.add((*path, "bootstrapServers"), servers_problem(servers))
    return BrokersSpec(tuple(servers.split(",")), _secret(found), _tls(found, path, findings))


def _secret(found: Mapping[str, Any]) -> str | None:
    reference = found.get("credentialsSecretRef")
    return str(reference["name"]) if reference else None


def _tls(found: Mapping[str, Any], path: Path, findings: Findings) -> Tls | None:
    tls = found.get("tls")
    if tls is None:
        return None
    return read_tls(tls, (*path, "tls"), findings)


def read_tls(tls: Mapping[str, Any], path: Path, findings: Findings) -> Tls:
    """The files of a TLS client, or the Secret that holds them."""
    if ("certificate" in tls) != ("key" in tls):
        message = "certificate and key belong together (expected both or none)"
        here, there = ("certificate", "key") if "certificate" in tls else ("key", "certificate")
        findings.add((*path, here), message, (*path, there))
    secret = tls.get("secretRef", {}).get("name")
    if secret and {"ca", "certificate", "key"} & set(tls):
        findings.add((*path, "secretRef"), "there are files as well (expected one of the two)")
    return Tls(tls.get("ca"), tls.get("certificate"), tls.get("key"), secret)


def _version(text: str | None, findings: Findings) -> str | None:
    if text is None:
        return None
    path = ("spec", "kafkaVersion")
    try:
        findings.add(path, support_problem(KafkaVersion.parse(text)))
    except Refused as refusal:
        findings.add(path, str(refusal))
    return text


def _execution(found: Mapping[str, Any], findings: Findings) -> Execution:
    path: Path = ("spec", "execution")
    throttle, deadline = found["throttle"], found["stageDeadline"]
    rate_path = (*path, "throttle", "rate")
    remedies = found["remedies"]
    return Execution(
        max_moves=found["maxMoves"],
        max_moves_per_broker=found["maxMovesPerBroker"],
        max_bytes=findings.read((*path, "maxBytes"), size_bytes, found["maxBytes"], 1),
        replicas_at_a_time=ReplicasAtATime(found["replicasAtATime"]),
        throttle=Throttle(
            mode=ThrottleMode(throttle["mode"]),
            rate_bytes_per_s=findings.read(rate_path, size_bytes, throttle["rate"], 1),
        ),
        stage_deadline_s=findings.read((*path, "stageDeadline"), positive_duration_s, deadline, 1),
        roll_back_on_deadline=found["onDeadline"] == "RollBack",
        windows=tuple(
            _window(window, (*path, "windows", number), findings)
            for number, window in enumerate(found.get("windows", ()))
        ),
        remedies=Remedies(
            remove_stale_requests=remedies["removeStaleRequests"],
            finish_orphaned_moves=remedies["finishOrphanedMoves"],
            allow_controller_failover=remedies["allowControllerFailover"],
            overwrite_larger_logs=remedies["overwriteLargerLogs"],
        ),
        restart_lock=_restart_lock(found.get("restartLock"), (*path, "restartLock"), findings),
    )


def _restart_lock(lock: str | None, path: Path, findings: Findings) -> str | None:
    if lock and (lock == "/poolkeeper" or lock.startswith("/poolkeeper/")):
        findings.add(path, f"{lock!r} is among Poolkeeper's own znodes (expected another path)")
    return lock


def _window(window: Mapping[str, Any], path: Path, findings: Findings) -> Window:
    findings.add((*path, "cron"), cron_problem(window["cron"]))
    time_zone = window.get("timeZone", DEFAULT_TIME_ZONE)
    findings.add((*path, "timeZone"), time_zone_problem(time_zone))
    duration = findings.read((*path, "duration"), positive_duration_s, window["duration"], 1)
    return Window(window["cron"], duration, time_zone)


def _heal(found: Mapping[str, Any], findings: Findings) -> Heal:
    after = findings.read(("spec", "heal", "after"), duration_s, found["after"], 0)
    return Heal(enabled=found["enabled"], after_s=after, max_brokers=found["maxBrokers"])


def _balancing(found: Mapping[str, Any], findings: Findings) -> Balancing:
    path = ("spec", "balancing", "coolDown")
    return Balancing(
        enabled=found["enabled"],
        cool_down_s=findings.read(path, duration_s, found["coolDown"], 0),
        min_gain_percent=float(found["minGain"]),
    )


def _load(found: Mapping[str, Any], findings: Findings) -> LoadSource:
    path: Path = ("spec", "load")
    prometheus = found.get("prometheus")
    if (found["source"] == "Prometheus") != (prometheus is not None):
        if prometheus is None:
            message = "Prometheus needs an address (expected prometheus.url)"
            findings.add((*path, "source"), message, (*path, "prometheus"))
        else:
            message = f"the source is {found['source']} (expected source Prometheus with it)"
            findings.add((*path, "prometheus"), message, (*path, "source"))
    if prometheus is None:
        return LoadSource(found["source"])
    findings.read((*path, "prometheus", "window"), positive_duration_s, prometheus["window"], 1)
    return LoadSource(found["source"], prometheus)
