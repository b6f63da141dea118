"""The namespaces that a pool admits: by name, or by a label selector as in Kubernetes."""

from collections.abc import Mapping
from typing import Any

from poolkeeper.model.specs import AllowedNamespaces

NAME_LABEL = "kubernetes.io/metadata.name"

Labels = Mapping[str, str]


def admits(allowed: AllowedNamespaces | None, namespace: str, labels: Labels) -> bool:
    """Whether the namespace is named or selected; `None` admits all.

    The label that the API server sets on every namespace, its name, counts even if the other labels
    cannot be read.
    """
    if allowed is None:
        return True
    if allowed.names is not None and namespace in allowed.names:
        return True
    if allowed.selector is None:
        return False
    return selects(allowed.selector, {NAME_LABEL: namespace, **labels})


def selects(selector: Mapping[str, Any], labels: Labels) -> bool:
    """Whether all requirements of a label selector hold; an empty selector selects everything."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or ()
    )


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
