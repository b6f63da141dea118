"""What a container's environment holds, and how it is written into commands. Pure.

    $(NAME)    the value of NAME, if the environment has it by then; else it stays as it is written
    $$(NAME)   the text $(NAME)

The order is Kubernetes': what the image brings (here: the kubelet's few), the API server's
address, `env` in order; the later wins. A value may refer to everything before it.
"""

import re
from collections.abc import Mapping
from typing import Any

from poolkeeper import errors

Json = Mapping[str, Any]

_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")
_LABEL = re.compile(r"metadata\.labels\['(.+)'\]")


class Missing(errors.Unavailable):
    """Something that the pod asks for is not there; it may come. `reason` is Kubernetes' word."""

    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        self.reason = reason
        super().__init__(message)


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Replace references. With {A: 1}: "$(A) $(B) $$(A)" becomes "1 $(B) $(A)"."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] == "$" else env.get(found[2], found[0])

    return _REFERENCE.sub(value, text)


def environment(pod: Json, container: Json, base: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a container. Raises Missing.

    `pod` must already have its status.podIP, `base` is what comes before `env`.
    """
    env = dict(base)
    for entry in container.get("env", ()):
        source = entry.get("valueFrom")
        if source is None:
            env[entry["name"]] = expanded(entry.get("value", ""), env)
        elif "fieldRef" in source:
            env[entry["name"]] = field(pod, source["fieldRef"]["fieldPath"])
        else:
            raise Missing(f"this kubelet knows no value from {', '.join(source)}")
    return env


def field(pod: Json, path: str) -> str:
    """Return what a fieldRef refers to, such as `metadata.labels['app']`. Raises Missing."""
    if label := _LABEL.fullmatch(path):
        return str(pod["metadata"].get("labels", {}).get(label[1], ""))
    found: Any = pod
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, str):
        raise Missing(f"this kubelet knows no field {path}")
    return found
