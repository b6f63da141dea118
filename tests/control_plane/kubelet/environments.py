"""What a container's environment holds, and how it is written into commands. Pure.

    $(NAME)    the value of NAME, if the environment has it by then; else it stays as it is written
    $$(NAME)   the text $(NAME)

The order is Kubernetes': what the image brings (here: the kubelet's few), the API server's
address, `envFrom` in order, `env` in order; the later wins. A value may refer to what comes before
it in `env`, and to everything before `env`.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from poolkeeper import errors

Json = Mapping[str, Any]
# Kind, namespace and name -> the object, None if there is none.
Lookup = Callable[[str, str, str], Json | None]

_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class Missing(errors.Unavailable):
    """Something that the pod refers to is not there; it may come. `reason` is Kubernetes' word."""

    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        self.reason = reason
        super().__init__(message)


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Replace references. With {A: 1}: "$(A) $(B) $$(A)" becomes "1 $(B) $(A)"."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] == "$" else env.get(found[2], found[0])

    return _REFERENCE.sub(value, text)


def environment(
    pod: Json, container: Json, base: Mapping[str, str], lookup: Lookup
) -> dict[str, str]:
    """Return the whole environment of a container. Raises Missing.

    `pod` must already have its status.podIP, `base` is what comes before `envFrom`.
    """
    env = dict(base)
    for source in container.get("envFrom", ()):
        env.update(_all_of(pod, source, lookup))
    for entry in container.get("env", ()):
        if "valueFrom" not in entry:
            env[entry["name"]] = expanded(entry.get("value", ""), env)
        elif (value := _value_from(pod, container, entry["valueFrom"], lookup)) is not None:
            env[entry["name"]] = value
    return env


def field(pod: Json, path: str) -> str:
    """Return what a fieldRef refers to, such as `metadata.labels['app']`. Raises Missing."""
    if keyed := _KEYED.fullmatch(path):
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = pod["metadata"].get(path.partition(".")[2], {})
        return "".join(f'{key}="{value}"\n' for key, value in sorted(pairs.items()))
    if path == "status.podIPs":
        path = "status.podIP"
    found: Any = pod
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    if found is None:
        raise Missing(f"this kubelet knows no field {path}")
    return str(found)


def resource(pod: Json, container: Json, reference: Json) -> str:
    """Return what a resourceFieldRef refers to, rounded up: whole cores, bytes."""
    if name := reference.get("containerName"):
        (container,) = (each for each in pod["spec"]["containers"] if each["name"] == name)
    kind, _, what = reference["resource"].partition(".")
    quantity = container.get("resources", {}).get(kind, {}).get(what)
    if quantity is None:
        raise Missing(f"container {container['name']} has no {reference['resource']}")
    return str(-int(-amount(quantity) // amount(reference.get("divisor") or "1")))


def amount(quantity: str | int) -> float:
    """Return the number that a quantity stands for: "250m" is 0.25, "2Ki" is 2048."""
    text = str(quantity)
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


def entries(found: Json, items: Sequence[Json] | None) -> Iterator[tuple[str, bytes, int | None]]:
    """Yield path, content and mode of what a Secret or ConfigMap holds; only `items` if given.

    Raises Missing for an item whose key is not there.
    """
    contents = {key: value.encode() for key, value in (found.get("data") or {}).items()}
    if found["kind"] == "Secret":
        contents = {key: b64decode(value) for key, value in contents.items()}
    for key, value in (found.get("binaryData") or {}).items():
        contents[key] = b64decode(value)
    for item in items if items is not None else [{"key": key, "path": key} for key in contents]:
        if item["key"] not in contents:
            raise Missing(f"{found['kind']} {found['metadata']['name']} has no key {item['key']}")
        yield item["path"], contents[item["key"]], item.get("mode")


def referred(kind: str, reference: Json, pod: Json, lookup: Lookup) -> Json | None:
    """Return the ConfigMap or Secret that is referred to; None if that is optional and absent."""
    name = reference.get("name") or reference.get("secretName", "")
    found = lookup(kind, pod["metadata"]["namespace"], name)
    if found is None and not reference.get("optional"):
        raise Missing(f'{kind} "{name}" not found')
    return found


def _all_of(pod: Json, source: Json, lookup: Lookup) -> dict[str, str]:
    kind, key = ("Secret", "secretRef") if "secretRef" in source else ("ConfigMap", "configMapRef")
    found = referred(kind, source[key], pod, lookup)
    prefix = source.get("prefix", "")
    return (
        {prefix + path: value.decode() for path, value, _ in entries(found, None)} if found else {}
    )


def _value_from(pod: Json, container: Json, source: Json, lookup: Lookup) -> str | None:
    match source:
        case {"fieldRef": reference}:
            return field(pod, reference["fieldPath"])
        case {"resourceFieldRef": reference}:
            return resource(pod, container, reference)
        case {"secretKeyRef": reference}:
            return _key_of("Secret", reference, pod, lookup)
        case {"configMapKeyRef": reference}:
            return _key_of("ConfigMap", reference, pod, lookup)
    raise Missing(f"this kubelet knows no value from {', '.join(source)}")


def _key_of(kind: str, reference: Json, pod: Json, lookup: Lookup) -> str | None:
    found = referred(kind, reference, pod, lookup)
    if found is None:
        return None
    try:
        ((_, value, _),) = entries(found, [{"key": reference["key"], "path": ""}])
    except Missing:
        if reference.get("optional"):
            return None
        raise
    return value.decode()


_SUFFIXES = {
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)},
    **{letter: 1000.0**power for power, letter in enumerate("kMGTPE", 1)},
    "m": 0.001,
}
