"""`poolkeeper status`."""

import json
import time

import click

from poolkeeper.cli import (
    addressing,
    ink,
    options,
    printing,
    reaching,
    settings,
    statuses,
    statustext,
)
from poolkeeper.cli.options import Address
from poolkeeper.zk import journal


@click.command(
    epilog="""\b
    Examples:
      poolkeeper status -f manifests/
      poolkeeper status main -f manifests/ --watch
      poolkeeper status zk-1:2181,zk-2:2181/kafka
      poolkeeper status --zookeeper zk-1:2181/kafka --output json
    """
)
@options.addressed
@click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
@options.output()
def status(address: Address, watch: bool, output: str) -> None:
    """Show what is moving, how far it is and what it waits for.

    CLUSTER is the name of one cluster in the manifests (-f DIR), or a connect string (without -f).

    Reads ZooKeeper only, and changes nothing. With --watch and --output json, one line a look.
    """
    target = addressing.target(address)
    with reaching.session(target) as session:
        while True:
            observed = reaching.observed(session, target, sizes=False)
            found = statuses.status_of(observed.cluster, journal.read_status(session))
            _show(found, watch=watch, output=output)
            if not watch:
                return
            time.sleep(settings.WATCH_EVERY_S)


def _show(found: statuses.Status, *, watch: bool, output: str) -> None:
    if output == printing.JSON and watch:
        printing.emit(json.dumps(statustext.as_data(found)))
    elif output == printing.JSON:
        printing.emit_json(statustext.as_data(found))
    else:
        if watch:
            click.clear()
        printing.emit(statustext.render(found, ink.of_output()))
