"""Releases of the chart on a real cluster whose pods are processes of this machine."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from chart.rendering import ROOT
from conditions import until
from control_plane.access import ApiError
from control_plane.planes import ControlPlane

CRDS = ROOT / "crds"
PLURALS = ("topics", "rebalances", "resourcepools", "kafkaclusters")
REMIND_EVERY_S = 0.3
IMAGE = "poolkeeper/operator:0.1.0"
# All pods share the machine's network, so each listens on its own address only.
ON_OWN_ADDRESS = ("--set", "operator.address=$(POD_IP)")
OPERATOR = Path(sys.executable).with_name("poolkeeper")
"""What the image's entry point is on this machine."""


def standin(folder: Path) -> Path:
    """Return an entry point that needs no operator; `folder` is not in /tmp, which pods hide."""
    script = folder / "operator"
    script.write_text(
        f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("standin.py")} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


@contextmanager
def without_definitions(plane: ControlPlane) -> Iterator[None]:
    """Take our kinds away, so that a release can bring them; put them back afterwards."""
    remove_definitions(plane)
    until(lambda: not _is_served(plane), "our kinds are no longer served")
    try:
        yield
    finally:
        remove_definitions(plane)
        plane.apply_crds(CRDS)


def _is_served(plane: ControlPlane) -> bool:
    """Whether the API server still knows our group: it forgets a little after the definitions."""
    try:
        plane.request("GET", "/apis/poolkeeper.dev/v1alpha1")
    except ApiError as refused:
        return refused.status != 404
    return True


def remove_definitions(plane: ControlPlane) -> None:
    """Delete our definitions, and with them all that is of our kinds.

    The API server forgets for minutes to go on with the deletion of a definition whose storage was
    not yet ready when it began ("storage is (re)initializing"). Any change of it reminds it.
    """
    for path in map(definition_path, PLURALS):
        if found(plane, path):
            until(lambda path=path: _is_deleted(plane, path), f"{path} may be deleted")
    until(lambda: not any([_remind(plane, one) for one in PLURALS]), "no definition is left", 120)


def _is_deleted(plane: ControlPlane, path: str) -> bool:
    """Delete; a policy of a release that is gone is enforced for a moment longer."""
    try:
        plane.request("DELETE", path)
    except ApiError as refused:
        if refused.status != 403:
            raise
        return False
    return True


def definition_path(plural: str) -> str:
    return f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.poolkeeper.dev"


def _remind(plane: ControlPlane, plural: str) -> bool:
    """Change a definition that is being deleted; tell whether it is still there."""
    if not found(plane, definition_path(plural)):
        return False
    note = {"metadata": {"annotations": {"test/reminder": secrets.token_hex(4)}}}
    try:
        plane.request("PATCH", definition_path(plural), note)
    except ApiError as refused:
        if refused.status not in (404, 409):
            raise
    Event().wait(REMIND_EVERY_S)
    return True


def restricted_namespace(plane: ControlPlane) -> str:
    """Return a new namespace that admits only pods of the restricted standard."""
    name = plane.new_namespace()
    labels = {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")
    }
    plane.request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}})
    return name


def release_name() -> str:
    return f"r-{secrets.token_hex(3)}"


def pods(plane: ControlPlane, namespace: str) -> list[dict[str, Any]]:
    items = plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [one for one in items if "deletionTimestamp" not in one["metadata"]]


def ready_pods(plane: ControlPlane, namespace: str) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in pods(plane, namespace)
        if any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"]["conditions"])
    ]


def until_no_pods(plane: ControlPlane, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    until(lambda: not plane.request("GET", path)["items"], "all pods are gone", 60)


def found(plane: ControlPlane, path: str) -> dict[str, Any] | None:
    """Return an object, or nothing where there is none."""
    try:
        answer: dict[str, Any] = plane.request("GET", path)
    except ApiError as refused:
        if refused.status != 404:
            raise
        return None
    return answer
