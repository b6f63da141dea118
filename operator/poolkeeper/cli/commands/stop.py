"""`poolkeeper stop`."""

import click

from poolkeeper.cli.input import cluster_reading, options, targets
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import printing
from poolkeeper.zk import fencing, journal


@click.command()
@options.by_address
@options.output()
def stop(address: ClusterSelection, output: str) -> None:
    """End the run under way after its current stage, whichever process executes it.

    Sets a flag in the cluster's journal, which the active executor obeys, or the next one. What has
    moved stays moved; throttles are restored. CLUSTER as for `status`.
    """
    target = targets.target(address)
    with cluster_reading.session(target) as session:
        run = journal.request_stop(session)
        holder = fencing.read_holder(session)
    if output == printing.JSON:
        printing.emit_json(
            {"plan": run.plan if run else None, "holder": str(holder) if holder else None}
        )
    elif run is None:
        printing.emit("no run is recorded: nothing to stop")
    elif holder is None:
        printing.emit(
            f"run {run.plan} is ended by the next executor; none is active now: start `poolkeeper"
            " apply`"
        )
    else:
        printing.emit(f"run {run.plan} stops after stage {run.stage}; it is executed by {holder}")
