"""`poolkeeper ui`."""

import threading

import click

from poolkeeper.cli.commands.ui import ui_looks
from poolkeeper.cli.input import interrupts, options
from poolkeeper.cli.input.files import fleet_files
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import printing
from poolkeeper.ui.registry import LivePages
from poolkeeper.ui.server import LiveServer

CHECK_S = 0.5


@click.command(
    epilog="""\b
    Examples:
      poolkeeper ui -f manifests/
      poolkeeper ui main -f manifests/ --port 8470
      poolkeeper ui zk-1:2181,zk-2:2181/kafka
      poolkeeper ui -f manifests/ --out s3a://bucket/fleet
    """
)
@options.by_address
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of 127.0.0.1 to serve on; default: any that is free.",
)
@click.option(
    "--out",
    metavar="URI|FILE",
    help="Show the fleet's reports as well: the --out of `fleet report`, or one file of it.",
)
def ui(address: ClusterSelection, port: int, out: str | None) -> None:
    """Show clusters in a browser, live: the run, the pools, the plan, the history.

    CLUSTER as for `status`; without it all clusters of the manifests are shown.

    Prints one line, the address to open, and serves until Ctrl-C. Only this machine can reach it,
    and only with that address. It reads, and changes nothing: what approves a plan is shown as a
    line for a shell. While nobody looks at the pages, nothing is read.
    """
    site = LivePages(ui_looks.all_pages(address), fleet_files.fleet_files(out) if out else None)
    with interrupts.raise_once() as check, LiveServer.listening(port, site) as server:
        printing.emit(server.url)
        ended = threading.Event()
        while not ended.wait(CHECK_S):
            check()
