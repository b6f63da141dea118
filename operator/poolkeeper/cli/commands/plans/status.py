"""`poolkeeper status`."""

import json
import time

import click

from poolkeeper.cli import timing
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, status_reading, targets
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.runs import status_text, status_values


@click.command(
    epilog="""\b
    Examples:
      poolkeeper status -f manifests/
      poolkeeper status main -f manifests/ --watch
      poolkeeper status zk-1:2181,zk-2:2181/kafka
      poolkeeper status --zookeeper zk-1:2181/kafka --output json
    """
)
@options.by_address
@click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
@options.output()
def status(address: ClusterSelection, watch: bool, output: str) -> None:
    """Show what is moving, how far it is and what it waits for.

    CLUSTER is the name of one cluster in the manifests (-f DIR), or a connect string (without -f).

    Reads ZooKeeper, and changes nothing. While something moves or is not in sync, it also asks the
    brokers for their log directories, if their addresses are known. With --watch and --output
    json, one line a look.
    """
    target = targets.target(address)
    with cluster_reading.session(target) as session:
        while True:
            _show(status_reading.read(session, target), watch=watch, output=output)
            if not watch:
                return
            time.sleep(timing.WATCH_EVERY_S)


def _show(found: status_values.Status, *, watch: bool, output: str) -> None:
    if output == printing.JSON and watch:
        printing.emit(json.dumps(status_text.as_data(found)))
    elif output == printing.JSON:
        printing.emit_json(status_text.as_data(found))
    else:
        if watch:
            click.clear()
        printing.emit(status_text.render(found, ink.of_output()))
