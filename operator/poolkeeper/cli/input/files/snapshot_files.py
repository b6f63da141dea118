"""Snapshot files of every format: JSON is `model.snapshots`, Parquet `fleet.storage.snapshot_file`.

Parquet needs the fleet extra.
"""

import importlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from poolkeeper.errors import InvalidInput, Problem, Refused, wrong_file
from poolkeeper.model import snapshots
from poolkeeper.model.specs import KafkaClusterSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.model.versions import observed_problem
from poolkeeper.resources.write.names import resource_name

EXTRA = "pip install 'poolkeeper[fleet]'"
PARQUET = ".parquet"


def writer(path: Path) -> Callable[[Path, Cluster], None]:
    """Return the function that writes a file of that format.

    Raises `Refused` before anything is read for another kind of file, or without its folder.
    """
    if not os.path.isdir(path.parent):
        raise wrong_file(path, "cannot be written (there is no such folder)")
    if path.suffix != PARQUET:
        snapshots.require_kind(path)
        return snapshots.write
    write: Callable[[Path, Cluster], None] = fleet("storage.snapshot_file").write
    return write


def read(path: Path) -> Cluster:
    """Read a snapshot; raises `Refused` or `InvalidInput`."""
    if path.suffix != PARQUET:
        return snapshots.read(path)
    cluster: Cluster = fleet("storage.snapshot_file").read(path)
    return cluster


def version_warnings(path: Path, cluster: Cluster) -> tuple[str, ...]:
    """A warning if the snapshot's release of Kafka is not known here."""
    problem = observed_problem(cluster.kafka_version)
    return () if problem is None else (f"{path}: {problem}; what it says may not hold",)


def read_declared(path: Path, spec: KafkaClusterSpec) -> tuple[Cluster, tuple[str, ...]]:
    """Read a snapshot of a cluster that is declared, and warnings; raises as `read`.

    Raises `Refused` for one of another cluster by its id. A name is only what somebody called the
    cluster when it was read.
    """
    cluster = read(path)
    if spec.cluster_id is not None and cluster.id not in (None, spec.cluster_id):
        other = f"is of another cluster: {cluster.id} (expected {spec.cluster_id})"
        raise InvalidInput([Problem(str(path), 0, "cluster.id", other)])
    warnings = version_warnings(path, cluster) if spec.kafka_version is None else ()
    is_named = spec.name in (cluster.name, resource_name(cluster.name))  # as `import` names it
    if not is_named and (spec.cluster_id is None or cluster.id is None):
        warnings += (
            f"{path} is a snapshot of cluster {cluster.name!r}, and is taken for one of"
            f" {spec.name!r}, which the manifests declare",
        )
    return replace(cluster, name=spec.name), warnings


def fleet(module: str) -> ModuleType:
    """Import a module of the package `fleet`; raises `Refused` where the fleet extra is missing."""
    try:
        return importlib.import_module(f"poolkeeper.fleet.{module}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("poolkeeper"):
            raise
        raise Refused(f"{missing.name} is not installed (expected {EXTRA})") from missing
