"""Who keeps a resource as it is in Git: an edit on the API server would not last."""

from collections.abc import Mapping
from typing import Any

_ANNOTATIONS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
}
_LABELS = {
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
_MANAGERS = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
}


def keeper_of(body: Mapping[str, Any]) -> str:
    """Return who applies the resource from Git, such as "Flux"; empty if nobody does."""
    metadata = body["metadata"]
    for known, found in (
        (_ANNOTATIONS, metadata.get("annotations") or {}),
        (_LABELS, metadata.get("labels") or {}),
    ):
        for name, keeper in known.items():
            if found.get(name):
                return keeper
    for entry in metadata.get("managedFields") or ():
        owns_spec = "f:spec" in (entry.get("fieldsV1") or {})
        if owns_spec and entry.get("manager") in _MANAGERS:
            return _MANAGERS[entry["manager"]]
    return ""
