"""`poolkeeper import`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli.input import cluster_reading, options, snapshot_files, targets
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Problem, Refused
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

    Their plan is empty: nothing moves until somebody edits them. CLUSTER as for `status`.
    """
    if snapshot is not None:
        if where or any(given[key] for key in ("folders", "zookeeper", "cluster")):
            raise click.UsageError("--snapshot replaces the live cluster: give one of the two")
        files = import_cluster.manifests_of(snapshot_files.read(snapshot))
    else:
        target = targets.target(options.address_of(where, **given))
        with cluster_reading.session(target) as session:
            observed = cluster_reading.observed(session, target)
        printing.warn(observed.warnings)
        files = import_cluster.manifests_of(observed.cluster, target.connect, target.bootstrap)
    write(out, files)
    if output == printing.JSON:
        printing.emit_json({"files": [str(out / name) for name in sorted(files)]})
    else:
        printing.emit(f"wrote {count(len(files), 'file')} to {out}")


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
