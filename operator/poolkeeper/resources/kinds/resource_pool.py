"""ResourcePool bodies to specs.

Balance goals come in a fixed order, that of `GoalKind`, whatever the order in the manifest: a
mapping has none once the API server has held it, and a folder must give the same plan.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from poolkeeper.model.specs import (
    DEFAULT_GOALS,
    AllowedNamespaces,
    Capacity,
    DrainLogDir,
    FailureDomain,
    Goal,
    GoalKind,
    Headroom,
    Quotas,
    RackPolicy,
    ResourcePoolSpec,
    TopicDefaults,
)
from poolkeeper.resources.parse.body import ParsedBody, parse_body
from poolkeeper.resources.parse.locations import Findings, Path, Places
from poolkeeper.resources.parse.quantities import size_bytes
from poolkeeper.resources.parse.schema_messages import pattern_problem
from poolkeeper.text import count

KIND = "ResourcePool"
RANGE_MAX = 2000
_NOWHERE = Places()


def read_pool(body: Mapping[str, Any], places: Places = _NOWHERE) -> ParsedBody[ResourcePoolSpec]:
    """The spec, as far as the body is readable, and every problem."""
    return parse_body(KIND, body, places, _spec)


def _spec(body: Mapping[str, Any], findings: Findings) -> ResourcePoolSpec:
    spec = body["spec"]
    brokers = _broker_ids(spec["brokers"], findings)
    members = _Members(frozenset(brokers), findings)
    capacity, capacity_of = _capacities(spec["capacity"], members)
    drain = members.named(("spec", "drain"), spec.get("drain", ()))
    _check_default_factor(spec["defaults"], brokers, drain, findings)
    return ResourcePoolSpec(
        name=body["metadata"]["name"],
        cluster=spec["clusterRef"]["name"],
        brokers=brokers,
        racks=members.racks(spec.get("racks", {})),
        drain=drain,
        demote=members.named(("spec", "demote"), spec.get("demote", ())),
        drain_log_dirs=_drain_log_dirs(spec.get("drainLogDirs", ()), members),
        capacity=capacity,
        capacity_of=capacity_of,
        headroom=_headroom(spec.get("headroom")),
        quotas=_quotas(spec.get("quotas")),
        allowed_namespaces=_allowed_namespaces(spec.get("allowedNamespaces"), findings),
        claims=_claims(spec.get("claims", ()), findings),
        defaults=TopicDefaults(
            spec["defaults"].get("partitions"), spec["defaults"].get("replicationFactor")
        ),
        goals=_goals(spec.get("balance"), findings),
        rack_policy=RackPolicy(spec["rackPolicy"]),
        source=findings.places.source,
    )


class _Members:
    """The pool's broker ids, against which other ids in its spec are checked."""

    def __init__(self, ids: frozenset[int], findings: Findings) -> None:
        self.ids = ids
        self.findings = findings

    def check(self, path: Path, broker: int) -> None:
        # If the pool's brokers are invalid themselves, other ids cannot be checked.
        if self.ids and broker not in self.ids:
            message = f"broker {broker} is not in the pool (expected one of spec.brokers)"
            self.findings.add(path, message, ("spec", "brokers"))

    def named(self, path: Path, brokers: Sequence[int]) -> frozenset[int]:
        for number, broker in enumerate(brokers):
            self.check((*path, number), broker)
        return frozenset(brokers)

    def racks(self, racks: Mapping[str, str]) -> Mapping[int, str]:
        found = {}
        for name, rack in racks.items():
            path = ("spec", "racks", name)
            if not re.fullmatch(r"0|[1-9][0-9]{0,9}", name):
                self.findings.add(path, f"{name!r} is no broker id (expected a whole number)")
                continue
            self.check(path, int(name))
            found[int(name)] = rack
        return found


def _broker_ids(brokers: Mapping[str, Any], findings: Findings) -> tuple[int, ...]:
    path: Path = ("spec", "brokers")
    ids = set(brokers.get("ids", ()))
    if not brokers:
        findings.add(path, "names no broker (expected ids or ranges)")
    for number, found in enumerate(brokers.get("ranges", ())):
        first, last = found["from"], found["to"]
        if findings.ignores((*path, "ranges", number)):
            continue  # what it holds is unknown, and no broker is in it twice
        if first > last:
            message = f"{first} to {last} is no range (expected the lower id first)"
        elif last - first >= RANGE_MAX:
            message = f"{first} to {last} are {last - first + 1} brokers (expected {RANGE_MAX})"
            message = message.replace("(expected ", "(expected at most ")
        else:
            again = sorted(ids.intersection(range(first, last + 1)))
            ids.update(range(first, last + 1))
            message = f"broker {again[0]} is listed already (expected once)" if again else ""
        findings.add((*path, "ranges", number), message)
    return tuple(sorted(ids))


def _check_default_factor(
    defaults: Mapping[str, Any], brokers: Sequence[int], drain: frozenset[int], findings: Findings
) -> None:
    factor, usable = defaults.get("replicationFactor"), len(set(brokers) - drain)
    if factor and brokers and factor > usable:
        path = ("spec", "defaults", "replicationFactor")
        findings.add(path, unfit_text(factor, usable), ("spec", "brokers"), ("spec", "drain"))


def unfit_text(factor: int, usable: int) -> str:
    """Say that a pool has too few brokers that can hold replicas, and the expected bound."""
    replicas = "1 replica does" if factor == 1 else f"{factor} replicas do"
    brokers = count(usable, "undrained broker", grouped=False)
    return f"{replicas} not fit on {brokers} (expected at most {usable})"


def _drain_log_dirs(found: Sequence[Any], members: _Members) -> tuple[DrainLogDir, ...]:
    seen: set[DrainLogDir] = set()
    for number, each in enumerate(found):
        path: Path = ("spec", "drainLogDirs", number)
        members.check((*path, "broker"), each["broker"])
        log_dir = DrainLogDir(each["broker"], each["path"])
        if log_dir in seen:
            members.findings.add(path, "is listed twice (expected once)")
        seen.add(log_dir)
    return tuple(sorted(seen, key=lambda each: (each.broker, each.path)))


def _capacities(
    found: Mapping[str, Any], members: _Members
) -> tuple[Capacity, Mapping[int, Capacity]]:
    path: Path = ("spec", "capacity")
    base = _capacity(found, Capacity(), path, members.findings)
    of: dict[int, Capacity] = {}
    for number, override in enumerate(found.get("overrides", ())):
        at = (*path, "overrides", number)
        capacity = _capacity(override, base, at, members.findings)
        for position, broker in enumerate(override["ids"]):
            members.check((*at, "ids", position), broker)
            if broker in of:
                message = f"broker {broker} is in another override as well (expected one)"
                members.findings.add((*at, "ids", position), message)
            of[broker] = capacity
    return base, dict(sorted(of.items()))


def _capacity(found: Mapping[str, Any], base: Capacity, path: Path, findings: Findings) -> Capacity:
    disk = base.disk_bytes
    if "disk" in found:
        disk = findings.read((*path, "disk"), size_bytes, found["disk"], 1)
    weight = float(found.get("weight", base.weight))
    return Capacity(weight, disk, found.get("replicas", base.replicas))


def _headroom(found: Mapping[str, Any] | None) -> Headroom | None:
    return None if found is None else Headroom(FailureDomain(found["domain"]), found["failures"])


def _quotas(found: Mapping[str, Any] | None) -> Quotas | None:
    if found is None:
        return None
    inner = {
        namespace: Quotas(quota.get("topics"), quota.get("partitions"))
        for namespace, quota in sorted(found.get("perNamespace", {}).items())
    }
    return Quotas(found.get("topics"), found.get("partitions"), inner)


def _allowed_namespaces(
    found: Mapping[str, Any] | None, findings: Findings
) -> AllowedNamespaces | None:
    if found is None:
        return None
    if not found:
        message = "names no namespace (expected names or a selector)"
        findings.add(("spec", "allowedNamespaces"), message)
    expressions = found.get("selector", {}).get("matchExpressions", ())
    for number, expression in enumerate(expressions):
        path = ("spec", "allowedNamespaces", "selector", "matchExpressions", number)
        takes_values = expression["operator"] in ("In", "NotIn")
        if takes_values != bool(expression.get("values")):
            expected = "at least one" if takes_values else "none"
            message = f"do not fit {expression['operator']} (expected {expected})"
            findings.add((*path, "values"), message, (*path, "operator"))
    names = tuple(found["names"]) if "names" in found else None
    return AllowedNamespaces(names, found.get("selector"))


def _claims(claims: Iterable[str], findings: Findings) -> tuple[str, ...]:
    for number, claim in enumerate(claims):
        findings.add(("spec", "claims", number), pattern_problem(claim))
    return tuple(claims)


def _goals(found: Mapping[str, Any] | None, findings: Findings) -> tuple[Goal, ...]:
    if found is None:
        return DEFAULT_GOALS
    goals = []
    for kind in GoalKind:
        if kind.value not in found:
            continue
        band = found[kind.value]
        if len(band) != 1:
            message = f"has {'both' if band else 'none'} of percent and count (expected one)"
            findings.add(("spec", "balance", kind.value), message)
            continue
        percent = band.get("percent")
        goals.append(Goal(kind, None if percent is None else float(percent), band.get("count")))
    return tuple(goals)
