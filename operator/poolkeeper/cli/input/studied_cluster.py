"""The cluster that a study is about: a live one, or a snapshot of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli.input import cluster_reading, options, snapshot_files, targets
from poolkeeper.cli.input.targets import Target
from poolkeeper.model.topology import Cluster


@dataclass(frozen=True, slots=True)
class StudiedCluster:
    """`target` is None for a snapshot: nothing can be asked."""

    cluster: Cluster
    target: Target | None = None
    warnings: tuple[str, ...] = ()


def by_cluster_or_snapshot(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `[CLUSTER]`, the options of both ways of addressing, and `--snapshot`."""
    snapshot = click.option(
        "--snapshot",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Instead of a cluster: a snapshot of one.",
    )
    argument = click.argument("where", metavar="[CLUSTER]", required=False)
    return argument(options.address_options(snapshot(function)))


def read(where: str | None, snapshot: Path | None, given: Mapping[str, Any]) -> StudiedCluster:
    """Read the snapshot or the cluster; raises a usage error where both are given."""
    if snapshot is not None:
        if where or any(given[key] for key in ("folders", "zookeeper", "cluster")):
            raise click.UsageError("--snapshot replaces the live cluster: give one of the two")
        return StudiedCluster(snapshot_files.read(snapshot))
    target = targets.target(options.address_of(where, **given))
    with cluster_reading.session(target) as session:
        observed = cluster_reading.read_cluster(session, target)
    return StudiedCluster(observed.cluster, target, (*observed.warnings, *observed.notes))
