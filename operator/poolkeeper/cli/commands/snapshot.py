"""`poolkeeper snapshot`."""

import time
from dataclasses import replace
from pathlib import Path

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import printing
from poolkeeper.text import count


@click.command()
@options.by_address
@click.option(
    "--out",
    cls=OutputOption,
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it: .json, .json.gz, or .parquet with the fleet extra.",
)
@options.output()
def snapshot(address: ClusterSelection, out: Path, output: str) -> None:
    """Write a cluster's topology to a file, for `plan --snapshot` and `import --snapshot`.

    Sizes are in it if the brokers can be asked: by spec.brokers in the manifests, or --bootstrap.
    Changes nothing. CLUSTER as for `status`.
    """
    write = snapshot_files.writer(out)
    target = targets.target(address)
    read_ms = time.time_ns() // 1_000_000
    with cluster_reading.session(target) as session:
        cluster_reading.warn_of_other_cluster(session, target)
        observed = cluster_reading.read_cluster(session, target)
    write(out, replace(observed.cluster, read_ms=read_ms))
    partitions = sum(len(topic.partitions) for topic in observed.cluster.topics.values())
    warnings = (
        *observed.warnings,
        *map(str, observed.notes),
        *cluster_reading.left_out(observed.cluster),
    )
    printing.warn(warnings)
    if output == printing.JSON:
        printing.emit_json(
            {
                "file": str(out),
                "brokers": len(observed.cluster.brokers),
                "topics": len(observed.cluster.topics),
                "partitions": partitions,
                "warnings": list(warnings),
            }
        )
    else:
        printing.emit(
            f"wrote {out}: {count(len(observed.cluster.brokers), 'broker')}, "
            f"{count(len(observed.cluster.topics), 'topic')}, "
            f"{count(partitions, 'partition')}"
        )
