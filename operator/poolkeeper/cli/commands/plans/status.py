"""`poolkeeper status`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from poolkeeper.cli import timing
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, status_reading, targets
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import ink, printing, standard_streams
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
    brokers for their log directories, if their addresses are known.

    With --watch a terminal shows a live view. A pipe or a file gets the text again whenever it has
    changed, and with --output json one line a look.
    """
    if watch and output == printing.JSON:
        printing.write_lines()
    target = targets.reachable_target(address)
    with cluster_reading.session(target) as session:
        cluster_reading.warn_of_other_cluster(session, target)
        if not watch:
            _show(status_reading.read(session, target), output)
            return
        with _viewer(output) as show:
            while True:
                show(status_reading.read(session, target))
                time.sleep(timing.WATCH_EVERY_S)


def _show(found: status_values.Status, output: str) -> None:
    if output == printing.JSON:
        printing.emit_json(status_text.as_data(found))
    else:
        printing.emit(status_text.render(found, ink.of_output()))


@contextmanager
def _viewer(output: str) -> Iterator[Callable[[status_values.Status], None]]:
    """Give what shows one look after the other: a live view, lines of JSON, or text."""
    if output == printing.JSON:
        yield lambda found: printing.emit_json(status_text.as_data(found))
    elif sys.stdout.isatty():
        # Few looks are watched: what draws is imported for them alone.
        from rich.console import Console

        from poolkeeper.cli.output.runs.live_status import LiveStatus

        with LiveStatus(Console()) as live:
            yield live.show
    else:
        yield _LookPrinter().show


class _LookPrinter:
    """Prints a look if more than the time differs from the last one."""

    def __init__(self) -> None:
        self._last: status_values.Status | None = None

    def show(self, found: status_values.Status) -> None:
        run = None if found.run is None else replace(found.run, punctuality=None)
        timeless = replace(found, run=run)
        if timeless != self._last:
            separator = "" if self._last is None else "\n"
            printing.emit(f"{separator}{status_text.render(found)}")
        else:
            standard_streams.require_reader()
        self._last = timeless
