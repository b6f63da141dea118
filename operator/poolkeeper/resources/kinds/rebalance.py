"""Rebalance bodies to specs."""

from collections.abc import Mapping
from typing import Any

from poolkeeper.model.rebalances import (
    BudgetSpec,
    BudgetWindow,
    EngineChoice,
    RebalanceSpec,
    ResourceSelection,
    Site,
)
from poolkeeper.model.specs import Approval, ApprovalPolicy, Window
from poolkeeper.resources.parse.body import ParsedBody, parse_body
from poolkeeper.resources.parse.locations import Findings, Path, Places
from poolkeeper.resources.parse.quantities import positive_duration_s, size_bytes
from poolkeeper.resources.parse.schedules import cron_problem, time_zone_problem

KIND = "Rebalance"
_NOWHERE = Places()


def read_rebalance(body: Mapping[str, Any], places: Places = _NOWHERE) -> ParsedBody[RebalanceSpec]:
    """The spec, as far as the body is readable, and every problem."""
    return parse_body(KIND, body, places, _spec)


def _spec(body: Mapping[str, Any], findings: Findings) -> RebalanceSpec:
    spec = body["spec"]
    return RebalanceSpec(
        name=body["metadata"]["name"],
        clusters=_selection(spec.get("clusters"), ("spec", "clusters"), findings),
        pools=_selection(spec.get("pools"), ("spec", "pools"), findings),
        engine=EngineChoice(spec["engine"]),
        approval=Approval(
            ApprovalPolicy(spec["approval"]["policy"]), tuple(spec["approval"].get("plans", ()))
        ),
        budget=_budget(spec["budget"], findings),
        paused=spec["paused"],
        source=findings.places.source,
    )


def _selection(
    found: Mapping[str, Any] | None, path: Path, findings: Findings
) -> ResourceSelection:
    if found is None:
        return ResourceSelection()
    if ("names" in found) == ("selector" in found):
        said = "has both names and a selector" if found else "has neither names nor a selector"
        findings.add(path, f"{said} (expected one of them)")
    for number, each in enumerate(found.get("selector", {}).get("matchExpressions", ())):
        takes_values = each["operator"] in ("In", "NotIn")
        if takes_values != bool(each.get("values")):
            expected = "at least one" if takes_values else "none"
            at = (*path, "selector", "matchExpressions", number)
            message = f"do not fit {each['operator']} (expected {expected})"
            findings.add((*at, "values"), message, (*at, "operator"))
    return ResourceSelection(tuple(sorted(found.get("names", ()))), found.get("selector"))


def _budget(found: Mapping[str, Any], findings: Findings) -> BudgetSpec:
    path: Path = ("spec", "budget")
    home: dict[str, int] = {}
    sites: list[Site] = []
    for number, site in enumerate(found.get("sites", ())):
        at = (*path, "sites", number)
        if site["name"] in {other.name for other in sites}:
            findings.add((*at, "name"), f"site {site['name']} is listed already (expected once)")
        for position, cluster in enumerate(site["clusters"]):
            other = home.setdefault(cluster, number)
            name = found["sites"][other]["name"]
            if name != site["name"]:
                message = f"{cluster} is in site {name} as well (expected one)"
                names = (*path, "sites", other, "name"), (*at, "name")
                findings.add((*at, "clusters", position), message, *names)
        rate = _rate(site, at, findings)
        sites.append(Site(site["name"], tuple(sorted(site["clusters"])), rate))
    return BudgetSpec(
        rate_bytes_per_s=_rate(found, path, findings),
        clusters_at_once=found.get("clustersAtOnce"),
        sites=tuple(sorted(sites, key=lambda site: site.name)),
        windows=tuple(
            _window(window, (*path, "windows", number), findings)
            for number, window in enumerate(found.get("windows", ()))
        ),
    )


def _rate(found: Mapping[str, Any], path: Path, findings: Findings) -> int | None:
    if "rate" not in found:
        return None
    return findings.read((*path, "rate"), size_bytes, found["rate"], 1)


def _window(found: Mapping[str, Any], path: Path, findings: Findings) -> BudgetWindow:
    findings.add((*path, "cron"), cron_problem(found["cron"]))
    time_zone = found.get("timeZone", "UTC")
    findings.add((*path, "timeZone"), time_zone_problem(time_zone))
    duration = findings.read((*path, "duration"), positive_duration_s, found["duration"], 1)
    return BudgetWindow(Window(found["cron"], duration, time_zone), _rate(found, path, findings))
