"""Templates to objects, as `helm template` makes them, without a server."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from control_plane import building

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "poolkeeper"
RELEASE = "pk"
NAMESPACE = "poolkeeper"
FULLNAME = "pk-poolkeeper"
TIMEOUT_S = 60

Object = dict[str, Any]
Values = Mapping[str, Any]
EVERYTHING: Values = {
    "watchNamespaces": ["pay", "shop"],
    "credentials": {"secretNames": ["zk-main"]},
    "policies": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
}


class RefusedValuesError(Exception):
    """Helm did not render; the message is what it wrote."""


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm where it needs no server, with a home that is gone afterwards."""
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(
            [building.helm(), *arguments],
            env={**os.environ, "HOME": home, "KUBECONFIG": f"{home}/none"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


def render(values: Values | None = None, *arguments: str) -> tuple[Object, ...]:
    """Return the objects of the chart. Raises RefusedValuesError."""
    text = _rendered_once(json.dumps(dict(values or {})), arguments)
    return tuple(one for one in yaml.load_all(text, yaml.CSafeLoader) if one)


def rendered(values: str, arguments: tuple[str, ...] = ()) -> str:
    """Return what helm makes of values in JSON. Raises RefusedValuesError."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        run = helm("template", RELEASE, str(CHART), "-n", NAMESPACE, "-f", file.name, *arguments)
    if run.returncode:
        raise RefusedValuesError(run.stderr)
    return run.stdout


_rendered_once = cache(rendered)
"""Helm takes a third of a second of a processor."""


def of_kind(objects: Iterable[Object], *kinds: str) -> tuple[Object, ...]:
    return tuple(one for one in objects if one["kind"] in kinds)


def the_only(objects: Iterable[Object], kind: str) -> Object:
    (found,) = of_kind(objects, kind)
    return found


def names(objects: Iterable[Object]) -> set[tuple[str, str, str]]:
    """Return what there is, as (kind, namespace, name)."""
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
        for one in objects
    }
