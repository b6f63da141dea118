"""What the operator says of a resource, if it says it of what is declared now.

A status names the generation that it is of. After an edit it stays until the operator has looked at
the edit, which is a moment, or as long as no operator runs.
"""

from collections.abc import Mapping
from typing import Any

from poolkeeper.cli.kubectl.access import status_of
from poolkeeper.frozen import frozen
from poolkeeper.resources.status.conditions import condition_of


@frozen
class Readiness:
    """Status, reason and message of `Ready`; no reason where nothing was said yet."""

    status: str
    reason: str
    message: str


def readiness(body: Mapping[str, Any]) -> Readiness:
    """Return what is said of a resource as it is declared now."""
    found = condition_of(status_of(body), "Ready")
    if not found:
        return Readiness("Unknown", "", "the operator has not said anything about it yet")
    said = Readiness(
        found.get("status", "Unknown"), found.get("reason", ""), found.get("message", "")
    )
    declared = body["metadata"].get("generation", 0)
    if found.get("observedGeneration", declared) >= declared:
        return said
    before = f"of what was declared before: {said.reason}: {said.message}"
    return Readiness("Unknown", "Edited", f"the operator has not looked at the edit yet; {before}")
