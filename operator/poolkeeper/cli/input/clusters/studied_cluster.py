"""The cluster that a study is about: a live one, or a snapshot of one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Cluster


@frozen
class StudiedCluster:
    """`target` is None for a snapshot: nothing can be asked. `desired`: None without manifests."""

    cluster: Cluster
    target: Target | None = None
    warnings: tuple[str, ...] = ()
    desired: Desired | None = None


def by_cluster_or_snapshot(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `[CLUSTER]`, the options of both ways of addressing, and `--snapshot`."""
    snapshot = options.snapshot()
    argument = click.argument("where", metavar="[CLUSTER]", required=False)
    return argument(options.address_options(snapshot(function)))


def read(where: str | None, snapshot: Path | None, given: Mapping[str, Any]) -> StudiedCluster:
    """Read the snapshot or the cluster; raises a usage error where both are given."""
    if snapshot is not None:
        if where or any(given[key] for key in ("folders", "zookeeper", "cluster")):
            raise click.UsageError("--snapshot replaces the live cluster: give one of the two")
        cluster = snapshot_files.read(snapshot)
        return StudiedCluster(cluster, warnings=snapshot_files.version_warnings(snapshot, cluster))
    return _live(targets.target(options.address_of(where, **given)))


def read_declared(
    where: str | None, snapshot: Path | None, given: Mapping[str, Any]
) -> StudiedCluster | None:
    """Read the same, or a snapshot together with manifests; None if nothing is given."""
    if snapshot is not None and given["folders"] and not given["zookeeper"]:
        desired = targets.load_desired(options.address_of(where, **given))
        cluster, warnings = snapshot_files.read_declared(snapshot, desired.cluster)
        return StudiedCluster(cluster, warnings=warnings, desired=desired)
    if snapshot is None and where is None and not (given["folders"] or given["zookeeper"]):
        return None
    return read(where, snapshot, given)


def _live(target: Target) -> StudiedCluster:
    with cluster_reading.session(target) as session:
        observed = cluster_reading.read_cluster(session, target)
    warnings = (*observed.warnings, *map(str, observed.notes))
    return StudiedCluster(observed.cluster, target, warnings, target.desired)
