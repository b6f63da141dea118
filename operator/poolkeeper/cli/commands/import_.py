"""`poolkeeper import`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli.input import cluster_reading, options, snapshot_files, targets
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.step_progress import due_elections
from poolkeeper.resources.write import import_cluster
from poolkeeper.text import count


@click.command("import")
@click.argument("where", metavar="[CLUSTER]", required=False)
@options.address_options
@click.option(
    "--snapshot",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Instead of a cluster: a snapshot of one.",
)
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write the manifests; files that exist are never overwritten.",
)
@options.output()
def import_(where: str | None, snapshot: Path | None, out: Path, output: str, **given: Any) -> None:
    """Write manifests for what exists: a KafkaCluster, a pool with all brokers, a Topic each.

    Nothing moves until somebody edits them. What may be left to do is to elect preferred leaders:
    how many there are is said. CLUSTER as for `status`.
    """
    if snapshot is not None:
        if where or any(given[key] for key in ("folders", "zookeeper", "cluster")):
            raise click.UsageError("--snapshot replaces the live cluster: give one of the two")
        cluster = snapshot_files.read(snapshot)
        files = import_cluster.manifests_of(cluster)
    else:
        target = targets.target(options.address_of(where, **given))
        with cluster_reading.session(target) as session:
            observed = cluster_reading.read_cluster(session, target)
        printing.warn(observed.warnings)
        cluster = observed.cluster
        files = import_cluster.manifests_of(cluster, target.connect, target.bootstrap)
    write(out, files)
    if output == printing.JSON:
        printing.emit_json({"files": [str(out / name) for name in sorted(files)]})
    else:
        printing.emit(f"wrote {count(len(files), 'file')} to {out}")
        printing.emit(_elections(cluster))


def _elections(cluster: Cluster) -> str:
    """Say what is left to do for a cluster that is as its manifests have it; may be empty."""
    partitions = ((t.name, p.partition) for t in cluster.topics.values() for p in t.partitions)
    due = len(due_elections(partitions, cluster))
    led = count(due, "preferred replica")
    return f"{led} to elect as leader, with `apply`: in sync, and not leading" if due else ""


def write(out: Path, files: Mapping[str, str]) -> None:
    """Write all files, or none if one of them exists."""
    taken = [
        Problem(str(out / name), 0, "", "exists already") for name in files if (out / name).exists()
    ]
    if taken:
        raise InvalidInput(taken)
    try:
        for name, text in files.items():
            file = out / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{out}: cannot be written ({error.strerror})") from error
