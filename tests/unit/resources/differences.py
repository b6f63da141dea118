"""Which statuses say something else than the live ones."""

from collections.abc import Mapping
from typing import Any

from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.resources.status.conditions import conditions_of

CONDITIONS = frozenset({"Ready", "Reconciling", "Stalled"})


def changed(
    assembly: Assembly, found: Mapping[ObjectKey, dict[str, Any]]
) -> Mapping[ObjectKey, dict[str, Any]]:
    """The statuses that differ from the live ones.

    The API server merges lists and may keep another order, and conditions of others beside ours.
    """
    return {
        key: status
        for key, status in found.items()
        if assembly.objects[key].status != status
        and _ours(assembly.objects[key].status or {}) != _ours(status)
    }


def _ours(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status in one order of its lists, without the conditions of others."""
    own = (each for each in conditions_of(status) if each.get("type") in CONDITIONS)
    return {
        **status,
        "conditions": sorted(own, key=lambda each: str(each["type"])),
        "drained": sorted(status.get("drained", ())),
        "draining": sorted(status.get("draining", ()), key=lambda each: int(each["broker"])),
        "foreignConfig": sorted(status.get("foreignConfig", ())),
    }
