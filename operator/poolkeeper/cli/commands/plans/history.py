"""`poolkeeper history`."""

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.runs import history_table
from poolkeeper.zk.journal import history as finished_runs


@click.command()
@options.by_address
@options.output()
def history(address: ClusterSelection, output: str) -> None:
    """Show the runs that ended last: when, why, how many moves they made, and who approved them.

    The last column is what was copied of what the whole plan was to copy. The cluster keeps the
    last 50; `--audit-log` of `apply` and `run` keeps every decision and write in a file. CLUSTER as
    for `status`.
    """
    target = targets.reachable_target(address)
    with cluster_reading.session(target) as session:
        cluster_reading.warn_of_other_cluster(session, target)
        found = finished_runs.read(session)
    printing.warn(map(str, found.damage))
    if output == printing.JSON:
        printing.emit_json({"runs": [history_table.as_data(run) for run in found.runs]})
    else:
        printing.emit("\n".join(history_table.lines(found.runs, ink.of_output())))
